# Made by `python -m pullback._stubs` from the operator table. Do not edit.

import builtins
import numpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import (
    Any, Concatenate, Generic, Literal, NamedTuple, NoReturn, ParamSpec, SupportsIndex, TypeAlias, TypeVar, overload
)
from typing_extensions import Self, TypeIs, TypeVarTuple, Unpack
from ._core_autograd_graph import Node
from ._core_utils_hooks import RemovableHandle

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_T = TypeVar("_T")
_A = TypeVar("_A")
_F = TypeVar("_F", bound=Callable[..., Any])
_S = TypeVar("_S", bound=Tensor)
_Ts = TypeVarTuple("_Ts")
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex
_Operand: TypeAlias = Tensor | _Number
_Ints: TypeAlias = builtins.int | Sequence[builtins.int]
_Array: TypeAlias = numpy.ndarray[Any, Any]
_Slice: TypeAlias = builtins.slice[Any, Any, Any]
_Item: TypeAlias = SupportsIndex | _Slice | EllipsisType | Tensor | _Array | builtins.list[Any] | builtins.range | None
_Index: TypeAlias = _Item | builtins.tuple[Any, ...]
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_memory_format: TypeAlias = memory_format
_Device: TypeAlias = device | builtins.str | None
_Argnums: TypeAlias = builtins.int | builtins.tuple[builtins.int, ...]
_Leaf: TypeAlias = Callable[[Any], builtins.bool] | None

__all__ = [
    "FunctionApply",
    "FunctionCtx",
    "Generator",
    "InternalError",
    "Size",
    "Tensor",
    "UntypedStorage",
    "VmapInfo",
    "_autocast",
    "_dirichlet_grad",
    "_neg_view",
    "_rebuild_tensor",
    "_restore_transform",
    "_rrelu_slopes",
    "_set_autocast",
    "_set_warn_always",
    "_short",
    "_standard_gamma",
    "_standard_gamma_grad",
    "abs",
    "abs_",
    "absolute",
    "absolute_",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "adaptive_avg_pool1d",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addmv_",
    "addr",
    "adjoint",
    "all",
    "allclose",
    "amax",
    "amin",
    "aminmax",
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
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_strided",
    "as_tensor",
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
    "avg_pool1d",
    "baddbmm",
    "bartlett_window",
    "bernoulli",
    "bfloat16",
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
    "bool",
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
    "cfloat",
    "chain_matmul",
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
    "clip",
    "clip_",
    "clone",
    "column_stack",
    "combinations",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "concatenate",
    "conj",
    "conj_physical",
    "conj_physical_",
    "constant_pad_nd",
    "contiguous_format",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "copysign",
    "corrcoef",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "count_nonzero",
    "cov",
    "cross",
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
    "device",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "digamma",
    "dist",
    "div",
    "divide",
    "dot",
    "double",
    "dsplit",
    "dstack",
    "dtype",
    "einsum",
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
    "expm1",
    "expm1_",
    "eye",
    "finfo",
    "fix",
    "fix_",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float",
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
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "gather",
    "gcd",
    "gcd_",
    "ge",
    "geqrf",
    "ger",
    "get_default_dtype",
    "get_num_threads",
    "get_printoptions",
    "get_rng_state",
    "gradient",
    "greater",
    "greater_equal",
    "gru",
    "gru_cell",
    "gt",
    "half",
    "hamming_window",
    "hann_window",
    "heaviside",
    "histc",
    "histogram",
    "hsplit",
    "hstack",
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
    "inference_mode",
    "initial_seed",
    "inner",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "inverse",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_complex",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_nonzero",
    "is_storage",
    "is_tensor",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "kaiser_window",
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
    "linspace",
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
    "lt",
    "lu",
    "lu_solve",
    "lu_unpack",
    "manual_seed",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
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
    "msort",
    "mul",
    "multinomial",
    "multiply",
    "mv",
    "mvlgamma",
    "nan_to_num",
    "nan_to_num_",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "narrow_copy",
    "ne",
    "neg",
    "neg_",
    "negative",
    "negative_",
    "nextafter",
    "no_grad",
    "nonzero",
    "nonzero_static",
    "norm",
    "normal",
    "not_equal",
    "ones",
    "ones_like",
    "orgqr",
    "ormqr",
    "outer",
    "pdist",
    "permute",
    "pinverse",
    "poisson",
    "polar",
    "polygamma",
    "positive",
    "pow",
    "preserve_format",
    "prod",
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
    "result_type",
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
    "rsqrt",
    "rsqrt_",
    "rsub",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "seed",
    "select",
    "select_scatter",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
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
    "slice_scatter",
    "slogdet",
    "softmax",
    "sort",
    "split",
    "split_with_sizes",
    "sqrt",
    "sqrt_",
    "square",
    "square_",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "strided",
    "sub",
    "subtract",
    "sum",
    "svd",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_dim",
    "tan",
    "tan_",
    "tanh",
    "tanh_",
    "tensor",
    "tensor_split",
    "tensordot",
    "threshold",
    "threshold_",
    "tile",
    "to_dlpack",
    "topk",
    "trace",
    "transpose",
    "trapezoid",
    "trapz",
    "triangular_solve",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "trunc_",
    "uint8",
    "unbind",
    "unflatten",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsqueeze",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "view_as_complex",
    "view_as_real",
    "vmap",
    "vsplit",
    "vstack",
    "where",
    "xlogy",
    "xlogy_",
    "zeros",
    "zeros_like",
]

class InternalError(builtins.RuntimeError):
    """A bug in pullback itself."""

class dtype:
    """The type of a tensor's elements, such as `pullback.float32`."""
    @builtins.property
    def is_floating_point(self) -> builtins.bool: ...
    @builtins.property
    def is_complex(self) -> builtins.bool: ...
    @builtins.property
    def is_signed(self) -> builtins.bool: ...
    @builtins.property
    def itemsize(self) -> builtins.int: ...
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...

class finfo:
    """Limits of a float dtype; of a complex one, those of its parts."""
    def __new__(cls, type: _dtype | None = None) -> finfo: ...
    bits: builtins.int
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    resolution: builtins.float
    smallest_normal: builtins.float
    tiny: builtins.float
    dtype: builtins.str

class iinfo:
    """Limits of an integer dtype."""
    def __new__(cls, type: _dtype) -> iinfo: ...
    bits: builtins.int
    max: builtins.int
    min: builtins.int
    dtype: builtins.str

class device:
    """Where a tensor lives. Only `cpu` exists."""
    def __new__(cls, type: builtins.str | device, index: builtins.int | None = None) -> device: ...
    @builtins.property
    def type(self) -> builtins.str: ...
    @builtins.property
    def index(self) -> builtins.int | None: ...
    def __enter__(self) -> device: ...
    def __exit__(self, *args: Any) -> builtins.bool: ...

class layout:
    """How elements are stored."""

class memory_format:
    """An order of the dimensions in memory."""

class Size(builtins.tuple[builtins.int, ...]):
    """The dimensions of a tensor."""
    def __new__(cls, dims: Iterable[SupportsIndex] = ()) -> Size: ...
    def numel(self) -> builtins.int: ...

