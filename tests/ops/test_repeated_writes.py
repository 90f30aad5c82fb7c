"""Where several writes go to one place, the last in row-major order of the indices stays, and has the derivative.

Random writes are compared with a plain loop over numbered elements: the loop says of each result where it came from,
and with that what both modes must give.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, vjp, vmap

SEED = 20260102
CALLS = int(os.environ.get("PULLBACK_REPEATED_CALLS", "400"))
DTYPES = [pb.float64, pb.float32, pb.float16, pb.bfloat16]


class Write:
    """A write of `source` into `base`, as a function here and as a loop."""

    def __init__(
        self, what: str, run: Callable[..., Any], places: Callable[..., Any], base: Any, source: Any, index: Any
    ):
        self.what, self.run, self.places = what, run, places
        self.base, self.source, self.index = base, source, index

    def origins(self) -> np.ndarray:
        """For each result the number of the element that it is: those of the base first, then those of the source."""
        out = np.arange(self.base.size)
        to = self.places(np.arange(self.base.size).reshape(self.base.shape), self.index)
        numbers = self.base.size + np.arange(self.source.size).reshape(self.source.shape)
        for place, number in zip(to.reshape(-1), np.broadcast_to(numbers, to.shape).reshape(-1), strict=True):
            out[place] = number
        return out.reshape(self.base.shape)

    def tensors(self, dtype: Any = None) -> tuple[Any, Any]:
        return pb.tensor(self.base, dtype=dtype or pb.float64), pb.tensor(self.source, dtype=dtype or pb.float64)


def assigned(x: Any, key: Any, s: Any) -> Any:
    y = x.clone()
    y[key] = s
    return y


def in_place(name: str) -> Callable[..., Any]:
    def run(x: Any, *args: Any) -> Any:
        y = x.clone()
        getattr(y, name)(*args)
        return y

    return run


def scattered(numbers: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    part = numbers[tuple(slice(n) if d != dim else slice(None) for d, n in enumerate(index.shape))]
    return np.take_along_axis(part, index, dim)


def tensor(index: Any) -> Any:
    return pb.tensor(index, dtype=pb.int64)


def shape_of(rng: np.random.Generator, least: int = 1) -> tuple[int, ...]:
    return tuple(rng.integers(1, 5, rng.integers(least, 4)))


def small(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers that all dtypes hold."""
    return rng.integers(-8, 9, shape) / 4.0


def indices(rng: np.random.Generator, shape: tuple[int, ...], size: int, negative: bool) -> np.ndarray:
    return rng.integers(-size if negative else 0, size, shape)


def random_scatter(rng: np.random.Generator) -> Write:
    shape = shape_of(rng)
    dim = int(rng.integers(len(shape)))
    many = tuple(int(rng.integers(1, n + 1)) if d != dim else int(rng.integers(1, 7)) for d, n in enumerate(shape))
    index = indices(rng, many, shape[dim], False)
    if rng.random() < 0.3:
        index = np.broadcast_to(index[..., :1], many)
    forms = {
        "scatter": lambda x, s, i: x.scatter(dim, i, s),
        "scatter_": lambda x, s, i: in_place("scatter_")(x, dim, i, s),
    }
    what = str(rng.choice(list(forms)))
    places = lambda numbers, i: scattered(numbers, i, dim)
    return Write(what, forms[what], places, small(rng, shape), small(rng, many), index)


def random_rows(rng: np.random.Generator) -> Write:
    shape = shape_of(rng)
    dim = int(rng.integers(len(shape)))
    count = int(rng.integers(1, 6))
    fill = rng.random() < 0.3
    index = indices(rng, (count,), shape[dim], fill)
    source = () if fill else (*shape[:dim], count, *shape[dim + 1 :])
    name = "index_fill" if fill else "index_copy"
    forms = {
        name: lambda x, s, i: getattr(x, name)(dim, i, s),
        f"{name}_": lambda x, s, i: in_place(f"{name}_")(x, dim, i, s),
    }
    what = str(rng.choice(list(forms)))
    places = lambda numbers, i: np.take(numbers, i, dim)
    return Write(what, forms[what], places, small(rng, shape), small(rng, source), index)


