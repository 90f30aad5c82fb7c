"""What computes, as text."""

from . import get_num_threads
from .version import TORCH, __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The version, and whose names these are.

    >>> import pullback
    >>> print(pullback.__config__.show())  # doctest: +ELLIPSIS
    pullback ..., under the names of PyTorch ...: kernels in Rust, no CUDA
    <BLANKLINE>
    """
    return f"pullback {__version__}, under the names of PyTorch {TORCH}: kernels in Rust, no CUDA\n"


def parallel_info() -> str:
    """How many threads compute.

    >>> import pullback
    >>> "get_num_threads()" in pullback.__config__.parallel_info()
    True
    """
    return f"pullback:\n    get_num_threads() : {get_num_threads()}\n"
