"""Pooling over windows at random places."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "output_ratio", "output_size", "return_indices"]
    _dims = 2
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        each = _ntuple(self._dims)
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError(
                f"only one of output_size and output_ratio may be specified, got {output_size} and {output_ratio}"
            )
        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        dims = len(self.kernel_size)
        for name, given in (("output_size", self.output_size), ("output_ratio", self.output_ratio)):
            if given is not None and len(given) != dims:
                raise ValueError(
                    f"fractional_max_pool{dims}d requires {name} to either be a single Int or tuple of Ints. "
                    f"There are {dims} dimensions, but got {given}"
                )
        pool = F.fractional_max_pool2d if dims == 2 else F.fractional_max_pool3d
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest element of windows at random places (Graham, https://arxiv.org/abs/1412.6071) of (N, C, H, W) or
    (C, H, W).

    There are as many windows as `output_size` says, or `output_ratio` of the argument's size. With `return_indices` the
    places of the largest elements come along. Places come from `_random_samples` of shape (N, C, 2), if given.

    >>> import pullback
    >>> pullback.nn.FractionalMaxPool2d(2, output_ratio=0.5)(pullback.ones(1, 1, 8, 6)).shape
    pullback.Size([1, 1, 4, 3])

    Raises ValueError for both or neither of size and ratio, or a ratio outside of (0, 1).
    """


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """`FractionalMaxPool2d` for (N, C, T, H, W) or (C, T, H, W); samples have the shape (N, C, 3).

    >>> import pullback
    >>> pullback.nn.FractionalMaxPool3d(2, output_size=3)(pullback.ones(1, 1, 8, 6, 5)).shape
    pullback.Size([1, 1, 3, 3, 3])
    """

    _dims = 3
