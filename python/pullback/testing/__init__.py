"""Tools for tests: comparing tensors, making inputs."""

from ._comparison import assert_close
from ._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
