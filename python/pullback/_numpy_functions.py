"""Functions of NumPy with tensors among their arguments: `numpy.sum(t)`, `numpy.concatenate([t, u])`.

Those of the table run our operators with NumPy's arguments, and give tensors that derivatives go through; some of them,
in `_ARRAYS`, only where a tensor requires grad or a transform follows it, and are NumPy's for plain tensors. All others
run as if tensors had no protocol: NumPy asks for the method of that name, or for the array of the values, which raises
for tensors that require grad or that a transform follows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import _Stand
from ._core import Tensor

_f = _core.functions
_TABLE: dict[str, Callable[..., Any]] = {}


# What gives arrays and scalars of NumPy for PyTorch's tensors, and so for plain tensors here.
_ARRAYS = {
    *(
        "concatenate",
        "concat",
        "stack",
        "vstack",
        "hstack",
        "where",
        "dot",
        "tensordot",
        "outer",
        "einsum",
        "sort",
        "copy",
    ),
    *("ravel", "expand_dims", "broadcast_to", "roll", "trace", "diagonal", "tril", "triu", "linalg.norm", "linalg.det"),
}


class _Other(Exception):
    """The arguments are not those that our operator knows."""


def call(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What `Tensor.__array_function__` gives."""
    if not all(issubclass(t, Tensor | np.ndarray) for t in types):
        return NotImplemented
    module = func.__module__.partition(".")[2]
    name = f"{module}.{func.__name__}" if module else func.__name__
    ours = _TABLE.get(name)
    if ours is not None and name in _ARRAYS and _core.autograd._is_plain(*_tensors((*args, *kwargs.values()))):
        ours = None
    if ours is not None:
        given = {k: v for k, v in kwargs.items() if v is not np._NoValue and not (k == "out" and v is None)}
        if given.keys() <= _known(ours):
            try:
                return ours(*args, **given)
            except _Other:
                pass
        # NumPy computes on the values, not by our method of that name, which lacks what is asked for.
        args, kwargs = [_stood_for(x) for x in args], {k: _stood_for(x) for k, x in kwargs.items()}
    return func._implementation(*args, **kwargs)


