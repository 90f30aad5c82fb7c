"""Convolutions."""

from __future__ import annotations

import math

from ... import Tensor, empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvNd(Module):
    """What convolutions of all dimensions have in common."""

    __constants__ = [
        *("stride", "padding", "dilation", "groups", "padding_mode", "output_padding"),
        *("in_channels", "out_channels", "kernel_size"),
    ]
    _dims = 1
    in_channels: int
    weight: Any
    bias: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {groups}")
        if in_channels % groups != 0:
            raise ValueError(f"in_channels must be divisible by groups, got {in_channels} and {groups}")
        if out_channels % groups != 0:
            raise ValueError(f"out_channels must be divisible by groups, got {out_channels} and {groups}")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got "
                f"padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._both_sides()
        options = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty(self._weight_shape(), **options))
        self.register_parameter("bias", Parameter(empty(out_channels, **options)) if bias else None)
        self.reset_parameters()

    def _both_sides(self) -> tuple[int, ...]:
        """The padding of each side as `pad` wants it."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        sides = [0] * (2 * len(self.kernel_size))
        if self.padding == "same":
            for i, (d, k) in enumerate(zip(reversed(self.dilation), reversed(self.kernel_size), strict=True)):
                total = d * (k - 1)
                sides[2 * i], sides[2 * i + 1] = total // 2, total - total // 2
        return tuple(sides)

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = (
            (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        )
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draws the weights anew: uniform, by the number of inputs of each output."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        ones, zeros = (1,) * len(self.kernel_size), (0,) * len(self.kernel_size)
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}",
            f"padding={self.padding}" if self.padding != zeros else "",
            f"dilation={self.dilation}" if self.dilation != ones else "",
            f"output_padding={self.output_padding}" if self.output_padding != zeros else "",
            f"groups={self.groups}" if self.groups != 1 else "",
            "bias=False" if self.bias is None else "",
            f"padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "",
        ]
        return ", ".join(part for part in parts if part)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = _ntuple(self._dims)
        super().__init__(
            in_channels, out_channels, sizes(kernel_size), sizes(stride),
            padding if isinstance(padding, str) else sizes(padding), sizes(dilation), False, sizes(0), groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        convolve = (F.conv1d, F.conv2d, F.conv3d)[len(self.kernel_size) - 1]
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Cross-correlation of (N, in_channels, L) or (in_channels, L) with learned kernels.

    `weight` is (out_channels, in_channels / groups, kernel_size). `padding` is a number, "valid" or "same"; what it
    adds is
    zeros, or what `padding_mode` says: "reflect", "replicate" or "circular".

    >>> import pullback
    >>> m = pullback.nn.Conv1d(16, 33, 3, stride=2)
    >>> m(pullback.ones(20, 16, 50)).shape
    pullback.Size([20, 33, 24])

    Raises ValueError for groups that do not divide the channels, or a padding that is not known.
    """


class Conv2d(_Conv):
    """`Conv1d` for (N, in_channels, H, W) or (in_channels, H, W).

    >>> import pullback
    >>> m = pullback.nn.Conv2d(3, 8, kernel_size=3, padding="same")
    >>> m(pullback.ones(1, 3, 10, 12)).shape
    pullback.Size([1, 8, 10, 12])
    """

    _dims = 2


class Conv3d(_Conv):
    """`Conv1d` for (N, in_channels, D, H, W) or (in_channels, D, H, W).

    >>> import pullback
    >>> m = pullback.nn.Conv3d(2, 4, (1, 3, 3))
    >>> m(pullback.ones(1, 2, 4, 6, 6)).shape
    pullback.Size([1, 4, 4, 4, 4])
    """

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = _ntuple(self._dims)
        super().__init__(
            in_channels, out_channels, sizes(kernel_size), sizes(stride), sizes(padding), sizes(dilation), True,
            sizes(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(
        self,
        input: Tensor,
        output_size: list[int] | None,
        stride: list[int],
        padding: list[int],
        kernel_size: list[int],
        num_spatial_dims: int,
        dilation: list[int] | None = None,
    ) -> tuple[int, ...]:
        """What makes the result of the size that was asked for."""
        if output_size is None:
            return tuple(self.output_padding)
        n = num_spatial_dims
        extra = input.dim() - n
        if len(output_size) == extra + n:
            output_size = list(output_size)[extra:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {extra + n} elements "
                f"(got {len(output_size)})"
            )
        spread = dilation or [1] * n
        least = [
            (input.size(d + extra) - 1) * stride[d] - 2 * padding[d] + spread[d] * (kernel_size[d] - 1) + 1
            for d in range(n)
        ]
        most = [least[d] + stride[d] - 1 for d in range(n)]
        if any(not low <= size <= high for size, low, high in zip(output_size, least, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an "
                "input of "
                f"{input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(output_size, least, strict=True))

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[len(self.kernel_size) - 1]
        n = len(self.kernel_size)
        more = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, n, self.dilation)
        return convolve(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`, as the gradient of its input is: (N, in_channels, L) to (N, out_channels, longer L).

    `weight` is (in_channels, out_channels / groups, kernel_size). A call takes the size of the output, where the stride
    leaves a choice.

    >>> import pullback
    >>> m = pullback.nn.ConvTranspose1d(4, 2, 3, stride=2)
    >>> m(pullback.ones(1, 4, 5)).shape, m(pullback.ones(1, 4, 5), output_size=[12]).shape
    (pullback.Size([1, 2, 11]), pullback.Size([1, 2, 12]))

    Raises ValueError for another padding mode than "zeros", or a size that cannot be.
    """


class ConvTranspose2d(_ConvTransposeNd):
    """`ConvTranspose1d` for (N, in_channels, H, W) or (in_channels, H, W).

    >>> import pullback
    >>> pullback.nn.ConvTranspose2d(4, 2, 3, stride=2)(pullback.ones(1, 4, 5, 5)).shape
    pullback.Size([1, 2, 11, 11])
    """

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """`ConvTranspose1d` for (N, in_channels, D, H, W) or (in_channels, D, H, W).

    >>> import pullback
    >>> pullback.nn.ConvTranspose3d(4, 2, 2)(pullback.ones(1, 4, 2, 3, 3)).shape
    pullback.Size([1, 2, 3, 4, 4])
    """

    _dims = 3
