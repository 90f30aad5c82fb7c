"""Padding."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple, _refuse_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    __constants__ = ["padding"]
    _dims = 1
    padding: Any

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPad(_Pad):
    def forward(self, input: Tensor) -> Tensor:
        _refuse_empty(input, len(self.padding) // 2)
        return F.pad(input, self.padding, "reflect")


class _ReplicationPad(_Pad):
    def forward(self, input: Tensor) -> Tensor:
        _refuse_empty(input, len(self.padding) // 2)
        return F.pad(input, self.padding, "replicate")


class _ConstantPad(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPad):
    """Adds `value` at the ends of the last dimension of (*, L): one number, or one for each side, the last dimension
    first.

    >>> import pullback
    >>> pullback.nn.ConstantPad1d(1, 2.5)(pullback.ones(1, 1, 4)).shape
    pullback.Size([1, 1, 6])
    """


class ConstantPad2d(_ConstantPad):
    """Adds `value` at the ends of the last 2 dimensions of (*, H, W): one number, or one for each side, the last
    dimension first.

    >>> import pullback
    >>> pullback.nn.ConstantPad2d(1, 2.5)(pullback.ones(1, 1, 4, 4)).shape
    pullback.Size([1, 1, 6, 6])
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Adds `value` at the ends of the last 3 dimensions of (*, D, H, W): one number, or one for each side, the last
    dimension first.

    >>> import pullback
    >>> pullback.nn.ConstantPad3d(1, 2.5)(pullback.ones(1, 1, 4, 4, 4)).shape
    pullback.Size([1, 1, 6, 6, 6])
    """

    _dims = 3


class ZeroPad1d(_ZeroPad):
    """Adds zeros at the ends of the last dimension of (*, L): one number, or one for each side, the last dimension
    first.

    >>> import pullback
    >>> pullback.nn.ZeroPad1d(1)(pullback.ones(1, 1, 4)).shape
    pullback.Size([1, 1, 6])
    """


class ZeroPad2d(_ZeroPad):
    """Adds zeros at the ends of the last 2 dimensions of (*, H, W): one number, or one for each side, the last
    dimension first.

    >>> import pullback
    >>> pullback.nn.ZeroPad2d(1)(pullback.ones(1, 1, 4, 4)).shape
    pullback.Size([1, 1, 6, 6])
    """

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Adds zeros at the ends of the last 3 dimensions of (*, D, H, W): one number, or one for each side, the last
    dimension first.

    >>> import pullback
    >>> pullback.nn.ZeroPad3d(1)(pullback.ones(1, 1, 4, 4, 4)).shape
    pullback.Size([1, 1, 6, 6, 6])
    """

    _dims = 3


class ReflectionPad1d(_ReflectionPad):
    """Adds what lies mirrored at the ends, without the last element, of the last dimension of (*, L): one number, or
    one for each side, the last dimension first.

    >>> import pullback
    >>> pullback.nn.ReflectionPad1d(1)(pullback.ones(1, 1, 4)).shape
    pullback.Size([1, 1, 6])
    """


class ReflectionPad2d(_ReflectionPad):
    """Adds what lies mirrored at the ends, without the last element, of the last 2 dimensions of (*, H, W): one
    number, or one for each side, the last dimension first.

    >>> import pullback
    >>> pullback.nn.ReflectionPad2d(1)(pullback.ones(1, 1, 4, 4)).shape
    pullback.Size([1, 1, 6, 6])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPad):
    """Adds what lies mirrored at the ends, without the last element, of the last 3 dimensions of (*, D, H, W): one
    number, or one for each side, the last dimension first.

    >>> import pullback
    >>> pullback.nn.ReflectionPad3d(1)(pullback.ones(1, 1, 4, 4, 4)).shape
    pullback.Size([1, 1, 6, 6, 6])
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPad):
    """Repeats the last element at the ends of the last dimension of (*, L): one number, or one for each side, the
    last dimension first.

    >>> import pullback
    >>> pullback.nn.ReplicationPad1d(1)(pullback.ones(1, 1, 4)).shape
    pullback.Size([1, 1, 6])
    """


class ReplicationPad2d(_ReplicationPad):
    """Repeats the last element at the ends of the last 2 dimensions of (*, H, W): one number, or one for each side,
    the last dimension first.

    >>> import pullback
    >>> pullback.nn.ReplicationPad2d(1)(pullback.ones(1, 1, 4, 4)).shape
    pullback.Size([1, 1, 6, 6])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPad):
    """Repeats the last element at the ends of the last 3 dimensions of (*, D, H, W): one number, or one for each
    side, the last dimension first.

    >>> import pullback
    >>> pullback.nn.ReplicationPad3d(1)(pullback.ones(1, 1, 4, 4, 4)).shape
    pullback.Size([1, 1, 6, 6, 6])
    """

    _dims = 3


class _CircularPad(_Pad):
    def forward(self, input: Tensor) -> Tensor:
        wanted = (len(self.padding) // 2 + 1, len(self.padding) // 2 + 2)
        if input.dim() not in wanted:
            raise ValueError(f"expected {wanted[0]}D or {wanted[1]}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPad):
    """Adds what lies at the other end of the last dimension of (*, L): one number, or one for each side, the last
    dimension first.

    >>> import pullback
    >>> pullback.nn.CircularPad1d(1)(pullback.ones(1, 1, 4)).shape
    pullback.Size([1, 1, 6])
    """


class CircularPad2d(_CircularPad):
    """Adds what lies at the other end of the last 2 dimensions of (*, H, W): one number, or one for each side, the
    last dimension first.

    >>> import pullback
    >>> pullback.nn.CircularPad2d(1)(pullback.ones(1, 1, 4, 4)).shape
    pullback.Size([1, 1, 6, 6])
    """

    _dims = 2


class CircularPad3d(_CircularPad):
    """Adds what lies at the other end of the last 3 dimensions of (*, D, H, W): one number, or one for each side, the
    last dimension first.

    >>> import pullback
    >>> pullback.nn.CircularPad3d(1)(pullback.ones(1, 1, 4, 4, 4)).shape
    pullback.Size([1, 1, 6, 6, 6])
    """

    _dims = 3
