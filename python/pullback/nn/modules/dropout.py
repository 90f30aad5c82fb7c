"""Dropout."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training zeroes each element with probability `p`; the others grow by 1 / (1 - p).

    >>> import pullback
    >>> m = pullback.nn.Dropout(p=0.2)
    >>> m.eval()(pullback.ones(2))
    tensor([1., 1.])

    Raises ValueError for a probability outside of [0, 1].
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """In training zeroes whole channels of (N, C, L) or (C, L) with probability `p`.

    >>> import pullback
    >>> pullback.nn.Dropout1d(0.2)(pullback.ones(2, 3, 4)).shape
    pullback.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """In training zeroes whole channels of (N, C, H, W) with probability `p`.

    >>> import pullback
    >>> pullback.nn.Dropout2d(0.2)(pullback.ones(2, 3, 4, 4)).shape
    pullback.Size([2, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """In training zeroes whole channels of (N, C, D, H, W) with probability `p`.

    >>> import pullback
    >>> pullback.nn.Dropout3d(0.2)(pullback.ones(2, 3, 2, 4, 4)).shape
    pullback.Size([2, 3, 2, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of what `SELU` gives.

    >>> import pullback
    >>> pullback.nn.AlphaDropout(0.2).eval()(pullback.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels of (N, C, *).

    >>> import pullback
    >>> pullback.nn.FeatureAlphaDropout(0.2)(pullback.ones(2, 3, 4)).shape
    pullback.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
