# Made by `python -m pullback._stubs` from the operator table. Do not edit.
"""Tensors on the CPU with composable function transforms: grad, jvp, vmap, custom functions, under PyTorch's names.

Operators come from the table in Rust. Submodules are loaded when they are first used, and NumPy when an array is
first converted. Beware that some names of this module, such as `int` and `float`, are dtypes.
"""

import builtins
from ._core import *
from ._core import __version__ as __version__
from . import accelerator as accelerator
from . import amp as amp
from . import as_torch as as_torch
from . import autograd as autograd
from . import backends as backends
from . import compiler as compiler
from . import cpu as cpu
from . import cuda as cuda
from . import distributed as distributed
from . import distributions as distributions
from . import fft as fft
from . import func as func
from . import functional as functional
from . import functorch as functorch
from . import futures as futures
from . import hub as hub
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import mps as mps
from . import multiprocessing as multiprocessing
from . import nn as nn
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from . import profiler as profiler
from . import random as random
from . import return_types as return_types
from . import serialization as serialization
from . import special as special
from . import storage as storage
from . import testing as testing
from . import types as types
from . import utils as utils
from . import version as version
from . import xpu as xpu
from .cuda import AcceleratorError as AcceleratorError
from .storage import BFloat16Storage as BFloat16Storage
from ._tensor_types import BFloat16Tensor as BFloat16Tensor
from .storage import BoolStorage as BoolStorage
from ._tensor_types import BoolTensor as BoolTensor
from .storage import ByteStorage as ByteStorage
from ._tensor_types import ByteTensor as ByteTensor
from .storage import CharStorage as CharStorage
from ._tensor_types import CharTensor as CharTensor
from .storage import ComplexDoubleStorage as ComplexDoubleStorage
from ._tensor_types import ComplexDoubleTensor as ComplexDoubleTensor
from .storage import ComplexFloatStorage as ComplexFloatStorage
from ._tensor_types import ComplexFloatTensor as ComplexFloatTensor
from .storage import DoubleStorage as DoubleStorage
from ._tensor_types import DoubleTensor as DoubleTensor
from .storage import FloatStorage as FloatStorage
from ._tensor_types import FloatTensor as FloatTensor
from .futures import Future as Future
from .amp import GradScaler as GradScaler
from .storage import HalfStorage as HalfStorage
from ._tensor_types import HalfTensor as HalfTensor
from .storage import IntStorage as IntStorage
from ._tensor_types import IntTensor as IntTensor
from .storage import LongStorage as LongStorage
from ._tensor_types import LongTensor as LongTensor
from .cuda import OutOfMemoryError as OutOfMemoryError
from .serialization._reader import PyTorchFileReader as PyTorchFileReader
from .jit import ScriptFunction as ScriptFunction
from .jit import ScriptModule as ScriptModule
from .storage import ShortStorage as ShortStorage
from ._tensor_types import ShortTensor as ShortTensor
from .storage import Storage as Storage
from ._symbols import SymBool as SymBool
from ._symbols import SymFloat as SymFloat
from ._symbols import SymInt as SymInt
from .storage import TypedStorage as TypedStorage
from ._conditions import _assert as _assert
from ._conditions import _assert_async as _assert_async
from ._forms import _cast_Byte as _cast_Byte
from ._forms import _cast_Char as _cast_Char
from ._forms import _cast_Double as _cast_Double
from ._forms import _cast_Float as _cast_Float
from ._forms import _cast_Half as _cast_Half
from ._forms import _cast_Int as _cast_Int
from ._forms import _cast_Long as _cast_Long
from ._forms import _cast_Short as _cast_Short
from ._conditions import _check as _check
from ._conditions import _check_index as _check_index
from ._conditions import _check_is_size as _check_is_size
from ._conditions import _check_not_implemented as _check_not_implemented
from ._conditions import _check_tensor_all as _check_tensor_all
from ._conditions import _check_type as _check_type
from ._conditions import _check_value as _check_value
from ._conditions import _check_with as _check_with
from ._functions import _grid_sampler_2d_cpu_fallback as _grid_sampler_2d_cpu_fallback
from ._functions import _log_softmax as _log_softmax
from ._functions import _masked_softmax as _masked_softmax
from ._functions import _softmax as _softmax
from ._tensor_types import _tensor_classes as _tensor_classes
from ._functions import adaptive_max_pool1d as adaptive_max_pool1d
from ._functions import affine_grid_generator as affine_grid_generator
from ._copies import alias_copy as alias_copy
from ._functions import alpha_dropout as alpha_dropout
from ._functions import alpha_dropout_ as alpha_dropout_
from ._settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from ._forms import as_strided_ as as_strided_
from ._copies import as_strided_copy as as_strided_copy
from ._pieces import as_strided_scatter as as_strided_scatter
from .amp import autocast as autocast
from ._functions import batch_norm as batch_norm
from ._functions import batch_norm_update_stats as batch_norm_update_stats
from ._functions import bilinear as bilinear
from ._functions import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from ._functions import broadcast_shapes as broadcast_shapes
from ._functions import celu as celu
from ._functions import celu_ as celu_
from ._functions import channel_shuffle as channel_shuffle
from .amp import clear_autocast_cache as clear_autocast_cache
from .compiler import compile as compile
from ._conditions import cond as cond
from ._functions import conv_tbc as conv_tbc
from ._functions import cosine_embedding_loss as cosine_embedding_loss
from ._functions import cosine_similarity as cosine_similarity
from ._forms import detach_ as detach_
from ._copies import detach_copy as detach_copy
from ._copies import diagonal_copy as diagonal_copy
from ._functions import dropout as dropout
from ._functions import dropout_ as dropout_
from ._removed import eig as eig
from ._functions import embedding as embedding
from ._copies import expand_copy as expand_copy
from ._functions import feature_alpha_dropout as feature_alpha_dropout
from ._functions import feature_alpha_dropout_ as feature_alpha_dropout_
from ._functions import feature_dropout as feature_dropout
from ._functions import feature_dropout_ as feature_dropout_
from ._forms import fill as fill
from ._forms import fill_ as fill_
from ._mapped_file import from_file as from_file
from .amp import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp import get_autocast_dtype as get_autocast_dtype
from .amp import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from ._settings import get_default_device as get_default_device
from ._settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from ._functions import get_device as get_device
from ._settings import get_float32_matmul_precision as get_float32_matmul_precision
from ._settings import get_num_interop_threads as get_num_interop_threads
from ._functions import grid_sampler as grid_sampler
from ._functions import grid_sampler_2d as grid_sampler_2d
from ._functions import grid_sampler_3d as grid_sampler_3d
from ._functions import group_norm as group_norm
from ._functions import hardshrink as hardshrink
from ._functions import hinge_embedding_loss as hinge_embedding_loss
from ._functions import instance_norm as instance_norm
from .amp import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp import is_autocast_enabled as is_autocast_enabled
from ._forms import is_conj as is_conj
from ._settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from ._forms import is_distributed as is_distributed
from ._forms import is_neg as is_neg
from ._functions import is_nonzero as is_nonzero
from ._functions import is_same_size as is_same_size
from ._functions import is_signed as is_signed
from ._settings import is_warn_always_enabled as is_warn_always_enabled
from ._functions import kl_div as kl_div
from .serialization import load as load
from ._lobpcg import lobpcg as lobpcg
from ._removed import lstsq as lstsq
from ._functions import margin_ranking_loss as margin_ranking_loss
from ._removed import matrix_rank as matrix_rank
from ._functions import native_channel_shuffle as native_channel_shuffle
from ._forms import numel as numel
from ._functions import pairwise_distance as pairwise_distance
from ._lowrank import pca_lowrank as pca_lowrank
from ._copies import permute_copy as permute_copy
from ._functions import pixel_shuffle as pixel_shuffle
from ._functions import pixel_unshuffle as pixel_unshuffle
from ._functions import poisson_nll_loss as poisson_nll_loss
from ._functions import prelu as prelu
from ._forms import resize_as_ as resize_as_
from ._forms import resolve_conj as resolve_conj
from ._forms import resolve_neg as resolve_neg
from ._functions import rrelu as rrelu
from ._functions import rrelu_ as rrelu_
from .serialization import save as save
from ._copies import select_copy as select_copy
from ._functions import selu as selu
from ._functions import selu_ as selu_
from .amp import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .amp import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .amp import set_autocast_dtype as set_autocast_dtype
from .amp import set_autocast_enabled as set_autocast_enabled
from .amp import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from ._settings import set_default_device as set_default_device
from ._settings import set_default_tensor_type as set_default_tensor_type
from ._settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from ._settings import set_float32_matmul_precision as set_float32_matmul_precision
from ._settings import set_flush_denormal as set_flush_denormal
from ._settings import set_num_interop_threads as set_num_interop_threads
from ._settings import set_warn_always as set_warn_always
from ._copies import slice_copy as slice_copy
from ._removed import solve as solve
from ._copies import split_copy as split_copy
from ._copies import split_with_sizes_copy as split_with_sizes_copy
from ._forms import spmm as spmm
from ._copies import squeeze_copy as squeeze_copy
from ._lowrank import svd_lowrank as svd_lowrank
from ._symbols import sym_float as sym_float
from ._symbols import sym_int as sym_int
from ._symbols import sym_ite as sym_ite
from ._symbols import sym_max as sym_max
from ._symbols import sym_min as sym_min
from ._symbols import sym_not as sym_not
from ._symbols import sym_sqrt as sym_sqrt
from ._symbols import sym_sum as sym_sum
from ._removed import symeig as symeig
from ._copies import t_copy as t_copy
from ._copies import transpose_copy as transpose_copy
from ._functions import triplet_margin_loss as triplet_margin_loss
from ._settings import typename as typename
from ._copies import unbind_copy as unbind_copy
from ._copies import unfold_copy as unfold_copy
from ._pieces import unsafe_chunk as unsafe_chunk
from ._pieces import unsafe_split as unsafe_split
from ._pieces import unsafe_split_with_sizes as unsafe_split_with_sizes
from ._copies import unsqueeze_copy as unsqueeze_copy
from ._settings import use_deterministic_algorithms as use_deterministic_algorithms
from ._copies import view_as_complex_copy as view_as_complex_copy
from ._copies import view_as_real_copy as view_as_real_copy
from ._copies import view_copy as view_copy
from ._forms import zero_ as zero_