def _tensors(items: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among arguments, and in lists and tuples among them."""
    for item in items:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, list | tuple):
            yield from _tensors(item)


def _stood_for(x: Any) -> Any:
    if type(x) in (list, tuple):
        return type(x)(_stood_for(item) for item in x)
    return _Stand(x) if isinstance(x, Tensor) else x


def _known(function: Callable[..., Any]) -> set[str]:
    code = function.__code__
    return set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _named(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        _TABLE.update(dict.fromkeys(names, function))
        return function

    return enter


def _tensor(x: Any) -> Tensor:
    """An argument as a tensor; lists may hold tensors."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, list | tuple) and any(isinstance(item, Tensor) for item in x):
        out: Tensor = _f["stack"]([_tensor(item) for item in x])
        return out
    array = np.asarray(x)
    if array.dtype.kind not in "biufc" or array.dtype.name in ("uint16", "uint32", "uint64"):
        raise _Other
    return _core.as_tensor(array)


def _dtype(dtype: Any) -> Any:
    """A dtype of NumPy or ours as ours."""
    if dtype is None or type(dtype) is _core.dtype:
        return dtype
    found = getattr(_core, np.dtype(dtype).name, None)
    if type(found) is not _core.dtype:
        raise _Other
    return found


def _axes(t: Tensor, axis: Any) -> list[int]:
    """The dimensions that an `axis` of NumPy names, which may be None, a number or a tuple."""
    given = range(t.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    found = []
    for k in given:
        k = k.__index__()
        if not -t.ndim <= k < t.ndim:
            raise getattr(np, "exceptions", np).AxisError(k, t.ndim)
        found.append(k % t.ndim)
    if len(set(found)) < len(found):
        raise ValueError("duplicate value in 'axis'")
    return found


def _wide(t: Tensor) -> Tensor:
    """Integers as NumPy averages them."""
    return t if t.dtype.is_floating_point or t.dtype.is_complex else t.to(_core.float64)


# ---------------------------------------------------------------- reductions
def _reduction(name: str, *numpy_names: str) -> None:
    def reduce(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        t = _tensor(a)
        dtype = _dtype(dtype)
        t = t if dtype is None else t.to(dtype)
        axes = _axes(t, axis)
        if not axes:
            # Single numbers are reduced too: to a bool, or an integer that sums have.
            return _f[name](t.unsqueeze(0), 0)
        for k in sorted(axes, reverse=True):
            t = _f[name](t, k, keepdims)
        return t

    def extreme(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return reduce(a, axis, None, keepdims)

    _TABLE.update(dict.fromkeys(numpy_names, reduce if name in ("sum", "prod") else extreme))


for _name, _names in {
    **{"sum": ("sum",), "prod": ("prod",), "any": ("any",), "all": ("all",)},
    **{"amax": ("max", "amax"), "amin": ("min", "amin")},
}.items():
    _reduction(_name, *_names)


@_named("mean")
def _mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    t = _wide(_tensor(a)) if dtype is None else _tensor(a).to(_dtype(dtype))
    axes = _axes(t, axis)
    return _f["mean"](t, axes, keepdims) if axes else t


def _spread(name: str) -> Callable[..., Any]:
    def spread(
        a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, correction: Any = None
    ) -> Any:
        t = _wide(_tensor(a)) if dtype is None else _tensor(a).to(_dtype(dtype))
        axes = _axes(t, axis)
        if not axes:
            raise _Other
        return _f[name](t, axes, correction=ddof if correction is None else correction, keepdim=keepdims)

    return spread


_TABLE.update({"std": _spread("std"), "var": _spread("var")})


def _position(name: str) -> Callable[..., Any]:
    def position(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        t = _tensor(a)
        t = t.to(_core.uint8) if t.dtype is _core.bool else t
        if axis is not None:
            return _f[name](t, _axes(t, axis)[0], keepdims)
        found = _f[name](t.reshape(-1), 0)
        return found.reshape([1] * t.ndim) if keepdims else found

    return position


_TABLE.update({"argmax": _position("argmax"), "argmin": _position("argmin")})


@_named("cumsum")
def _cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    t = _tensor(a)
    t = t if dtype is None else t.to(_dtype(dtype))
    return _f["cumsum"](t.reshape(-1), 0) if axis is None else _f["cumsum"](t, _axes(t, axis)[0])


# ---------------------------------------------------------------- joining and shapes
@_named("concatenate", "concat")
def _concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    tensors = [_tensor(a) for a in arrays]
    tensors, axis = ([t.reshape(-1) for t in tensors], 0) if axis is None else (tensors, axis)
    out = _f["cat"](tensors, axis)
    return out if dtype is None else out.to(_dtype(dtype))


@_named("stack")
def _stack(arrays: Any, axis: int = 0, dtype: Any = None) -> Any:
    out = _f["stack"]([_tensor(a) for a in arrays], axis)
    return out if dtype is None else out.to(_dtype(dtype))


def _at_least(t: Tensor, rank: int) -> Tensor:
    return t.reshape([1] * (rank - t.ndim) + list(t.shape)) if t.ndim < rank else t


@_named("vstack")
def _vstack(tup: Any) -> Any:
    return _f["cat"]([_at_least(_tensor(a), 2) for a in tup], 0)


@_named("hstack")
def _hstack(tup: Any) -> Any:
    tensors = [_at_least(_tensor(a), 1) for a in tup]
    return _f["cat"](tensors, 0 if tensors[0].ndim == 1 else 1)


@_named("reshape")
def _reshape(a: Any, /, shape: Any = None, order: str = "C") -> Any:
    if order != "C" or shape is None:
        raise _Other
    return _tensor(a).reshape(shape)


@_named("ravel")
def _ravel(a: Any, order: str = "C") -> Any:
    if order != "C":
        raise _Other
    return _tensor(a).reshape(-1)


@_named("transpose", "permute_dims")
def _transpose(a: Any, axes: Any = None) -> Any:
    t = _tensor(a)
    return t.permute(list(reversed(range(t.ndim)) if axes is None else axes))


@_named("swapaxes")
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return _tensor(a).transpose(axis1, axis2)


@_named("moveaxis")
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return _f["moveaxis"](_tensor(a), source, destination)


@_named("squeeze")
def _squeeze(a: Any, axis: Any = None) -> Any:
    t = _tensor(a)
    axes = [k for k, n in enumerate(t.shape) if n == 1] if axis is None else _axes(t, axis)
    if any(t.shape[k] != 1 for k in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return t.reshape([n for k, n in enumerate(t.shape) if k not in axes])


@_named("expand_dims")
def _expand_dims(a: Any, axis: Any) -> Any:
    t = _tensor(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    rank = t.ndim + len(given)
    for k in sorted(k % rank for k in given):
        t = t.unsqueeze(k)
    return t


@_named("broadcast_to")
def _broadcast_to(array: Any, shape: Any) -> Any:
    return _tensor(array).expand(shape if isinstance(shape, tuple | list) else (shape,))


@_named("flip")
def _flip(m: Any, axis: Any = None) -> Any:
    t = _tensor(m)
    return _f["flip"](t, _axes(t, axis))


@_named("roll")
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    t = _tensor(a)
    return _f["roll"](t, shift) if axis is None else _f["roll"](t, shift, axis)


# ---------------------------------------------------------------- elements and products
@_named("where")
def _where(condition: Any, *parts: Any) -> Any:
    if len(parts) != 2:
        raise _Other
    x, y = (p if isinstance(p, bool | int | float | complex) else _tensor(p) for p in parts)
    return _f["where"](_tensor(condition).to(_core.bool), x, y)


@_named("clip")
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if any(isinstance(x, np.ndarray) for x in (low, high)):
        low, high = (None if x is None else _tensor(x) for x in (low, high))
    t = _tensor(a)
    return t if low is None and high is None else _f["clamp"](t, low, high)


@_named("dot")
def _dot(a: Any, b: Any) -> Any:
    x, y = _tensor(a), _tensor(b)
    if not x.ndim or not y.ndim:
        return x * y
    return _f["tensordot"](x, y, ([x.ndim - 1], [max(y.ndim - 2, 0)]))


@_named("tensordot")
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if not isinstance(axes, int):
        axes = [list(k) if isinstance(k, Sequence) else [k] for k in axes]
    return _f["tensordot"](_tensor(a), _tensor(b), axes)


@_named("outer")
def _outer(a: Any, b: Any) -> Any:
    return _f["outer"](_tensor(a).reshape(-1), _tensor(b).reshape(-1))


@_named("einsum")
def _einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Any:
    if not isinstance(subscripts, str):
        raise _Other
    return _f["einsum"](subscripts, *(_tensor(x) for x in operands))


@_named("sort")
def _sort(a: Any, axis: Any = -1, kind: Any = None, stable: Any = None) -> Any:
    t = _tensor(a)
    return _f["sort"](t.reshape(-1), 0)[0] if axis is None else _f["sort"](t, _axes(t, axis)[0])[0]


@_named("size")
def _size(a: Any, axis: Any = None) -> Any:
    t = _tensor(a)
    return t.numel() if axis is None else t.shape[_axes(t, axis)[0]]


@_named("copy")
def _copy(a: Any) -> Any:
    return _tensor(a).clone()


@_named("real")
def _real(val: Any) -> Any:
    return _f["real"](_tensor(val))


@_named("trace")
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return _f["diagonal"](_tensor(a), offset, axis1, axis2).sum(-1)


@_named("diagonal")
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return _f["diagonal"](_tensor(a), offset, axis1, axis2)


def _triangle(name: str) -> Callable[..., Any]:
    return lambda m, k=0: _f[name](_tensor(m), k)


_TABLE.update({"tril": _triangle("tril"), "triu": _triangle("triu")})


# ---------------------------------------------------------------- linear algebra
@_named("linalg.norm")
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    t = _wide(_tensor(x))
    if ord is None:
        t = t.reshape(-1) if axis is None and not keepdims else t
        return _f["linalg.vector_norm"](t, 2, _axes(t, axis), keepdims)
    if len(_axes(t, axis)) != 1:
        raise _Other
    return _f["linalg.vector_norm"](t, ord, _axes(t, axis), keepdims)


def _matrices(name: str) -> Callable[..., Any]:
    return lambda a: _f[name](_wide(_tensor(a)))


_TABLE.update({f"linalg.{n}": _matrices(f"linalg.{n}") for n in ("inv", "det", "cholesky") if f"linalg.{n}" in _f})


@_named("linalg.solve")
def _solve(a: Any, b: Any) -> Any:
    return _f["linalg.solve"](_wide(_tensor(a)), _wide(_tensor(b)))
