"""Tensors under NumPy's universal functions: `np.ones(2) * t`, `arr += t`, `np.sin(t)`, `np.add.reduce(t)`.

Operators with a symbol are ours whatever the tensors are, with the promotion of tensors: an array counts as the tensor
of its values. All other functions are NumPy's for plain tensors, with tensors as results. Where a tensor requires grad
or a transform follows it, our operator of the same meaning runs; what has none raises, and never loses the derivative.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._core import Tensor

_SYMBOLS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "matmul": operator.matmul,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}

# Other names than NumPy's; an empty one where there is no operator.
_NAMES = {
    **{"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh"},
    **{"arctanh": "atanh", "arctan2": "atan2", "absolute": "abs", "fabs": "abs", "negative": "neg", "rint": "round"},
    **{"invert": "bitwise_not", "radians": "deg2rad", "degrees": "rad2deg", "clip": "clamp", "conjugate": "conj"},
    **{"vecdot": "linalg.vecdot", "frexp": "", "modf": "", "spacing": "", "matvec": "", "vecmat": ""},
}
_REDUCTIONS = {
    **{"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin"},
    **{"logical_and": "all", "logical_or": "any"},
}
_COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
_ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod"}

# Dtypes of arrays that tensors do not have, and one that holds their values.
_WIDER = {"uint16": "int32", "uint32": "int64"}
_UNKNOWN = object()


class _Stand:
    """A plain tensor as NumPy would see it if tensors had no `__array_ufunc__`."""

    __slots__ = ("tensor",)
    __array_priority__ = 1000

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.tensor.__array__(dtype, copy)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return self.tensor.__array_wrap__(array, context, return_scalar)


def ufunc(function: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What `Tensor.__array_ufunc__` gives."""
    symbol = _SYMBOLS.get(function.__name__) if method == "__call__" and not options else None
    if _core.autograd._is_plain(*(x for x in (*inputs, *options.get("out", ())) if isinstance(x, Tensor))):
        operands = [_operand(x) for x in inputs] if symbol is not None else []
        # Operators never come here with tensors and Python's numbers alone: the program calls NumPy's function.
        numpys = symbol is None or any(x is _UNKNOWN for x in operands) or all(_is_numpys(x) for x in inputs)
        # `tensor op array` is NumPy's operator in PyTorch, with its dtypes.
        numpys = numpys or (_is_arithmetic(function, inputs) and all(_is_numpys(x) for x in operands))
        if symbol is None or numpys or (function is np.matmul and _differ(*operands)):
            return _by_numpy(function, method, inputs, options)
        return symbol(*operands)
    name = f"np.{function.__name__}" + ("" if method == "__call__" else f".{method}")
    if any(x is not None for x in options.get("out", ())):
        raise RuntimeError(
            f"{name}(): the result of a tensor that requires grad or that a transform follows cannot be written to an "
            f"array, which has no derivative: leave `out` out, or write `arr = arr + t` instead of `arr += t`. "
            f"{_USE_DETACH}"
        )
    operands = [_core.tensor(x) if isinstance(x, list | tuple) else _operand(x) for x in inputs]
    for given, operand in zip(inputs, operands, strict=True):
        if operand is _UNKNOWN:
            kind = getattr(given, "dtype", type(given).__name__)
            raise TypeError(f"{name}(): an operand of type {type(given).__name__} ({kind}) does not go with tensors")
    options = {k: v for k, v in options.items() if (v is not None or k == "axis") and k != "out"}
    found = _ways(function, method, options)
    if found is None:
        raise RuntimeError(
            f"{name}(): no operator of pullback does this{' with ' + ', '.join(options) if options else ''}, and the "
            f"tensor requires grad or is followed by a transform. {_USE_DETACH}"
        )
    as_ours = symbol is not None and not _is_arithmetic(function, inputs)
    return found(*(operands if as_ours else _as_numpy_computes(function, inputs, operands)))


_USE_DETACH = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."


