"""Tensors on the CPU with composable function transforms: grad, jvp, vmap, custom functions, under PyTorch's names.

Operators come from the table in Rust. Submodules are loaded when they are first used, and NumPy when an array is
first converted. Beware that some names of this module, such as `int` and `float`, are dtypes.
"""

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from . import _core
from ._core import *  # noqa: F403
from ._members import lazily, members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import autograd as autograd
    from . import fft as fft
    from . import func as func
    from . import functorch as functorch
    from . import library as library
    from . import linalg as linalg
    from . import nn as nn
    from . import ops as ops
    from . import random as random
    from . import return_types as return_types
    from . import special as special
    from . import testing as testing
    from . import utils as utils

_SUBMODULES = (
    *("autograd", "fft", "func", "functorch", "library", "linalg", "nn", "ops", "random", "return_types", "special"),
    *("testing", "utils"),
)

__version__: str = _core.__version__
newaxis = None
globals().update(members(""))
__getattr__ = lazily(__name__, _SUBMODULES)
# Without the helpers of this file, and without the dtypes that would hide builtins behind `import *`.
_HIDDEN = {"TYPE_CHECKING", "lazily", "members", "bool", "float", "int"}
__all__ = sorted({name for name in globals() if name[0] != "_"} - _HIDDEN | {*_SUBMODULES})
del TYPE_CHECKING, lazily, members


def __dir__() -> "list[str]":
    return __all__
