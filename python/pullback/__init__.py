"""Tensors on the CPU with composable function transforms: grad, jvp, vmap, custom functions, under PyTorch's names.

Operators come from the table in Rust. Submodules are loaded when they are first used, and NumPy when an array is
first converted. Beware that some names of this module, such as `int` and `float`, are dtypes.
"""

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from . import _attached as _attached
from . import _core
from ._core import *  # noqa: F403
from ._members import lazily, members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import accelerator as accelerator
    from . import amp as amp
    from . import as_torch as as_torch
    from . import autograd as autograd
    from . import backends as backends
    from . import compiler as compiler
    from . import cuda as cuda
    from . import distributed as distributed
    from . import fft as fft
    from . import func as func
    from . import functorch as functorch
    from . import jit as jit
    from . import library as library
    from . import linalg as linalg
    from . import mps as mps
    from . import multiprocessing as multiprocessing
    from . import nn as nn
    from . import onnx as onnx
    from . import ops as ops
    from . import optim as optim
    from . import profiler as profiler
    from . import random as random
    from . import return_types as return_types
    from . import serialization as serialization
    from . import special as special
    from . import testing as testing
    from . import types as types
    from . import utils as utils
    from . import version as version
    from . import xpu as xpu
    from ._settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
    from ._settings import get_default_device as get_default_device
    from ._settings import get_deterministic_debug_mode as get_deterministic_debug_mode
    from ._settings import get_float32_matmul_precision as get_float32_matmul_precision
    from ._settings import get_num_interop_threads as get_num_interop_threads
    from ._settings import is_autocast_cache_enabled as is_autocast_cache_enabled
    from ._settings import is_autocast_cpu_enabled as is_autocast_cpu_enabled
    from ._settings import is_autocast_enabled as is_autocast_enabled
    from ._settings import (
        is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
    )
    from ._settings import is_warn_always_enabled as is_warn_always_enabled
    from ._settings import set_default_device as set_default_device
    from ._settings import set_default_tensor_type as set_default_tensor_type
    from ._settings import set_deterministic_debug_mode as set_deterministic_debug_mode
    from ._settings import set_float32_matmul_precision as set_float32_matmul_precision
    from ._settings import set_flush_denormal as set_flush_denormal
    from ._settings import set_num_interop_threads as set_num_interop_threads
    from ._settings import set_warn_always as set_warn_always
    from ._settings import typename as typename
    from ._settings import use_deterministic_algorithms as use_deterministic_algorithms
    from ._tensor_types import BFloat16Tensor as BFloat16Tensor  # type: ignore[attr-defined]
    from ._tensor_types import BoolTensor as BoolTensor  # type: ignore[attr-defined]
    from ._tensor_types import ByteTensor as ByteTensor  # type: ignore[attr-defined]
    from ._tensor_types import CharTensor as CharTensor  # type: ignore[attr-defined]
    from ._tensor_types import ComplexDoubleTensor as ComplexDoubleTensor  # type: ignore[attr-defined]
    from ._tensor_types import ComplexFloatTensor as ComplexFloatTensor  # type: ignore[attr-defined]
    from ._tensor_types import DoubleTensor as DoubleTensor  # type: ignore[attr-defined]
    from ._tensor_types import FloatTensor as FloatTensor  # type: ignore[attr-defined]
    from ._tensor_types import HalfTensor as HalfTensor  # type: ignore[attr-defined]
    from ._tensor_types import IntTensor as IntTensor  # type: ignore[attr-defined]
    from ._tensor_types import LongTensor as LongTensor  # type: ignore[attr-defined]
    from ._tensor_types import ShortTensor as ShortTensor  # type: ignore[attr-defined]
    from .amp import autocast as autocast
    from .compiler import compile as compile
    from .serialization import load as load
    from .serialization import save as save

_SUBMODULES = (
    *(
        "accelerator",
        "amp",
        "as_torch",
        "autograd",
        "backends",
        "compiler",
        "cuda",
        "distributed",
        "fft",
        "func",
        "functorch",
        "jit",
    ),
    *(
        "library",
        "linalg",
        "mps",
        "multiprocessing",
        "nn",
        "onnx",
        "ops",
        "optim",
        "profiler",
        "random",
        "return_types",
    ),
    *("serialization", "special", "testing", "types", "utils", "version", "xpu"),
)
_SETTINGS = (
    *("are_deterministic_algorithms_enabled", "get_default_device", "get_deterministic_debug_mode"),
    *("get_float32_matmul_precision", "get_num_interop_threads", "is_autocast_cache_enabled"),
    *("is_autocast_cpu_enabled", "is_autocast_enabled", "is_deterministic_algorithms_warn_only_enabled"),
    *("is_warn_always_enabled", "set_default_device", "set_default_tensor_type"),
    *("set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal"),
    *("set_num_interop_threads", "set_warn_always", "typename", "use_deterministic_algorithms"),
)
_TENSOR_TYPES = (
    *("BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "ComplexDoubleTensor"),
    *("ComplexFloatTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor"),
    *("ShortTensor",),
)
# Names whose module is loaded when they are first used.
_CONTENTS = {
    **dict.fromkeys(("load", "save"), "serialization"),
    **dict.fromkeys(_SETTINGS, "_settings"),
    **dict.fromkeys(_TENSOR_TYPES, "_tensor_types"),
    **{"autocast": "amp", "compile": "compiler"},
}

__version__: str = _core.__version__
newaxis = None
globals().update(members(""))
__getattr__ = lazily(__name__, _SUBMODULES, _CONTENTS)
# Without the helpers of this file, and without the dtypes that would hide builtins behind `import *`.
_HIDDEN = {"TYPE_CHECKING", "lazily", "members", "bool", "float", "int"}
__all__ = sorted({name for name in globals() if name[0] != "_"} - _HIDDEN | {*_SUBMODULES, *_CONTENTS})
del TYPE_CHECKING, lazily, members


def __dir__() -> "list[str]":
    return __all__