def _by_numpy(function: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    stands = [_Stand(x) if isinstance(x, Tensor) else x for x in inputs]
    if "out" in options:
        options = {**options, "out": tuple(_Stand(x) if isinstance(x, Tensor) else x for x in options["out"])}
    return getattr(function, method)(*stands, **options)


def _differ(a: Any, b: Any) -> bool:
    """Whether the operator would refuse two dtypes that NumPy promotes."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.ndim and b.ndim) or a.dtype is b.dtype:
        return False
    return _is_numpys(a) and _is_numpys(b)


def _is_numpys(x: Any) -> bool:
    """Whether NumPy promotes an operand as it is: a tensor of a dtype that it has, or a number of Python."""
    return x.dtype is not _core.bfloat16 if isinstance(x, Tensor) else type(x) in (bool, int, float, complex)


def _is_arithmetic(function: np.ufunc, inputs: tuple[Any, ...]) -> bool:
    """Whether an elementwise operator that is no comparison has an array among its operands."""
    return (
        function.signature is None
        and function.__name__ not in _COMPARISONS
        and any(isinstance(x, np.ndarray) for x in inputs)
    )


def _operand(x: Any) -> Any:
    """An operand as a tensor or a Python number."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, np.generic):
        # `numpy.bool_` is no bool: tensors take it as a float.
        return float(x) if isinstance(x, np.longdouble | np.bool_) else x.item() if x.dtype.kind in "iufc" else _UNKNOWN
    if isinstance(x, bool | int | float | complex):
        return x
    if type(x) not in (np.ndarray, np.memmap):
        return _UNKNOWN
    dtype = x.dtype
    if dtype.kind not in "biufc" or dtype.name in ("uint64", "longdouble", "clongdouble", "float128", "complex256"):
        return _UNKNOWN
    if dtype.name in _WIDER:
        x = x.astype(_WIDER[dtype.name])
    return _core.tensor(x if dtype.isnative else x.astype(dtype.newbyteorder("=")))


def _function(name: str) -> Callable[..., Any] | None:
    """Our operator of the name, which may have a module in front."""
    return _core.functions.get(name) if name else None


def _ways(function: np.ufunc, method: str, options: dict[str, Any]) -> Callable[..., Any] | None:
    """Our operator that does what a method of NumPy's function does."""
    name = function.__name__
    one = _SYMBOLS.get(name) or _function(_NAMES.get(name, name))
    if method == "__call__" and not options:
        return (lambda a, b: (a // b, a % b)) if name == "divmod" else one
    if method == "outer" and not options and one is not None:
        return lambda a, b: one(_column(a, b), b)
    if method == "reduce" and name in _REDUCTIONS and options.keys() <= {"axis", "keepdims"}:
        return lambda a: _reduced(name, a, options.get("axis", 0), bool(options.get("keepdims", False)))
    if method == "accumulate" and name in _ACCUMULATIONS and options.keys() <= {"axis"}:
        return lambda a: _core.functions[_ACCUMULATIONS[name]](a, options.get("axis", 0))
    return None


def _column(a: Any, b: Any) -> Any:
    """`a` with a dimension of size 1 for each one of `b`."""
    return a.reshape(*a.shape, *(1 for _ in b.shape)) if isinstance(a, Tensor) and isinstance(b, Tensor) else a


def _reduced(name: str, a: Tensor, axis: Any, keepdims: bool) -> Tensor:
    given = axis if isinstance(axis, tuple) else range(a.ndim) if axis is None else (axis,)
    run = _core.functions[_REDUCTIONS[name]]
    for k in sorted((k % max(a.ndim, 1) for k in given), reverse=True):
        a = run(a, k, keepdims)
    return a


def _as_numpy_computes(function: np.ufunc, inputs: tuple[Any, ...], operands: list[Any]) -> list[Any]:
    """Operands in the dtypes in which NumPy computes, so that `vmap` gives what a loop over plain members gives."""
    kinds = [_numpy_dtype(x, y) for x, y in zip(inputs, operands, strict=True)]
    if any(k is None for k in kinds) or not hasattr(function, "resolve_dtypes") or function.signature is not None:
        return operands
    try:
        dtypes = function.resolve_dtypes((*kinds, *[None] * function.nout))
    except TypeError:
        return operands
    ours = [getattr(_core, d.name, None) for d in dtypes[: len(operands)]]
    return [x.to(d) if isinstance(x, Tensor) and d is not None else x for x, d in zip(operands, ours, strict=True)]


def _numpy_dtype(given: Any, operand: Any) -> Any:
    """The dtype that decides NumPy's promotion, a type for Python numbers, None where NumPy has none."""
    if hasattr(given, "dtype") and not isinstance(given, Tensor):
        return given.dtype
    if isinstance(operand, Tensor):
        try:
            return np.dtype(str(operand.dtype).rpartition(".")[2])
        except TypeError:
            return None
    return type(operand)