class Tensor:
    """A multi-dimensional array of one dtype that function transforms can follow."""
    @builtins.property
    def H(self) -> Tensor:
        """A matrix transposed and conjugated, a view."""
    @builtins.property
    def T(self) -> Tensor:
        """All dimensions in reverse order."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __and__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> _Array: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    @builtins.property
    def __array_interface__(self) -> Any:
        """The memory as NumPy's array interface."""
    @builtins.property
    def __array_priority__(self) -> Any:
        """NumPy gives way to tensors in mixed expressions."""
    def __array_ufunc__(self, /, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_wrap__(self, /, array: Any, context: Any = None, return_scalar: Any = None) -> Any: ...
    def __bool__(self) -> builtins.bool: ...
    def __complex__(self) -> builtins.complex: ...
    def __contains__(self, item: Any, /) -> builtins.bool: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __delitem__(self, key: Any, /) -> None: ...
    def __dir__(self) -> Any: ...
    def __dlpack__(self, /, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any: ...
    def __dlpack_device__(self) -> builtins.tuple[builtins.int, builtins.int]: ...
    def __eq__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> builtins.float: ...
    def __floordiv__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __format__(self, spec: builtins.str, /) -> builtins.str: ...
    def __ge__(self, other: Any, /) -> Tensor: ...
    def __getitem__(self, index: _Index, /) -> Tensor: ...
    def __gt__(self, other: Any, /) -> Tensor: ...
    def __hash__(self) -> builtins.int: ...
    def __iadd__(self, other: _Operand | _Array, /) -> Self: ...
    def __iand__(self, other: _Operand | _Array, /) -> Self: ...
    def __ifloordiv__(self, other: _Operand | _Array, /) -> Self: ...
    def __ilshift__(self, other: _Operand | _Array, /) -> Self: ...
    def __imod__(self, other: _Operand | _Array, /) -> Self: ...
    def __imul__(self, other: _Operand | _Array, /) -> Self: ...
    def __index__(self) -> builtins.int: ...
    def __int__(self) -> builtins.int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: _Operand | _Array, /) -> Self: ...
    def __ipow__(self, other: _Operand, mod: None = None, /) -> Self: ...
    def __irshift__(self, other: _Operand | _Array, /) -> Self: ...
    def __isub__(self, other: _Operand | _Array, /) -> Self: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: _Operand | _Array, /) -> Self: ...
    def __ixor__(self, other: _Operand | _Array, /) -> Self: ...
    def __le__(self, other: Any, /) -> Tensor: ...
    def __len__(self) -> builtins.int: ...
    def __lshift__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __lt__(self, other: Any, /) -> Tensor: ...
    def __matmul__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __mod__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __mul__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __ne__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def __or__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: _Operand, mod: None = None, /) -> Tensor: ...
    def __radd__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rand__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...
    def __repr__(self) -> builtins.str: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rlshift__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rmatmul__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rmod__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rmul__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __ror__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rpow__(self, other: _Operand, mod: None = None, /) -> Tensor: ...
    def __rrshift__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rshift__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rsub__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rtruediv__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __rxor__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __setitem__(self, index: _Index, value: Any, /) -> None: ...
    def __sub__(self, other: _Operand | _Array, /) -> Tensor: ...
    @builtins.classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = None, kwargs: Any = None) -> Any: ...
    def __truediv__(self, other: _Operand | _Array, /) -> Tensor: ...
    def __xor__(self, other: _Operand | _Array, /) -> Tensor: ...
    @builtins.property
    def _backward_hooks(self) -> Any:
        """The hooks of `register_hook` by the number of their handle, or None."""
    @builtins.property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of, or None."""
    @builtins.property
    def _grad(self) -> Tensor | None:
        """The gradient, as `grad`; reading it where none will ever be gives no warning."""
    @builtins.property
    def _grad_fn(self) -> Node | None:
        """The node of the operator that gave this tensor, or None, as `grad_fn`."""
    def _is_view(self) -> builtins.bool:
        """Whether this is a view of another tensor."""
    @builtins.staticmethod
    def _make_subclass(cls: Any, data: Any, require_grad: Any = False) -> Any:
        """An object of the class `cls` that shows the elements of `data`, without its history."""
    @builtins.staticmethod
    def _make_wrapper_subclass(*args: Any, **kwargs: Any) -> Any:
        """An object of the class `cls` that has sizes and no data, for a class that answers every operator by
        `__torch_function__`.
        """
    def _neg_view(self) -> Tensor:
        """The negated numbers, a view."""
    def _repr_html_(self) -> builtins.str | None:
        """A table of the numbers for notebooks, if there are few."""
    def _swap(self, /, other: Any) -> Any:
        """Exchanges what both objects stand for: `utils.swap_tensors`."""
    @builtins.property
    def _version(self) -> builtins.int:
        """How often this memory was written to."""
    def abs(self) -> Tensor:
        """Absolute value of each element; integers stay integers."""
    def abs_(self) -> Self:
        """Absolute value of each element; integers stay integers."""
    def absolute(self) -> Tensor:
        """Absolute value of each element; integers stay integers."""
    def absolute_(self) -> Self:
        """Absolute value of each element; integers stay integers."""
    def acos(self) -> Tensor:
        """Inverse cosine of each element, in radians; NaN outside of [-1, 1]."""
    def acos_(self) -> Self:
        """Inverse cosine of each element, in radians; NaN outside of [-1, 1]."""
    def acosh(self) -> Tensor:
        """Inverse hyperbolic cosine of each element; NaN below 1."""
    def acosh_(self) -> Self:
        """Inverse hyperbolic cosine of each element; NaN below 1."""
    def add(self, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
        """`input + alpha * other`, with broadcasting and type promotion."""
    def add_(self, other: _Operand, *, alpha: _Number | None = None) -> Self:
        """`input + alpha * other`, with broadcasting and type promotion."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * sum(batch1 @ batch2)`, the sum over a batch of matrices."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * sum(batch1 @ batch2)`, the sum over a batch of matrices."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """`input + value * tensor1 / tensor2`."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Self:
        """`input + value * tensor1 / tensor2`."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """`input + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Self:
        """`input + value * tensor1 * tensor2`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * (mat1 @ mat2)`."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * (mat @ vec)`."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * (mat @ vec)`."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def adjoint(self) -> Tensor:
        """The trailing matrices transposed and conjugated, a view; a 0-d tensor is conjugated, with a warning."""
    def all(self, dim: _Ints | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Whether all elements are non-zero, over the given dimensions or all. The result is bool; of uint8, uint8."""
    def allclose(self, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
        """Whether all elements are close to those of `other`."""
    def amax(self, dim: _Ints | None = None, keepdim: builtins.bool = False) -> Tensor:
        """The largest element over the given dimensions, or over all. Ties share the derivative; NaN wins."""
    def amin(self, dim: _Ints | None = None, keepdim: builtins.bool = False) -> Tensor:
        """The smallest element over the given dimensions, or over all. Ties share the derivative; NaN wins."""
    def aminmax(self, *, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> _return_aminmax:
        """The smallest and the largest element along a dimension, or of all. Ties share the derivative; NaN wins."""
    def angle(self) -> Tensor:
        """The angle of complex numbers in the plane, in radians; 0 or pi for real ones."""
    def any(self, dim: _Ints | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Whether any element is non-zero, over the given dimensions or all. The result is bool; of uint8, uint8."""
    def apply_(self, callable: Any) -> Any:
        """Each element replaced by what a function of Python gives for it: slow, and without a derivative."""
    def arccos(self) -> Tensor:
        """Inverse cosine of each element, in radians; NaN outside of [-1, 1]."""
    def arccos_(self) -> Self:
        """Inverse cosine of each element, in radians; NaN outside of [-1, 1]."""
    def arccosh(self) -> Tensor:
        """Inverse hyperbolic cosine of each element; NaN below 1."""
    def arccosh_(self) -> Self:
        """Inverse hyperbolic cosine of each element; NaN below 1."""
    def arcsin(self) -> Tensor:
        """Inverse sine of each element, in radians; NaN outside of [-1, 1]."""
    def arcsin_(self) -> Self:
        """Inverse sine of each element, in radians; NaN outside of [-1, 1]."""
    def arcsinh(self) -> Tensor:
        """Inverse hyperbolic sine of each element."""
    def arcsinh_(self) -> Self:
        """Inverse hyperbolic sine of each element."""
    def arctan(self) -> Tensor:
        """Inverse tangent of each element, in radians."""
    def arctan2(self, other: _Operand) -> Tensor:
        """Angle of the point (other, input), in radians, by the signs of both."""
    def arctan2_(self, other: _Operand) -> Self:
        """Angle of the point (other, input), in radians, by the signs of both."""
    def arctan_(self) -> Self:
        """Inverse tangent of each element, in radians."""
    def arctanh(self) -> Tensor:
        """Inverse hyperbolic tangent of each element; NaN outside of [-1, 1]."""
    def arctanh_(self) -> Self:
        """Inverse hyperbolic tangent of each element; NaN outside of [-1, 1]."""
    def argmax(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Where the largest element is: in the flattened tensor, or along a dimension. The first of several."""
    def argmin(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Where the smallest element is: in the flattened tensor, or along a dimension. The first of several."""
    def argsort(self, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False) -> Tensor:
        """The indices that sort a dimension."""
    def argwhere(self) -> Tensor:
        """Multi-indices of the elements that are not zero, one per row."""
    def as_strided(self, size: _Ints, stride: _Ints, storage_offset: builtins.int | None = None) -> Tensor:
        """The elements of the memory that sizes, strides and an offset name, as a view; the offset is this tensor's unless
        given.
        """
    def as_strided_(self, size: _Ints, stride: _Ints, storage_offset: builtins.int | None = None) -> Self:
        """Makes this tensor the view of its own memory that sizes, strides and an offset name: `as_strided` in place."""
    def as_strided_scatter(self, *args: Any, **kwargs: Any) -> Any:
        """`pullback.as_strided_scatter` of this tensor."""
    def as_subclass(self, cls: builtins.type[_S]) -> _S:
        """A view of the tensor as an object of a subclass of `Tensor`."""
    def asin(self) -> Tensor:
        """Inverse sine of each element, in radians; NaN outside of [-1, 1]."""
    def asin_(self) -> Self:
        """Inverse sine of each element, in radians; NaN outside of [-1, 1]."""
    def asinh(self) -> Tensor:
        """Inverse hyperbolic sine of each element."""
    def asinh_(self) -> Self:
        """Inverse hyperbolic sine of each element."""
    def atan(self) -> Tensor:
        """Inverse tangent of each element, in radians."""
    def atan2(self, other: _Operand) -> Tensor:
        """Angle of the point (other, input), in radians, by the signs of both."""
    def atan2_(self, other: _Operand) -> Self:
        """Angle of the point (other, input), in radians, by the signs of both."""
    def atan_(self) -> Self:
        """Inverse tangent of each element, in radians."""
    def atanh(self) -> Tensor:
        """Inverse hyperbolic tangent of each element; NaN outside of [-1, 1]."""
    def atanh_(self) -> Self:
        """Inverse hyperbolic tangent of each element; NaN outside of [-1, 1]."""
    def backward(self, gradient: Tensor | None = None, retain_graph: builtins.bool | None = None, create_graph: builtins.bool = False, inputs: Tensor | Sequence[Tensor] | None = None) -> None:
        """Accumulates the gradients of this tensor in the leaves that it depends on."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * (batch1 @ batch2)` over a batch of matrices."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * (batch1 @ batch2)` over a batch of matrices."""
    def bernoulli(self, p: builtins.float | None = None, *, generator: Generator | None = None) -> Tensor:
        """1 with the probability that each element gives, else 0."""
    def bernoulli_(self, p: _Operand = 0.5, *, generator: Generator | None = None) -> Self:
        """Fills with 0 and 1, the latter with probability `p`, a number or a tensor."""
    def bfloat16(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
        """How often each of 0, 1, … is there, or the sums of their weights; as many as the largest asks for, and `minlength`
        at least.
        """
    def bitwise_and(self, other: _Operand) -> Tensor:
        """Bitwise and of integers; of bools, logical and."""
    def bitwise_and_(self, other: _Operand) -> Self:
        """Bitwise and of integers; of bools, logical and."""
    def bitwise_left_shift(self, other: _Operand) -> Tensor:
        """`input << other` of integers."""
    def bitwise_left_shift_(self, other: _Operand) -> Self:
        """`input << other` of integers."""
    def bitwise_not(self) -> Tensor:
        """Bitwise not; of bools, logical not."""
    def bitwise_not_(self) -> Self:
        """Bitwise not; of bools, logical not."""
    def bitwise_or(self, other: _Operand) -> Tensor:
        """Bitwise or of integers; of bools, logical or."""
    def bitwise_or_(self, other: _Operand) -> Self:
        """Bitwise or of integers; of bools, logical or."""
    def bitwise_right_shift(self, other: _Operand) -> Tensor:
        """`input >> other` of integers; the sign is kept."""
    def bitwise_right_shift_(self, other: _Operand) -> Self:
        """`input >> other` of integers; the sign is kept."""
    def bitwise_xor(self, other: _Operand) -> Tensor:
        """Bitwise exclusive or of integers; of bools, logical exclusive or."""
    def bitwise_xor_(self, other: _Operand) -> Self:
        """Bitwise exclusive or of integers; of bools, logical exclusive or."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Products of two batches of matrices."""
    def bool(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As bool: non-zero is True."""
    def broadcast_to(self, *size: _Ints) -> Tensor:
        """Broadcast to a larger shape without copying."""
    def byte(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As uint8."""
    def cauchy_(self, median: builtins.float = 0.0, sigma: builtins.float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fills with Cauchy distributed numbers."""
    def cdouble(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As complex128."""
    def ceil(self) -> Tensor:
        """The smallest integer not below each element; integers stay as they are."""
    def ceil_(self) -> Self:
        """The smallest integer not below each element; integers stay as they are."""
    def cfloat(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As complex64."""
    def char(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As int8."""
    def cholesky(self, upper: builtins.bool = False) -> Tensor:
        """The triangular factor of Hermitian positive definite matrices: `A = L Lᴴ`, or `Uᴴ U` if `upper`."""
    def cholesky_inverse(self, upper: builtins.bool = False) -> Tensor:
        """The inverse of `L Lᴴ`, or of `Uᴴ U` if `upper`, from the triangle."""
    def cholesky_solve(self, L: Tensor, upper: builtins.bool = False) -> Tensor:
        """The solution of `L Lᴴ X = B`, or of `Uᴴ U X = B` if `upper`, from the triangle."""
    def chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """At most `chunks` pieces of equal size (the last may be smaller) along a dimension."""
    def clamp(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """Each element limited to [min, max]; either bound may be left out. Bounds are numbers or tensors."""
    def clamp_(self, min: _Operand | None = None, max: _Operand | None = None) -> Self:
        """Each element limited to [min, max]; either bound may be left out. Bounds are numbers or tensors."""
    def clamp_max(self, max: _Operand) -> Tensor:
        """Each element, or `max` where that is smaller."""
    def clamp_max_(self, max: _Operand) -> Self:
        """Each element, or `max` where that is smaller."""
    def clamp_min(self, min: _Operand) -> Tensor:
        """Each element, or `min` where that is larger."""
    def clamp_min_(self, min: _Operand) -> Self:
        """Each element, or `min` where that is larger."""
    def clip(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """Each element limited to [min, max]; either bound may be left out. Bounds are numbers or tensors."""
    def clip_(self, min: _Operand | None = None, max: _Operand | None = None) -> Self:
        """Each element limited to [min, max]; either bound may be left out. Bounds are numbers or tensors."""
    def clone(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """A copy that shares no memory with its input; differentiable."""
    def combinations(self, r: builtins.int = 2, with_replacement: builtins.bool = False) -> Tensor:
        """All ways to choose `r` elements of a vector in its order, as rows."""
    def conj(self) -> Tensor:
        """The complex conjugate, a view; real tensors are their own."""
    def conj_physical(self) -> Tensor:
        """The complex conjugate in memory of its own; real tensors are their own."""
    def conj_physical_(self) -> Self:
        """The complex conjugate in memory of its own; real tensors are their own."""
    def contiguous(self, memory_format: _memory_format | None = None) -> Tensor:
        """The same values in row-major order; the tensor itself if it is contiguous already."""
    def copy_(self, src: _Operand, non_blocking: builtins.bool = False) -> Self:
        """Sets the elements to those of `src`, converted and broadcast."""
    def copysign(self, other: _Operand) -> Tensor:
        """The magnitude of `input` with the sign of `other`."""
    def copysign_(self, other: _Operand) -> Self:
        """The magnitude of `input` with the sign of `other`."""
    def corrcoef(self) -> Tensor:
        """Correlation coefficients of variables (rows) over observations (columns), limited to [-1, 1]."""
    def cos(self) -> Tensor:
        """Cosine of each element, in radians."""
    def cos_(self) -> Self:
        """Cosine of each element, in radians."""
    def cosh(self) -> Tensor:
        """Hyperbolic cosine of each element."""
    def cosh_(self) -> Self:
        """Hyperbolic cosine of each element."""
    def count_nonzero(self, dim: _Ints | None = None) -> Tensor:
        """How many elements are not zero, over the given dimensions, or over all. NaN is not zero."""
    def cov(self, *, correction: builtins.int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """Covariances of variables (rows) over observations (columns), with the divisor `n - correction`. `fweights` says how
        often each observation counts, `aweights` how much.
        """
    def cpu(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor in main memory: itself."""
    def cross(self, other: Tensor, dim: builtins.int | None = None) -> Tensor:
        """The cross product of vectors along a dimension; by default the first one of three elements."""
    def cuda(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises RuntimeError: there is no CUDA device."""
    def cummax(self, dim: builtins.int) -> _return_cummax:
        """Largest values so far along a dimension, and where they are."""
    def cummin(self, dim: builtins.int) -> _return_cummin:
        """Smallest values so far along a dimension, and where they are."""
    def cumprod(self, dim: builtins.int, *, dtype: _dtype | None = None) -> Tensor:
        """Products of the elements so far along a dimension. Integers and bools are multiplied as int64 unless `dtype` says
        otherwise.
        """
    def cumprod_(self, dim: builtins.int, *, dtype: _dtype | None = None) -> Self:
        """Products of the elements so far along a dimension. Integers and bools are multiplied as int64 unless `dtype` says
        otherwise.
        """
    def cumsum(self, dim: builtins.int, *, dtype: _dtype | None = None) -> Tensor:
        """Sums of the elements so far along a dimension."""
    def cumsum_(self, dim: builtins.int, *, dtype: _dtype | None = None) -> Self:
        """Sums of the elements so far along a dimension."""
    @builtins.property
    def data(self) -> Tensor:
        """The same memory without history; assigning replaces the values and keeps the history."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self) -> builtins.int:
        """The address of the first element."""
    def deg2rad(self) -> Tensor:
        """Degrees as radians."""
    def deg2rad_(self) -> Self:
        """Degrees as radians."""
    def dense_dim(self) -> Any:
        """The number of dense dimensions: all."""
    def dequantize(self) -> Any:
        """The tensor in float32, which it would be without the codes of a quantized dtype."""
    def det(self) -> Tensor:
        """The determinant of square matrices."""
    def detach(self) -> Tensor:
        """The same values without a derivative: a constant for every transform."""
    def detach_(self) -> Self:
        """Leaves the history behind, in place."""
    @builtins.property
    def device(self) -> _device:
        """Where the elements are: `cpu`, or `meta` where there are none."""
    def diag(self, diagonal: builtins.int = 0) -> Tensor:
        """Of a vector, the matrix with it as diagonal; of a matrix, its diagonal."""
    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
        """Matrices with the last dimension as a diagonal."""
    def diagflat(self, offset: builtins.int = 0) -> Tensor:
        """A square matrix with all elements of the tensor along a diagonal."""
    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """A diagonal of two dimensions as the last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """A copy of `input` with `src` on a diagonal."""
    def diff(self, n: builtins.int = 1, dim: builtins.int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """Differences of neighbours along a dimension, `n` times over, with `prepend` in front and `append` behind. Those of
        bools say where they change.
        """
    def digamma(self) -> Tensor:
        """The logarithmic derivative of the gamma function."""
    def digamma_(self) -> Self:
        """The logarithmic derivative of the gamma function."""
    def dim(self) -> builtins.int:
        """The number of dimensions."""
    def dim_order(self, ambiguity_check: Any = False) -> Any:
        """The dimensions in the order of their steps in memory, the largest first."""
    def dist(self, other: Tensor, p: builtins.float = 2.0) -> Tensor:
        """The p-norm of the difference."""
    def div(self, other: _Operand, *, rounding_mode: builtins.str | None = None) -> Tensor:
        """`input / other`. Integers divide as floats, unless `rounding_mode` is 'floor' or 'trunc'."""
    def div_(self, other: _Operand, *, rounding_mode: builtins.str | None = None) -> Self:
        """`input / other`. Integers divide as floats, unless `rounding_mode` is 'floor' or 'trunc'."""
    def divide(self, other: _Operand, *, rounding_mode: builtins.str | None = None) -> Tensor:
        """`input / other`. Integers divide as floats, unless `rounding_mode` is 'floor' or 'trunc'."""
    def divide_(self, other: _Operand, *, rounding_mode: builtins.str | None = None) -> Self:
        """`input / other`. Integers divide as floats, unless `rounding_mode` is 'floor' or 'trunc'."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Inner product of two vectors."""
    def double(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As float64."""
    def dsplit(self, indices_or_sections: _Ints | Tensor) -> builtins.tuple[Tensor, ...]:
        """Pieces one behind the other: along dimension 2."""
    @builtins.property
    def dtype(self) -> _dtype:
        """The type of the elements."""
    def eig(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError: `linalg` has `eig`."""
    def element_size(self) -> builtins.int:
        """Bytes of one element."""
    def eq(self, other: _Operand) -> Tensor:
        """Whether elements are equal."""
    def eq_(self, other: _Operand) -> Self:
        """Whether elements are equal."""
    def equal(self, other: Tensor) -> builtins.bool:
        """Whether `other` has the same shape and the same elements."""
    def erf(self) -> Tensor:
        """The error function of each element."""
    def erf_(self) -> Self:
        """The error function of each element."""
    def erfc(self) -> Tensor:
        """The complementary error function `1 - erf(x)`, accurate in the upper tail."""
    def erfc_(self) -> Self:
        """The complementary error function `1 - erf(x)`, accurate in the upper tail."""
    def erfinv(self) -> Tensor:
        """The inverse error function of each element; infinite at ±1 and NaN outside."""
    def erfinv_(self) -> Self:
        """The inverse error function of each element; infinite at ±1 and NaN outside."""
    def exp(self) -> Tensor:
        """Exponential of each element."""
    def exp2(self) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self) -> Self:
        """2 to the power of each element."""
    def exp_(self) -> Self:
        """Exponential of each element."""
    def expand(self, *size: _Ints, implicit: builtins.bool = False) -> Tensor:
        """Broadcast to a larger shape without copying; -1 keeps a size."""
    def expand_as(self, other: Tensor) -> Tensor:
        """Broadcast to the shape of another tensor."""
    def expm1(self) -> Tensor:
        """`exp(x) - 1`, accurate near 0."""
    def expm1_(self) -> Self:
        """`exp(x) - 1`, accurate near 0."""
    def exponential_(self, lambd: builtins.float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fills with exponentially distributed numbers."""
    def fill_(self, value: _Operand) -> Self:
        """Sets all elements to a number."""
    def fill_diagonal_(self, fill_value: _Number, wrap: builtins.bool = False) -> Self:
        """Sets the elements of the main diagonal to a number. With `wrap`, it begins again below a matrix with more rows than
        columns.
        """
    def fix(self) -> Tensor:
        """Each element without its fraction; integers stay as they are."""
    def fix_(self) -> Self:
        """Each element without its fraction; integers stay as they are."""
    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """All dimensions from `start_dim` to `end_dim` as one."""
    def flip(self, *dims: _Ints) -> Tensor:
        """The elements of some dimensions in reverse order."""
    def fliplr(self) -> Tensor:
        """The columns in reverse order."""
    def flipud(self) -> Tensor:
        """The rows in reverse order."""
    def float(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As float32."""
    def float_power(self, exponent: _Operand) -> Tensor:
        """`input ** exponent` in double precision."""
    def float_power_(self, exponent: _Operand) -> Self:
        """`input ** exponent` in double precision."""
    def floor(self) -> Tensor:
        """The largest integer not above each element; integers stay as they are."""
    def floor_(self) -> Self:
        """The largest integer not above each element; integers stay as they are."""
    def floor_divide(self, other: _Operand) -> Tensor:
        """The quotient rounded down."""
    def floor_divide_(self, other: _Operand) -> Self:
        """The quotient rounded down."""
    def fmax(self, other: _Operand) -> Tensor:
        """The larger of both; the other one if one is NaN. Of equals the first has the derivative."""
    def fmin(self, other: _Operand) -> Tensor:
        """The smaller of both; the other one if one is NaN. Of equals the first has the derivative."""
    def fmod(self, other: _Operand) -> Tensor:
        """Remainder with the sign of `input`, as C's `fmod`."""
    def fmod_(self, other: _Operand) -> Self:
        """Remainder with the sign of `input`, as C's `fmod`."""
    def frac(self) -> Tensor:
        """The fraction of each element, with its sign."""
    def frac_(self) -> Self:
        """The fraction of each element, with its sign."""
    def frexp(self) -> _return_frexp:
        """Mantissas in [1/2, 1) and exponents of two with `input = mantissa * 2**exponent`."""
    def gather(self, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = False) -> Tensor:
        """`out[i][j] = input[index[i][j]][j]` for dim 0, and so on: the result has the shape of `index`."""
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor of integers, not negative."""
    def gcd_(self, other: Tensor) -> Self:
        """The greatest common divisor of integers, not negative."""
    def ge(self, other: _Operand) -> Tensor:
        """Whether elements of the first are at least those of the second."""
    def ge_(self, other: _Operand) -> Self:
        """Whether elements of the first are at least those of the second."""
    def geometric_(self, p: builtins.float = 0.5, *, generator: Generator | None = None) -> Self:
        """Fills with geometrically distributed numbers."""
    def geqrf(self) -> _return_geqrf:
        """The reflections that make matrices triangular: `a` holds the triangle R of `A = Q R`, and below it the vectors from
        which, with their scales `tau`, `orgqr` makes Q.
        """
    def ger(self, vec2: Tensor) -> Tensor:
        """Outer product of two vectors."""
    def get_device(self) -> builtins.int:
        """-1: the tensor is in main memory."""
    @builtins.property
    def grad(self) -> Tensor | None:
        """The gradient that `.backward()` accumulated, or None."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @builtins.property
    def grad_fn(self) -> Node | None:
        """The node of the operator that gave this tensor, or None."""
    def greater(self, other: _Operand) -> Tensor:
        """Whether elements of the first are greater than those of the second."""
    def greater_(self, other: _Operand) -> Self:
        """Whether elements of the first are greater than those of the second."""
    def greater_equal(self, other: _Operand) -> Tensor:
        """Whether elements of the first are at least those of the second."""
    def greater_equal_(self, other: _Operand) -> Self:
        """Whether elements of the first are at least those of the second."""
    def gt(self, other: _Operand) -> Tensor:
        """Whether elements of the first are greater than those of the second."""
    def gt_(self, other: _Operand) -> Self:
        """Whether elements of the first are greater than those of the second."""
    def half(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As float16."""
    def heaviside(self, values: Tensor) -> Tensor:
        """The step function: 0 below 0 and for NaN, 1 above, `values` at 0. Both tensors have one dtype."""
    def heaviside_(self, values: Tensor) -> Self:
        """The step function: 0 below 0 and for NaN, 1 above, `values` at 0. Both tensors have one dtype."""
    def histc(self, bins: builtins.int = 100, min: _Number = 0, max: _Number = 0) -> Tensor:
        """How many elements lie in each of `bins` bins of one width between `min` and `max`, or between the smallest and the
        largest element if these are equal. Others, and NaN, do not count.
        """
    def histogram(self, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: builtins.bool = False) -> _return_histogram:
        """How many elements lie in each bin, or the sums of their weights, and the edges of the bins: those given in order, or
        of `bins` bins of one width over `range` or over all elements. With `density`, divided by the width of the bin and
        by the sum. The last bin has both of its edges.
        """
    def hsplit(self, indices_or_sections: _Ints | Tensor) -> builtins.tuple[Tensor, ...]:
        """Pieces side by side: along dimension 1, or 0 of vectors."""
    def hypot(self, other: _Operand) -> Tensor:
        """`sqrt(input² + other²)` without overflow."""
    def hypot_(self, other: _Operand) -> Self:
        """`sqrt(input² + other²)` without overflow."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def i0_(self) -> Self:
        """The modified Bessel function of the first kind of order 0."""
    @builtins.property
    def imag(self) -> Tensor:
        """The imaginary parts, a view."""
    def index_add(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
        """A copy of `input` with `alpha * source` added to the members of a dimension that `index` names."""
    def index_add_(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Self:
        """A copy of `input` with `alpha * source` added to the members of a dimension that `index` names."""
    def index_copy(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """A copy of `input` with the members of `source` in those of a dimension that a vector of indices names."""
    def index_copy_(self, dim: builtins.int, index: Tensor, source: Tensor) -> Self:
        """A copy of `input` with the members of `source` in those of a dimension that a vector of indices names."""
    def index_fill(self, dim: builtins.int, index: Tensor, value: _Operand) -> Tensor:
        """A copy of `input` with a number in the members of a dimension that a vector of indices names."""
    def index_fill_(self, dim: builtins.int, index: Tensor, value: _Operand) -> Self:
        """A copy of `input` with a number in the members of a dimension that a vector of indices names."""
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """A copy of `input` with `input[indices] = values` done to it, or `+=` if `accumulate`."""
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False) -> Self:
        """A copy of `input` with `input[indices] = values` done to it, or `+=` if `accumulate`."""
    def index_reduce(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Tensor:
        """A copy of `input` with the members of `source` folded into the members of a dimension that `index` names, by
        `reduce`: 'prod', 'mean', 'amax' or 'amin'. Without `include_self` a member itself does not count where it is named.
        """
    def index_reduce_(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Self:
        """A copy of `input` with the members of `source` folded into the members of a dimension that `index` names, by
        `reduce`: 'prod', 'mean', 'amax' or 'amin'. Without `include_self` a member itself does not count where it is named.
        """
    def index_select(self, dim: builtins.int, index: Tensor) -> Tensor:
        """The members of a dimension that a vector of indices names."""
    def inner(self, other: Tensor) -> Tensor:
        """Inner products of the rows of two tensors, along their last dimensions; with a 0-d tensor the product."""
    def int(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As int32."""
    def inverse(self) -> Tensor:
        """The inverse of square matrices. Singular ones raise `LinAlgError`."""
    def is_complex(self, /) -> builtins.bool:
        """Whether the dtype is complex."""
    def is_conj(self, /) -> builtins.bool:
        """Whether this is a view that shows the conjugates of what is in memory."""
    def is_contiguous(self, memory_format: _memory_format | None = None) -> builtins.bool:
        """Whether the elements lie in row-major order without gaps."""
    @builtins.property
    def is_cpu(self) -> builtins.bool:
        """Whether the elements are in main memory."""
    @builtins.property
    def is_cuda(self) -> builtins.bool:
        """False."""
    def is_floating_point(self, /) -> builtins.bool:
        """Whether the dtype is a float."""
    def is_inference(self, /) -> builtins.bool:
        """Whether the tensor was made in inference mode."""
    @builtins.property
    def is_ipu(self) -> builtins.bool:
        """False."""
    @builtins.property
    def is_leaf(self) -> builtins.bool:
        """Whether this tensor was made by the user and not by a recorded operator."""
    @builtins.property
    def is_maia(self) -> builtins.bool:
        """False."""
    @builtins.property
    def is_meta(self) -> builtins.bool:
        """Whether the tensor has no data: its device is `meta`."""
    @builtins.property
    def is_mkldnn(self) -> builtins.bool:
        """False."""
    @builtins.property
    def is_mps(self) -> builtins.bool:
        """False."""
    @builtins.property
    def is_mtia(self) -> builtins.bool:
        """False."""
    def is_neg(self, /) -> builtins.bool:
        """Whether this is a view that shows the negatives of what is in memory, as the imaginary part of `conj()` does."""
    @builtins.property
    def is_nested(self) -> builtins.bool:
        """False: members of a batch have one shape."""
    def is_nonzero(self, /) -> builtins.bool:
        """Whether the only element is not zero."""
    def is_pinned(self, /, *, device: _Device = None) -> builtins.bool:
        """False: memory is never pinned."""
    @builtins.property
    def is_quantized(self) -> builtins.bool:
        """False."""
    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Whether both have the same sizes."""
    def is_set_to(self, tensor: Tensor) -> builtins.bool:
        """Whether both tensors show the same elements in the same order."""
    def is_shared(self) -> builtins.bool:
        """Whether other processes see the memory, after `share_memory_()`."""
    def is_signed(self, /) -> builtins.bool:
        """Whether the dtype has negative values."""
    @builtins.property
    def is_sparse(self) -> builtins.bool:
        """False."""
    @builtins.property
    def is_sparse_csr(self) -> builtins.bool:
        """False."""
    @builtins.property
    def is_vulkan(self) -> builtins.bool:
        """False."""
    @builtins.property
    def is_xla(self) -> builtins.bool:
        """False."""
    @builtins.property
    def is_xpu(self) -> builtins.bool:
        """False."""
    def isclose(self, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> Tensor:
        """Whether elements are close: `|input - other| <= atol + rtol * |other|`. Equal infinities are close; NaN is close to
        NaN with `equal_nan`.
        """
    def isfinite(self) -> Tensor:
        """Whether elements are neither infinite nor NaN."""
    def isinf(self) -> Tensor:
        """Whether elements are infinite."""
    def isnan(self) -> Tensor:
        """Whether elements are NaN."""
    def isneginf(self) -> Tensor:
        """Whether elements are infinite and negative."""
    def isposinf(self) -> Tensor:
        """Whether elements are infinite and positive."""
    def isreal(self) -> Tensor:
        """Whether elements have no imaginary part."""
    def item(self) -> builtins.bool | builtins.int | builtins.float:
        """The only element as a Python number."""
    @builtins.property
    def itemsize(self) -> builtins.int:
        """Bytes of one element."""
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: each element of `input` times `other`, as blocks."""
    def kthvalue(self, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False) -> _return_kthvalue:
        """The `k`-th smallest value along a dimension (1 is the smallest), and where it is."""
    @builtins.property
    def layout(self) -> _layout:
        """How the elements are stored: `strided`."""
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple of integers, not negative."""
    def lcm_(self, other: Tensor) -> Self:
        """The least common multiple of integers, not negative."""
    def ldexp(self, other: Tensor) -> Tensor:
        """`input * 2**other`; integers give the default float."""
    def ldexp_(self, other: Tensor) -> Self:
        """`input * 2**other`; integers give the default float."""
    def le(self, other: _Operand) -> Tensor:
        """Whether elements of the first are at most those of the second."""
    def le_(self, other: _Operand) -> Self:
        """Whether elements of the first are at most those of the second."""
    def lerp(self, end: Tensor, weight: _Operand) -> Tensor:
        """`input + weight * (end - input)`."""
    def lerp_(self, end: Tensor, weight: _Operand) -> Self:
        """`input + weight * (end - input)`."""
    def less(self, other: _Operand) -> Tensor:
        """Whether elements of the first are less than those of the second."""
    def less_(self, other: _Operand) -> Self:
        """Whether elements of the first are less than those of the second."""
    def less_equal(self, other: _Operand) -> Tensor:
        """Whether elements of the first are at most those of the second."""
    def less_equal_(self, other: _Operand) -> Self:
        """Whether elements of the first are at most those of the second."""
    def lgamma(self) -> Tensor:
        """Natural logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Self:
        """Natural logarithm of the absolute value of the gamma function."""
    def log(self) -> Tensor:
        """Natural logarithm of each element; -inf at 0 and NaN below."""
    def log10(self) -> Tensor:
        """Logarithm to base 10 of each element."""
    def log10_(self) -> Self:
        """Logarithm to base 10 of each element."""
    def log1p(self) -> Tensor:
        """`log(1 + x)`, accurate near 0."""
    def log1p_(self) -> Self:
        """`log(1 + x)`, accurate near 0."""
    def log2(self) -> Tensor:
        """Logarithm to base 2 of each element."""
    def log2_(self) -> Self:
        """Logarithm to base 2 of each element."""
    def log_(self) -> Self:
        """Natural logarithm of each element; -inf at 0 and NaN below."""
    def log_normal_(self, mean: builtins.float = 1.0, std: builtins.float = 2.0, *, generator: Generator | None = None) -> Self:
        """Fills with log-normally distributed numbers."""
    def log_softmax(self, dim: builtins.int, dtype: _dtype | None = None) -> Tensor:
        """The logarithm of softmax along `dim`, without overflow."""
    def logaddexp(self, other: _Operand) -> Tensor:
        """`log(exp(input) + exp(other))` without overflow."""
    def logaddexp2(self, other: _Operand) -> Tensor:
        """`log2(2**input + 2**other)` without overflow."""
    def logcumsumexp(self, dim: builtins.int) -> Tensor:
        """`log(sum(exp(input)))` of the elements so far along a dimension, without overflow."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant: NaN where that is negative, -inf where it is 0."""
    def logical_and(self, other: _Operand) -> Tensor:
        """Whether both are non-zero."""
    def logical_and_(self, other: _Operand) -> Self:
        """Whether both are non-zero."""
    def logical_not(self) -> Tensor:
        """Whether elements are zero (or false)."""
    def logical_not_(self) -> Self:
        """Whether elements are zero (or false)."""
    def logical_or(self, other: _Operand) -> Tensor:
        """Whether at least one is non-zero."""
    def logical_or_(self, other: _Operand) -> Self:
        """Whether at least one is non-zero."""
    def logical_xor(self, other: _Operand) -> Tensor:
        """Whether exactly one is non-zero."""
    def logical_xor_(self, other: _Operand) -> Self:
        """Whether exactly one is non-zero."""
    def logit(self, eps: builtins.float | None = None) -> Tensor:
        """`log(x / (1 - x))` of each element, the inverse of `sigmoid`; with `eps`, of elements limited to [eps, 1 - eps]."""
    def logit_(self, eps: builtins.float | None = None) -> Self:
        """`log(x / (1 - x))` of each element, the inverse of `sigmoid`; with `eps`, of elements limited to [eps, 1 - eps]."""
    def logsumexp(self, dim: _Ints, keepdim: builtins.bool = False) -> Tensor:
        """`log(sum(exp(input)))` over the given dimensions, without overflow."""
    def long(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As int64."""
    def lstsq(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError: `linalg` has `lstsq`."""
    def lt(self, other: _Operand) -> Tensor:
        """Whether elements of the first are less than those of the second."""
    def lt_(self, other: _Operand) -> Self:
        """Whether elements of the first are less than those of the second."""
    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> Any:
        """The factors of `A = P L U` in one matrix, and the row exchanges; also which pivot is the first zero, if `get_infos`."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """The solution of `A X = b` from what `lu_factor` gives for A."""
    @builtins.property
    def mH(self) -> Tensor:
        """The trailing matrices transposed and conjugated; a 0-d tensor is conjugated, with a warning."""
    @builtins.property
    def mT(self) -> Tensor:
        """The trailing matrices transposed; a 0-d tensor stays as it is, with a warning."""
    def map_(self, tensor: Any, callable: Any) -> Any:
        """Each element replaced by what a function of Python gives for it and that of another tensor."""
    def masked_fill(self, mask: Tensor, value: _Operand) -> Tensor:
        """`input` with `value` (a number or 0-d tensor) where `mask` is true."""
    def masked_fill_(self, mask: Tensor, value: _Operand) -> Self:
        """`input` with `value` (a number or 0-d tensor) where `mask` is true."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy of `input` with the first elements of `source`, in order, where `mask` is true."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """A copy of `input` with the first elements of `source`, in order, where `mask` is true."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements of `input` where `mask` is true, in row-major order, after broadcasting both."""
    def matmul(self, other: Tensor) -> Tensor:
        """Matrix product, with 1-D operands taken as vectors and leading dimensions broadcast."""
    def matrix_exp(self) -> Tensor:
        """The exponential `Σ Aᵏ / k!` of square matrices."""
    def matrix_power(self, n: builtins.int) -> Tensor:
        """The product of n equal square matrices; for a negative n, of their inverse."""
    @overload
    def max(self, dim: None = None, keepdim: builtins.bool = False, *, other: None = None) -> Tensor:
        """The largest element; with `dim`, the largest along it and where it was; with another tensor, `maximum`."""
    @overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False, *, other: None = None) -> _return_max: ...
    @overload
    def max(self, dim: Tensor, keepdim: builtins.bool = False, *, other: None = None) -> Tensor: ...
    @overload
    def max(self, dim: None = None, keepdim: builtins.bool = False, *, other: Tensor) -> Tensor: ...
    def maximum(self, other: _Operand) -> Tensor:
        """The larger of both; NaN if one is NaN. Ties share the derivative."""
    def mean(self, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Mean over the given dimensions, or over all. Integers are an error unless `dtype` is given."""
    @overload
    def median(self, dim: None = None, keepdim: builtins.bool = False) -> Tensor:
        """The element in the middle of the order, the lower of two: of all, or along `dim` with its place. NaN where there is
        one. Ties of all elements share the derivative; along `dim` it goes to the place.
        """
    @overload
    def median(self, dim: builtins.int, keepdim: builtins.bool = False) -> _return_median: ...
    @overload
    def min(self, dim: None = None, keepdim: builtins.bool = False, *, other: None = None) -> Tensor:
        """The smallest element; with `dim`, the smallest along it and where it was; with another tensor, `minimum`."""
    @overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False, *, other: None = None) -> _return_min: ...
    @overload
    def min(self, dim: Tensor, keepdim: builtins.bool = False, *, other: None = None) -> Tensor: ...
    @overload
    def min(self, dim: None = None, keepdim: builtins.bool = False, *, other: Tensor) -> Tensor: ...
    def minimum(self, other: _Operand) -> Tensor:
        """The smaller of both; NaN if one is NaN. Ties share the derivative."""
    def mm(self, mat2: Tensor) -> Tensor:
        """Product of two matrices."""
    def mode(self, dim: builtins.int = -1, keepdim: builtins.bool = False) -> _return_mode:
        """The value that is most often there along a dimension, the least of several, and a place where it stands."""
    def moveaxis(self, source: _Ints, destination: _Ints) -> Tensor:
        """Dimensions `source` moved to the places `destination`, the others keeping their order."""
    def movedim(self, source: _Ints, destination: _Ints) -> Tensor:
        """Dimensions `source` moved to the places `destination`, the others keeping their order."""
    def msort(self) -> Tensor:
        """The members of the first dimension in order."""
    def mul(self, other: _Operand) -> Tensor:
        """`input * other`, with broadcasting and type promotion."""
    def mul_(self, other: _Operand) -> Self:
        """`input * other`, with broadcasting and type promotion."""
    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None) -> Tensor:
        """`num_samples` indices drawn by the weights in each row."""
    def multiply(self, other: _Operand) -> Tensor:
        """`input * other`, with broadcasting and type promotion."""
    def multiply_(self, other: _Operand) -> Self:
        """`input * other`, with broadcasting and type promotion."""
    def mv(self, vec: Tensor) -> Tensor:
        """Product of a matrix and a vector."""
    def mvlgamma(self, p: builtins.int) -> Tensor:
        """Natural logarithm of the multivariate gamma function of dimension `p`."""
    def mvlgamma_(self, p: builtins.int) -> Self:
        """Natural logarithm of the multivariate gamma function of dimension `p`."""
    @builtins.property
    def name(self) -> builtins.str | None:
        """None: dimensions have no names."""
    def nan_to_num(self, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Tensor:
        """NaN replaced by `nan`, infinities by `posinf` and `neginf`: the largest and smallest number of the dtype unless given."""
    def nan_to_num_(self, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Self:
        """NaN replaced by `nan`, infinities by `posinf` and `neginf`: the largest and smallest number of the dtype unless given."""
    def nanmean(self, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Mean of what is not NaN, over the given dimensions, or over all."""
    @overload
    def nanmedian(self, dim: None = None, keepdim: builtins.bool = False) -> Tensor:
        """The same without the NaNs; NaN where there is nothing else."""
    @overload
    def nanmedian(self, dim: builtins.int, keepdim: builtins.bool = False) -> _return_nanmedian: ...
    def nanquantile(self, q: _Operand, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear') -> Tensor:
        """The same without the NaNs; NaN where there is nothing else."""
    def nansum(self, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Sum that takes NaN as zero, over the given dimensions, or over all."""
    def narrow(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """Elements `start .. start + length` of a dimension."""
    def narrow_copy(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """A copy of the elements `start .. start + length` of a dimension."""
    @builtins.property
    def nbytes(self) -> builtins.int:
        """Bytes of all elements."""
    @builtins.property
    def ndim(self) -> builtins.int:
        """The number of dimensions."""
    def ndimension(self) -> builtins.int:
        """The number of dimensions."""
    def ne(self, other: _Operand) -> Tensor:
        """Whether elements differ."""
    def ne_(self, other: _Operand) -> Self:
        """Whether elements differ."""
    def neg(self) -> Tensor:
        """`-x` of each element; integers stay integers, bool is an error."""
    def neg_(self) -> Self:
        """`-x` of each element; integers stay integers, bool is an error."""
    def negative(self) -> Tensor:
        """`-x` of each element; integers stay integers, bool is an error."""
    def negative_(self) -> Self:
        """`-x` of each element; integers stay integers, bool is an error."""
    def nelement(self) -> builtins.int:
        """The number of elements."""
    def new(self, *args: Any, device: _Device = None) -> Tensor:
        """A tensor of the same dtype: of values, or zeros of sizes. `new_tensor` and `new_zeros` say which."""
    def new_empty(self, *size: _Ints, dtype: _dtype | None = None, device: _Device | None = None, requires_grad: builtins.bool = False) -> Tensor:
        """As `new_zeros`: values that do not matter."""
    def new_empty_strided(self, size: _Ints, stride: _Ints, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None) -> Tensor:
        """As `empty_strided`, of the same dtype."""
    def new_full(self, size: _Ints, fill_value: _Number, *, dtype: _dtype | None = None, device: _Device | None = None, requires_grad: builtins.bool = False) -> Tensor:
        """One value, of the same dtype, in another shape."""
    def new_ones(self, *size: _Ints, dtype: _dtype | None = None, device: _Device | None = None, requires_grad: builtins.bool = False) -> Tensor:
        """Ones of the same dtype in another shape."""
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: _Device = None, requires_grad: builtins.bool = False, layout: _layout | None = None, pin_memory: builtins.bool = False) -> Tensor:
        """A tensor with a copy of `data`, of this tensor's dtype unless given."""
    def new_zeros(self, *size: _Ints, dtype: _dtype | None = None, device: _Device | None = None, requires_grad: builtins.bool = False) -> Tensor:
        """Zeros of the same dtype in another shape."""
    def nextafter(self, other: Tensor) -> Tensor:
        """The next float after `input` towards `other`."""
    def nextafter_(self, other: Tensor) -> Self:
        """The next float after `input` towards `other`."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """Multi-indices of the elements that are not zero, one per row; with `as_tuple`, one tensor per dimension."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> builtins.tuple[Tensor, ...]: ...
    @overload
    def nonzero(self, *, as_tuple: builtins.bool = False) -> Any: ...
    def nonzero_static(self, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
        """The first `size` multi-indices of elements that are not zero, one per row; rows that are left over hold `fill_value`."""
    def norm(self, p: builtins.int | builtins.float | builtins.str | None = None, dim: _Ints | None = None, keepdim: builtins.bool = False, dtype: _dtype | None = None) -> Tensor:
        """The p-norm over dimensions, or over all; 'fro' and 'nuc' are matrix norms."""
    def normal_(self, mean: builtins.float = 0.0, std: builtins.float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fills with normal random numbers."""
    def not_equal(self, other: _Operand) -> Tensor:
        """Whether elements differ."""
    def not_equal_(self, other: _Operand) -> Self:
        """Whether elements differ."""
    def numel(self) -> builtins.int:
        """The number of elements."""
    def numpy(self, *, force: builtins.bool = False) -> _Array:
        """A NumPy array over the same memory. With `force=True`, also of tensors that require grad."""
    def orgqr(self, tau: Tensor) -> Tensor:
        """The first columns of a product of reflections `1 - τᵢ vᵢ vᵢᴴ`: vᵢ is column i of A below a 1, as `geqrf` gives them."""
    def ormqr(self, tau: Tensor, other: Tensor, left: builtins.bool = True, transpose: builtins.bool = False) -> Tensor:
        """The product of `other` with the square matrix Q of the reflections that `geqrf` gives: `Q other`, or `other Q` unless
        `left`; with its adjoint if `transpose`.
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """Outer product of two vectors."""
    @builtins.property
    def output_nr(self) -> builtins.int:
        """Which output of its node this tensor is."""
    def permute(self, *dims: _Ints) -> Tensor:
        """Dimensions in another order."""
    def pin_memory(self, device: _Device = None) -> Tensor:
        """The tensor itself: there is no device that memory would be pinned for."""
    def pinverse(self, rcond: builtins.float = 1e-15) -> Tensor:
        """The pseudoinverse: `1 / s` for singular values above `rcond` times the largest, 0 for others."""
    def polygamma(self, n: builtins.int) -> Tensor:
        """The derivative of order `n` of `digamma`."""
    def polygamma_(self, n: builtins.int) -> Self:
        """The derivative of order `n` of `digamma`."""
    def positive(self) -> Tensor:
        """The same values; a tensor that shares nothing with its input where writes are concerned."""
    def pow(self, exponent: _Operand) -> Tensor:
        """`input ** exponent`. Integers stay integers; negative integer powers of integers are an error."""
    def pow_(self, exponent: _Operand) -> Self:
        """`input ** exponent`. Integers stay integers; negative integer powers of integers are an error."""
    def prod(self, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Product over one dimension, or over all."""
    def put(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """A copy of `input` with the elements of `source` put at places of the flattened tensor, or added there if
        `accumulate`. Negative indices count from the end; of several writes to one place the last stays.
        """
    def put_(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Self:
        """A copy of `input` with the elements of `source` put at places of the flattened tensor, or added there if
        `accumulate`. Negative indices count from the end; of several writes to one place the last stays.
        """
    def qr(self, some: builtins.bool = True) -> _return_qr:
        """`A = Q R` with orthonormal columns of Q and upper triangular R; unless `some`, with all columns of Q."""
    def quantile(self, q: _Operand, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear') -> Tensor:
        """The values below which the fractions `q` of the elements lie: of all, or along `dim`. Between two elements the value
        is theirs by `interpolation`: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'. NaN where there is one.
        """
    def rad2deg(self) -> Tensor:
        """Radians as degrees."""
    def rad2deg_(self) -> Self:
        """Radians as degrees."""
    def random_(self, from_: builtins.int | None = None, to: builtins.int | None = None, *, generator: Generator | None = None) -> Self:
        """Fills with random integers in [from, to): by default all that the dtype represents exactly."""
    def ravel(self) -> Tensor:
        """The same elements in one dimension: a view of what is contiguous, and a copy of anything else."""
    @builtins.property
    def real(self) -> Tensor:
        """The real parts, a view; real tensors are their own."""
    def reciprocal(self) -> Tensor:
        """`1 / x` of each element."""
    def reciprocal_(self) -> Self:
        """`1 / x` of each element."""
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Calls `hook(grad)` when the gradient of this tensor is known; what it returns, if anything, replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Calls `hook(tensor)` each time that a gradient was added to this leaf's `.grad`."""
    def relu(self) -> Tensor:
        """`max(x, 0)` of each element."""
    def relu_(self) -> Self:
        """`max(x, 0)` of each element."""
    def remainder(self, other: _Operand) -> Tensor:
        """Remainder with the sign of `other`, as Python's `%`."""
    def remainder_(self, other: _Operand) -> Self:
        """Remainder with the sign of `other`, as Python's `%`."""
    def renorm(self, p: _Number, dim: builtins.int, maxnorm: _Number) -> Tensor:
        """The members of a dimension scaled down to the `p`-norm `maxnorm` where theirs is larger."""
    def renorm_(self, p: _Number, dim: builtins.int, maxnorm: _Number) -> Self:
        """The members of a dimension scaled down to the `p`-norm `maxnorm` where theirs is larger."""
    def repeat(self, *repeats: _Ints) -> Tensor:
        """The tensor repeated along its dimensions, new ones in front."""
    def repeat_interleave(self, repeats: _Operand | None = None, dim: builtins.int | None = None, *, output_size: builtins.int | None = None) -> Tensor:
        """Each element several times in a row: as often as an int says, or as counts say, one for each element along `dim`.
        All elements in one dimension where `dim` is None. With counts alone: the index of each, as often as it says.
        """
    @builtins.property
    def requires_grad(self) -> builtins.bool:
        """Whether gradients are recorded for this tensor."""
    @requires_grad.setter
    def requires_grad(self, value: builtins.bool) -> None: ...
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Self:
        """Whether gradients are recorded from now on; gives the tensor itself."""
    def reshape(self, *shape: _Ints) -> Tensor:
        """The same elements in another shape; one size may be -1. Shares the elements if the layout allows it."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """The same elements in the shape of another tensor."""
    def resize(self, *sizes: Any) -> Any:
        """The elements in another shape of as many, with a warning: it is the old name of `reshape`."""
    def resize_(self, *size: _Ints, memory_format: _memory_format | None = None) -> Self:
        """Changes the shape, and with it the number of elements: the first ones, in row-major order, stay, and what is new is
        zero. Views go on to share their elements. Memory that became too large is kept, so that growing again finds it. The
        elements lie as before if the shape stays, and in the order of `memory_format` if one is given.

        Raises RuntimeError for a tensor that requires grad or carries a tangent, for values of `vmap`, and for memory of
        another library that would have to grow.
        """
    def resize_as(self, tensor: Any) -> Any:
        """`resize` to the shape of another tensor."""
    def resize_as_(self, the_template: Tensor, *, memory_format: _memory_format | None = None) -> Self:
        """`resize_` to the shape of `the_template`."""
    def resolve_conj(self) -> Tensor:
        """The numbers in memory of their own, where they are the conjugates of another tensor; otherwise the tensor itself."""
    def resolve_neg(self) -> Tensor:
        """The numbers in memory of their own, where they are the negatives of what is in memory; otherwise the tensor itself."""
    def retain_grad(self) -> None:
        """Keeps the gradient of this tensor in `.grad` although it is not a leaf."""
    @builtins.property
    def retains_grad(self) -> builtins.bool:
        """Whether `.grad` is kept although this is not a leaf."""
    def roll(self, shifts: _Ints, dims: _Ints | None = None) -> Tensor:
        """Elements moved along dimensions, those that leave coming in at the other end. Without dims: of the flattened
        tensor.
        """
    def rot90(self, k: builtins.int = 1, dims: _Ints = (0, 1)) -> Tensor:
        """Turned `k` times by a right angle in the plane of two dimensions, from the first towards the second."""
    def round(self, *, decimals: builtins.int = 0) -> Tensor:
        """Each element rounded to the nearest multiple of `10 ** -decimals`, halves to even."""
    def round_(self, *, decimals: builtins.int = 0) -> Self:
        """Each element rounded to the nearest multiple of `10 ** -decimals`, halves to even."""
    def rsqrt(self) -> Tensor:
        """`1 / sqrt(x)` of each element."""
    def rsqrt_(self) -> Self:
        """`1 / sqrt(x)` of each element."""
    def scatter(self, dim: builtins.int, index: Tensor, src: _Operand | None = None, *, value: _Operand | None = None, reduce: builtins.str | None = None) -> Tensor:
        """A copy of `input` with `out[index[i][j]][j] = src[i][j]` for dim 0, and so on; `src` may be a number."""
    def scatter_(self, dim: builtins.int, index: Tensor, src: _Operand | None = None, *, value: _Operand | None = None, reduce: builtins.str | None = None) -> Self:
        """A copy of `input` with `out[index[i][j]][j] = src[i][j]` for dim 0, and so on; `src` may be a number."""
    def scatter_add(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """A copy of `input` with `out[index[i][j]][j] += src[i][j]` for dim 0, and so on."""
    def scatter_add_(self, dim: builtins.int, index: Tensor, src: Tensor) -> Self:
        """A copy of `input` with `out[index[i][j]][j] += src[i][j]` for dim 0, and so on."""
    def scatter_reduce(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Tensor:
        """A copy of `input` with what `index` sends to each element folded into it by `reduce`: 'sum', 'prod', 'mean', 'amax'
        or 'amin'. Without `include_self` the element itself does not count where something is sent to it. Extremes that
        are equal share the derivative.
        """
    def scatter_reduce_(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Self:
        """A copy of `input` with what `index` sends to each element folded into it by `reduce`: 'sum', 'prod', 'mean', 'amax'
        or 'amin'. Without `include_self` the element itself does not count where something is sent to it. Extremes that
        are equal share the derivative.
        """
    def select(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """Element `index` of a dimension, without that dimension."""
    def select_scatter(self, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
        """A copy of `input` with `src` at an index of a dimension."""
    def set_(self, source: Tensor | UntypedStorage | None = None, storage_offset: builtins.int | None = None, size: _Ints | None = None, stride: _Ints | None = None) -> Self:
        """Makes this tensor show the elements of `source`, a tensor of the same dtype or a storage, and share them. With an
        offset, sizes and strides in elements, it shows those of the memory that they name. Without a source it is empty.

        Raises RuntimeError for another dtype, and where a derivative would be lost.
        """
    def sgn(self) -> Tensor:
        """The sign of real numbers; complex ones divided by their absolute value, or 0."""
    def sgn_(self) -> Self:
        """The sign of real numbers; complex ones divided by their absolute value, or 0."""
    @builtins.property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
    def share_memory_(self) -> Self:
        """Moves the elements into memory that processes started later see too, and that is sent to them without a copy.

            Raises RuntimeError for views: the tensor that they are views of is shared.
        """
    def short(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """As int16."""
    def sigmoid(self) -> Tensor:
        """The logistic function `1 / (1 + exp(-x))` of each element, accurate in both tails."""
    def sigmoid_(self) -> Self:
        """The logistic function `1 / (1 + exp(-x))` of each element, accurate in both tails."""
    def sign(self) -> Tensor:
        """-1, 0 or 1 by the sign of each element."""
    def sign_(self) -> Self:
        """-1, 0 or 1 by the sign of each element."""
    def signbit(self) -> Tensor:
        """Whether elements have their sign bit set."""
    def sin(self) -> Tensor:
        """Sine of each element, in radians."""
    def sin_(self) -> Self:
        """Sine of each element, in radians."""
    def sinc(self) -> Tensor:
        """`sin(πx) / πx` of each element, 1 at 0."""
    def sinc_(self) -> Self:
        """`sin(πx) / πx` of each element, 1 at 0."""
    def sinh(self) -> Tensor:
        """Hyperbolic sine of each element."""
    def sinh_(self) -> Self:
        """Hyperbolic sine of each element."""
    @overload
    def size(self, dim: None = None) -> Size:
        """The sizes of all dimensions, or of one."""
    @overload
    def size(self, dim: builtins.int) -> builtins.int: ...
    def slice_scatter(self, src: Tensor, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1) -> Tensor:
        """A copy of `input` with `src` in a slice of a dimension."""
    def slogdet(self) -> _return_linalg_slogdet:
        """Sign of the determinant and logarithm of its absolute value."""
    def softmax(self, dim: builtins.int, dtype: _dtype | None = None) -> Tensor:
        """`exp(x) / sum(exp(x))` along `dim`, without overflow."""
    def solve(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError: `linalg` has `solve`."""
    def sort(self, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False) -> _return_sort:
        """Values in order along a dimension, and where they were. NaN counts as the largest. Equal elements keep their order
        with `stable`.
        """
    def sparse_dim(self) -> Any:
        """The number of sparse dimensions: 0."""
    def split(self, split_size_or_sections: _Ints, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Pieces along a dimension: of one size (the last may be smaller), or of the sizes listed."""
    def split_with_sizes(self, split_sizes: _Ints, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Pieces of the sizes listed along a dimension."""
    def sqrt(self) -> Tensor:
        """Square root of each element; NaN below 0."""
    def sqrt_(self) -> Self:
        """Square root of each element; NaN below 0."""
    def square(self) -> Tensor:
        """The square of each element; integers stay integers, bools become int64."""
    def square_(self) -> Self:
        """The square of each element; integers stay integers, bools become int64."""
    def squeeze(self, dim: _Ints | None = None) -> Tensor:
        """Without the dimensions of size 1 (all, or those named)."""
    def squeeze_(self, dim: _Ints | None = None) -> Self:
        """Without the dimensions of size 1 (all, or those named)."""
    def std(self, dim: _Ints | builtins.bool | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: _Number | None = None) -> Tensor:
        """Standard deviation over the given dimensions, or over all, with the divisor `n - correction` (1 unless given)."""
    def storage(self) -> Any:
        """The memory that this tensor and all its views lie in, as elements of its dtype; see `pullback.storage`."""
    def storage_offset(self) -> builtins.int:
        """Where the first element is in its memory, in elements."""
    def storage_type(self) -> Any:
        """The class of `storage()`."""
    @overload
    def stride(self, dim: None = None) -> builtins.tuple[builtins.int, ...]:
        """The distances in memory between neighbours along all dimensions, or along one, in elements."""
    @overload
    def stride(self, dim: builtins.int) -> builtins.int: ...
    def sub(self, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
        """`input - alpha * other`, with broadcasting and type promotion. Bools are an error: use `logical_xor`."""
    def sub_(self, other: _Operand, *, alpha: _Number | None = None) -> Self:
        """`input - alpha * other`, with broadcasting and type promotion. Bools are an error: use `logical_xor`."""
    def subtract(self, other: _Operand, *, alpha: _Number | None = None) -> Tensor:
        """`input - alpha * other`, with broadcasting and type promotion. Bools are an error: use `logical_xor`."""
    def subtract_(self, other: _Operand, *, alpha: _Number | None = None) -> Self:
        """`input - alpha * other`, with broadcasting and type promotion. Bools are an error: use `logical_xor`."""
    def sum(self, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Sum over the given dimensions, or over all. Integers and bools are summed as int64 unless `dtype` says otherwise."""
    def sum_to_size(self, *size: _Ints) -> Tensor:
        """The tensor summed over dimensions until it has this size, from which it could be broadcast."""
    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True) -> _return_svd:
        """`A = U diag(S) Vᴴ` with singular values in descending order; `some` leaves out vectors that these do not need, and
        without `compute_uv` U and V are zeros. `linalg.svd` gives Vᴴ instead.
        """
    def swapaxes(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions swapped."""
    def swapaxes_(self, dim0: builtins.int, dim1: builtins.int) -> Self:
        """Two dimensions swapped."""
    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions swapped."""
    def swapdims_(self, dim0: builtins.int, dim1: builtins.int) -> Self:
        """Two dimensions swapped."""
    def symeig(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError: `linalg` has `eigh`."""
    def t(self) -> Tensor:
        """A matrix transposed; 0-d and 1-d tensors stay as they are."""
    def t_(self) -> Self:
        """A matrix transposed; 0-d and 1-d tensors stay as they are."""
    def take(self, index: Tensor) -> Tensor:
        """Elements of the flattened input at `index`, whose shape the result has. Negative indices count from the end."""
    def take_along_dim(self, indices: Tensor, dim: builtins.int | None = None) -> Tensor:
        """Elements of `input` at `indices` along a dimension, both broadcast against each other elsewhere; of the flattened
        input if no dimension is named.
        """
    def tan(self) -> Tensor:
        """Tangent of each element, in radians."""
    def tan_(self) -> Self:
        """Tangent of each element, in radians."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent of each element."""
    def tanh_(self) -> Self:
        """Hyperbolic tangent of each element."""
    def tensor_split(self, indices_or_sections: _Ints | Tensor, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Pieces along a dimension: as many as said and as equal as can be, or cut at the positions listed."""
    def tile(self, *dims: _Ints) -> Tensor:
        """The tensor repeated along its dimensions; dimensions without a number are repeated once."""
    @overload
    def to(self, device: _Device = None, dtype: _dtype | None = None, non_blocking: builtins.bool = False, copy: builtins.bool = False, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor in another dtype: `to(dtype)`, `to(other)`, `to(device, dtype)`. The tensor itself if nothing changes,
        unless `copy=True`.
        """
    @overload
    def to(self, dtype: _dtype, non_blocking: builtins.bool = False, copy: builtins.bool = False, *, memory_format: _memory_format | None = None) -> Tensor: ...
    @overload
    def to(self, other: Tensor, non_blocking: builtins.bool = False, copy: builtins.bool = False, *, memory_format: _memory_format | None = None) -> Tensor: ...
    def to_dense(self, dtype: _dtype | None = None) -> Tensor:
        """The tensor itself: all tensors are dense."""
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a 0-d tensor gives a number."""
    def topk(self, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True) -> _return_topk:
        """The `k` largest (or smallest) values along a dimension, and where they were."""
    def trace(self) -> Tensor:
        """The sum of the main diagonal of a matrix."""
    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions swapped."""
    def transpose_(self, dim0: builtins.int, dim1: builtins.int) -> Self:
        """Two dimensions swapped."""
    def triangular_solve(self, A: Tensor, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False) -> _return_triangular_solve:
        """The solution X of `A X = b` for a triangular A, and A; of its transpose if `transpose`. `linalg.solve_triangular` gives
        X alone.
        """
    def tril(self, diagonal: builtins.int = 0) -> Tensor:
        """The part on and below a diagonal of the trailing matrices; zeros elsewhere."""
    def tril_(self, diagonal: builtins.int = 0) -> Self:
        """The part on and below a diagonal of the trailing matrices; zeros elsewhere."""
    def triu(self, diagonal: builtins.int = 0) -> Tensor:
        """The part on and above a diagonal of the trailing matrices; zeros elsewhere."""
    def triu_(self, diagonal: builtins.int = 0) -> Self:
        """The part on and above a diagonal of the trailing matrices; zeros elsewhere."""
    def true_divide(self, other: _Operand) -> Tensor:
        """`input / other`; integers divide as floats."""
    def true_divide_(self, other: _Operand) -> Self:
        """`input / other`; integers divide as floats."""
    def trunc(self) -> Tensor:
        """Each element without its fraction; integers stay as they are."""
    def trunc_(self) -> Self:
        """Each element without its fraction; integers stay as they are."""
    @overload
    def type(self, dtype: None = None, *, non_blocking: builtins.bool = False) -> builtins.str:
        """The name of the tensor type, or the tensor in another dtype."""
    @overload
    def type(self, dtype: _dtype | builtins.str | builtins.type[Any], *, non_blocking: builtins.bool = False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """The same values in the dtype of another tensor."""
    def unbind(self, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """The members along a dimension, without it."""
    def unflatten(self, dim: builtins.int, sizes: _Ints) -> Tensor:
        """One dimension as several, of these sizes; one may be -1."""
    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """All windows of `size` neighbours along a dimension, `step` apart, in a new last dimension."""
    def uniform_(self, from_: builtins.float = 0.0, to: builtins.float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fills with uniform random numbers in [from, to)."""
    @overload
    def unique(self, sorted: builtins.bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: builtins.int | None = None) -> Tensor:
        """The distinct elements in order, or the distinct members of a dimension; with them, as asked for, which of them each
        element is and how often each is there. NaN equals nothing.
        """
    @overload
    def unique(self, sorted: builtins.bool = True, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: builtins.bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: builtins.bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: builtins.int | None = None) -> Tensor:
        """The same without repetitions of neighbours, in the order in which the elements stand."""
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[True], return_counts: Literal[True], dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any: ...
    def unsafe_chunk(self, *args: Any, **kwargs: Any) -> Any:
        """`pullback.unsafe_chunk` of this tensor."""
    def unsafe_split(self, *args: Any, **kwargs: Any) -> Any:
        """`pullback.unsafe_split` of this tensor."""
    def unsafe_split_with_sizes(self, *args: Any, **kwargs: Any) -> Any:
        """`pullback.unsafe_split_with_sizes` of this tensor."""
    def unsqueeze(self, dim: builtins.int) -> Tensor:
        """With a dimension of size 1 at `dim`."""
    def unsqueeze_(self, dim: builtins.int) -> Self:
        """With a dimension of size 1 at `dim`."""
    def untyped_storage(self) -> UntypedStorage:
        """The bytes that this tensor and all its views lie in. Writes leave them where they are while they are held."""
    def var(self, dim: _Ints | builtins.bool | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: _Number | None = None) -> Tensor:
        """Variance over the given dimensions, or over all, with the divisor `n - correction` (1 unless given)."""
    def vdot(self, other: Tensor) -> Tensor:
        """Inner product of two vectors, the first conjugated."""
    @overload
    def view(self, *shape: _Ints) -> Tensor:
        """The same elements in another shape (one size may be -1), or the same shape in another dtype of equal width."""
    @overload
    def view(self, dtype: _dtype) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """The same elements in the shape of another tensor."""
    def vsplit(self, indices_or_sections: _Ints | Tensor) -> builtins.tuple[Tensor, ...]:
        """Pieces one below the other: along dimension 0 of tensors with two dimensions or more."""
    def where(self, condition: Tensor, other: _Operand) -> Tensor:
        """The elements of this tensor where `condition` holds, those of `other` elsewhere."""
    def xlogy(self, other: _Operand) -> Tensor:
        """`input * log(other)`; 0 where `input` is 0, unless `other` is NaN."""
    def xlogy_(self, other: _Operand) -> Self:
        """`input * log(other)`; 0 where `input` is 0, unless `other` is NaN."""
    def zero_(self) -> Self:
        """Sets all elements to zero."""

class UntypedStorage:
    """The bytes that a tensor and all its views lie in. While it is held, writes leave them where they are."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __eq__(self, value: Any, /) -> Any: ...
    def __ge__(self, value: Any, /) -> Any: ...
    def __getattr__(self, name: Any) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __gt__(self, value: Any, /) -> Any: ...
    def __hash__(self) -> builtins.int: ...
    def __le__(self, value: Any, /) -> Any: ...
    def __len__(self) -> builtins.int: ...
    def __lt__(self, value: Any, /) -> Any: ...
    def __ne__(self, value: Any, /) -> Any: ...
    def __new__(cls, *args: Any, device: _Device = None) -> UntypedStorage: ...
    def __repr__(self) -> builtins.str: ...
    def data_ptr(self) -> builtins.int:
        """The address of the first byte."""
    def element_size(self) -> builtins.int:
        """1: storages have no type."""
    def nbytes(self) -> builtins.int:
        """The number of bytes."""
    def size(self) -> builtins.int:
        """The number of bytes."""
    def tolist(self, /) -> Any:
        """The bytes as numbers."""

class Generator:
    """A source of random numbers: the same seed gives the same numbers, on any number of threads, and those of PyTorch.

    >>> import pullback
    >>> g = pullback.Generator().manual_seed(7)
    >>> a = pullback.rand(3, generator=g)
    >>> g = g.manual_seed(7)
    >>> bool((a == pullback.rand(3, generator=g)).all())
    True"""
    def __new__(cls, device: _Device = None) -> Generator: ...
    def clone_state(self) -> Generator: ...
    @builtins.property
    def device(self) -> Any:
        """Where the numbers are drawn: on the CPU."""
    def get_state(self) -> Tensor:
        """The state as a tensor of bytes, for `set_state`."""
    def initial_seed(self) -> builtins.int: ...
    def manual_seed(self, seed: builtins.int) -> Generator:
        """Starts over from a seed; returns the generator."""
    def seed(self) -> builtins.int:
        """Takes a new seed from the system and returns it."""
    def set_state(self, state: Tensor) -> Generator: ...

class FunctionApply:
    """`Function.apply` of one class."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __new__(cls, *args: Any, **kwargs: Any) -> FunctionApply: ...
    def __repr__(self) -> builtins.str: ...
    def rules(self, /) -> Any:
        """For each rule: "written", "derived from …", "generated", "missing"."""

class FunctionCtx:
    """What a Function's methods share. Any attribute may be set; tensors among them, also in lists, tuples and dicts, are
    kept as `save_for_backward` keeps its arguments.

    A ctx with such attributes becomes one of a derived class, which alone looks them up: for most there are none, and
    reading an attribute in vain costs more than all else that a ctx does."""
    def __getattr__(self, name: builtins.str) -> Any: ...
    def __setattr__(self, name: builtins.str, value: Any) -> None: ...
    def _adopted(self, /, name: Any) -> Any:
        """An attribute that holds saved tensors."""
    def _forget(self, name: builtins.str) -> builtins.bool:
        """Takes away an attribute that holds saved tensors; False if there is none of this name. A rule that runs loses it for
        itself: other levels, whose rules have the same ctx, keep it.
        """
    @builtins.property
    def _history(self) -> Any:
        """All tensors that the running rule can read."""
    def mark_dirty(self, *args: Tensor) -> None:
        """Declares inputs that the forward changed in place; it must return them."""
    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declares outputs that carry no derivative."""
    @builtins.property
    def needs_input_grad(self) -> builtins.tuple[builtins.bool, ...]:
        """For each argument of the function, whether a gradient is asked for."""
    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors (or None) for `backward`. A second call replaces the first."""
    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors (or None) for `jvp`. A second call replaces the first."""
    @builtins.property
    def saved_tensors(self) -> builtins.tuple[Tensor, ...]:
        """What was saved, in `backward` and `jvp`."""
    @builtins.property
    def saved_variables(self) -> Any:
        """The old name of `saved_tensors`; it warns."""
    def set_materialize_grads(self, value: builtins.bool) -> None:
        """Whether missing gradients are given to `backward` and `jvp` as zeros (the default) or as None."""

class VmapInfo:
    """What a vmap staticmethod is told of the batch."""
    @builtins.property
    def batch_size(self) -> builtins.int: ...
    @builtins.property
    def randomness(self) -> builtins.str: ...

class no_grad:
    """Nothing is recorded inside: `with no_grad():`, or `@no_grad()` on a function."""
    def __call__(self, orig_func: _F, /) -> _F: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: Any) -> None: ...
    @overload
    def __new__(cls, orig_func: _F) -> _F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, orig_func: None = None) -> no_grad: ...
    def clone(self) -> Self:
        """Another manager of the same kind."""

class enable_grad:
    """Recording is on inside, also within `no_grad`."""
    def __call__(self, orig_func: _F, /) -> _F: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: Any) -> None: ...
    @overload
    def __new__(cls, orig_func: _F) -> _F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, orig_func: None = None) -> enable_grad: ...
    def clone(self) -> Self:
        """Another manager of the same kind."""

class set_grad_enabled:
    """Turns recording on or off at once; as a context manager, until the block ends."""
    def __call__(self, orig_func: _F, /) -> _F: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: Any) -> None: ...
    def __new__(cls, mode: builtins.bool) -> set_grad_enabled: ...
    def clone(self) -> Self:
        """Another manager of the same kind."""

class inference_mode:
    """As `no_grad`, and `enable_grad` has no effect inside: what is computed is never recorded. Tensors that are made inside
    say so by `is_inference()`; they may be used anywhere. `inference_mode(False)` ends the mode for a block."""
    def __call__(self, orig_func: _F, /) -> _F: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: Any) -> None: ...
    @overload
    def __new__(cls, mode: _F) -> _F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, mode: builtins.bool | None = None) -> inference_mode: ...

class _return__lu_with_info(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _return_aminmax(NamedTuple):
    min: Tensor
    max: Tensor

class _return_cummax(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_cummin(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_frexp(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class _return_geqrf(NamedTuple):
    a: Tensor
    tau: Tensor

class _return_histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class _return_kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_linalg_cholesky_ex(NamedTuple):
    L: Tensor
    info: Tensor

class _return_linalg_eig(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _return_linalg_eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _return_linalg_inv_ex(NamedTuple):
    inverse: Tensor
    info: Tensor

class _return_linalg_ldl_factor(NamedTuple):
    LD: Tensor
    pivots: Tensor

class _return_linalg_ldl_factor_ex(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class _return_linalg_lstsq(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class _return_linalg_lu(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class _return_linalg_lu_factor(NamedTuple):
    LU: Tensor
    pivots: Tensor

class _return_linalg_lu_factor_ex(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _return_linalg_qr(NamedTuple):
    Q: Tensor
    R: Tensor

class _return_linalg_slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _return_linalg_solve_ex(NamedTuple):
    result: Tensor
    info: Tensor

class _return_linalg_svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class _return_lu_unpack(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class _return_max(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_median(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_min(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_mode(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_qr(NamedTuple):
    Q: Tensor
    R: Tensor

class _return_sort(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_svd(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class _return_topk(NamedTuple):
    values: Tensor
    indices: Tensor

class _return_triangular_solve(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

def _short(text: Any, most: Any = ...) -> Any:
    """[`message`] for exceptions that Python code raises."""

bool: dtype

uint8: dtype

int8: dtype

int16: dtype

int32: dtype

int64: dtype

float16: dtype

bfloat16: dtype

float32: dtype

float64: dtype

complex64: dtype

complex128: dtype

half: dtype

float: dtype

double: dtype

short: dtype

int: dtype

long: dtype

cfloat: dtype

cdouble: dtype

def get_default_dtype() -> dtype:
    """The dtype that floats made from Python numbers have."""

def set_default_dtype(d: dtype, /) -> None:
    """Sets the dtype of floats made from Python numbers; complex numbers follow it."""

def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both convert to."""

def can_cast(from_: dtype, to: dtype) -> builtins.bool:
    """Whether promotion allows a conversion: to the same category or a higher one."""

strided: layout

contiguous_format: memory_format

preserve_format: memory_format

channels_last: memory_format

channels_last_3d: memory_format

def as_strided(input: Tensor, size: _Ints, stride: _Ints, storage_offset: builtins.int | None = None) -> Tensor:
    """The elements of the memory of `input` that sizes, strides and an offset name, as a view."""

def tensor(data: Any, *, dtype: _dtype | None = None, device: _Device = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """A new tensor with a copy of `data`: a number, nested sequences of numbers, an array, a tensor."""

def from_numpy(ndarray: _Array, /) -> Tensor:
    """A tensor over the memory of a NumPy array: writes go both ways."""

def as_tensor(data: Any, dtype: _dtype | None = None, device: _Device = None) -> Tensor:
    """`data` as a tensor, without a copy where its memory and dtype allow that."""

def asarray(obj: Any, *, dtype: _dtype | None = None, device: _Device = None, copy: builtins.bool | None = None, requires_grad: builtins.bool = False) -> Tensor:
    """`obj` as a tensor. It shares memory with tensors, NumPy arrays, DLPack objects and buffers, unless `copy=True`."""

def frombuffer(buffer: Any, *, dtype: _dtype, count: builtins.int = -1, offset: builtins.int = 0, requires_grad: builtins.bool = False) -> Tensor:
    """A 1-d tensor over the memory of an object with the buffer protocol."""

default_generator: Generator

def manual_seed(seed: builtins.int) -> Generator:
    """Seeds the default generator, by what int() makes of the argument, and returns it."""

def seed() -> builtins.int:
    """Gives the default generator a seed of the system and returns it."""

def initial_seed() -> builtins.int: ...

def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes."""

def set_rng_state(new_state: Tensor) -> None: ...

def set_num_threads(num_threads: builtins.int) -> None:
    """Sets how many threads kernels use. Results do not depend on it."""

def get_num_threads() -> builtins.int:
    """How many threads kernels use."""

def empty_cache() -> None:
    """Gives cached memory back to the system."""

def allclose(input: Tensor, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
    """Whether all elements are close: `|input - other| <= atol + rtol * |other|`. Shapes broadcast, dtypes must agree."""

def is_nonzero(input: Tensor) -> builtins.bool:
    """Whether the only element is not zero."""

def equal(input: Tensor, other: Tensor) -> builtins.bool:
    """Whether both have the same shape and the same elements."""

def is_tensor(obj: Any) -> TypeIs[Tensor]:
    """Whether an object is a tensor."""

def is_storage(obj: Any) -> builtins.bool:
    """Whether an object is a storage, as `Tensor.untyped_storage` gives it."""

def is_floating_point(input: Tensor) -> builtins.bool:
    """Whether a tensor's dtype is one of real floating point numbers."""

def is_complex(input: Tensor) -> builtins.bool:
    """Whether a tensor's dtype is one of complex numbers."""

def from_dlpack(ext_tensor: Any, *, device: _Device = None, copy: builtins.bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, which has `__dlpack__`, or of a DLPack capsule."""

def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule of a tensor's memory, which no derivative follows."""

def is_grad_enabled() -> builtins.bool:
    """Whether tapes record on this thread."""

def is_inference_mode_enabled() -> builtins.bool:
    """Whether `inference_mode` is on."""

def _autocast() -> Any:
    """The dtype that autocast lowers to on this thread; None where it is off."""

def _set_autocast(dtype: _dtype | None, /) -> Any:
    """Sets what autocast lowers to on this thread, None for nothing."""

def is_inference(input: Tensor) -> builtins.bool:
    """Whether a tensor was made in inference mode."""

def _set_warn_always(on: Any) -> Any: ...

def is_anomaly_enabled() -> builtins.bool:
    """Whether recorded operators remember where they were called."""

def is_anomaly_check_nan_enabled() -> builtins.bool:
    """Whether `backward` stops at gradients that are not numbers."""

def _rebuild_tensor(*args: Any, **kwargs: Any) -> Any:
    """A tensor from its bytes: what unpickling calls."""

def set_printoptions(precision: builtins.int | None = None, threshold: builtins.float | None = None, edgeitems: builtins.int | None = None, linewidth: builtins.int | None = None, profile: builtins.str | None = None, sci_mode: builtins.bool | None = None) -> None:
    """Sets how tensors are printed; what is not given stays. `profile` is 'default', 'short' or 'full'."""

def get_printoptions() -> builtins.dict[builtins.str, Any]:
    """How tensors are printed."""

def _restore_transform(name: Any, args: Any, kwargs: Any) -> Any:
    """The transform that a pickle describes."""

def vmap(func: Callable[_P, _T], in_dims: Any = 0, out_dims: Any = 0, randomness: builtins.str = 'error', *, chunk_size: builtins.int | None = None) -> Callable[_P, _T]:
    """Returns a function that runs `func` on all members of a batch at once, without a loop.

    Args:
        func: function of one or more arguments that returns a pytree of tensors.
        in_dims: which dimension of the arguments counts the members: an int for all, or a tuple with an int, None or a
            tree of them for each argument. None gives the whole argument to each member. Negative dimensions count
            from the end.
        out_dims: where the batch goes in the results, as an int, None (for what is equal for all members, or no tensor)
            or a tree of them that fits the result.
        randomness: what random operators do: raise ('error'), draw numbers for each member ('different'), or the same
            numbers for all ('same').
        chunk_size: how many members to run at a time; all at once by default.

    Keyword arguments are given to each member as they are, whole, as PyTorch does. Inside, a member looks like a tensor
    without the batch. The result of a function that does not depend on its argument is repeated.
    """

__version__: builtins.str

functions: builtins.dict[builtins.str, Callable[..., Any]]

def return_type(name: builtins.str) -> builtins.type[Any] | None: ...

def return_type_names() -> builtins.list[builtins.str]: ...

def operator_table() -> builtins.list[builtins.dict[builtins.str, Any]]: ...

linalg: Any

overrides: Any

autograd: Any

utils_pytree: Any

autograd_forward_ad: Any

autograd_graph: Any

utils_hooks: Any

func: Any

optim: Any

def remainder(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Remainder with the sign of `other`, as Python's `%`."""

def fmod(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Remainder with the sign of `input`, as C's `fmod`."""

def atan2(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Angle of the point (other, input), in radians, by the signs of both."""

def arctan2(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Angle of the point (other, input), in radians, by the signs of both."""

def maximum(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger of both; NaN if one is NaN. Ties share the derivative."""

def minimum(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller of both; NaN if one is NaN. Ties share the derivative."""

def hypot(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`sqrt(input² + other²)` without overflow."""

def logaddexp(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`log(exp(input) + exp(other))` without overflow."""

def logaddexp2(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`log2(2**input + 2**other)` without overflow."""

def fmax(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger of both; the other one if one is NaN. Of equals the first has the derivative."""

def fmin(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller of both; the other one if one is NaN. Of equals the first has the derivative."""

def add(input: _Operand, other: _Operand, *, alpha: _Number | None = None, out: Tensor | None = None) -> Tensor:
    """`input + alpha * other`, with broadcasting and type promotion."""

def sub(input: _Operand, other: _Operand, *, alpha: _Number | None = None, out: Tensor | None = None) -> Tensor:
    """`input - alpha * other`, with broadcasting and type promotion. Bools are an error: use `logical_xor`."""

def subtract(input: _Operand, other: _Operand, *, alpha: _Number | None = None, out: Tensor | None = None) -> Tensor:
    """`input - alpha * other`, with broadcasting and type promotion. Bools are an error: use `logical_xor`."""

def rsub(input: Tensor, other: _Operand, *, alpha: _Number | None = None, out: Tensor | None = None) -> Tensor:
    """`other - alpha * input`."""

def mul(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * other`, with broadcasting and type promotion."""

def multiply(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * other`, with broadcasting and type promotion."""

def div(input: _Operand, other: _Operand, *, rounding_mode: builtins.str | None = None, out: Tensor | None = None) -> Tensor:
    """`input / other`. Integers divide as floats, unless `rounding_mode` is 'floor' or 'trunc'."""

def divide(input: _Operand, other: _Operand, *, rounding_mode: builtins.str | None = None, out: Tensor | None = None) -> Tensor:
    """`input / other`. Integers divide as floats, unless `rounding_mode` is 'floor' or 'trunc'."""

def true_divide(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input / other`; integers divide as floats."""

def floor_divide(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The quotient rounded down."""

def pow(input: _Operand, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent`. Integers stay integers; negative integer powers of integers are an error."""

def result_type(tensor1: _Operand, tensor2: _Operand, *, out: Sequence[Tensor] | None = None) -> _dtype:
    """The dtype that arithmetic of two tensors or numbers gives."""

def lerp(input: Tensor, end: Tensor, weight: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input + weight * (end - input)`."""

@overload
def where(condition: Tensor, input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input` where `condition` holds, `other` elsewhere; all broadcast. With the condition alone: the indices of its
    non-zero elements, one tensor per dimension.
    """
@overload
def where(condition: Tensor, input: None = None, other: None = None, *, out: Sequence[Tensor] | None = None) -> builtins.tuple[Tensor, ...]: ...

def clamp_(input: Tensor, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """Each element limited to [min, max]; either bound may be left out. Bounds are numbers or tensors."""

def clip_(input: Tensor, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """Each element limited to [min, max]; either bound may be left out. Bounds are numbers or tensors."""

def clamp(input: Tensor, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """Each element limited to [min, max]; either bound may be left out. Bounds are numbers or tensors."""

def clip(input: Tensor, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """Each element limited to [min, max]; either bound may be left out. Bounds are numbers or tensors."""

def tile(input: Tensor, *dims: _Ints, out: Tensor | None = None) -> Tensor:
    """The tensor repeated along its dimensions; dimensions without a number are repeated once."""

def repeat_interleave(input: Tensor, repeats: _Operand | None = None, dim: builtins.int | None = None, *, output_size: builtins.int | None = None, out: Tensor | None = None) -> Tensor:
    """Each element several times in a row: as often as an int says, or as counts say, one for each element along `dim`.
    All elements in one dimension where `dim` is None. With counts alone: the index of each, as often as it says.
    """

def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: builtins.str | None = None) -> builtins.tuple[Tensor, ...]:
    """Grids of coordinates: tensor i repeated along every dimension but the i-th. With `indexing='xy'` the first two
    dimensions are swapped.
    """

def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along the second dimension; vectors along their only one."""

def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along the first dimension; vectors are rows."""

def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along the first dimension; vectors are rows."""

def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along the third dimension, which they get if they have none."""

def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along the second dimension; vectors are columns."""

def atleast_1d(*tensors: Any) -> Any:
    """The tensor with one dimension at least; several tensors give a tuple."""

def atleast_2d(*tensors: Any) -> Any:
    """The tensor with two dimensions at least; vectors are rows, and several tensors give a tuple."""

def atleast_3d(*tensors: Any) -> Any:
    """The tensor with three dimensions at least; several tensors give a tuple."""

def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order."""

def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order."""

def rot90(input: Tensor, k: builtins.int = 1, dims: _Ints = (0, 1)) -> Tensor:
    """Turned `k` times by a right angle in the plane of two dimensions, from the first towards the second."""

def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """A matrix with these blocks along its diagonal; vectors are rows."""

def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: each element of `input` times `other`, as blocks."""

def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """All ways to take one element of each vector, as rows; one vector stays as it is."""

def combinations(input: Tensor, r: builtins.int = 2, with_replacement: builtins.bool = False) -> Tensor:
    """All ways to choose `r` elements of a vector in its order, as rows."""

def narrow_copy(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """A copy of the elements `start .. start + length` of a dimension."""

def diagflat(input: Tensor, offset: builtins.int = 0) -> Tensor:
    """A square matrix with all elements of the tensor along a diagonal."""

def vander(x: Tensor, N: builtins.int | None = None, increasing: builtins.bool = False) -> Tensor:
    """The Vandermonde matrix of a vector: powers of its elements from the highest, or from 0 with `increasing`."""

def chain_matmul(*matrices: Tensor | Sequence[Tensor], out: Tensor | None = None) -> Tensor:
    """The product of one or more matrices, in the order that costs least; `linalg.multi_dot` takes vectors too."""

def matrix_power(A: Tensor, n: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """The product of n equal square matrices; for a negative n, of their inverse."""

def bitwise_and(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Bitwise and of integers; of bools, logical and."""

def bitwise_or(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Bitwise or of integers; of bools, logical or."""

def bitwise_xor(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Bitwise exclusive or of integers; of bools, logical exclusive or."""

def bitwise_left_shift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input << other` of integers."""

def bitwise_right_shift(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input >> other` of integers; the sign is kept."""

def isclose(input: Tensor, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are close: `|input - other| <= atol + rtol * |other|`. Equal infinities are close; NaN is close to
    NaN with `equal_nan`.
    """

def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are zero (or false)."""

def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are NaN."""

def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are infinite."""

def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are infinite and positive."""

def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are infinite and negative."""

def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are neither infinite nor NaN."""

def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements have their sign bit set."""

def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bitwise not; of bools, logical not."""

def eq(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are equal."""

def ne(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements differ."""

def not_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements differ."""

def lt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of the first are less than those of the second."""

def less(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of the first are less than those of the second."""

def le(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of the first are at most those of the second."""

def less_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of the first are at most those of the second."""

def gt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of the first are greater than those of the second."""

def greater(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of the first are greater than those of the second."""

def ge(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of the first are at least those of the second."""

def greater_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of the first are at least those of the second."""

def logical_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether both are non-zero."""

def logical_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether at least one is non-zero."""

def logical_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one is non-zero."""

def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers with these real and imaginary parts, which broadcast."""

def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers with these absolute values and angles (in radians), which broadcast."""

def real(input: Tensor) -> Tensor:
    """The real parts; real tensors are their own. A view."""

def imag(input: Tensor) -> Tensor:
    """The imaginary parts, a view."""

def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts along a new last dimension of size 2: the same memory as real numbers."""

def view_as_complex(input: Tensor) -> Tensor:
    """The same memory as complex numbers: pairs along the last dimension are their parts."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugate, a view; real tensors are their own."""

def _neg_view(input: Tensor) -> Tensor:
    """The negated numbers, a view."""

def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; real tensors are their own."""

def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate in memory of its own; real tensors are their own."""

def adjoint(input: Tensor) -> Tensor:
    """The trailing matrices transposed and conjugated, a view; a 0-d tensor is conjugated, with a warning."""

def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements have no imaginary part."""

def clone(input: Tensor, *, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """A copy that shares no memory with its input; differentiable."""

def full(size: _Ints, fill_value: _Number, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """A tensor of this shape filled with one value. The dtype is that of the value unless given."""

def zeros(*size: _Ints, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """A tensor of zeros."""

def ones(*size: _Ints, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """A tensor of ones."""

def empty(*size: _Ints, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """A tensor whose values do not matter. Ours are zeros, so that programs are reproducible."""

def zeros_like(input: Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """Zeros with the shape and dtype of another tensor."""

def ones_like(input: Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """Ones with the shape and dtype of another tensor."""

def empty_like(input: Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """As `zeros_like`: values that do not matter."""

def full_like(input: Tensor, fill_value: _Number, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """One value with the shape and dtype of another tensor."""

def arange(start: _Number = 0, end: _Number | None = None, step: _Number = 1, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """`start, start + step, …` below `end`. With one argument, `0, 1, …, start - 1`. Floats give the default float."""

def linspace(start: _Operand, end: _Operand, steps: builtins.int, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """`steps` evenly spaced values from `start` to `end`, both included."""

def eye(n: builtins.int, m: builtins.int | None = None, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """The identity matrix with `n` rows and `m` (or `n`) columns."""

def scalar_tensor(s: _Number, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """A number as a 0-d tensor."""

def diagonal(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
    """A diagonal of two dimensions as the last dimension."""

def diag(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Of a vector, the matrix with it as diagonal; of a matrix, its diagonal."""

def diag_embed(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1, *, out: Tensor | None = None) -> Tensor:
    """Matrices with the last dimension as a diagonal."""

def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the main diagonal of a matrix."""

def tril(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """The part on and below a diagonal of the trailing matrices; zeros elsewhere."""

def triu(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """The part on and above a diagonal of the trailing matrices; zeros elsewhere."""

def diff(input: Tensor, n: builtins.int = 1, dim: builtins.int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Differences of neighbours along a dimension, `n` times over, with `prepend` in front and `append` behind. Those of
    bools say where they change.
    """

def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Operand | None = None, dim: builtins.int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, of samples at the places `x` or `dx` apart."""

def trapz(y: Tensor, x: Tensor | None = None, *, dx: _Operand | None = None, dim: builtins.int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, of samples at the places `x` or `dx` apart."""

def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Operand | None = None, dim: builtins.int = -1) -> Tensor:
    """The integral so far, one fewer than there are samples."""

def gradient(input: Tensor, *, spacing: Any = None, dim: _Ints | None = None, edge_order: builtins.int = 1) -> builtins.tuple[Tensor, ...]:
    """Derivatives of a function along dimensions, from its samples: central differences inside, at the edges lines
    (`edge_order` 1) or parabolas (2). `spacing` is the distance of samples, one for each dimension, or a vector of places
    for each.
    """

def cdist(x1: Tensor, x2: Tensor, p: builtins.float = 2.0, compute_mode: builtins.str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The p-norm distance between each row of `x1` and each row of `x2`. Leading dimensions broadcast."""

def pdist(input: Tensor, p: builtins.float = 2.0) -> Tensor:
    """The p-norm distances between each two rows of a matrix, the first row's first."""

def cross(input: Tensor, other: Tensor, dim: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors along a dimension; by default the first one of three elements."""

@overload
def unique(input: Tensor, sorted: builtins.bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: builtins.int | None = None) -> Tensor:
    """The distinct elements in order, or the distinct members of a dimension; with them, as asked for, which of them each
    element is and how often each is there. NaN equals nothing.
    """
@overload
def unique(input: Tensor, sorted: builtins.bool = True, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: builtins.bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: builtins.bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any: ...

@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: builtins.int | None = None) -> Tensor:
    """The same without repetitions of neighbours, in the order in which the elements stand."""
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[True], return_counts: Literal[True], dim: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any: ...

def argwhere(input: Tensor) -> Tensor:
    """Multi-indices of the elements that are not zero, one per row."""

def nonzero_static(input: Tensor, *, size: builtins.int, fill_value: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """The first `size` multi-indices of elements that are not zero, one per row; rows that are left over hold `fill_value`."""

def einsum(equation: builtins.str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """Sum of products over labelled dimensions, in Einstein's convention."""

def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """Contraction of dimensions of two tensors: the last `dims` of the first with the first `dims` of the second, or
    the two lists of dimensions given.
    """

def copysign(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The magnitude of `input` with the sign of `other`."""

def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next float after `input` towards `other`."""

def frexp(input: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_frexp:
    """Mantissas in [1/2, 1) and exponents of two with `input = mantissa * 2**exponent`."""

def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """`input * 2**other`; integers give the default float."""

def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * 2**other`; integers give the default float."""

def float_power(input: _Operand, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent` in double precision."""

def deg2rad_(input: Tensor) -> Tensor:
    """Degrees as radians."""

def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians."""

def rad2deg_(input: Tensor) -> Tensor:
    """Radians as degrees."""

def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees."""

def scatter_reduce(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with what `index` sends to each element folded into it by `reduce`: 'sum', 'prod', 'mean', 'amax'
    or 'amin'. Without `include_self` the element itself does not count where something is sent to it. Extremes that
    are equal share the derivative.
    """

def index_reduce(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with the members of `source` folded into the members of a dimension that `index` names, by
    `reduce`: 'prod', 'mean', 'amax' or 'amin'. Without `include_self` a member itself does not count where it is named.
    """

def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elements of the flattened input at `index`, whose shape the result has. Negative indices count from the end."""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """A copy of `input` with the elements of `source` put at places of the flattened tensor, or added there if
    `accumulate`. Negative indices count from the end; of several writes to one place the last stays.
    """

def unravel_index(indices: Tensor, shape: Any) -> builtins.tuple[Tensor, ...]:
    """Indices of a flattened tensor of this shape as one tensor of indices for each dimension."""

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 * tensor2`."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 / tensor2`."""

def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of integers, not negative."""

def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of integers, not negative."""

def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of integers, not negative."""

def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of integers, not negative."""

def gather(input: Tensor, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """`out[i][j] = input[index[i][j]][j]` for dim 0, and so on: the result has the shape of `index`."""

def scatter(input: Tensor, dim: builtins.int, index: Tensor, src: _Operand | None = None, *, value: _Operand | None = None, reduce: builtins.str | None = None, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `out[index[i][j]][j] = src[i][j]` for dim 0, and so on; `src` may be a number."""

def scatter_add(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `out[index[i][j]][j] += src[i][j]` for dim 0, and so on."""

def index_select(input: Tensor, dim: builtins.int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The members of a dimension that a vector of indices names."""

def index_add(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `alpha * source` added to the members of a dimension that `index` names."""

def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """A copy of `input` with `input[indices] = values` done to it, or `+=` if `accumulate`."""

def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `input[indices] = values` done to it, or `+=` if `accumulate`."""

def take_along_dim(input: Tensor, indices: Tensor, dim: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Elements of `input` at `indices` along a dimension, both broadcast against each other elsewhere; of the flattened
    input if no dimension is named.
    """

def masked_fill(input: Tensor, mask: Tensor, value: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input` with `value` (a number or 0-d tensor) where `mask` is true."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` where `mask` is true, in row-major order, after broadcasting both."""

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor:
    """Multi-indices of the elements that are not zero, one per row; with `as_tuple`, one tensor per dimension."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True], out: Sequence[Tensor] | None = None) -> builtins.tuple[Tensor, ...]: ...
@overload
def nonzero(input: Tensor, *, as_tuple: builtins.bool = False, out: Sequence[Tensor] | None = None) -> Any: ...

def _standard_gamma_grad(input: _Operand, other: _Operand) -> Tensor:
    """The derivative of gamma variables `output` by their shape parameters `input`, at a fixed quantile."""

def igamma(input: _Operand, other: _Operand) -> Tensor:
    """The regularised lower incomplete gamma function: how likely a gamma variable of shape `input` is at most `other`."""

def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma variables of scale 1 with these shape parameters, which move with them."""

def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """How beta variables `x` of the parameters `alpha` and `total - alpha` move with the first, over `1 - x`: the
    derivative of Dirichlet variables.
    """

def cat(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along an existing dimension, after type promotion."""

def concat(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along an existing dimension, after type promotion."""

def concatenate(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along an existing dimension, after type promotion."""

def stack(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of equal shape joined along a new dimension."""

def split(tensor: Tensor, split_size_or_sections: _Ints, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Pieces along a dimension: of one size (the last may be smaller), or of the sizes listed."""

def split_with_sizes(input: Tensor, split_sizes: _Ints, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Pieces of the sizes listed along a dimension."""

def chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size (the last may be smaller) along a dimension."""

def unbind(input: Tensor, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """The members along a dimension, without it."""

def nan_to_num_(input: Tensor, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Tensor:
    """NaN replaced by `nan`, infinities by `posinf` and `neginf`: the largest and smallest number of the dtype unless given."""

def nan_to_num(input: Tensor, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None, *, out: Tensor | None = None) -> Tensor:
    """NaN replaced by `nan`, infinities by `posinf` and `neginf`: the largest and smallest number of the dtype unless given."""

def clamp_min_(input: Tensor, min: _Operand) -> Tensor:
    """Each element, or `min` where that is larger."""

def clamp_min(input: Tensor, min: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Each element, or `min` where that is larger."""

def clamp_max_(input: Tensor, max: _Operand) -> Tensor:
    """Each element, or `max` where that is smaller."""

def clamp_max(input: Tensor, max: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Each element, or `max` where that is smaller."""

def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """Each element where it is larger than `threshold`, `value` elsewhere."""

def threshold(input: Tensor, threshold: _Number, value: _Number, *, out: Tensor | None = None) -> Tensor:
    """Each element where it is larger than `threshold`, `value` elsewhere."""

def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The step function: 0 below 0 and for NaN, 1 above, `values` at 0. Both tensors have one dtype."""

def pinverse(input: Tensor, rcond: builtins.float = 1e-15, *, out: Tensor | None = None) -> Tensor:
    """The pseudoinverse: `1 / s` for singular values above `rcond` times the largest, 0 for others."""

def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices. Singular ones raise `LinAlgError`."""

def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_linalg_slogdet:
    """Sign of the determinant and logarithm of its absolute value."""

def logdet(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the determinant: NaN where that is negative, -inf where it is 0."""

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices."""

def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential `Σ Aᵏ / k!` of square matrices."""

def svd(input: Tensor, some: builtins.bool = True, compute_uv: builtins.bool = True, *, out: Sequence[Tensor] | None = None) -> _return_svd:
    """`A = U diag(S) Vᴴ` with singular values in descending order; `some` leaves out vectors that these do not need, and
    without `compute_uv` U and V are zeros. `linalg.svd` gives Vᴴ instead.
    """

def qr(input: Tensor, some: builtins.bool = True, *, out: Sequence[Tensor] | None = None) -> _return_qr:
    """`A = Q R` with orthonormal columns of Q and upper triangular R; unless `some`, with all columns of Q."""

def cholesky(input: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The triangular factor of Hermitian positive definite matrices: `A = L Lᴴ`, or `Uᴴ U` if `upper`."""

def cholesky_inverse(L: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `L Lᴴ`, or of `Uᴴ U` if `upper`, from the triangle."""

def cholesky_solve(B: Tensor, L: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution of `L Lᴴ X = B`, or of `Uᴴ U X = B` if `upper`, from the triangle."""

def triangular_solve(b: Tensor, A: Tensor, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> _return_triangular_solve:
    """The solution X of `A X = b` for a triangular A, and A; of its transpose if `transpose`. `linalg.solve_triangular` gives
    X alone.
    """

def lu(A: Tensor, pivot: builtins.bool = True, get_infos: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> Any:
    """The factors of `A = P L U` in one matrix, and the row exchanges; also which pivot is the first zero, if `get_infos`."""

def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = b` from what `lu_factor` gives for A."""

def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: builtins.bool = True, unpack_pivots: builtins.bool = True, *, out: Sequence[Tensor] | None = None) -> _return_lu_unpack:
    """P, L and U from what `lu_factor` gives. What is not asked for is an empty tensor."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product, with 1-D operands taken as vectors and leading dimensions broadcast."""

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of two matrices."""

def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Products of two batches of matrices."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of a matrix and a vector."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inner product of two vectors."""

def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inner product of two vectors, the first conjugated."""

def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inner products of the rows of two tensors, along their last dimensions; with a 0-d tensor the product."""

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Outer product of two vectors."""

def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Outer product of two vectors."""

def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""

def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""

def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""

def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""

def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * sum(batch1 @ batch2)`, the sum over a batch of matrices."""

def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` over a batch of matrices."""

def norm(input: Tensor, p: builtins.int | builtins.float | builtins.str | None = None, dim: _Ints | None = None, keepdim: builtins.bool = False, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The p-norm over dimensions, or over all; 'fro' and 'nuc' are matrix norms."""

def dist(input: Tensor, other: Tensor, p: builtins.float = 2.0, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of the difference."""

@overload
def median(input: Tensor, dim: None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The element in the middle of the order, the lower of two: of all, or along `dim` with its place. NaN where there is
    one. Ties of all elements share the derivative; along `dim` it goes to the place.
    """
@overload
def median(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> _return_median: ...

@overload
def nanmedian(input: Tensor, dim: None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The same without the NaNs; NaN where there is nothing else."""
@overload
def nanmedian(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> _return_nanmedian: ...

def mode(input: Tensor, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> _return_mode:
    """The value that is most often there along a dimension, the least of several, and a place where it stands."""

def quantile(input: Tensor, q: _Operand, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear', out: Tensor | None = None) -> Tensor:
    """The values below which the fractions `q` of the elements lie: of all, or along `dim`. Between two elements the value
    is theirs by `interpolation`: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'. NaN where there is one.
    """

def nanquantile(input: Tensor, q: _Operand, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear', out: Tensor | None = None) -> Tensor:
    """The same without the NaNs; NaN where there is nothing else."""

def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The members of the first dimension in order."""

def rand(*size: _Ints, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """Uniform random numbers in [0, 1)."""

def randn(*size: _Ints, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """Standard normal random numbers."""

def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """Uniform random numbers in [0, 1) with the shape and dtype of another tensor."""

def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """Standard normal random numbers with the shape and dtype of another tensor."""

def randint(low: Any = None, high: Any = None, size: Any = None, *, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """Random integers in [low, high): `randint(high, size)` or `randint(low, high, size)`."""

def randint_like(input: Tensor, low: builtins.int | None = None, high: builtins.int | None = None, *, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """Random integers in [low, high) with the shape of another tensor: `randint_like(x, high)` or
    `randint_like(x, low, high)`.
    """

def randperm(n: builtins.int, *, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """A random permutation of 0 … n - 1."""

def normal(mean: _Operand, std: _Operand = 1.0, size: _Ints | None = None, *, generator: Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """Normal random numbers; mean and std are numbers or tensors. With two numbers, `size` is needed."""

def bernoulli(input: Tensor, p: builtins.float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability that each element gives, else 0."""

def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson distributed counts with the rate that each element gives."""

def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """The number of successes of `count` trials with the probability `prob`, element by element."""

def multinomial(input: Tensor, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """`num_samples` indices drawn by the weights in each row."""

def tril_indices(row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Tensor:
    """Rows and columns of the elements on and below a diagonal of a matrix, as a tensor of two rows."""

def triu_indices(row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Tensor:
    """Rows and columns of the elements on and above a diagonal of a matrix, as a tensor of two rows."""

def range(start: _Number, end: _Number, step: _Number = 1, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """`start, start + step, …` up to `end`, which is included. `arange` leaves it out, as Python's `range` does."""

def logspace(start: _Operand, end: _Operand, steps: builtins.int, base: builtins.float = 10.0, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None, out: Tensor | None = None) -> Tensor:
    """`steps` powers of `base`, from `base**start` to `base**end`, with evenly spaced exponents."""

def hann_window(window_length: builtins.int, periodic: builtins.bool = True, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None) -> Tensor:
    """Hann's window `(1 - cos(2πk / N)) / 2`; N is the length, or one less with `periodic=False`."""

def hamming_window(window_length: builtins.int, periodic: builtins.bool = True, alpha: builtins.float = 0.54, beta: builtins.float = 0.46, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None) -> Tensor:
    """Hamming's window `alpha - beta * cos(2πk / N)`; N is the length, or one less with `periodic=False`."""

def bartlett_window(window_length: builtins.int, periodic: builtins.bool = True, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None) -> Tensor:
    """Bartlett's window, a triangle; it has its length as period, or one less with `periodic=False`."""

def blackman_window(window_length: builtins.int, periodic: builtins.bool = True, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None) -> Tensor:
    """Blackman's window `0.42 - 0.5 cos(2πk / N) + 0.08 cos(4πk / N)`; N is the length, or one less with `periodic=False`."""

def kaiser_window(window_length: builtins.int, periodic: builtins.bool = True, beta: builtins.float = 12.0, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None) -> Tensor:
    """Kaiser's window `I₀(beta √(1 - (2k / N - 1)²)) / I₀(beta)`; N is the length, or one less with `periodic=False`."""

def empty_strided(size: _Ints, stride: _Ints, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None) -> Tensor:
    """A tensor of this shape whose elements lie as the strides say. Its values do not matter; ours are zeros."""

def empty_permuted(size: _Ints, physical_layout: _Ints, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool | None = None) -> Tensor:
    """A tensor whose dimensions lie in memory in this order, the last one closest. Its values do not matter; ours are zeros."""

def sum(input: Tensor, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Sum over the given dimensions, or over all. Integers and bools are summed as int64 unless `dtype` says otherwise."""

def nansum(input: Tensor, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Sum that takes NaN as zero, over the given dimensions, or over all."""

def mean(input: Tensor, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Mean over the given dimensions, or over all. Integers are an error unless `dtype` is given."""

def prod(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Product over one dimension, or over all."""

def amax(input: Tensor, dim: _Ints | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest element over the given dimensions, or over all. Ties share the derivative; NaN wins."""

def amin(input: Tensor, dim: _Ints | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest element over the given dimensions, or over all. Ties share the derivative; NaN wins."""

def all(input: Tensor, dim: _Ints | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements are non-zero, over the given dimensions or all. The result is bool; of uint8, uint8."""

def any(input: Tensor, dim: _Ints | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether any element is non-zero, over the given dimensions or all. The result is bool; of uint8, uint8."""

def var(input: Tensor, dim: _Ints | builtins.bool | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: _Number | None = None, out: Tensor | None = None) -> Tensor:
    """Variance over the given dimensions, or over all, with the divisor `n - correction` (1 unless given)."""

def std(input: Tensor, dim: _Ints | builtins.bool | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: _Number | None = None, out: Tensor | None = None) -> Tensor:
    """Standard deviation over the given dimensions, or over all, with the divisor `n - correction` (1 unless given)."""

def logsumexp(input: Tensor, dim: _Ints, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """`log(sum(exp(input)))` over the given dimensions, without overflow."""

def cumprod(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Products of the elements so far along a dimension. Integers and bools are multiplied as int64 unless `dtype` says
    otherwise.
    """

def logcumsumexp(input: Tensor, dim: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """`log(sum(exp(input)))` of the elements so far along a dimension, without overflow."""

def searchsorted(sorted_sequence: Tensor, input: _Operand, *, out_int32: builtins.bool = False, right: builtins.bool = False, side: builtins.str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where each value would have to be inserted to keep the last dimension of `sorted_sequence` in order: before what
    equals it, or behind with `right`. `sorter` is the order of a sequence that is not sorted.
    """

def bucketize(input: _Operand, boundaries: Tensor, *, out_int32: builtins.bool = False, right: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The number of the bucket of each value, where `boundaries` in order are the upper bounds: with `right` the lower
    ones.
    """

def isin(elements: _Operand, test_elements: _Operand, *, assume_unique: builtins.bool = False, invert: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Whether each element is one of `test_elements`; with `invert`, whether it is none."""

def bincount(input: Tensor, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
    """How often each of 0, 1, … is there, or the sums of their weights; as many as the largest asks for, and `minlength`
    at least.
    """

def histc(input: Tensor, bins: builtins.int = 100, min: _Number = 0, max: _Number = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements lie in each of `bins` bins of one width between `min` and `max`, or between the smallest and the
    largest element if these are equal. Others, and NaN, do not count.
    """

def histogram(input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_histogram:
    """How many elements lie in each bin, or the sums of their weights, and the edges of the bins: those given in order, or
    of `bins` bins of one width over `range` or over all elements. With `density`, divided by the width of the bin and
    by the sum. The last bin has both of its edges.
    """

def orgqr(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of reflections `1 - τᵢ vᵢ vᵢᴴ`: vᵢ is column i of A below a 1, as `geqrf` gives them."""

def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_geqrf:
    """The reflections that make matrices triangular: `a` holds the triangle R of `A = Q R`, and below it the vectors from
    which, with their scales `tau`, `orgqr` makes Q.
    """

def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: builtins.bool = True, transpose: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """The product of `other` with the square matrix Q of the reflections that `geqrf` gives: `Q other`, or `other Q` unless
    `left`; with its adjoint if `transpose`.
    """

def _rrelu_slopes(input: Tensor, lower: builtins.float, upper: builtins.float, *, generator: Generator | None = None) -> Tensor:
    """The slopes that `nn.functional.rrelu` draws in training: from [lower, upper) where the input is not positive, else 1."""

def detach(input: Tensor) -> Tensor:
    """The same values without a derivative: a constant for every transform."""

def reshape(input: Tensor, *shape: _Ints) -> Tensor:
    """The same elements in another shape; one size may be -1. Shares the elements if the layout allows it."""

def flatten(input: Tensor, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
    """All dimensions from `start_dim` to `end_dim` as one."""

def ravel(input: Tensor) -> Tensor:
    """The same elements in one dimension: a view of what is contiguous, and a copy of anything else."""

def broadcast_to(input: Tensor, *size: _Ints) -> Tensor:
    """Broadcast to a larger shape without copying."""

def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> builtins.tuple[Tensor, ...]:
    """All tensors broadcast to their common shape."""

def permute(input: Tensor, *dims: _Ints) -> Tensor:
    """Dimensions in another order."""

def transpose(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Two dimensions swapped."""

def swapaxes(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Two dimensions swapped."""

def swapdims(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Two dimensions swapped."""

def t(input: Tensor) -> Tensor:
    """A matrix transposed; 0-d and 1-d tensors stay as they are."""

def movedim(input: Tensor, source: _Ints, destination: _Ints) -> Tensor:
    """Dimensions `source` moved to the places `destination`, the others keeping their order."""

def moveaxis(input: Tensor, source: _Ints, destination: _Ints) -> Tensor:
    """Dimensions `source` moved to the places `destination`, the others keeping their order."""

def squeeze(input: Tensor, dim: _Ints | None = None) -> Tensor:
    """Without the dimensions of size 1 (all, or those named)."""

def unsqueeze(input: Tensor, dim: builtins.int) -> Tensor:
    """With a dimension of size 1 at `dim`."""

def narrow(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
    """Elements `start .. start + length` of a dimension."""

def select(input: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """Element `index` of a dimension, without that dimension."""

def softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) / sum(exp(x))` along `dim`, without overflow."""

def log_softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax along `dim`, without overflow."""

def sort(input: Tensor, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_sort:
    """Values in order along a dimension, and where they were. NaN counts as the largest. Equal elements keep their order
    with `stable`.
    """

def argsort(input: Tensor, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The indices that sort a dimension."""

def topk(input: Tensor, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True, *, out: Sequence[Tensor] | None = None) -> _return_topk:
    """The `k` largest (or smallest) values along a dimension, and where they were."""

@overload
def max(input: Tensor, dim: None = None, keepdim: builtins.bool = False, *, other: None = None, out: Tensor | None = None) -> Tensor:
    """The largest element; with `dim`, the largest along it and where it was; with another tensor, `maximum`."""
@overload
def max(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, other: None = None, out: Sequence[Tensor] | None = None) -> _return_max: ...
@overload
def max(input: Tensor, dim: Tensor, keepdim: builtins.bool = False, *, other: None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, dim: None = None, keepdim: builtins.bool = False, *, other: Tensor, out: Tensor | None = None) -> Tensor: ...

@overload
def min(input: Tensor, dim: None = None, keepdim: builtins.bool = False, *, other: None = None, out: Tensor | None = None) -> Tensor:
    """The smallest element; with `dim`, the smallest along it and where it was; with another tensor, `minimum`."""
@overload
def min(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, other: None = None, out: Sequence[Tensor] | None = None) -> _return_min: ...
@overload
def min(input: Tensor, dim: Tensor, keepdim: builtins.bool = False, *, other: None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, dim: None = None, keepdim: builtins.bool = False, *, other: Tensor, out: Tensor | None = None) -> Tensor: ...

def argmax(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the largest element is: in the flattened tensor, or along a dimension. The first of several."""

def argmin(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the smallest element is: in the flattened tensor, or along a dimension. The first of several."""

def cummax(input: Tensor, dim: builtins.int, *, out: Sequence[Tensor] | None = None) -> _return_cummax:
    """Largest values so far along a dimension, and where they are."""

def cummin(input: Tensor, dim: builtins.int, *, out: Sequence[Tensor] | None = None) -> _return_cummin:
    """Smallest values so far along a dimension, and where they are."""

def kthvalue(input: Tensor, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> _return_kthvalue:
    """The `k`-th smallest value along a dimension (1 is the smallest), and where it is."""

def cumsum(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Sums of the elements so far along a dimension."""

def flip(input: Tensor, *dims: _Ints, out: Tensor | None = None) -> Tensor:
    """The elements of some dimensions in reverse order."""

def roll(input: Tensor, shifts: _Ints, dims: _Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """Elements moved along dimensions, those that leave coming in at the other end. Without dims: of the flattened
    tensor.
    """

def xlogy_(input: _Operand, other: _Operand) -> Tensor:
    """`input * log(other)`; 0 where `input` is 0, unless `other` is NaN."""

def xlogy(input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`; 0 where `input` is 0, unless `other` is NaN."""

def sinc_(input: Tensor) -> Tensor:
    """`sin(πx) / πx` of each element, 1 at 0."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(πx) / πx` of each element, 1 at 0."""

def erf_(input: Tensor) -> Tensor:
    """The error function of each element."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element."""

def erfc_(input: Tensor) -> Tensor:
    """The complementary error function `1 - erf(x)`, accurate in the upper tail."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complementary error function `1 - erf(x)`, accurate in the upper tail."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse error function of each element; infinite at ±1 and NaN outside."""

def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm of the absolute value of the gamma function."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithmic derivative of the gamma function."""

def i0_(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""

def logit_(input: Tensor, eps: builtins.float | None = None) -> Tensor:
    """`log(x / (1 - x))` of each element, the inverse of `sigmoid`; with `eps`, of elements limited to [eps, 1 - eps]."""

def logit(input: Tensor, eps: builtins.float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(x / (1 - x))` of each element, the inverse of `sigmoid`; with `eps`, of elements limited to [eps, 1 - eps]."""

def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of order `n` of `digamma`."""

def mvlgamma(input: Tensor, p: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm of the multivariate gamma function of dimension `p`."""

def count_nonzero(input: Tensor, dim: _Ints | None = None) -> Tensor:
    """How many elements are not zero, over the given dimensions, or over all. NaN is not zero."""

def nanmean(input: Tensor, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Mean of what is not NaN, over the given dimensions, or over all."""

def var_mean(input: Tensor, dim: _Ints | builtins.bool | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: _Number | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Variance and mean over the given dimensions, or over all; the variance has the divisor `n - correction` (1 unless
    given).
    """

def std_mean(input: Tensor, dim: _Ints | builtins.bool | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: _Number | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Standard deviation and mean over the given dimensions, or over all; the variance has the divisor `n - correction` (1
    unless given).
    """

def aminmax(input: Tensor, *, dim: builtins.int | None = None, keepdim: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_aminmax:
    """The smallest and the largest element along a dimension, or of all. Ties share the derivative; NaN wins."""

def cov(input: Tensor, *, correction: builtins.int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """Covariances of variables (rows) over observations (columns), with the divisor `n - correction`. `fweights` says how
    often each observation counts, `aweights` how much.
    """

def corrcoef(input: Tensor) -> Tensor:
    """Correlation coefficients of variables (rows) over observations (columns), limited to [-1, 1]."""

def renorm(input: Tensor, p: _Number, dim: builtins.int, maxnorm: _Number, *, out: Tensor | None = None) -> Tensor:
    """The members of a dimension scaled down to the `p`-norm `maxnorm` where theirs is larger."""

def square_(input: Tensor) -> Tensor:
    """The square of each element; integers stay integers, bools become int64."""

def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square of each element; integers stay integers, bools become int64."""

def round_(input: Tensor, *, decimals: builtins.int = 0) -> Tensor:
    """Each element rounded to the nearest multiple of `10 ** -decimals`, halves to even."""

def round(input: Tensor, *, decimals: builtins.int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to the nearest multiple of `10 ** -decimals`, halves to even."""

def frac_(input: Tensor) -> Tensor:
    """The fraction of each element, with its sign."""

def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fraction of each element, with its sign."""

def positive(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same values; a tensor that shares nothing with its input where writes are concerned."""

def relu_(input: Tensor) -> Tensor:
    """`max(x, 0)` of each element."""

def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`max(x, 0)` of each element."""

def neg_(input: Tensor) -> Tensor:
    """`-x` of each element; integers stay integers, bool is an error."""

def negative_(input: Tensor) -> Tensor:
    """`-x` of each element; integers stay integers, bool is an error."""

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-x` of each element; integers stay integers, bool is an error."""

def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-x` of each element; integers stay integers, bool is an error."""

def sin_(input: Tensor) -> Tensor:
    """Sine of each element, in radians."""

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sine of each element, in radians."""

def cos_(input: Tensor) -> Tensor:
    """Cosine of each element, in radians."""

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cosine of each element, in radians."""

def tan_(input: Tensor) -> Tensor:
    """Tangent of each element, in radians."""

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tangent of each element, in radians."""

def asin_(input: Tensor) -> Tensor:
    """Inverse sine of each element, in radians; NaN outside of [-1, 1]."""

def arcsin_(input: Tensor) -> Tensor:
    """Inverse sine of each element, in radians; NaN outside of [-1, 1]."""

def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse sine of each element, in radians; NaN outside of [-1, 1]."""

def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse sine of each element, in radians; NaN outside of [-1, 1]."""

def acos_(input: Tensor) -> Tensor:
    """Inverse cosine of each element, in radians; NaN outside of [-1, 1]."""

def arccos_(input: Tensor) -> Tensor:
    """Inverse cosine of each element, in radians; NaN outside of [-1, 1]."""

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse cosine of each element, in radians; NaN outside of [-1, 1]."""

def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse cosine of each element, in radians; NaN outside of [-1, 1]."""

def atan_(input: Tensor) -> Tensor:
    """Inverse tangent of each element, in radians."""

def arctan_(input: Tensor) -> Tensor:
    """Inverse tangent of each element, in radians."""

def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse tangent of each element, in radians."""

def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse tangent of each element, in radians."""

def sinh_(input: Tensor) -> Tensor:
    """Hyperbolic sine of each element."""

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine of each element."""

def cosh_(input: Tensor) -> Tensor:
    """Hyperbolic cosine of each element."""

def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine of each element."""

def tanh_(input: Tensor) -> Tensor:
    """Hyperbolic tangent of each element."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent of each element."""

def asinh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine of each element."""

def arcsinh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine of each element."""

def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine of each element."""

def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine of each element."""

def acosh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine of each element; NaN below 1."""

def arccosh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine of each element; NaN below 1."""

def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine of each element; NaN below 1."""

def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine of each element; NaN below 1."""

def atanh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent of each element; NaN outside of [-1, 1]."""

def arctanh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent of each element; NaN outside of [-1, 1]."""

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent of each element; NaN outside of [-1, 1]."""

def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent of each element; NaN outside of [-1, 1]."""

def exp_(input: Tensor) -> Tensor:
    """Exponential of each element."""

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Exponential of each element."""

def exp2_(input: Tensor) -> Tensor:
    """2 to the power of each element."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""

def expm1_(input: Tensor) -> Tensor:
    """`exp(x) - 1`, accurate near 0."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) - 1`, accurate near 0."""

def log_(input: Tensor) -> Tensor:
    """Natural logarithm of each element; -inf at 0 and NaN below."""

def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm of each element; -inf at 0 and NaN below."""

def log1p_(input: Tensor) -> Tensor:
    """`log(1 + x)`, accurate near 0."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + x)`, accurate near 0."""

def log2_(input: Tensor) -> Tensor:
    """Logarithm to base 2 of each element."""

def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2 of each element."""

def log10_(input: Tensor) -> Tensor:
    """Logarithm to base 10 of each element."""

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10 of each element."""

def sqrt_(input: Tensor) -> Tensor:
    """Square root of each element; NaN below 0."""

def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Square root of each element; NaN below 0."""

def rsqrt_(input: Tensor) -> Tensor:
    """`1 / sqrt(x)` of each element."""

def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / sqrt(x)` of each element."""

def reciprocal_(input: Tensor) -> Tensor:
    """`1 / x` of each element."""

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / x` of each element."""

def sigmoid_(input: Tensor) -> Tensor:
    """The logistic function `1 / (1 + exp(-x))` of each element, accurate in both tails."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function `1 / (1 + exp(-x))` of each element, accurate in both tails."""

def abs_(input: Tensor) -> Tensor:
    """Absolute value of each element; integers stay integers."""

def absolute_(input: Tensor) -> Tensor:
    """Absolute value of each element; integers stay integers."""

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value of each element; integers stay integers."""

def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value of each element; integers stay integers."""

def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1 by the sign of each element."""

def sgn_(input: Tensor) -> Tensor:
    """The sign of real numbers; complex ones divided by their absolute value, or 0."""

def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of real numbers; complex ones divided by their absolute value, or 0."""

def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of complex numbers in the plane, in radians; 0 or pi for real ones."""

def floor_(input: Tensor) -> Tensor:
    """The largest integer not above each element; integers stay as they are."""

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer not above each element; integers stay as they are."""

def ceil_(input: Tensor) -> Tensor:
    """The smallest integer not below each element; integers stay as they are."""

def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer not below each element; integers stay as they are."""

def trunc_(input: Tensor) -> Tensor:
    """Each element without its fraction; integers stay as they are."""

def fix_(input: Tensor) -> Tensor:
    """Each element without its fraction; integers stay as they are."""

def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction; integers stay as they are."""

def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction; integers stay as they are."""

def unflatten(input: Tensor, dim: builtins.int, sizes: _Ints) -> Tensor:
    """One dimension as several, of these sizes; one may be -1."""

def tensor_split(input: Tensor, indices_or_sections: _Ints | Tensor, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Pieces along a dimension: as many as said and as equal as can be, or cut at the positions listed."""

def hsplit(input: Tensor, indices_or_sections: _Ints | Tensor) -> builtins.tuple[Tensor, ...]:
    """Pieces side by side: along dimension 1, or 0 of vectors."""

def vsplit(input: Tensor, indices_or_sections: _Ints | Tensor) -> builtins.tuple[Tensor, ...]:
    """Pieces one below the other: along dimension 0 of tensors with two dimensions or more."""

def dsplit(input: Tensor, indices_or_sections: _Ints | Tensor) -> builtins.tuple[Tensor, ...]:
    """Pieces one behind the other: along dimension 2."""

def select_scatter(input: Tensor, src: Tensor, dim: builtins.int, index: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `src` at an index of a dimension."""

def slice_scatter(input: Tensor, src: Tensor, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `src` in a slice of a dimension."""

def diagonal_scatter(input: Tensor, src: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `src` on a diagonal."""

def index_fill(input: Tensor, dim: builtins.int, index: Tensor, value: _Operand, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with a number in the members of a dimension that a vector of indices names."""

def index_copy(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with the members of `source` in those of a dimension that a vector of indices names."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with the first elements of `source`, in order, where `mask` is true."""

def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints | builtins.str = 0, dilation: _Ints = 1, groups: builtins.int = 1) -> Tensor:
    """Convolution of an input [N, C, W] (or [C, W]) with a weight [O, C/groups, K]. `padding` may be 'valid' or 'same'."""

def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints | builtins.str = 0, dilation: _Ints = 1, groups: builtins.int = 1) -> Tensor:
    """Convolution of an input [N, C, H, W] (or [C, H, W]) with a weight [O, C/groups, K, L]. `padding` may be 'valid' or
    'same'.
    """

def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints | builtins.str = 0, dilation: _Ints = 1, groups: builtins.int = 1) -> Tensor:
    """Convolution of an input [N, C, D, H, W] (or [C, D, H, W]) with a weight [O, C/groups, J, K, L]. `padding` may be
    'valid' or 'same'.
    """

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints = 0, output_padding: _Ints = 0, groups: builtins.int = 1, dilation: _Ints = 1) -> Tensor:
    """The transpose of [`conv1d`]: an input [N, C, W] and a weight [C, O/groups, K] give [N, O, …]."""

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints = 0, output_padding: _Ints = 0, groups: builtins.int = 1, dilation: _Ints = 1) -> Tensor:
    """The transpose of [`conv2d`]: an input [N, C, H, W] and a weight [C, O/groups, K, L] give [N, O, …]."""

def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Ints = 1, padding: _Ints = 0, output_padding: _Ints = 0, groups: builtins.int = 1, dilation: _Ints = 1) -> Tensor:
    """The transpose of [`conv3d`]: an input [N, C, D, H, W] and a weight [C, O/groups, J, K, L] give [N, O, …]."""

def layer_norm(input: Tensor, normalized_shape: _Ints, weight: Tensor | None = None, bias: Tensor | None = None, eps: builtins.float = 1e-05, cudnn_enable: builtins.bool = True) -> Tensor:
    """Zero mean and unit variance over the trailing dimensions, then `* weight + bias`."""

def rms_norm(input: Tensor, normalized_shape: _Ints, weight: Tensor | None = None, eps: builtins.float | None = None) -> Tensor:
    """Unit mean square over the trailing dimensions, then `* weight`. `eps` is that of the dtype unless given."""

def constant_pad_nd(input: Tensor, pad: _Ints, value: _Number = 0, *, out: Tensor | None = None) -> Tensor:
    """Padding with a value."""

def avg_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True) -> Tensor:
    """The average of each window of the last dimension."""

def adaptive_avg_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None]) -> Tensor:
    """The average of each of `output_size` windows of the last dimension."""

@overload
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window of the last dimension; with `return_indices` also where it is."""
@overload
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, *, return_indices: Literal[True]) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any: ...

@overload
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window of the last two dimensions; with `return_indices` also where it is."""
@overload
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, *, return_indices: Literal[True]) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any: ...

@overload
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window of the last three dimensions; with `return_indices` also where it is."""
@overload
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, *, return_indices: Literal[True]) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any: ...

def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> builtins.tuple[Tensor, Tensor]:
    """One step of long short-term memory: input (N, features) and `hx` = (h, c), each (N, units), to the new h and c. See
    `nn.LSTMCell`.
    """

def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of gated recurrent units: input (N, features) and `hx` (N, units) to the new h. See `nn.GRUCell`."""

def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """`tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh)` of rows. See `nn.RNNCell`."""

def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """`relu(w_ih @ input + b_ih + w_hh @ hx + b_hh)` of rows. See `nn.RNNCell`."""

def lstm(input: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool, batch_first: builtins.bool = False, *, batch_sizes: _Ints | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """Layers of long short-term memory: the last one's h at all steps, and the last h and c of each layer and direction. `hx`
    is (h, c); `params` are those of `nn.LSTM` in their order. With `batch_sizes` the input is the data of a packed sequence.
    """

def gru(input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool, batch_first: builtins.bool = False, *, batch_sizes: _Ints | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Layers of gated recurrent units: the last one's h at all steps, and the last h of each layer and direction. Arguments are
    as those of `lstm`, but `hx` is a tensor.
    """

def rnn_tanh(input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool, batch_first: builtins.bool = False, *, batch_sizes: _Ints | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Layers of `rnn_tanh_cell`: the last one's h at all steps, and the last h of each layer and direction. Arguments are as
    those of `gru`.
    """

def rnn_relu(input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool, batch_first: builtins.bool = False, *, batch_sizes: _Ints | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Layers of `rnn_relu_cell`, as `rnn_tanh`."""

@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: Literal[True] = True) -> builtins.tuple[Tensor, Tensor]:
    """`max_pool1d` with the positions of the maxima."""
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, *, return_indices: Literal[False]) -> Tensor: ...
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = True) -> Any: ...
