"""Cross entropy of logits that a linear map gives."""

from __future__ import annotations

import math

from ... import Tensor
from .. import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of the logits `linear(input, linear_weight, linear_bias)`.

    `input` is (N, in) or (in), `linear_weight` (C, in), or (C, *, in) for a class at each place. With
    `options`, `nn.LinearCrossEntropyOptions`, the batch is gone through in pieces whose logits are computed again in
    the backward, so that those of all are never there at once.

    >>> import pullback
    >>> x, w = pullback.ones(2, 3), pullback.zeros(4, 3)
    >>> pullback.nn.functional.linear_cross_entropy(x, w, pullback.tensor([0, 1]))
    tensor(1.3863)

    Raises RuntimeError for sizes that do not fit.
    """
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"linear_cross_entropy(): expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    if input.dim() not in (1, 2):
        raise RuntimeError(f"linear_cross_entropy(): expected input with dimensionality 1 or 2, got {input.dim()}")
    if input.size(-1) != linear_weight.size(-1):
        raise RuntimeError(
            "linear_cross_entropy(): expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.size(-1)} and {linear_weight.size(-1)}, respectively"
        )
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError(
            "linear_cross_entropy(): ignore_index cannot be specified when target contains probabilities; leave it "
            "out, or give class indices"
        )
    ignored = -100 if ignore_index is None else ignore_index

    def loss(x: Tensor, t: Tensor, how: str) -> Tensor:
        flat = None if linear_bias is None else linear_bias.reshape(-1)
        logits = F.linear(x, linear_weight.reshape(-1, linear_weight.size(-1)), flat)
        logits = logits.reshape(*x.shape[:-1], *linear_weight.shape[:-1])
        return F.cross_entropy(logits, t, weight, ignore_index=ignored, reduction=how, label_smoothing=label_smoothing)

    by_class = not target.is_floating_point()
    if options is None or input.dim() == 1 or not by_class or reduction not in ("mean", "sum"):
        return loss(input, target, reduction)
    return _in_pieces(loss, input, target, linear_weight, weight, reduction, ignored, options)


def _in_pieces(
    loss: Any, input: Tensor, target: Tensor, classes: Tensor, weight: Any, reduction: str, ignored: int, options: Any
) -> Tensor:
    from ...utils.checkpoint import checkpoint

    rows = options.batch_chunk_size
    if rows is None:
        # Logits of a piece take about as much memory as the argument.
        rows = max(1, math.ceil(input.numel() / max(1, classes.numel() // classes.size(-1))))
    parts = []
    for start in range(0, max(1, input.size(0)), rows):
        x, t = input[start : start + rows], target[start : start + rows]
        parts.append(checkpoint(loss, x, t, "sum", use_reentrant=False))
    total: Tensor = sum(parts[1:], parts[0])
    if reduction == "sum":
        return total
    counted = target != ignored
    if weight is None:
        share = counted.sum().to(input.dtype)
    else:
        share = (weight[target.clamp(min=0, max=weight.numel() - 1)] * counted).sum()
    return total / share
