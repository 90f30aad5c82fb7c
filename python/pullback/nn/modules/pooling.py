"""Pooling."""

from __future__ import annotations

from ... import Tensor
from ..._members import adopt
from .. import functional as F
from ._fractional import FractionalMaxPool2d as FractionalMaxPool2d
from ._fractional import FractionalMaxPool3d as FractionalMaxPool3d
from .module import Module
from .utils import _ntuple, _refuse_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    *("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"),
    *("AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d"),
    *("AvgPool1d", "AvgPool2d", "AvgPool3d"),
    *("FractionalMaxPool2d", "FractionalMaxPool3d"),
    *("LPPool1d", "LPPool2d", "LPPool3d"),
    *("MaxPool1d", "MaxPool2d", "MaxPool3d"),
    *("MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"),
]


def _max_pooled(layer: Any, pool: Callable[..., Tensor], input: Tensor, dims: int) -> Any:
    _refuse_empty(input, dims)
    return pool(
        input, layer.kernel_size, layer.stride, layer.padding, layer.dilation,
        ceil_mode=layer.ceil_mode, return_indices=layer.return_indices,
    )  # fmt: skip


def _avg_pooled(layer: Any, pool: Callable[..., Tensor], input: Tensor, dims: int) -> Tensor:
    _refuse_empty(input, dims)
    return pool(
        input, layer.kernel_size, layer.stride, layer.padding, layer.ceil_mode, layer.count_include_pad,
        layer.divisor_override,
    )  # fmt: skip


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of (N, C, L) or (C, L); with `return_indices` also where it was, for `MaxUnpool1d`.

    >>> import pullback
    >>> pullback.nn.MaxPool1d(2)(pullback.arange(6.0).reshape(1, 6))
    tensor([[1., 3., 5.]])
    """

    def forward(self, input: Tensor) -> Any:
        return _max_pooled(self, F.max_pool1d, input, 1)


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of (N, C, H, W) or (C, H, W).

    >>> import pullback
    >>> pullback.nn.MaxPool2d(3, stride=2)(pullback.ones(1, 1, 9, 9)).shape
    pullback.Size([1, 1, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return _max_pooled(self, F.max_pool2d, input, 2)


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> import pullback
    >>> pullback.nn.MaxPool3d(2)(pullback.ones(1, 1, 4, 4, 4)).shape
    pullback.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return _max_pooled(self, F.max_pool3d, input, 3)


class _MaxUnpoolNd(Module):
    _dims = 1

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        sizes = _ntuple(self._dims)
        self.kernel_size = sizes(kernel_size)
        self.stride = sizes(stride if stride is not None else kernel_size)
        self.padding = sizes(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[len(self.kernel_size) - 1]
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the maxima of `MaxPool1d` back where they were, with zeros elsewhere.

    >>> import pullback
    >>> pool, unpool = pullback.nn.MaxPool1d(2, return_indices=True), pullback.nn.MaxUnpool1d(2)
    >>> unpool(*pool(pullback.arange(4.0).reshape(1, 1, 4)))
    tensor([[[0., 1., 0., 3.]]])
    """


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the maxima of `MaxPool2d` back where they were, with zeros elsewhere.

    >>> import pullback
    >>> pool, unpool = pullback.nn.MaxPool2d(2, return_indices=True), pullback.nn.MaxUnpool2d(2)
    >>> unpool(*pool(pullback.arange(4.0).reshape(1, 1, 2, 2))).flatten()
    tensor([0., 0., 0., 3.])
    """

    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the maxima of `MaxPool3d` back where they were, with zeros elsewhere.

    >>> import pullback
    >>> pool, unpool = pullback.nn.MaxPool3d(2, return_indices=True), pullback.nn.MaxUnpool3d(2)
    >>> unpool(*pool(pullback.ones(1, 1, 2, 2, 2))).sum().item()
    1.0
    """

    _dims = 3


class AvgPool1d(Module):
    """The mean of each window of (N, C, L) or (C, L).

    >>> import pullback
    >>> pullback.nn.AvgPool1d(2)(pullback.arange(6.0).reshape(1, 6))
    tensor([[0.5000, 2.5000, 4.5000]])
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        one = _ntuple(1)
        self.kernel_size = one(kernel_size)
        self.stride = one(stride if stride is not None else kernel_size)
        self.padding = one(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        _refuse_empty(input, 1)
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window of (N, C, H, W) or (C, H, W); `divisor_override` divides the sums instead of their sizes.

    >>> import pullback
    >>> pullback.nn.AvgPool2d(2)(pullback.ones(1, 1, 4, 4)).shape
    pullback.Size([1, 1, 2, 2])
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return _avg_pooled(self, F.avg_pool2d, input, 2)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool3d(AvgPool2d):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> import pullback
    >>> pullback.nn.AvgPool3d(2)(pullback.ones(1, 1, 4, 4, 4)).shape
    pullback.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _avg_pooled(self, F.avg_pool3d, input, 3)


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of (N, C, L) or (C, L).

    >>> import pullback
    >>> pullback.nn.LPPool1d(2, 2)(pullback.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of (N, C, H, W) or (C, H, W).

    >>> import pullback
    >>> pullback.nn.LPPool2d(2, 2)(pullback.ones(1, 1, 4, 4)).flatten()
    tensor([2., 2., 2., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> import pullback
    >>> pullback.nn.LPPool3d(1, 2)(pullback.ones(1, 1, 2, 2, 2)).flatten()
    tensor([8.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of windows that cut (N, C, L) or (C, L) into `output_size` parts.

    >>> import pullback
    >>> pullback.nn.AdaptiveAvgPool1d(2)(pullback.arange(4.0).reshape(1, 4))
    tensor([[0.5000, 2.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of windows that cut (N, C, H, W) or (C, H, W) into `output_size` parts; None keeps a size.

    >>> import pullback
    >>> pullback.nn.AdaptiveAvgPool2d((2, None))(pullback.ones(1, 1, 5, 7)).shape
    pullback.Size([1, 1, 2, 7])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of windows that cut (N, C, D, H, W) or (C, D, H, W) into `output_size` parts.

    >>> import pullback
    >>> pullback.nn.AdaptiveAvgPool3d(2)(pullback.ones(1, 1, 4, 5, 6)).shape
    pullback.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of windows that cut (N, C, L) or (C, L) into `output_size` parts.

    >>> import pullback
    >>> pullback.nn.AdaptiveMaxPool1d(2)(pullback.arange(4.0).reshape(1, 4))
    tensor([[1., 3.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of windows that cut (N, C, H, W) or (C, H, W) into `output_size` parts.

    >>> import pullback
    >>> pullback.nn.AdaptiveMaxPool2d(2)(pullback.ones(1, 1, 5, 7)).shape
    pullback.Size([1, 1, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of windows that cut (N, C, D, H, W) or (C, D, H, W) into `output_size` parts.

    >>> import pullback
    >>> pullback.nn.AdaptiveMaxPool3d(2)(pullback.ones(1, 1, 4, 5, 6)).shape
    pullback.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


adopt(globals())
