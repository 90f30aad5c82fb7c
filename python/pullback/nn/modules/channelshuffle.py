"""Channels dealt out."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """(N, C, *) with the channels of `groups` groups dealt out in turn.

    >>> import pullback
    >>> pullback.nn.ChannelShuffle(2)(pullback.arange(4.0).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])

    Raises RuntimeError for channels that `groups` does not divide.
    """

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
