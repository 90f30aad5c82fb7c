"""Calls operators of the table with random arguments, and accepts only results and clear exceptions.

    python tests/support/fuzz.py SEED FIRST LAST

Half of the calls are samples of the property suite with something exchanged, so that they get past the checks of
arguments; the others are random altogether. Call i depends on (SEED, i) and on nothing else, so one call can be
repeated: FIRST = i, LAST = i + 1. Before each call its number is printed, so that a caller knows which call ended the
process or never came back. A fault is printed as `! {json}`, and `+ NAME` tells that an entry gave a result.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
from pullback import _core, func

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from support import samples

CLEAR = (TypeError, ValueError, RuntimeError, IndexError, OverflowError, ArithmeticError)
HUGE = [2**40, 2**62, 2**63 - 1, -(2**63), 2**70]
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
COMMON = ["float32", "float64", "int64", "bool"]
WORDS = ["mean", "sum", "none", "constant", "reflect", "floor", "trunc", "tanh", "reduced", "linear", "amax", "", "é"]
SHAPES = {"shape", "size", "sizes", "normalized_shape", "output_size"}
TEXTS = ["ij,jk->ik", "i,i", "...i->...", "ij->ji", "ii->i", "i->", "ij,jk", "ab,,c", "->"]


class Values:
    """Random arguments of one call. Shapes are related, so that many calls get past the checks of sizes."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.np_rng = np.random.default_rng(rng.getrandbits(32))
        self.shape = [self.size() for _ in range(rng.choices(range(6), [2, 4, 6, 4, 2, 1])[0])]

    def size(self) -> int:
        return self.rng.choices([0, 1, 2, 3, 5], [1, 3, 6, 6, 2])[0]

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def related_shape(self) -> list[int]:
        shape = list(self.shape)
        if self.chance(0.15) and len(shape) > 1:
            shape[-1], shape[-2] = shape[-2], shape[-1]
        if self.chance(0.15) and shape:
            shape = shape[self.rng.randrange(len(shape)) :]
        shape = [1 if self.chance(0.07) else n for n in shape]
        if self.chance(0.1):
            shape = [self.size() for _ in range(self.rng.randrange(5))]
        return shape

    def array(self) -> tuple[np.ndarray, str]:
        dtype = self.rng.choice(COMMON if self.chance(0.75) else DTYPES)
        shape = self.related_shape()
        stored = "float32" if dtype == "bfloat16" else dtype
        if dtype == "bool":
            values = self.np_rng.random(shape) < 0.5
        elif np.issubdtype(np.dtype(stored), np.integer):
            low = 0 if dtype == "uint8" else -3
            values = self.np_rng.integers(low, 4, shape)
        else:
            values = self.np_rng.standard_normal(shape) * 2
            if self.chance(0.1) and values.size:
                values.flat[0] = self.rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30])
        with np.errstate(all="ignore"):
            return self.layout(np.asarray(values).astype(stored)), dtype

    def layout(self, values: np.ndarray) -> np.ndarray:
        """The values in a random layout: transposed, stepped, reversed or with repeated elements."""
        kind = self.rng.randrange(8)
        if kind == 0 and values.ndim > 1:
            return np.asfortranarray(values)
        if kind == 1 and values.ndim:
            return np.repeat(values, 2, axis=-1)[..., ::2]
        if kind == 2 and values.ndim:
            return np.flip(values, self.rng.randrange(values.ndim))
        if kind == 3 and values.ndim and values.shape[0]:
            return np.array(np.broadcast_to(values[:1], values.shape), subok=False)
        return values

    def tensor(self) -> Any:
        values, dtype = self.array()
        tensor = pb.from_numpy(values) if values.flags.writeable else pb.tensor(values)
        if dtype == "bfloat16":
            tensor = tensor.to(pb.bfloat16)
        if tensor.ndim and self.chance(0.1):
            tensor = tensor.expand(3, *tensor.shape)
        return tensor

    def dim(self) -> int:
        if self.chance(0.03):
            return self.rng.choice(HUGE[:4])
        rank = max(len(self.shape), 1)
        return self.rng.randrange(-rank - 1, rank + 1) if self.chance(0.2) else self.rng.randrange(-rank, rank)

    def whole(self) -> int:
        return self.rng.choice(HUGE) if self.chance(0.05) else self.rng.randrange(-4, 8)

    def number(self) -> Any:
        special = [0, 1, -1, True, 0.0, -0.5, float("inf"), float("nan"), 1e-40, 3]
        return self.rng.choice(special) if self.chance(0.5) else self.rng.uniform(-3, 3)

    def whole_list(self) -> Any:
        items = [self.whole() if self.chance(0.5) else self.size() for _ in range(self.rng.randrange(5))]
        return items if self.chance(0.5) else tuple(items)

    def dims(self) -> Any:
        return self.dim() if self.chance(0.4) else tuple(self.dim() for _ in range(self.rng.randrange(4)))

    def sizes(self) -> Any:
        if self.chance(0.3):
            return self.whole_list()
        shape = self.related_shape()
        self.rng.shuffle(shape)
        if shape and self.chance(0.2):
            shape[self.rng.randrange(len(shape))] = -1
        return tuple(shape)

    def tensors(self) -> list[Any]:
        return [self.tensor() for _ in range(self.rng.randrange(4))]

    def dtype(self) -> Any:
        return getattr(pb, self.rng.choice(COMMON if self.chance(0.7) else DTYPES))

    def word(self) -> str:
        return self.rng.choice(WORDS + TEXTS)

    def flag(self) -> bool:
        return self.chance(0.5)

    def anything(self) -> Any:
        makers: list[Callable[[], Any]] = [
            self.tensor, self.tensors, self.number, self.whole, self.dims, self.sizes, self.dtype, self.word, self.flag,
            lambda: None, lambda: slice(None), lambda: ..., lambda: {}, lambda: object(), lambda: [[1, 2], [3]],
        ]  # fmt: skip
        return self.rng.choice(makers)()

    def index(self) -> Any:
        items: list[Any] = []
        for _ in range(self.rng.randrange(4)):
            kind = self.rng.randrange(7)
            if kind == 0:
                items.append(slice(*(self.rng.choice([None, -2, 0, 1, 2]) for _ in range(3))))
            elif kind == 1 and ... not in items:
                items.append(...)
            elif kind == 2:
                items.append(self.tensor())
            else:
                items.append(self.rng.choice([None, True, False, 0, 1, -1, 2, [0, 1], slice(None), 9]))
        return tuple(items) if len(items) != 1 else items[0]

    def of_kind(self, kind: str, name: str) -> Any:
        """A value for a parameter; `kind` is the table's word for what it takes, with `?` where None will do."""
        if self.chance(0.04):
            return self.anything()
        if kind.endswith("?") and self.chance(0.25):
            return None
        kind = kind.rstrip("?")
        if kind == "TensorOrNumber":
            return self.tensor() if self.chance(0.7) else self.number()
        if kind == "TensorsOrNumbers":
            return [self.tensor() if self.chance(0.7) else self.number() for _ in range(self.rng.randrange(4))]
        if kind == "int":
            return self.dim() if "dim" in name or "axis" in name else self.whole()
        if kind == "ints":
            return self.dims() if "dim" in name else self.sizes() if name in SHAPES else self.whole_list()
        makers: dict[str, Callable[[], Any]] = {
            "Tensor": self.tensor, "Tensors": self.tensors, "Number": self.number, "float": self.number,
            "bool": self.flag, "str": self.word, "dtype": self.dtype, "index": self.index,
            "Generator": lambda: None,
        }  # fmt: skip
        return makers.get(kind, self.anything)()


