"""Windows as columns, and columns as windows."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Adds up the columns of `Unfold` where their windows lie: (N, C * kernel, windows) to (N, C, H, W).

    >>> import pullback
    >>> pullback.nn.Fold((4, 5), kernel_size=2)(pullback.ones(1, 12, 12)).shape
    pullback.Size([1, 3, 4, 5])

    Raises RuntimeError for sizes that do not fit.
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """The windows of (N, C, H, W) as columns: (N, C * kernel, windows).

    >>> import pullback
    >>> pullback.nn.Unfold(kernel_size=(2, 3))(pullback.ones(2, 5, 3, 4)).shape
    pullback.Size([2, 30, 4])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