def random_assignment(rng: np.random.Generator) -> Write:
    """An index of some dimensions, with slices and numbers at others."""
    shape = shape_of(rng)
    lead = tuple(rng.integers(1, 4, rng.integers(0, 3)))
    at = int(rng.integers(len(shape)))
    others: list[Any] = []
    for n in shape[:at]:
        choice = rng.random()
        others.append(slice(None) if choice < 0.5 else slice(0, n, 2) if choice < 0.8 else int(rng.integers(n)))
    second = at + 1 < len(shape) and rng.random() < 0.4
    extra = indices(rng, lead, shape[at + 1], True) if second else None
    index = indices(rng, lead, shape[at], True)

    def key(i: Any) -> Any:
        return (*others, i) if extra is None else (*others, i, tensor(extra))

    def places(numbers: np.ndarray, i: np.ndarray) -> np.ndarray:
        # Integers first: NumPy would count them among the index arrays.
        kept = [slice(None) for o in others if isinstance(o, slice)]
        return np.asarray(numbers[tuple(others)][(*kept, i) if extra is None else (*kept, i, extra)])

    result = places(np.zeros(shape), index).shape
    source = tuple(1 if rng.random() < 0.3 else n for n in result[int(rng.integers(len(result) + 1)) :])
    forms: dict[str, Callable[..., Any]] = {"y[...] = s": lambda x, s, i: assigned(x, key(i), s)}
    if not others:
        forms["index_put"] = lambda x, s, i: pb.index_put(x, key(i), s)
        forms["index_put_"] = lambda x, s, i: in_place("index_put_")(x, key(i), s)
    what = str(rng.choice(list(forms)))
    return Write(what, forms[what], places, small(rng, shape), small(rng, source), index)


def random_write(call: int) -> Write:
    rng = np.random.default_rng([SEED, call])
    make = [random_scatter, random_rows, random_assignment][call % 3]
    return make(rng)


def array(t: Any) -> np.ndarray:
    return t.detach().to(pb.float64).numpy()


def moved(write: Write, base: np.ndarray, source: np.ndarray) -> np.ndarray:
    """What the write makes of other elements."""
    return np.concatenate([base.reshape(-1), source.reshape(-1)])[write.origins()]


