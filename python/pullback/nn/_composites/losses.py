"""Losses."""

from __future__ import annotations

import math

from ... import Tensor, arange, bfloat16, float16, int64, result_type, where
from ..._casting import in_single
from ..._warnings import warn
from .. import functional as F
from ._flags import check_flags
from ._nodes import named
from .activations import wide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def no_reduction(word: str) -> str:
    """What is wrong with a word that names no reduction."""
    return f"{word!r} is not a valid value for reduction; use 'none', 'mean' or 'sum'"


def word_of(size_average: bool | None, reduce: bool | None) -> str:
    """The reduction that two flags of old say, which are true where they are None."""
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the arguments of old say, or the new one.

    Raises ValueError for a name that is none.
    """
    if size_average is not None or reduce is not None:
        reduction = word_of(size_average, reduce)
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(no_reduction(reduction))
    return reduction


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The loss of all elements as the reduction says."""
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _warn_of_shapes(input: Tensor, target: Tensor) -> None:
    if target.shape != input.shape:
        warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}): the loss "
            "broadcasts them, which is rarely meant; give both the same size."
        )


@in_single
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d² / (2 beta) where the distance d is below `beta`, d - beta / 2 elsewhere.

    >>> import pullback
    >>> pullback.nn.functional.smooth_l1_loss(pullback.tensor([0.0, 3.0]), pullback.zeros(2), reduction="none")
    tensor([0.0000, 2.5000])

    Raises ValueError if `beta` is negative.
    """
    _warn_of_shapes(input, target)
    if beta < 0:
        raise RuntimeError(f"does not support negative values for beta, got {beta}; give 0 or more")
    reduction = reduction_of(size_average, reduce, reduction)
    dtype = result_type(input, target)
    d = (wide(input.to(dtype)) - wide(target.to(dtype))).abs()
    loss = d if beta == 0 else where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)
    loss = loss.to(dtype) if dtype is bfloat16 or dtype is float16 else loss
    return named(reduced(loss, reduction), "SmoothL1LossBackward0")


@in_single
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-y x)) for targets of 1 and -1."""
    loss = (input * -target.to(input.dtype)).exp().log1p()
    return named(reduced(loss, reduction_of(size_average, reduce, reduction)), "SoftMarginLossBackward0")


@in_single
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1."""
    near = where(target != -1, input, 0.0)
    far = where(target != 1, (margin - input).clamp(min=0.0), 0.0)
    return reduced(near + far, reduction_of(size_average, reduce, reduction))


@in_single
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -y (x1 - x2) + margin).

    Raises RuntimeError for arguments of different numbers of dimensions.
    """
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "all input tensors should have the same number of dimensions, but input1, input2 and target have the "
            f"shapes {list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}; unsqueeze() or flatten() them"
        )
    loss = (-target * (input1 - input2) + margin).clamp(min=0.0)
    return reduced(loss, reduction_of(size_average, reduce, reduction))


@in_single
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1; inputs are (N, D), or (D) with one target.

    Raises RuntimeError for arguments whose shapes do not fit.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if not (
        (target.dim() == 0 and input1.dim() == 1 and input2.dim() == 1)
        or (target.dim() == 1 and input1.dim() == 2 and input2.dim() == 2)
    ):
        if target.dim() == 0:
            raise RuntimeError(
                "0D target tensor expects 1D input tensors, but found inputs with sizes "
                f"{list(input1.shape)} and {list(input2.shape)}; give a target for each row"
            )
        if target.dim() == 1:
            raise RuntimeError(
                "1D target tensor expects 2D input tensors, but found inputs with sizes "
                f"{list(input1.shape)} and {list(input2.shape)}; give rows, or one number as the target"
            )
        raise RuntimeError(
            f"0D or 1D target tensor expected, multi-target not supported, got {target.dim()}D; give one number a row"
        )
    products = (input1 * input2).sum(-1)
    lengths = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = products / lengths.sqrt()
    near = where(target == 1, 1 - cosine, 0.0)
    far = where(target == -1, (cosine - margin).clamp(min=0.0), 0.0)
    return reduced(near + far, reduction)


@in_single
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of Poisson counts; `full` adds Stirling's approximation for targets above 1."""
    reduction = reduction_of(size_average, reduce, reduction)
    check_flags("poisson_nll_loss", log_input=log_input, full=full)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        large = where(target > 1, target, 2.0)
        stirling = large * large.log() - large + 0.5 * (2 * math.pi * large).log()
        loss = loss + where(target > 1, stirling, 0.0)
    return reduced(loss, reduction)


def _some_negative(t: Tensor) -> bool:
    """Whether an element is negative, as far as that can be known."""
    if t.is_meta:
        return False
    negative = (t.detach() < 0).any()
    try:
        return bool(negative)
    except RuntimeError:
        # Members of a batch have elements of their own.
        return False


