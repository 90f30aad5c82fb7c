"""The classes of tensors by dtype that PyTorch had before dtypes: `FloatTensor(2, 3)`, `isinstance(x, LongTensor)`."""

from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Tensor

_own: Any = _core
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
        if hasattr(given, "untyped"):
            seen: Tensor = _core.tensor([], dtype=dtype).set_(given)
            return seen
        if not isinstance(given, _core.Size):
            return _core.tensor(given, dtype=dtype, device=device)
        args = tuple(given)
    sizes: Tensor = _core.functions["zeros"](args or (0,), dtype=dtype, device=device)
    return sizes


class _Type(str):
    """What these classes are: calls make tensors, tensors of the dtype are instances, `x.type(…)` knows the name."""

    dtype: Any
    __name__: str
    __qualname__: str
    is_cuda = is_sparse = is_xpu = False
    __module__ = "pullback"

    def __new__(cls, name: str, dtype: Any) -> "_Type":
        # As `x.type()` says it.
        made: _Type = super().__new__(cls, f"{_own._shown_prefix()}{name}")
        made.dtype, made.__name__, made.__qualname__ = dtype, name, name
        kind = str(dtype).rpartition(".")[2]
        made.__doc__ = f"""Tensors of {kind}: calls with sizes give zeros, calls with values a tensor.

        >>> import pullback
        >>> isinstance(pullback.{name}([0, 1]), pullback.{name}), pullback.{name}(2, 3).shape
        (True, pullback.Size([2, 3]))
        """
        return made

    def __call__(self, *args: Any, device: Any = None) -> Tensor:
        return made(self.dtype, *args, device=device)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is self.dtype

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, str) and not isinstance(other, _Type) and named(other) is self)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __or__(self, other: Any) -> "_Either":
        return _Either(self).__or__(other)

    def __ror__(self, other: Any) -> "_Either":
        return _Either(self).__ror__(other)

    def __repr__(self) -> str:
        return f"<class 'pullback.{self.__name__}'>"

    def __reduce__(self) -> Any:
        return named, (f"torch.{self.__name__}",)


class _Either:
    """What `|` makes of these classes, as of all others: for annotations, and to ask for instances."""

    def __init__(self, *kinds: Any) -> None:
        self.__args__ = kinds

    def __or__(self, other: Any) -> "_Either":
        return _Either(*self.__args__, *getattr(other, "__args__", (other,)))

    def __ror__(self, other: Any) -> "_Either":
        return _Either(*getattr(other, "__args__", (other,)), *self.__args__)

    def __instancecheck__(self, instance: Any) -> bool:
        return any(instance is None if kind is None else isinstance(instance, kind) for kind in self.__args__)

    def __repr__(self) -> str:
        return " | ".join(f"pullback.{k.__name__}" if isinstance(k, _Type) else str(k) for k in self.__args__)


TYPES = {name: _Type(name, dtype) for name, dtype in _DTYPES.items()}
globals().update(TYPES)
_tensor_classes = set(TYPES.values())

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
