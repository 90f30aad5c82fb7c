"""What PyTorch has in the module of its class `Tensor`, which programs and pickles name."""

from ._core import Tensor
from .serialization._names import from_type as _rebuild_from_type_v2

__all__ = ["Tensor", "_rebuild_from_type_v2"]