e: builtins.float
inf: builtins.float
nan: builtins.float
pi: builtins.float
newaxis: None

__all__ = [
    "AcceleratorError",
    "BFloat16Storage",
    "BFloat16Tensor",
    "BoolStorage",
    "BoolTensor",
    "ByteStorage",
    "ByteTensor",
    "CharStorage",
    "CharTensor",
    "ComplexDoubleStorage",
    "ComplexDoubleTensor",
    "ComplexFloatStorage",
    "ComplexFloatTensor",
    "DoubleStorage",
    "DoubleTensor",
    "FloatStorage",
    "FloatTensor",
    "FunctionApply",
    "FunctionCtx",
    "Future",
    "Generator",
    "GradScaler",
    "HalfStorage",
    "HalfTensor",
    "IntStorage",
    "IntTensor",
    "InternalError",
    "LongStorage",
    "LongTensor",
    "OutOfMemoryError",
    "PyTorchFileReader",
    "ScriptFunction",
    "ScriptModule",
    "ShortStorage",
    "ShortTensor",
    "Size",
    "Storage",
    "SymBool",
    "SymFloat",
    "SymInt",
    "Tensor",
    "TypedStorage",
    "UntypedStorage",
    "VmapInfo",
    "abs",
    "abs_",
    "absolute",
    "absolute_",
    "accelerator",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addmv_",
    "addr",
    "adjoint",
    "affine_grid_generator",
    "alias_copy",
    "all",
    "allclose",
    "alpha_dropout",
    "alpha_dropout_",
    "amax",
    "amin",
    "aminmax",
    "amp",
    "angle",
    "any",
    "arange",
    "arccos",
    "arccos_",
    "arccosh",
    "arccosh_",
    "arcsin",
    "arcsin_",
    "arcsinh",
    "arcsinh_",
    "arctan",
    "arctan2",
    "arctan_",
    "arctanh",
    "arctanh_",
    "are_deterministic_algorithms_enabled",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_strided",
    "as_strided_",
    "as_strided_copy",
    "as_strided_scatter",
    "as_tensor",
    "as_torch",
    "asarray",
    "asin",
    "asin_",
    "asinh",
    "asinh_",
    "atan",
    "atan2",
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autocast",
    "autograd",
    "avg_pool1d",
    "backends",
    "baddbmm",
    "bartlett_window",
    "batch_norm",
    "batch_norm_update_stats",
    "bernoulli",
    "bfloat16",
    "bilinear",
    "binary_cross_entropy_with_logits",
    "bincount",
    "binomial",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman_window",
    "block_diag",
    "bmm",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cartesian_prod",
    "cat",
    "cdist",
    "cdouble",
    "ceil",
    "ceil_",
    "celu",
    "celu_",
    "cfloat",
    "chain_matmul",
    "channel_shuffle",
    "channels_last",
    "channels_last_3d",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clear_autocast_cache",
    "clip",
    "clip_",
    "clone",
    "column_stack",
    "combinations",
    "compile",
    "compiler",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "concatenate",
    "cond",
    "conj",
    "conj_physical",
    "conj_physical_",
    "constant_pad_nd",
    "contiguous_format",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "copysign",
    "corrcoef",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "cosine_embedding_loss",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cpu",
    "cross",
    "cuda",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "default_generator",
    "deg2rad",
    "deg2rad_",
    "det",
    "detach",
    "detach_",
    "detach_copy",
    "device",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_copy",
    "diagonal_scatter",
    "diff",
    "digamma",
    "dist",
    "distributed",
    "distributions",
    "div",
    "divide",
    "dot",
    "double",
    "dropout",
    "dropout_",
    "dsplit",
    "dstack",
    "dtype",
    "e",
    "eig",
    "einsum",
    "embedding",
    "empty",
    "empty_cache",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "enable_grad",
    "eq",
    "equal",
    "erf",
    "erf_",
    "erfc",
    "erfc_",
    "erfinv",
    "exp",
    "exp2",
    "exp2_",
    "exp_",
    "expand_copy",
    "expm1",
    "expm1_",
    "eye",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "fft",
    "fill",
    "fill_",
    "finfo",
    "fix",
    "fix_",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frac_",
    "frexp",
    "from_dlpack",
    "from_file",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "func",
    "functional",
    "functorch",
    "futures",
    "gather",
    "gcd",
    "gcd_",
    "ge",
    "geqrf",
    "ger",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "get_default_device",
    "get_default_dtype",
    "get_deterministic_debug_mode",
    "get_device",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "get_printoptions",
    "get_rng_state",
    "gradient",
    "greater",
    "greater_equal",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "group_norm",
    "gru",
    "gru_cell",
    "gt",
    "half",
    "hamming_window",
    "hann_window",
    "hardshrink",
    "heaviside",
    "hinge_embedding_loss",
    "histc",
    "histogram",
    "hsplit",
    "hstack",
    "hub",
    "hypot",
    "i0",
    "i0_",
    "igamma",
    "iinfo",
    "imag",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_put_",
    "index_reduce",
    "index_select",
    "inf",
    "inference_mode",
    "initial_seed",
    "inner",
    "instance_norm",
    "int16",
    "int32",
    "int64",
    "int8",
    "inverse",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "is_complex",
    "is_conj",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_distributed",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "is_warn_always_enabled",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "jit",
    "kaiser_window",
    "kl_div",
    "kron",
    "kthvalue",
    "layer_norm",
    "layout",
    "lcm",
    "lcm_",
    "ldexp",
    "ldexp_",
    "le",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "library",
    "linalg",
    "linspace",
    "load",
    "lobpcg",
    "log",
    "log10",
    "log10_",
    "log1p",
    "log1p_",
    "log2",
    "log2_",
    "log_",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logit_",
    "logspace",
    "logsumexp",
    "long",
    "lstm",
    "lstm_cell",
    "lstsq",
    "lt",
    "lu",
    "lu_solve",
    "lu_unpack",
    "manual_seed",
    "margin_ranking_loss",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "matrix_rank",
    "max",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool3d",
    "maximum",
    "mean",
    "median",
    "memory_format",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "mode",
    "moveaxis",
    "movedim",
    "mps",
    "msort",
    "mul",
    "multinomial",
    "multiply",
    "multiprocessing",
    "mv",
    "mvlgamma",
    "nan",
    "nan_to_num",
    "nan_to_num_",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "narrow_copy",
    "native_channel_shuffle",
    "ne",
    "neg",
    "neg_",
    "negative",
    "negative_",
    "newaxis",
    "nextafter",
    "nn",
    "no_grad",
    "nonzero",
    "nonzero_static",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
    "onnx",
    "ops",
    "optim",
    "orgqr",
    "ormqr",
    "outer",
    "overrides",
    "pairwise_distance",
    "pca_lowrank",
    "pdist",
    "permute",
    "permute_copy",
    "pi",
    "pinverse",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson",
    "poisson_nll_loss",
    "polar",
    "polygamma",
    "positive",
    "pow",
    "prelu",
    "preserve_format",
    "prod",
    "profiler",
    "promote_types",
    "put",
    "qr",
    "quantile",
    "rad2deg",
    "rad2deg_",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "range",
    "ravel",
    "real",
    "reciprocal",
    "reciprocal_",
    "relu",
    "relu_",
    "remainder",
    "renorm",
    "repeat_interleave",
    "reshape",
    "resize_as_",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "return_types",
    "rms_norm",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "roll",
    "rot90",
    "round",
    "round_",
    "row_stack",
    "rrelu",
    "rrelu_",
    "rsqrt",
    "rsqrt_",
    "rsub",
    "save",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "seed",
    "select",
    "select_copy",
    "select_scatter",
    "selu",
    "selu_",
    "serialization",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
    "set_default_device",
    "set_default_dtype",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_grad_enabled",
    "set_num_interop_threads",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "set_warn_always",
    "sgn",
    "sgn_",
    "short",
    "sigmoid",
    "sigmoid_",
    "sign",
    "signbit",
    "sin",
    "sin_",
    "sinc",
    "sinc_",
    "sinh",
    "sinh_",
    "slice_copy",
    "slice_scatter",
    "slogdet",
    "softmax",
    "solve",
    "sort",
    "special",
    "split",
    "split_copy",
    "split_with_sizes",
    "split_with_sizes_copy",
    "spmm",
    "sqrt",
    "sqrt_",
    "square",
    "square_",
    "squeeze",
    "squeeze_copy",
    "stack",
    "std",
    "std_mean",
    "storage",
    "strided",
    "sub",
    "subtract",
    "sum",
    "svd",
    "svd_lowrank",
    "swapaxes",
    "swapdims",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
    "symeig",
    "t",
    "t_copy",
    "take",
    "take_along_dim",
    "tan",
    "tan_",
    "tanh",
    "tanh_",
    "tensor",
    "tensor_split",
    "tensordot",
    "testing",
    "threshold",
    "threshold_",
    "tile",
    "to_dlpack",
    "topk",
    "trace",
    "transpose",
    "transpose_copy",
    "trapezoid",
    "trapz",
    "triangular_solve",
    "tril",
    "tril_indices",
    "triplet_margin_loss",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "trunc_",
    "typename",
    "types",
    "uint8",
    "unbind",
    "unbind_copy",
    "unflatten",
    "unfold_copy",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "unsqueeze_copy",
    "use_deterministic_algorithms",
    "utils",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "version",
    "view_as_complex",
    "view_as_complex_copy",
    "view_as_real",
    "view_as_real_copy",
    "view_copy",
    "vmap",
    "vsplit",
    "vstack",
    "where",
    "xlogy",
    "xlogy_",
    "xpu",
    "zero_",
    "zeros",
    "zeros_like",
]