_VARIANCE = "give variances, which are 0 or more, such as the exp() of what a layer gives"


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log likelihood of Gaussians with these means and variances, the latter at least `eps`.

    Raises ValueError for a negative variance, or one whose shape fits neither the input nor one of each row.
    """
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError(f"var has negative entry/entries, got {var}; {_VARIANCE}")
        var = input.new_full(input.shape, var)
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif var.dim() != input.dim() or any(v not in (1, s) for v, s in zip(var.shape, input.shape, strict=True)):
            raise ValueError(
                f"var is of incorrect size: it has the shape {list(var.shape)}, and the input {list(input.shape)}; "
                "give a variance for each element, or one for each row"
            )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(no_reduction(reduction))
    if _some_negative(var):
        raise ValueError(f"var has negative entry/entries; {_VARIANCE}")
    # The floor moves no gradient: the variance has that of where it is above it.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross entropy with logits; inputs and targets are (*, C)."""
    reduction = reduction_of(size_average, reduce, reduction)
    loss = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return reduced(loss.sum(-1) / input.size(-1), reduction)


def _rows(input: Tensor, target: Tensor, target_dim: int) -> tuple[Tensor, Tensor]:
    """Inputs (N, C) and targets of `target_dim` dimensions, of arguments that may lack the batch."""
    if input.dim() == 0:
        # One class.
        input = input.unsqueeze(0)
    if input.dim() > 2 or input.size(-1) == 0:
        raise RuntimeError(
            "argument 'input': Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}; give (N, C) or (C)"
        )
    if target.dtype is not int64:
        raise RuntimeError(
            f"expected dtype int64 for argument 'target', but got {target.dtype}; convert it with .long()"
        )
    rows = input if input.dim() == 2 else input.unsqueeze(0)
    wanted = rows.shape if target_dim == 2 else rows.shape[:1]
    may_lack = target.dim() < target_dim and (target_dim == 1 or input.dim() == 1)
    given = target.reshape(wanted) if may_lack and target.numel() == math.prod(wanted) else target
    if given.shape != wanted:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for an input of {list(input.shape)}; give {list(wanted)}"
        )
    return rows, given


def _of_rows(loss: Tensor, reduction: str) -> Tensor:
    """Reduced; the mean of no rows is 0, as it is in PyTorch for these losses."""
    return reduced(loss, "sum" if reduction == "mean" and loss.numel() == 0 else reduction)


@in_single
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over other classes of max(0, margin - x[y] + x[i]) ** p; inputs are (N, C) or (C), targets classes.

    Raises ValueError for another `p` than 1 and 2.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got p={p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"weight must be one-dimensional, got {list(weight.shape)}; give a number for each class")
    rows, y = _rows(input, target, 1)
    own = rows.gather(1, y.unsqueeze(1))
    loss = (margin - own + rows).clamp(min=0.0)
    loss = loss if p == 1 else loss * loss
    if weight is not None:
        loss = loss * weight[y].unsqueeze(1)
    loss = where(arange(rows.size(1)) == y.unsqueeze(1), 0.0, loss).sum(1) / rows.size(1)
    return named(_of_rows(loss.squeeze(0) if target.dim() == 0 else loss, reduction), "MultiMarginLossBackward0")


@in_single
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over classes i outside of the targets, and j among them, of max(0, 1 - (x[j] - x[i])), over the classes.

    Targets are classes by row, ended by -1; any other number raises `RuntimeError`.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    rows, y = _rows(input, target, 2)
    end = y == -1
    listed = end.to(y.dtype).cumsum(1) == 0
    # What is no class is refused behind the end, too.
    of_target = rows.gather(1, where(end, 0, y))
    safe = where(listed, y, 0)
    hits = (safe.unsqueeze(2) == arange(rows.size(1))) & listed.unsqueeze(2)
    outside = ~hits.any(1)
    gap = (1 - of_target.unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0.0)
    loss = where(listed.unsqueeze(2) & outside.unsqueeze(1), gap, 0.0).sum((1, 2)) / rows.size(1)
    return named(_of_rows(loss.squeeze(0) if input.dim() <= 1 else loss, reduction), "MultilabelMarginLossBackward0")


@in_single
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |a - p| - |a - n| + margin) with p-norms; `swap` takes |p - n| where it is less than |a - n|.

    Raises ValueError for a margin that is not positive.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}; give the distance to keep, such as 1.0")
    check_flags("triplet_margin_loss", swap=swap)
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs; "
            "unsqueeze() them"
        )
    return _triplets(
        lambda a, b: F.pairwise_distance(a, b, p, eps), anchor, positive, negative, margin, swap, reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of one's own."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(no_reduction(reduction))
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}; give the distance to keep, such as 1.0")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs; "
            "unsqueeze() them"
        )
    distance = F.pairwise_distance if distance_function is None else distance_function
    return _triplets(distance, anchor, positive, negative, margin, swap, reduction)


def _triplets(
    distance: Any, anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, swap: bool, reduction: str
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((margin + near - far).clamp(min=0.0), reduction)