def returned(write: Write, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cotangents of base and source."""
    total = np.zeros(write.base.size + write.source.size)
    np.add.at(total, write.origins().reshape(-1), g.reshape(-1))
    return total[: write.base.size].reshape(write.base.shape), total[write.base.size :].reshape(write.source.shape)


def check_modes(write: Write, rng: np.random.Generator, dtype: Any) -> None:
    x, s = write.tensors(dtype)
    i = tensor(write.index)
    tx, ts, g = (small(rng, a.shape) for a in (write.base, write.source, write.base))
    to = lambda a: pb.tensor(a, dtype=dtype)
    y, dy = jvp(lambda x, s: write.run(x, s, i), (x, s), (to(tx), to(ts)))
    np.testing.assert_array_equal(array(y), moved(write, write.base, write.source), "value")
    np.testing.assert_array_equal(array(dy), moved(write, tx, ts), "forward mode")
    _, pull = vjp(lambda x, s: write.run(x, s, i), x, s)
    for got, want in zip(pull(to(g)), returned(write, g), strict=True):
        np.testing.assert_array_equal(array(got), want, "reverse mode")
    leaves = [t.requires_grad_() for t in (x, s)]
    write.run(*leaves, i).backward(to(g))
    for leaf, want in zip(leaves, returned(write, g), strict=True):
        np.testing.assert_array_equal(array(leaf.grad), want, "backward")


def check_second_order(write: Write, rng: np.random.Generator) -> None:
    x, s = write.tensors()
    i = tensor(write.index)
    tx, ts = small(rng, write.base.shape), small(rng, write.source.shape)
    slope = grad(lambda x, s: (write.run(x, s, i) ** 3).sum(), argnums=(0, 1))
    _, found = jvp(slope, (x, s), (pb.tensor(tx), pb.tensor(ts)))
    along = moved(write, tx, ts)
    out = moved(write, write.base, write.source)
    for got, want in zip(found, returned(write, 6 * out * along), strict=True):
        np.testing.assert_allclose(array(got), want, err_msg="forward over reverse")
    product = lambda x, s: sum((d * t).sum() for d, t in zip(slope(x, s), (pb.tensor(tx), pb.tensor(ts)), strict=True))
    for got, want in zip(grad(product, argnums=(0, 1))(x, s), returned(write, 6 * out * along), strict=True):
        np.testing.assert_allclose(array(got), want, err_msg="reverse over reverse")


def check_batch(write: Write, rng: np.random.Generator) -> None:
    """A batch of indices, bases and sources equals the loop; so do its derivatives."""
    x, s = (pb.tensor(np.stack([a, a + 1, a - 2]), dtype=pb.float64) for a in (write.base, write.source))
    orders = [write.index, write.index[::-1].copy() if write.index.ndim else write.index, write.index]
    i = tensor(np.stack(orders))
    g = pb.tensor(small(rng, (3, *write.base.shape)), dtype=pb.float64)

    def pulled(x: Any, s: Any, i: Any, g: Any) -> Any:
        y, pull = vjp(lambda x, s: write.run(x, s, i), x, s)
        return y, *pull(g)

    for axes in [(0, 0, 0, 0), (0, 0, None, 0), (0, None, 0, 0), (None, 0, 0, None)]:
        args = [a if axis == 0 else a[0] for a, axis in zip((x, s, i, g), axes, strict=True)]
        together = vmap(pulled, in_dims=axes)(*args)
        for k in range(3):
            alone = pulled(*(a[k] if axis == 0 else a for a, axis in zip(args, axes, strict=True)))
            for got, want in zip(together, alone, strict=True):
                np.testing.assert_array_equal(array(got[k]), array(want), f"member {k} of a batch over {axes}")
    # The gradient through the batch, where the rule meets the batch below it.
    inner, outer = vjp(lambda x, s: vmap(write.run)(x, s, i), x, s), vmap(pulled)(x, s, i, g)
    for got, want in zip(inner[1](g), outer[1:], strict=True):
        np.testing.assert_array_equal(array(got), array(want), "gradient of a batch")


def test_only_the_last_write_has_a_derivative() -> None:
    for call in range(CALLS):
        write = random_write(call)
        rng = np.random.default_rng([SEED, call, 1])
        try:
            check_modes(write, rng, DTYPES[call % len(DTYPES)])
            check_second_order(write, rng)
            if call % 4 == 0:
                check_batch(write, rng)
        except Exception as error:
            shapes = f"base {write.base.shape}, source {write.source.shape}, index {write.index.tolist()}"
            raise AssertionError(f"call {call} of seed {SEED}: {write.what}, {shapes}: {error}") from error


def test_large_writes_are_the_loop_too() -> None:
    rng = np.random.default_rng(SEED)
    index, values = rng.integers(0, 1000, 200_000), rng.standard_normal(200_000)
    want, last = np.zeros(1000), np.full(1000, -1)
    for k, i in enumerate(index):
        want[i], last[i] = values[k], k
    s = pb.tensor(values, requires_grad=True)
    y = pb.zeros(1000, dtype=pb.float64)
    y[tensor(index)] = s
    np.testing.assert_array_equal(y.detach().numpy(), want)
    y.sum().backward()
    np.testing.assert_array_equal(np.flatnonzero(s.grad.numpy()), np.sort(last[last >= 0]))
    rows = pb.zeros(1000, 3, dtype=pb.float64).index_copy(0, tensor(index), pb.tensor(values[:, None]).expand(-1, 3))
    np.testing.assert_array_equal(rows.numpy(), np.stack([want] * 3, 1))


@pytest.mark.parametrize("dtype", [pb.int64, pb.uint8, pb.bool, pb.float16, pb.complex64])
def test_values_of_every_dtype(dtype: Any) -> None:
    i = tensor([1, 0, 1, -1])
    y = pb.zeros(3, dtype=dtype)
    y[i] = pb.tensor([1, 1, 0, 1]).to(dtype)
    assert y.to(pb.float32).tolist() == [1, 0, 1]
    z = pb.zeros(3, dtype=dtype).scatter(0, tensor([1, 0, 1, 2]), pb.tensor([1, 1, 0, 1]).to(dtype))
    assert z.to(pb.float32).tolist() == [1, 0, 1]


def test_an_overwritten_write_takes_no_infinity() -> None:
    s = pb.tensor([1.0, 0.0], requires_grad=True)
    y = pb.zeros(2)
    y[[0, 0]] = s
    pb.sqrt(y[0]).backward()
    assert s.grad.tolist() == [0.0, float("inf")]


def test_unpooling_with_overlapping_windows() -> None:
    x = pb.tensor([[3.0, 4.0]], requires_grad=True)
    pb.nn.functional.max_unpool1d(x, tensor([[1, 1]]), 2).sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0]]


def test_traced_writes() -> None:
    f = lambda x, s, i: (assigned(x, i, s) ** 2).sum()
    x, s = pb.ones(3), pb.tensor([2.0, 3.0])
    program = pb.func.trace(grad(f, argnums=1))(x, s, tensor([0, 1]))
    assert program(x, s, tensor([2, 2])).tolist() == [0.0, 6.0]
    assert program(x, s, tensor([0, 1])).tolist() == [4.0, 6.0]
