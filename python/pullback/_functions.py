"""Layers and losses under the names and in the order of arguments that PyTorch shows beside `torch.nn.functional`."""

from __future__ import annotations

from . import Size, Tensor, float32
from .nn import functional as F
from .nn._overriding import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

# Functions that are the same in both places.
_SAME = (
    *("bilinear", "celu", "celu_", "channel_shuffle", "conv_tbc", "cosine_similarity", "hardshrink"),
    *("native_channel_shuffle", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "prelu", "rrelu"),
    *("rrelu_", "selu", "selu_", "threshold", "threshold_"),
)
_REDUCTIONS = ("none", "mean", "sum")


def _word(reduction: int | str) -> str:
    """The word for a reduction, which these functions know by its number."""
    if isinstance(reduction, str):
        return reduction
    if reduction not in range(3):
        raise ValueError(f"argument 'reduction' must be 0 (none), 1 (mean) or 2 (sum), got {reduction}")
    return _REDUCTIONS[reduction]


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes have together; a single int is a shape of one dimension.

    >>> import pullback
    >>> pullback.broadcast_shapes((2, 1), (3,))
    pullback.Size([2, 3])
    """
    all_sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    out = [1] * max(map(len, all_sizes), default=0)
    for position, sizes in enumerate(all_sizes):
        for k in range(-1, -1 - len(sizes), -1):
            if sizes[k] < 0:
                raise ValueError(
                    f"broadcast_shapes(): attempting to broadcast a dimension with negative length: shape {position} "
                    f"is {sizes}; sizes are 0 or larger"
                )
            if sizes[k] != 1 and out[k] not in (1, sizes[k]):
                raise RuntimeError(
                    f"broadcast_shapes(): attempting to broadcast a dimension of length {sizes[k]} at {k}: shape "
                    f"{position} is {sizes}, which does not fit {out}; dimensions are equal or 1"
                )
            out[k] = out[k] if sizes[k] == 1 else sizes[k]
    return Size(out)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.batch_norm` with scale and shift in front of the running statistics."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.instance_norm` with scale and shift in front of the running statistics."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.group_norm`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel; running ones, if given, learn from them.

    Raises RuntimeError if there are no elements.
    """
    if input.numel() == 0:
        raise RuntimeError(
            "batch_norm_update_stats(): input tensor must have at least one element, but got input_sizes = "
            f"{list(input.shape)}"
        )
    from . import no_grad

    others = [d for d in range(input.dim()) if d != 1]
    with no_grad():
        mean, var = input.mean(others), input.var(others, correction=0)
        count = input.numel() // input.size(1)
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean * momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(var * (momentum * count / max(count - 1, 1)))
    return mean, var


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """`nn.functional.embedding` with the table in front; `padding_idx` is -1 where there is none."""
    at = None if padding_idx < 0 else padding_idx
    return F.embedding(indices, weight, at, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout`."""
    return F.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` in place."""
    return F.dropout(input, p, train, True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels of (N, C, *)."""
    return _feature_dropout(input, p, train, False)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout` in place."""
    return _feature_dropout(input, p, train, True)


def _feature_dropout(input: Tensor, p: float, train: bool, inplace: bool) -> Tensor:
    from .nn._composites.norms import check_channels, dropped_channels

    if train and p > 0:
        check_channels(input)
    return dropped_channels(input, p, train, inplace, input.dim() - 2)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`."""
    return F.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` in place."""
    return F.alpha_dropout(input, p, train, True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout`."""
    return F.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout` in place."""
    return F.feature_alpha_dropout(input, p, train, True)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The maxima and their places."""
    return F.adaptive_max_pool1d(input, output_size, True)


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid`."""
    return F.affine_grid(theta, size, align_corners)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample`, whose modes are numbers here.

    Raises ValueError for a number that no mode has.
    """
    words = []
    for name, number, known in (
        ("interpolation_mode", interpolation_mode, F.GRID_SAMPLE_INTERPOLATION_MODES),
        ("padding_mode", padding_mode, F.GRID_SAMPLE_PADDING_MODES),
    ):
        word = next((w for w, n in known.items() if n == number), None)
        if word is None:
            options = ", ".join(f"{n} ({w})" for w, n in known.items())
            raise ValueError(f"grid_sampler(): argument {name!r} must be one of {options}, got {number}")
        words.append(word)
    return F.grid_sample(input, grid, mode=words[0], padding_mode=words[1], align_corners=align_corners)


grid_sampler_2d = grid_sampler_3d = _grid_sampler_2d_cpu_fallback = grid_sampler


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int | str = 1,
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`."""
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=_word(reduction))


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int | str = 1
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_word(reduction))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int | str = 1) -> Tensor:
    """`nn.functional.hinge_embedding_loss`."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_word(reduction))


def kl_div(input: Tensor, target: Tensor, reduction: int | str = 1, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div`."""
    return F.kl_div(input, target, reduction=_word(reduction), log_target=log_target)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int | str = 1
) -> Tensor:
    """`nn.functional.margin_ranking_loss`."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_word(reduction))


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int | str
) -> Tensor:
    """`nn.functional.poisson_nll_loss`."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_word(reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int | str = 1,
) -> Tensor:
    """`nn.functional.triplet_margin_loss`."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_word(reduction))


def _softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """`softmax`, of 16-bit numbers in float32 with `half_to_float`."""
    return (input.to(float32) if half_to_float else input).softmax(dim)


def _log_softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """`log_softmax`, of 16-bit numbers in float32 with `half_to_float`."""
    return (input.to(float32) if half_to_float else input).log_softmax(dim)


def _masked_softmax(input: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None) -> Tensor:
    """`softmax` over the elements where `mask` is False; the others, and rows without one, are 0.

    Raises RuntimeError for a mask of another dtype, or of a shape that does not broadcast.
    """
    from . import bool as boolean

    if mask.dtype is not boolean:
        raise RuntimeError(f"_masked_softmax(): argument 'mask' must be of dtype bool, got {mask.dtype}")
    if mask_type == 1 and mask.dim() == 2 and input.dim() == 4:
        mask = mask[:, None, None, :]
    mask = mask.expand(input.shape)
    along = -1 if dim is None else dim
    none = mask.all(along, keepdim=True)
    # Of 16 bits, the result alone is rounded.
    wide = input if input.dtype.itemsize > 2 else input.to(float32)
    kept = wide.masked_fill(mask & ~none, float("-inf")).softmax(along)
    return kept.masked_fill(mask, 0.0).to(input.dtype)


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero.

    Raises RuntimeError for another number of elements.
    """
    return bool(input)


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return bool(input.dtype.is_signed)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return bool(input.shape == other.shape)


def get_device(input: Tensor) -> int:
    """The number of the tensor's device: -1 for the CPU."""
    return -1


_OWN: dict[str, Callable[..., Any]] = {
    name: shown(function)
    for name, function in list(globals().items())
    if getattr(function, "__module__", None) == __name__ and name not in ("_word",)
}
globals().update(_OWN)


def __getattr__(name: str) -> Any:
    if name in _SAME:
        return getattr(F, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
