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

from ._core import Size, Tensor, _A, _Argnums, _Array, _Device, _F, _Index, _Ints, _Item, _Leaf, _Number, _Operand, _P, _Q, _S, _Slice, _T, _Ts, _device, _dtype, _layout, _memory_format, _return__lu_with_info, _return_aminmax, _return_cummax, _return_cummin, _return_frexp, _return_geqrf, _return_histogram, _return_kthvalue, _return_linalg_cholesky_ex, _return_linalg_eig, _return_linalg_eigh, _return_linalg_inv_ex, _return_linalg_ldl_factor, _return_linalg_ldl_factor_ex, _return_linalg_lstsq, _return_linalg_lu, _return_linalg_lu_factor, _return_linalg_lu_factor_ex, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_solve_ex, _return_linalg_svd, _return_lu_unpack, _return_max, _return_median, _return_min, _return_mode, _return_nanmedian, _return_qr, _return_sort, _return_svd, _return_topk, _return_triangular_solve, device, dtype

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "elu",
    "embedding",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "hardtanh",
    "huber_loss",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "pdist",
    "relu",
    "relu6",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
    "tanh",
    "unfold",
]

def pdist(input: Tensor, p: builtins.float = 2.0) -> Tensor:
    """The p-norm distances between each two rows of a matrix, the first row's first."""

def embedding(input: Tensor, weight: Tensor, padding_idx: builtins.int | None = None, max_norm: builtins.float | None = None, norm_type: builtins.float = 2.0, scale_grad_by_freq: builtins.bool = False, sparse: builtins.bool = False) -> Tensor:
    """Rows of a table at integer indices: the result has the shape `input.shape + (dim,)`. The row `padding_idx` gets no
    gradient. Rows that are looked up are first shortened to the norm `max_norm`, in place. With `scale_grad_by_freq`
    the gradient of a row is divided by how often it is looked up.
    """

def one_hot(tensor: Tensor, num_classes: builtins.int = -1) -> Tensor:
    """int64 ones at the classes along a new last dimension, zeros elsewhere. `num_classes` -1 is the largest class + 1."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`."""

def dropout(input: Tensor, p: builtins.float = 0.5, training: builtins.bool = True, inplace: builtins.bool = False) -> Tensor:
    """Each element zeroed with probability `p`, the others scaled by `1 / (1 - p)`; unchanged unless training."""

def softmax(input: Tensor, dim: builtins.int | None = None, _stacklevel: builtins.int = 3, dtype: _dtype | None = None) -> Tensor:
    """As `pullback.softmax`."""

def log_softmax(input: Tensor, dim: builtins.int | None = None, _stacklevel: builtins.int = 3, dtype: _dtype | None = None) -> Tensor:
    """As `pullback.log_softmax`."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent of each element."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function `1 / (1 + exp(-x))` of each element, accurate in both tails."""

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(sigmoid(x))` of each element, accurate in both tails."""

def relu(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """`max(x, 0)` of each element."""

def silu(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """`x * sigmoid(x)` of each element."""

def gelu(input: Tensor, *, approximate: builtins.str = 'none', out: Tensor | None = None) -> Tensor:
    """`x Φ(x)` of each element, Φ the normal distribution function; 'tanh' approximates it (Hendrycks, Gimpel 2016)."""

def softplus(input: Tensor, beta: builtins.float = 1.0, threshold: builtins.float = 20.0, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + exp(beta x)) / beta` of each element; x itself where `beta x > threshold`."""

def leaky_relu(input: Tensor, negative_slope: builtins.float = 0.01, inplace: builtins.bool = False) -> Tensor:
    """x where it is positive, `negative_slope * x` elsewhere."""

def elu(input: Tensor, alpha: builtins.float = 1.0, inplace: builtins.bool = False) -> Tensor:
    """x where it is positive, `alpha (exp(x) - 1)` elsewhere."""

def hardtanh(input: Tensor, min_val: builtins.float = -1.0, max_val: builtins.float = 1.0, inplace: builtins.bool = False) -> Tensor:
    """Each element limited to [min_val, max_val]."""

def relu6(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Each element limited to [0, 6]."""

