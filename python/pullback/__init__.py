"""Tensors on the CPU with composable function transforms: grad, jvp, vmap, custom functions, under PyTorch's names.

Operators come from the table in Rust. Submodules are loaded when they are first used, and NumPy when an array is
first converted. Beware that some names of this module, such as `int` and `float`, are dtypes.
"""

# Type checkers read `__init__.pyi`, which `_stubs` makes of the names here and in `_names.py`.
from builtins import float as _number

from . import _attached as _attached
from . import _core
from ._core import *  # noqa: F403
from ._table import members

e, inf, nan, pi = 2.718281828459045, _number("inf"), _number("nan"), 3.141592653589793
newaxis = None
__version__: str = _core.__version__
globals().update(members(""))
del members


def __getattr__(name: str) -> object:
    from ._names import find

    return find(name)


def __dir__() -> "list[str]":
    from ._names import public

    return public()
