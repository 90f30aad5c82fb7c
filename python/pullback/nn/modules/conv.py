"""Convolutions."""

from __future__ import annotations

from ..._members import adopt
from ._convolutions import Conv1d as Conv1d
from ._convolutions import Conv2d as Conv2d
from ._convolutions import Conv3d as Conv3d
from ._convolutions import ConvTranspose1d as ConvTranspose1d
from ._convolutions import ConvTranspose2d as ConvTranspose2d
from ._convolutions import ConvTranspose3d as ConvTranspose3d
from ._convolutions import _Conv as _Conv
from ._convolutions import _ConvNd as _ConvNd
from ._convolutions import _ConvTransposeNd as _ConvTransposeNd
from ._lazy_convolutions import LazyConv1d as LazyConv1d
from ._lazy_convolutions import LazyConv2d as LazyConv2d
from ._lazy_convolutions import LazyConv3d as LazyConv3d
from ._lazy_convolutions import LazyConvTranspose1d as LazyConvTranspose1d
from ._lazy_convolutions import LazyConvTranspose2d as LazyConvTranspose2d
from ._lazy_convolutions import LazyConvTranspose3d as LazyConvTranspose3d
from ._lazy_convolutions import _LazyConvXdMixin as _LazyConvXdMixin

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

adopt(globals())
