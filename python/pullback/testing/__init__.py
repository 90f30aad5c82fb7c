"""Tools for tests: comparing tensors, making inputs, and checking what transforms rely on."""

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor
from .compliance import assert_composite_compliant
from .functions import check_function, check_pure, check_vmap

__all__ = [
    "assert_allclose",
    "assert_close",
    "assert_composite_compliant",
    "check_function",
    "check_pure",
    "check_vmap",
    "make_tensor",
]
