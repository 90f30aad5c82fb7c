"""Names of the package whose modules are loaded when they are first used."""

from __future__ import annotations

from . import _core
from ._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUBMODULES = (
    *"accelerator amp as_torch autograd backends compiler cpu cuda distributed distributions fft func".split(),
    *"functional functorch futures hub jit library linalg mps multiprocessing nn onnx ops optim overrides".split(),
    *"profiler random return_types serialization special storage testing types utils version xpu".split(),
)
# Names whose module is loaded when they are first used.
_HOMES = {
    # An operator of the table of the same name comes first.
    "_functions": "_grid_sampler_2d_cpu_fallback _log_softmax _masked_softmax _softmax adaptive_max_pool1d "
    "affine_grid_generator alpha_dropout alpha_dropout_ batch_norm batch_norm_update_stats bilinear "
    "binary_cross_entropy_with_logits broadcast_shapes celu celu_ channel_shuffle conv_tbc cosine_embedding_loss "
    "cosine_similarity "
    "dropout dropout_ embedding feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ "
    "get_device grid_sampler grid_sampler_2d grid_sampler_3d group_norm hardshrink hinge_embedding_loss "
    "instance_norm is_nonzero is_same_size is_signed kl_div margin_ranking_loss native_channel_shuffle "
    "pairwise_distance pixel_shuffle pixel_unshuffle poisson_nll_loss prelu rrelu rrelu_ selu selu_ threshold "
    "threshold_ triplet_margin_loss",
    "_conditions": "_assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all "
    "_check_type _check_value _check_with cond",
    "_forms": "_cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short as_strided_ "
    "detach_ fill fill_ is_conj is_distributed is_neg numel resize_as_ resolve_conj resolve_neg spmm zero_",
    "_copies": "alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy "
    "split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy "
    "view_as_complex_copy view_as_real_copy view_copy",
    "_lobpcg": "lobpcg",
    "_lowrank": "pca_lowrank svd_lowrank",
    "_mapped_file": "from_file",
    "_pieces": "as_strided_scatter unsafe_chunk unsafe_split unsafe_split_with_sizes",
    "_removed": "eig lstsq matrix_rank solve symeig",
    "_settings": "are_deterministic_algorithms_enabled get_default_device get_deterministic_debug_mode "
    "get_float32_matmul_precision get_num_interop_threads is_deterministic_algorithms_warn_only_enabled "
    "is_warn_always_enabled set_default_device set_default_tensor_type set_deterministic_debug_mode "
    "set_float32_matmul_precision set_flush_denormal set_num_interop_threads set_warn_always typename "
    "use_deterministic_algorithms",
    "_symbols": "SymBool SymFloat SymInt sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum",
    "_tensor_types": "BFloat16Tensor BoolTensor ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor "
    "DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor _tensor_classes",
    "amp": "GradScaler autocast clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype "
    "is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled "
    "set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype",
    "cuda": "AcceleratorError OutOfMemoryError",
    "compiler": "compile",
    "futures": "Future",
    "jit": "ScriptFunction ScriptModule",
    "serialization": "load save",
    "serialization._reader": "PyTorchFileReader",
    "storage": "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage "
    "DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage Storage TypedStorage",
}
CONTENTS = {name: home for home, names in _HOMES.items() for name in names.split() if name not in _core.functions}
_load = lazily("pullback", (*SUBMODULES, "_C", "_tensor_str", "_utils", "__config__"), CONTENTS)
_HAS = ("has_cuda", "has_cudnn", "has_mkl", "has_mkldnn", "has_mps", "has_openmp")
# The helpers of the package's own file, and the dtypes that would hide builtins behind `import *`.
_HIDDEN = {"members", "bool", "float", "int"}


def public() -> list[str]:
    """All public names of the package."""
    import pullback

    present = {name for name in vars(pullback) if name[0] != "_"}
    return sorted(present - _HIDDEN | {*SUBMODULES, *(name for name in CONTENTS if name[0] != "_")})


def find(name: str) -> Any:
    """What the package has under a name that it does not hold yet."""
    if name == "__all__":
        import pullback

        found = pullback.__all__ = public()
        return found
    if name.startswith("_foreach_"):
        from . import _foreach

        return getattr(_foreach, name, None) or _load(name)
    if name in _HAS:
        # What was asked before `backends`, of parts that are not here.
        return False
    return _load(name)