def resolve(name: str) -> Callable[..., Any] | None:
    """What Python calls for an entry: a function, or a method or property of `Tensor`."""
    value: Any = pb
    for part in name.split("."):
        value = getattr(value, part, None)
    if value is None:
        value = getattr(pb.Tensor, name.rpartition(".")[2], None)
    if isinstance(value, property):
        return value.fget
    return value if callable(value) else None


def function_of(entry: dict[str, Any]) -> Callable[..., Any] | None:
    """What an entry is called by. Fills only exist in place."""
    name, flags = entry["name"], entry["flags"]
    if flags["function"] or flags["method"] or flags["property"]:
        return resolve(name)
    inplace = getattr(pb.Tensor, name.rpartition(".")[2] + "_", None)
    if inplace is None:
        return None
    return lambda x, *args, **kwargs: inplace(x.clone() if isinstance(x, pb.Tensor) else x, *args, **kwargs)


def callables() -> list[tuple[dict[str, Any], Callable[..., Any]]]:
    """The entries of the table that can be called from Python."""
    rows = [(entry, function_of(entry)) for entry in _core.operator_table()]
    return [(entry, f) for entry, f in rows if f is not None]


def sampled(values: Values, entry: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a sample, in other layouts and dtypes, at times with one of them exchanged."""
    rng = values.rng
    sample = rng.choice(samples.build(entry["name"], rng.randrange(4)))

    def varied(t: Any) -> Any:
        t = t.clone() if values.chance(0.5) else pb.stack([t, t], -1)[..., 1]
        return t.to(values.dtype()) if values.chance(0.1) else t

    supply = iter([varied(t) for t in sample.tensors()])
    args, pairs = samples.replaced([list(sample.args), list(sample.kwargs.items())], supply)
    kwargs = dict(pairs)
    if values.chance(0.4):
        k = rng.randrange(len(entry["params"]) or 1)
        parameter = entry["params"][k : k + 1]
        for p in parameter:
            value = values.of_kind(p["kind"], p["name"])
            if k < len(args):
                args[k] = value
            else:
                kwargs[p["name"]] = value
    return args, kwargs


def arguments(values: Values, entry: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in entry["params"]:
        name, kind, required, kwonly = (parameter[key] for key in ("name", "kind", "required", "kwonly"))
        if not required and values.chance(0.55):
            continue
        value = values.of_kind(kind, name)
        if kwonly or kwargs or (not required and values.chance(0.5)):
            kwargs[name] = value
        else:
            args.append(value)
    if values.chance(0.02):
        args.append(values.anything())
    if values.chance(0.02):
        kwargs["no_such_argument"] = 1
    return args, kwargs


def transformed(values: Values, f: Callable[..., Any], args: list[Any]) -> Callable[[], Any]:
    """The call itself, or the call under a transform of its first argument."""
    rest = args[1:]
    way = values.rng.random()
    if way < 0.7 or not args or not isinstance(args[0], pb.Tensor):
        return lambda: f(*args)
    x = args[0]
    if way < 0.8:
        return lambda: func.vmap(lambda v: f(v, *rest))(x)
    if way < 0.9:
        return lambda: func.jvp(lambda v: f(v, *rest), (x,), (pb.ones_like(x),))
    return lambda: func.grad(lambda v: total(f(v, *rest)))(x)


def total(result: Any) -> Any:
    items = result if isinstance(result, (tuple, list)) else [result]
    return sum((t.sum() for t in items if isinstance(t, pb.Tensor) and t.is_floating_point()), pb.zeros(()))


def touch(value: Any) -> None:
    """Reads every element of a result, so that one outside its memory is noticed; of a large one both ends."""
    if isinstance(value, pb.Tensor):
        repr(value)
        assert all(n >= 0 for n in value.shape), f"sizes {tuple(value.shape)}"
        assert value.numel() == math.prod(value.shape), f"{value.numel()} elements of sizes {tuple(value.shape)}"
        plain = value.detach()
        if value.numel() <= 10_000:
            plain.tolist()
        else:
            plain[tuple(slice(None, 2) for _ in value.shape)].tolist()
            plain[tuple(slice(-2, None) for _ in value.shape)].tolist()
    elif isinstance(value, (tuple, list)):
        for item in value:
            touch(item)


def snapshot(values: list[Any]) -> list[Any]:
    return [v.tolist() if isinstance(v, pb.Tensor) else None for v in values]


def call(seed: int, i: int, table: list[Any], succeeded: set[str]) -> dict[str, Any] | None:
    """Makes call i; returns a description if it did something that it must not."""
    values = Values(random.Random(f"{seed}:{i}"))
    entry, f = table[i % len(table)]
    args, kwargs = (sampled if values.chance(0.5) else arguments)(values, entry)
    name = entry["name"].rpartition(".")[2]
    inplace = False
    if args and isinstance(args[0], pb.Tensor) and values.chance(0.3):
        inplace = values.chance(0.3) and hasattr(pb.Tensor, name + "_")
        method = getattr(pb.Tensor, name + "_" if inplace else name, None)
        f = method if method is not None else f
    before = snapshot(args)
    try:
        touch(transformed(values, lambda *a: f(*a, **kwargs), args)())
        succeeded.add(entry["name"])
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        clear = isinstance(error, CLEAR) and type(error).__name__ != "InternalError" and str(error).strip()
        return None if clear else describe(i, entry, args, kwargs, text)
    except BaseException as error:
        return describe(i, entry, args, kwargs, f"{type(error).__name__}: {error}")
    asked = kwargs.get("inplace") is True or (entry["flags"].get("inplace_keyword") and any(a is True for a in args))
    updates = entry["name"].endswith("batch_norm")
    if not (inplace or asked or updates or name.endswith("_")) and repr(snapshot(args)) != repr(before):
        return describe(i, entry, args, kwargs, "changed its arguments")
    return None


def describe(i: int, entry: dict[str, Any], args: list[Any], kwargs: dict[str, Any], text: str) -> dict[str, Any]:
    def short(value: Any) -> str:
        if isinstance(value, pb.Tensor):
            return f"<{value.dtype} {tuple(value.shape)} strides {value.stride()}>"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(short, value))}]"
        return repr(value)

    shown = [*map(short, args), *(f"{k}={short(v)}" for k, v in kwargs.items())]
    return {"call": i, "program": f"{entry['name']}({', '.join(shown)})", "outcome": text[:400]}


def main(seed: int, first: int, last: int) -> None:
    import warnings

    warnings.simplefilter("ignore")
    table = callables()
    told: set[str] = set()
    for i in range(first, last):
        print(i, flush=True)
        succeeded: set[str] = set()
        if fault := call(seed, i, table, succeeded):
            print("!", json.dumps(fault), flush=True)
        for name in succeeded - told:
            told.add(name)
            print("+", name, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
