"""Methods of tensors that PyTorch has as functions too, and questions about tensors."""

from __future__ import annotations

from . import _core
from ._core import Tensor
from .nn._overriding import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = [
    *("as_strided_", "detach_", "fill", "fill_", "is_conj", "is_distributed", "is_neg", "numel", "resize_as_"),
    *("resolve_conj", "resolve_neg", "spmm", "zero_"),
]
_CASTS = {"Byte": "uint8", "Char": "int8", "Double": "float64", "Float": "float32"}
_CASTS |= {"Half": "float16", "Int": "int32", "Long": "int64", "Short": "int16"}


_like: Any = _core.functions["empty_like"]


def _tensor(name: str, input: Any) -> Any:
    """The argument, which must be a tensor."""
    if isinstance(input, Tensor):
        return input
    raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")


def _of(name: str, input: Any) -> Any:
    """The method of a tensor."""
    return getattr(_tensor(name, input), name)


def numel(input: Tensor) -> int:
    """The number of elements.

    >>> import pullback
    >>> pullback.numel(pullback.ones(2, 3))
    6
    """
    out: int = _of("numel", input)()
    return out


def is_conj(input: Tensor) -> bool:
    """Whether the elements are stored as their conjugates: False."""
    return bool(_of("is_conj", input)())


def is_neg(input: Tensor) -> bool:
    """Whether the elements are stored with the other sign: False."""
    return bool(_of("is_neg", input)())


def is_distributed(input: Tensor) -> bool:
    """Whether the elements lie on several machines: False."""
    _tensor("is_distributed", input)
    return False


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are computed when they are asked for."""
    out: Tensor = _of("resolve_conj", input)()
    return out


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: signs are computed when they are asked for."""
    out: Tensor = _of("resolve_neg", input)()
    return out


def detach_(input: Tensor) -> Tensor:
    """Takes the history of a tensor away."""
    out: Tensor = _of("detach_", input)()
    return out


def zero_(input: Tensor) -> Tensor:
    """Fills a tensor with zeros."""
    out: Tensor = _of("zero_", input)()
    return out


def fill_(input: Tensor, value: Any) -> Tensor:
    """Fills a tensor with a number, or a tensor of one element."""
    out: Tensor = _of("fill_", input)(value)
    return out


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the same shape and dtype, filled with a number or a tensor of one element.

    >>> import pullback
    >>> pullback.fill(pullback.zeros(2), 3)
    tensor([3., 3.])
    """
    _tensor("fill", input)
    out: Tensor = input.clone().fill_(value)
    return out


def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Gives a tensor the sizes of another one."""
    out: Tensor = _of("resize_as_", input)(the_template, memory_format=memory_format)
    return out


def as_strided_(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Shows other elements of the same memory in the same tensor."""
    out: Tensor = _of("as_strided_", input)(size, stride, storage_offset)
    return out


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: `mm`, under the name that it has for sparse ones.

    >>> import pullback
    >>> pullback.spmm(pullback.eye(2), pullback.ones(2, 1)).tolist()
    [[1.0], [1.0]]
    """
    out: Tensor = _of("mm", input)(mat2)
    return out


def _cast(name: str, kind: str) -> Any:
    def cast(input: Tensor, non_blocking: bool = False) -> Tensor:
        out: Tensor = _of("to", input)(getattr(_core, kind))
        return out

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The tensor in {kind}."
    return cast


_cast_Byte, _cast_Char, _cast_Double, _cast_Float, _cast_Half, _cast_Int, _cast_Long, _cast_Short = (
    _cast(f"_cast_{word}", kind) for word, kind in _CASTS.items()
)
globals().update({name: shown(globals()[name]) for name in __all__})
