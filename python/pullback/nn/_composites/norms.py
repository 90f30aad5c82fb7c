"""Normalisation of instances, and dropout of whole channels."""

from __future__ import annotations

import math

from ... import Tensor, bfloat16, empty_like, float16, float32
from ..._warnings import warn
from .. import functional as F
from ._flags import check_flags


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of each instance: (N, C, *).

    With `use_input_stats` by its own mean and variance, of which running statistics learn the mean over instances;
    without by the running statistics.

    Raises:
        ValueError: for a channel of one element, whose variance is not known.
        RuntimeError: for tensors whose sizes do not fit.
    """
    check_flags("instance_norm", use_input_stats=use_input_stats)
    if input.dim() < 2:
        raise RuntimeError(f"instance_norm(): expected an input of at least 2 dimensions, got {input.dim()}")
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when use_input_stats is false; give both, or "
                "use_input_stats=True"
            )
        return F.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    batch, channels, *rest = input.shape
    if math.prod(rest) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {list(input.shape)}")
    if weight is not None and weight.dtype is not input.dtype:
        # 16-bit instances may be scaled in float32, and nothing else.
        if weight.dtype is not float32 or input.dtype not in (float16, bfloat16):
            raise RuntimeError(
                f"instance_norm(): mixed dtype: weight of {weight.dtype} does not fit an input of {input.dtype}; "
                "convert one of them"
            )
    # Every channel of every instance is a channel of one instance.
    mean, var = (None if t is None else t.repeat(batch) for t in (running_mean, running_var))
    scale, shift = (None if t is None else t.repeat(batch) for t in (weight, bias))
    out = F.batch_norm(input.reshape(1, batch * channels, *rest), mean, var, scale, shift, True, momentum, eps)
    for running, new in ((running_mean, mean), (running_var, var)):
        if running is not None and new is not None:
            running.copy_(new.reshape(batch, channels).mean(0))
    return out.reshape(input.shape)


def _check_p(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got p={p}")


def dropped_channels(input: Tensor, p: float, training: bool, inplace: bool, dims: int) -> Tensor:
    """Dropout of whole channels: the last `dims` dimensions go together."""
    _check_p(p)
    if not training or p == 0.0 or input.numel() == 0:
        return input
    first = (..., *(slice(1),) * dims)
    mask = F.dropout(empty_like(input[first]).fill_(1.0), p, True)
    return input.mul_(mask) if inplace else input * mask


def check_channels(input: Tensor) -> None:
    """Raises RuntimeError for a tensor without channels."""
    if input.dim() < 2:
        raise RuntimeError(
            f"Feature dropout requires at least 2 dimensions in the input, but it has {input.dim()}; give (N, C, *)"
        )


def _warn_of_dims(op: str, input: Tensor, wanted: str) -> None:
    warn(
        f"{op}: Received a {input.dim()}D input, and drops whole channels of {wanted}; for single elements there is "
        "dropout"
    )


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, L) or (C, L) with probability `p`; the others grow by 1 / (1 - p).

    Raises ValueError for a probability outside of [0, 1], and RuntimeError for another number of dimensions.
    """
    check_flags("dropout1d", training=training)
    _check_p(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2D or 3D input, but received a {input.dim()}D input: "
            "whole channels of (C, L) or (N, C, L) are dropped. For single elements there is dropout()."
        )
    return dropped_channels(input, p, training, inplace, 1)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, H, W) with probability `p`; the others grow by 1 / (1 - p).

    Three dimensions are (N, C, L). Raises ValueError for a probability outside of [0, 1].
    """
    check_flags("dropout2d", training=training)
    _check_p(p)
    if input.dim() not in (3, 4):
        _warn_of_dims("dropout2d", input, "a batch of (N, C, H, W), or (N, C, L)")
        if training and p > 0:
            check_channels(input)
    elif input.dim() == 3:
        warn(
            "dropout2d: Received a 3D input, which counts as a batch (N, C, L) whose channels are dropped. If it is "
            "(C, H, W), give it a batch with unsqueeze(0); for (N, C, L) there is dropout1d"
        )
    return dropped_channels(input, p, training, inplace, input.dim() - 2)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W) with probability `p`; the others grow by 1 / (1 - p).

    Raises ValueError for a probability outside of [0, 1].
    """
    check_flags("dropout3d", training=training)
    _check_p(p)
    if input.dim() not in (4, 5):
        _warn_of_dims("dropout3d", input, "(N, C, D, H, W) or (C, D, H, W)")
    return dropped_channels(input, p, training, inplace, 3 if input.dim() == 4 else input.dim() - 2)


def _alpha(input: Tensor, mask: Tensor, p: float, inplace: bool) -> Tensor:
    """What is dropped gets the value at which `selu` saturates; scale and shift keep mean and variance."""
    alpha = 1.7580993408473766
    scale = 1.0 / math.sqrt((alpha * alpha * p + 1) * (1 - p))
    shift = (mask - 1) * (alpha * scale) + alpha * scale * p
    if inplace:
        return input.mul_(mask * scale).add_(shift)
    return input * (mask * scale) + shift


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of what `selu` gives.

    Raises ValueError for a probability outside of [0, 1].
    """
    check_flags("alpha_dropout", training=training)
    _check_p(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0.0) if inplace else input * 0.0
    return _alpha(input, empty_like(input).bernoulli_(1 - p), p, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: (N, C, *).

    Raises ValueError for a probability outside of [0, 1].
    """
    check_flags("feature_alpha_dropout", training=training)
    _check_p(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    check_channels(input)
    if p == 1:
        return input.mul_(0.0) if inplace else input * 0.0
    first = (slice(None), slice(None), *(slice(1),) * (input.dim() - 2))
    shown = empty_like(input[first])
    return _alpha(input, shown.bernoulli_(1 - p), p, inplace)
