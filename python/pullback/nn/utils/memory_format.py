"""Weights of convolutions in another order in memory."""

from __future__ import annotations

from ... import memory_format as Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from ..modules.module import Module

    M = TypeVar("M", bound=Module)

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: M, memory_format: Format, names: tuple[str, ...]) -> M:
    from .. import modules

    kinds = tuple(getattr(modules, name) for name in names)
    for m in module.modules():
        if isinstance(m, kinds):
            m.weight.data = m.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: Format) -> M:
    """The module, in which the weights of `Conv2d` and `ConvTranspose2d` lie in memory as `memory_format` says.

    >>> import pullback
    >>> m = pullback.nn.Conv2d(3, 4, 2)
    >>> _ = pullback.nn.utils.convert_conv2d_weight_memory_format(m, pullback.channels_last)
    >>> m.weight.is_contiguous(memory_format=pullback.channels_last)
    True
    """
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: M, memory_format: Format) -> M:
    """`convert_conv2d_weight_memory_format` for `Conv3d` and `ConvTranspose3d`."""
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))
