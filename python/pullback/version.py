"""The version, and what it was built with.

>>> import pullback
>>> pullback.version.__version__ == pullback.__version__, pullback.version.cuda
(True, None)
"""

from . import _core

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__: str = _core.__version__
# The version of PyTorch whose names and behaviour these are.
TORCH = "2.13.0"
debug = False
git_version = "unknown"
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
