"""Sample calls of every operator of the table, for the property suite.

A family of samples is a generator `f(m: Maker) -> Iterator[Sample]` registered for an entry by `@of(name, …)`. Called
with another seed it must give the same calls with other values: these are the members of a batch.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
from pullback import _core

FILES = sorted(path.stem for path in Path(__file__).parent.glob("samples_*.py"))


class Sample:
    """One call. `via` maps positions of tensors to functions applied first, for inputs with a structure; `after` is
    applied to the result, where parts of it are nobody's choice, such as the phases of vectors.

    `batched` says whether the call runs under vmap: it does not if the shape of its result depends on the values.
    `grad` is False where the result has floats but no derivative is to be expected. `strict` calls need the layout.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        self.args, self.kwargs = args, kwargs
        self.via: dict[int, Callable[[Any], Any]] = {}
        self.after: Callable[[Any], Any] | None = None
        self.batched, self.grad, self.second, self.strict = True, True, True, False

    def but(self, **settings: Any) -> Sample:
        for name, value in settings.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        return self

    def tensors(self) -> list[Any]:
        return list(tensors_in([self.args, list(self.kwargs.values())]))

    def describe(self) -> str:
        parts = [*map(short, self.args), *(f"{k}={short(v)}" for k, v in self.kwargs.items())]
        return f"({', '.join(parts)})"


def short(value: Any) -> str:
    if isinstance(value, pb.Tensor):
        return f"<{str(value.dtype).rpartition('.')[2]} {list(value.shape)}>"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(short, value))}]"
    return repr(value)


def tensors_in(value: Any) -> Iterator[Any]:
    if isinstance(value, pb.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def replaced(value: Any, supply: Iterator[Any]) -> Any:
    """The value with its tensors taken from `supply`."""
    if isinstance(value, pb.Tensor):
        return next(supply)
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(item, supply) for item in value)
    return value


class Maker:
    """Tensors of float64 whose elements are distinct, and away from 0 by default: kinks and ties have no derivative."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def __call__(self, *shape: int, low: float | None = None, high: float | None = None) -> Any:
        n = int(np.prod(shape))
        steps = (self.rng.permutation(n) + 0.25 + 0.5 * self.rng.random(n)) / max(n, 1)
        if low is None or high is None:
            values = (0.2 + 1.8 * steps) * np.where(self.rng.random(n) < 0.5, -1, 1)
        else:
            values = low + (high - low) * steps
        return pb.tensor(np.asarray(values).reshape(shape), dtype=pb.float64)

    def ints(self, *shape: int, low: int = 0, high: int = 4) -> Any:
        return pb.tensor(self.rng.integers(low, high, shape), dtype=pb.int64)

    def bools(self, *shape: int) -> Any:
        return pb.tensor(self.rng.random(shape) < 0.5, dtype=pb.bool)

    def choices(self, *shape: int, of: int) -> Any:
        """Indices below `of`, distinct along the last dimension."""
        rows = [self.rng.permutation(of)[: shape[-1]] for _ in range(int(np.prod(shape[:-1])))]
        return pb.tensor(np.array(rows).reshape(shape), dtype=pb.int64)

    def regular(self, *shape: int) -> Any:
        """Square matrices with distinct singular values between 1 and n."""
        *lead, n, _ = shape
        q = [np.linalg.qr(self.rng.standard_normal((*lead, n, n)))[0] for _ in range(2)]
        s = np.arange(1, n + 1) + 0.3 * self.rng.random((*lead, n))
        return pb.tensor(q[0] @ (s[..., None] * q[1]), dtype=pb.float64)

    def layouts(self, *shape: int, low: float | None = None, high: float | None = None) -> Iterator[Any]:
        """The shape in memory order, reversed, transposed, stepped and repeated."""
        x = self(*shape, low=low, high=high)
        yield x
        yield pb.tensor(np.flip(x.numpy(), -1).copy(), dtype=pb.float64).flip(-1)
        yield self(*shape[::-1], low=low, high=high).permute(*range(len(shape))[::-1])
        yield self(*shape[:-1], 2 * shape[-1], low=low, high=high)[..., ::2]
        yield self(1, *shape[1:], low=low, high=high).expand(*shape)


Family = Callable[[Maker], Iterator[Sample]]
FAMILIES: dict[str, list[Family]] = {}
# What gives the same values on arrays of NumPy, for entries whose samples name it.
COUNTERPARTS: dict[str, Callable[..., Any]] = {}
S = Sample


def of(*names: str, like: Callable[..., Any] | None = None) -> Callable[[Family], Family]:
    """Registers a family for entries, and what their values are compared with."""

    def register(family: Family) -> Family:
        for name in names:
            FAMILIES.setdefault(name, []).append(family)
            if like is not None:
                COUNTERPARTS[name] = like
        return family

    return register


@functools.cache
def table() -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in _core.operator_table()}


@functools.cache
def load() -> dict[str, list[Family]]:
    for name in FILES:
        importlib.import_module(f"support.{name}")
    return FAMILIES


@functools.cache
def build(name: str, seed: int) -> list[Sample]:
    """The samples of an entry, with values that depend on the seed."""
    families = load()[name]
    return [sample for k, family in enumerate(families) for sample in family(Maker(1000 * k + seed))]
