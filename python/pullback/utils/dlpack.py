"""Exchange of tensors with other libraries, under the name of PyTorch's module."""

from .. import from_dlpack as from_dlpack
from .. import to_dlpack as to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