def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)` of each element."""

def mish(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """`x tanh(softplus(x))` of each element."""

def glu(input: Tensor, dim: builtins.int = -1) -> Tensor:
    """`a * sigmoid(b)`, a and b the halves of a dimension."""

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: builtins.float = 0.0, is_causal: builtins.bool = False, *, scale: builtins.float | None = None, enable_gqa: builtins.bool = False) -> Tensor:
    """`softmax(query @ key.mT * scale + attn_mask) @ value`, where `scale` is `1 / sqrt(E)` if it is not given. A bool
    mask says who takes part; queries that may see no key give zeros.
    """

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

@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Ints, output_size: builtins.int | Sequence[builtins.int | None] | None = None, output_ratio: Any = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The largest element of windows at random places, as many as `output_size` says, or `output_ratio` of the input's
    size; with `return_indices` also where it is.
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Ints, output_size: builtins.int | Sequence[builtins.int | None] | None = None, output_ratio: Any = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Ints, output_size: builtins.int | Sequence[builtins.int | None] | None = None, output_ratio: Any = None, return_indices: builtins.bool = False, _random_samples: Tensor | None = None) -> Any: ...

@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Ints, output_size: builtins.int | Sequence[builtins.int | None] | None = None, output_ratio: Any = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The same over three dimensions."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Ints, output_size: builtins.int | Sequence[builtins.int | None] | None = None, output_ratio: Any = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Ints, output_size: builtins.int | Sequence[builtins.int | None] | None = None, output_ratio: Any = None, return_indices: builtins.bool = False, _random_samples: Tensor | None = None) -> Any: ...

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: builtins.int = 0, reduction: builtins.str = 'mean', zero_infinity: builtins.bool = False) -> Tensor:
    """The negative log likelihood of labels, summed over all ways to align them to steps: a step gives a label, the same again,
    or `blank`. `log_probs` are [T, N, C], or [T, C] for one sequence. `targets` are a row of labels for each sequence,
    [N, S], or those of all in one dimension. The mean divides each loss by the number of its labels first; with
    `zero_infinity`, labels that do not fit into the steps cost 0 instead of infinity, with a derivative of 0.
    """

def mse_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', weight: Tensor | None = None) -> Tensor:
    """Squared differences."""

def l1_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', weight: Tensor | None = None) -> Tensor:
    """Absolute differences."""

def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: builtins.bool | None = None, ignore_index: builtins.int = -100, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """The negative log-likelihood of int64 targets; classes are dimension 1 of the input (0 without a batch)."""

def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: builtins.bool | None = None, ignore_index: builtins.int = -100, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', label_smoothing: builtins.float = 0.0) -> Tensor:
    """`nll_loss` of `log_softmax`: targets are int64 classes, or probabilities of the input's shape."""

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """Binary cross entropy of logits, without overflow: `max(x, 0) - x t + log(1 + exp(-|x|))`."""

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Binary cross entropy of probabilities; logarithms are limited to -100. Input and target must lie in [0, 1]."""

def huber_loss(input: Tensor, target: Tensor, reduction: builtins.str = 'mean', delta: builtins.float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Squared differences below `delta`, linear above."""

def kl_div(input: Tensor, target: Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', log_target: builtins.bool = False) -> Tensor:
    """Divergence of Kullback and Leibler from log-probabilities: `target (log target - input)`."""

def layer_norm(input: Tensor, normalized_shape: _Ints, weight: Tensor | None = None, bias: Tensor | None = None, eps: builtins.float = 1e-05, cudnn_enable: builtins.bool = True) -> Tensor:
    """Zero mean and unit variance over the trailing dimensions, then `* weight + bias`."""

def rms_norm(input: Tensor, normalized_shape: _Ints, weight: Tensor | None = None, eps: builtins.float | None = None) -> Tensor:
    """Unit mean square over the trailing dimensions, then `* weight`. `eps` is that of the dtype unless given."""

def group_norm(input: Tensor, num_groups: builtins.int, weight: Tensor | None = None, bias: Tensor | None = None, eps: builtins.float = 1e-05) -> Tensor:
    """Zero mean and unit variance over groups of channels, then `* weight + bias` by channel."""

def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: builtins.bool = False, momentum: builtins.float = 0.1, eps: builtins.float = 1e-05) -> Tensor:
    """Zero mean and unit variance by channel over a batch (training), or by running statistics, then
    `* weight + bias`. In training, running statistics are updated in place with `momentum`.
    """

def pad(input: Tensor, pad: _Ints, mode: builtins.str = 'constant', value: _Number | None = None) -> Tensor:
    """Padding at the ends of the trailing dimensions, the last one first: with a value, or by 'reflect', 'replicate' or
    'circular'. Negative amounts crop.
    """

def unfold(input: Tensor, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1) -> Tensor:
    """The elements of all windows over the last two dimensions of [N, C, H, W] (or [C, H, W]) as columns:
    [N, C · kernel size, windows].
    """

def fold(input: Tensor, output_size: _Ints, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1) -> Tensor:
    """The transpose of [`unfold`]: columns [N, C · kernel size, windows] summed at their places in [N, C, *output_size]."""

def avg_pool1d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True) -> Tensor:
    """The average of each window of the last dimension."""

def avg_pool2d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The average of each window of the last two dimensions."""

def avg_pool3d(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The average of each window of the last three dimensions."""

def adaptive_avg_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None]) -> Tensor:
    """The average of each of `output_size` windows of the last dimension."""

def adaptive_avg_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None]) -> Tensor:
    """The average of each of `output_size` windows of the last two dimensions; `None` keeps a size."""

def adaptive_avg_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None]) -> Tensor:
    """The average of each of `output_size` windows of the last three dimensions; `None` keeps a size."""

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

@overload
def adaptive_max_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each of `output_size` windows of the last dimension."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: Literal[True]) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: builtins.bool = False) -> Any: ...

@overload
def adaptive_max_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each of `output_size` windows of the last two dimensions."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: Literal[True]) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: builtins.bool = False) -> Any: ...

@overload
def adaptive_max_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each of `output_size` windows of the last three dimensions."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: Literal[True]) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: builtins.bool = False) -> Any: ...

def grid_sample(input: Tensor, grid: Tensor, mode: builtins.str = 'bilinear', padding_mode: builtins.str = 'zeros', align_corners: builtins.bool | None = None) -> Tensor:
    """Samples of [N, C, H, W] at the points [N, Ho, Wo, 2] of a grid, or of [N, C, D, H, W] at [N, Do, Ho, Wo, 3]. A
    point is (x, y) or (x, y, z), each from -1 to 1 where it lies in the input. `mode` is 'bilinear', 'nearest' or
    'bicubic', and `padding_mode`, which says what lies outside, 'zeros', 'border' or 'reflection'.
    """

def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: builtins.str = 'nearest', align_corners: builtins.bool | None = None, recompute_scale_factor: builtins.bool | None = None, antialias: builtins.bool = False) -> Tensor:
    """(N, C, *) with other sizes, given as such or by a factor.

    `mode` is 'nearest', 'nearest-exact' or 'area', or with one dimension 'linear', with two 'bilinear' or 'bicubic', with
    three 'trilinear'. With `align_corners` the first and last elements keep their values. `antialias` weighs all elements
    that a smaller image covers. With `recompute_scale_factor` the ratio of the sizes counts instead of the factor.
    """

def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _Ints | None = None) -> Tensor:
    """Zeros with the maxima of `max_pool1d` at their places."""

def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _Ints | None = None) -> Tensor:
    """Zeros with the maxima of `max_pool2d` at their places."""

def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, output_size: _Ints | None = None) -> Tensor:
    """Zeros with the maxima of `max_pool3d` at their places."""

@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: Literal[True] = True) -> builtins.tuple[Tensor, Tensor]:
    """`max_pool1d` with the positions of the maxima."""
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, *, return_indices: Literal[False]) -> Tensor: ...
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = True) -> Any: ...

@overload
def max_pool2d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: Literal[True] = True) -> builtins.tuple[Tensor, Tensor]:
    """`max_pool2d` with the positions of the maxima."""
@overload
def max_pool2d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, *, return_indices: Literal[False]) -> Tensor: ...
@overload
def max_pool2d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = True) -> Any: ...

@overload
def max_pool3d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: Literal[True] = True) -> builtins.tuple[Tensor, Tensor]:
    """`max_pool3d` with the positions of the maxima."""
@overload
def max_pool3d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, *, return_indices: Literal[False]) -> Tensor: ...
@overload
def max_pool3d_with_indices(input: Tensor, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0, dilation: _Ints = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = True) -> Any: ...
