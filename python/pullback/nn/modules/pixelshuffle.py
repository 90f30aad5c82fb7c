"""Channels as pixels, and pixels as channels."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """(*, C * r * r, H, W) to (*, C, H * r, W * r), r being `upscale_factor`.

    >>> import pullback
    >>> pullback.nn.PixelShuffle(3)(pullback.ones(1, 9, 4, 4)).shape
    pullback.Size([1, 1, 12, 12])

    Raises RuntimeError for channels that r * r does not divide.
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(*, C, H * r, W * r) to (*, C * r * r, H, W), r being `downscale_factor`.

    >>> import pullback
    >>> pullback.nn.PixelUnshuffle(3)(pullback.ones(1, 1, 12, 12)).shape
    pullback.Size([1, 9, 4, 4])

    Raises RuntimeError for sizes that r does not divide.
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
