"""Tensors on the CPU with composable function transforms: grad, jvp, vmap, custom functions, under PyTorch's names.

Operators come from the table in Rust. Submodules are loaded when they are first used, and NumPy when an array is
first converted. Beware that some names of this module, such as `int` and `float`, are dtypes.
"""

# What type checkers know of this module is in `__init__.pyi`, which `_stubs` makes of the names below.
from builtins import float as _number

from . import _attached as _attached
from . import _core
from ._core import *  # noqa: F403
from ._members import lazily, members

e, inf, nan, pi = 2.718281828459045, _number("inf"), _number("nan"), 3.141592653589793
newaxis = None
__version__: str = _core.__version__

_SUBMODULES = (
    *"accelerator amp as_torch autograd backends compiler cuda distributed fft func functorch jit library".split(),
    *"linalg mps multiprocessing nn onnx ops optim profiler random return_types serialization special".split(),
    *"testing types utils version xpu".split(),
)
# Names whose module is loaded when they are first used.
_HOMES = {
    # An operator of the table of the same name comes first.
    "_functions": "_grid_sampler_2d_cpu_fallback _log_softmax _masked_softmax _softmax adaptive_max_pool1d "
    "affine_grid_generator alpha_dropout alpha_dropout_ batch_norm batch_norm_update_stats bilinear "
    "binary_cross_entropy_with_logits celu celu_ channel_shuffle conv_tbc cosine_embedding_loss cosine_similarity "
    "dropout dropout_ embedding feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ "
    "get_device grid_sampler grid_sampler_2d grid_sampler_3d group_norm hardshrink hinge_embedding_loss "
    "instance_norm is_nonzero is_same_size is_signed kl_div margin_ranking_loss native_channel_shuffle "
    "pairwise_distance pixel_shuffle pixel_unshuffle poisson_nll_loss prelu rrelu rrelu_ selu selu_ threshold "
    "threshold_ triplet_margin_loss",
    "_settings": "are_deterministic_algorithms_enabled get_default_device get_deterministic_debug_mode "
    "get_float32_matmul_precision get_num_interop_threads is_autocast_cache_enabled is_autocast_cpu_enabled "
    "is_autocast_enabled is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_default_device "
    "set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal "
    "set_num_interop_threads set_warn_always typename use_deterministic_algorithms",
    "_tensor_types": "BFloat16Tensor BoolTensor ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor "
    "DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor",
    "amp": "autocast",
    "compiler": "compile",
    "serialization": "load save",
}
_CONTENTS = {name: home for home, names in _HOMES.items() for name in names.split()}

globals().update(members(""))
__getattr__ = lazily(__name__, _SUBMODULES, _CONTENTS)
# Without the helpers of this file, and without the dtypes that would hide builtins behind `import *`.
_HIDDEN = {"lazily", "members", "bool", "float", "int"}
__all__ = sorted(
    {name for name in globals() if name[0] != "_"} - _HIDDEN | {*_SUBMODULES, *(n for n in _CONTENTS if n[0] != "_")}
)
del lazily, members


def __dir__() -> "list[str]":
    return __all__
