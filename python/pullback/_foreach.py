"""Operators over lists of tensors, which optimisers written by hand call: `_foreach_add_(params, grads, alpha=-lr)`.

Each is the operator of that name on one tensor after the other, so all of them have derivatives and batches.
"""

from __future__ import annotations

from . import _core
from ._core import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_functions: dict[str, Any] = _core.functions
# Operators that have both forms, and those with one of them.
_BOTH = (
    *"abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor".split(),
    *"frac lerp lgamma log log10 log1p log2 maximum minimum mul neg pow reciprocal round rsqrt sigmoid sign".split(),
    *"sin sinh sqrt sub tan tanh trunc".split(),
)
_NEW = ("clone", "max", "mm", "norm", "powsum")
_IN_PLACE = ("copy_", "zero_")
NAMES = (*_BOTH, *(f"{name}_" for name in _BOTH), *_NEW, *_IN_PLACE)


def _norm(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    found: Tensor = _functions["linalg.vector_norm"](x, ord, dtype=dtype)
    return found


def _powsum(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    found: Tensor = (x if dtype is None else x.to(dtype)).abs().pow(ord).sum()
    return found


def _extremum(pairwise: str, clamp: str) -> Callable[[Tensor, Any], Tensor]:
    """Of a tensor and another, or a number."""
    return lambda x, other: _functions[pairwise if isinstance(other, Tensor) else clamp](x, other)


_maximum, _minimum = _extremum("maximum", "clamp_min"), _extremum("minimum", "clamp_max")
_OWN: dict[str, Any] = {
    "norm": _norm,
    "powsum": _powsum,
    "maximum": _maximum,
    "minimum": _minimum,
    "maximum_": lambda x, other: x.copy_(_maximum(x, other)),
    "minimum_": lambda x, other: x.copy_(_minimum(x, other)),
}


def _operator(name: str) -> Any:
    """What is called with each tensor."""
    if name in _OWN:
        return _OWN[name]
    return getattr(Tensor, name) if name[-1] == "_" else _functions[name]


def _counted(name: str, given: Any) -> Any:
    """A list of tensors or numbers, checked to be one with something in it."""
    if not isinstance(given, (list, tuple)) or not all(isinstance(x, Tensor) for x in given):
        kind = type(given).__name__
        raise TypeError(f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not {kind}")
    if not given:
        raise RuntimeError(f"{name}(): Tensor list must have at least one tensor.")
    return given


def _each(name: str, given: Any, count: int) -> Any:
    """An argument for each of the tensors: the elements of a list, or the same for all."""
    if not isinstance(given, (list, tuple)):
        return (given,) * count
    if len(given) == count:
        return given
    if any(isinstance(x, Tensor) for x in given):
        raise RuntimeError(f"{name}(): Tensor lists must have the same number of tensors, got {count} and {len(given)}")
    raise RuntimeError(
        f"{name}(): Tensor list must have same number of elements as scalar list, got {count} and {len(given)}"
    )


def _value(name: str, given: Any, count: int) -> Any:
    """The factors of `addcmul` and `addcdiv`: a number, a list of them, or a tensor with one for each."""
    if isinstance(given, Tensor):
        if given.dim() != 1:
            raise RuntimeError(f"{name}(): expected scalars to be a 1-D tensor, got one of {given.dim()} dimensions")
        given = given.tolist()
    return _each(name, given, count)


def _made(name: str) -> Callable[..., Any]:
    full = f"_foreach_{name}"
    operator = _operator(name)
    scaled = name.startswith("addc")
    most = 0 if name == "max" else 2 if scaled or name.startswith(("lerp", "norm", "powsum", "copy_")) else 1

    def over_all(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name == "pow" and not isinstance(self, (list, tuple)):
            # A number or a tensor to the power of each.
            exponents = _counted(full, args[0])
            return tuple(operator(self, x) for x in exponents)
        count = len(_counted(full, self))
        if scaled and len(args) == 3:
            *args, value = args  # type: ignore[assignment]
            if "value" in kwargs:
                raise TypeError(f"{full}(): got multiple values for argument 'value'")
            kwargs = {**kwargs, "value": value}
        if len(args) > most:
            raise TypeError(f"{full}() takes at most {most + 1} positional arguments, {len(args) + 1} were given")
        columns = [_each(full, given, count) for given in args]
        named = {}
        for key, given in kwargs.items():
            if scaled and key in ("value", "scalars"):
                named["value"] = _value(full, given, count)
            else:
                named[key] = _each(full, given, count)
        results = [
            operator(x, *(column[i] for column in columns), **{k: given[i] for k, given in named.items()})
            for i, x in enumerate(self)
        ]
        return self if name[-1] == "_" else tuple(results)

    over_all.__name__ = over_all.__qualname__ = full
    over_all.__doc__ = f"`{name}` of each tensor of a list; other arguments are lists too, or the same for all."
    return over_all


globals().update({f"_foreach_{name}": _made(name) for name in NAMES})
