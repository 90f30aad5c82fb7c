"""Convolutions whose number of input channels comes from the first argument."""

from __future__ import annotations

from ... import Tensor
from ..parameter import UninitializedParameter
from ._convolutions import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .lazy import LazyModuleMixin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _LazyConvXdMixin(LazyModuleMixin):
    """Convolutions whose number of input channels comes from the first argument."""

    def __init__(self: Any, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        options: Any = {name: kwargs.get(name) for name in ("device", "dtype")}
        # Neither channels nor a bias yet, so that nothing is drawn for them.
        super().__init__(0, 0, kernel_size, *args, **kwargs)
        wanted = self.bias is not None
        if out_channels % self.groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.out_channels = out_channels
        self.weight = UninitializedParameter(**options)
        if wanted:
            self.bias = UninitializedParameter(**options)

    def reset_parameters(self: Any) -> None:
        if self.in_channels != 0 and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters the number of channels of the argument."""
        if not self.has_uninitialized_params():
            return
        dims = self._dims
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but got "
                "input "
                f"of size: {input.shape}"
            )
        self.in_channels = input.shape[1] if input.dim() == dims + 2 else input.shape[0]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """A `Conv1d` whose number of input channels is that of its first argument: `LazyConv1d(out_channels, kernel_size,
    …)`.

    >>> import pullback
    >>> m = pullback.nn.LazyConv1d(8, 3)
    >>> m(pullback.ones(1, 4, 10)).shape, m.in_channels
    (pullback.Size([1, 8, 8]), 4)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """A `Conv2d` whose number of input channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyConv2d(8, 3)(pullback.ones(1, 4, 10, 10)).shape
    pullback.Size([1, 8, 8, 8])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """A `Conv3d` whose number of input channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyConv3d(8, 3)(pullback.ones(1, 4, 5, 5, 5)).shape
    pullback.Size([1, 8, 3, 3, 3])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """A `ConvTranspose1d` whose number of input channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyConvTranspose1d(8, 3)(pullback.ones(1, 4, 10)).shape
    pullback.Size([1, 8, 12])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """A `ConvTranspose2d` whose number of input channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyConvTranspose2d(8, 3)(pullback.ones(1, 4, 10, 10)).shape
    pullback.Size([1, 8, 12, 12])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """A `ConvTranspose3d` whose number of input channels is that of its first argument.

    >>> import pullback
    >>> pullback.nn.LazyConvTranspose3d(8, 3)(pullback.ones(1, 4, 5, 5, 5)).shape
    pullback.Size([1, 8, 7, 7, 7])
    """

    cls_to_become = ConvTranspose3d
