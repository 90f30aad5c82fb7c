"""The classes of tensors by dtype that PyTorch had before dtypes: `FloatTensor(2, 3)`, `isinstance(x, LongTensor)`."""

from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Tensor

_DTYPES = {
    **{"DoubleTensor": _core.float64, "FloatTensor": _core.float32, "HalfTensor": _core.float16},
    **{"BFloat16Tensor": _core.bfloat16, "LongTensor": _core.int64, "IntTensor": _core.int32},
    **{"ShortTensor": _core.int16, "CharTensor": _core.int8, "ByteTensor": _core.uint8, "BoolTensor": _core.bool},
    **{"ComplexFloatTensor": _core.complex64, "ComplexDoubleTensor": _core.complex128},
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def made(dtype: Any, *args: Any, device: Any = None) -> Tensor:
    """A tensor of sizes, all zero, or one of values."""
    if len(args) == 1 and not isinstance(args[0], int):
        (given,) = args
        if isinstance(given, Tensor):
            if given.dtype is not dtype:
                raise TypeError(
                    f"{_NAMES[dtype]}(): expected a tensor of {dtype}, got one of {given.dtype}; use .to({dtype})"
                )
            return given.detach()
        if not isinstance(given, _core.Size):
            return _core.tensor(given, dtype=dtype, device=device)
        args = tuple(given)
    sizes: Tensor = _core.functions["zeros"](args or (0,), dtype=dtype, device=device)
    return sizes


class _Type(type):
    """The classes of these classes: calls make tensors, and tensors of the dtype are instances."""

    dtype: Any

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        return made(cls.dtype, *args, device=device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'pullback.{cls.__name__}'>"


def _type(name: str, dtype: Any) -> Any:
    doc = f"""Tensors of {str(dtype).rpartition(".")[2]}: calls with sizes give zeros, calls with values a tensor.

    >>> import pullback
    >>> isinstance(pullback.{name}([0, 1]), pullback.{name}), pullback.{name}(2, 3).shape
    (True, pullback.Size([2, 3]))
    """
    return _Type(
        name, (), {"dtype": dtype, "is_sparse": False, "is_cuda": False, "__doc__": doc, "__module__": "pullback"}
    )


TYPES = {name: _type(name, dtype) for name, dtype in _DTYPES.items()}
globals().update(TYPES)

if TYPE_CHECKING:

    class BFloat16Tensor(Tensor): ...

    class BoolTensor(Tensor): ...

    class ByteTensor(Tensor): ...

    class CharTensor(Tensor): ...

    class ComplexDoubleTensor(Tensor): ...

    class ComplexFloatTensor(Tensor): ...

    class DoubleTensor(Tensor): ...

    class FloatTensor(Tensor): ...

    class HalfTensor(Tensor): ...

    class IntTensor(Tensor): ...

    class LongTensor(Tensor): ...

    class ShortTensor(Tensor): ...


def named(kind: Any) -> Any:
    """The class for itself, or for a name such as `torch.FloatTensor`; None if there is no such class."""
    if isinstance(kind, _Type):
        return kind
    parts = kind.split(".") if isinstance(kind, str) else []
    return TYPES.get(parts[1]) if len(parts) == 2 and parts[0] in ("torch", "pullback") else None
