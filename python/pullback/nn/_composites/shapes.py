"""Rearrangements, products and distances."""

from __future__ import annotations

import math

from ... import Tensor, broadcast_tensors, div, einsum, get_default_dtype, linalg, result_type
from ..._casting import lowers
from .. import functional as F
from ._formats import arranged
from ._nodes import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _own(out: Tensor) -> Tensor:
    """The tensor in memory of its own, where nothing was moved as well."""
    return out if out._base is None else out.clone()


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(*, C * r * r, H, W) to (*, C, H * r, W * r), r being `upscale_factor`.

    >>> import pullback
    >>> pullback.nn.functional.pixel_shuffle(pullback.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])

    Raises:
        RuntimeError: for fewer than three dimensions, a factor that is not positive, or channels it does not divide.
        ValueError: for a factor whose square is no 64-bit number.
    """
    r = upscale_factor
    if input.dim() < 3:
        raise RuntimeError(
            f"expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"expects a positive upscale_factor, but got {r}")
    if r * r >= 2**63:
        raise ValueError(f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}")
    *lead, channels, height, width = input.shape
    if channels % (r * r) != 0:
        raise RuntimeError(
            "expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(lead)
    split = input.reshape(*lead, channels // (r * r), r, r, height, width)
    moved = split.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    out = _own(arranged(moved.reshape(*lead, channels // (r * r), height * r, width * r), input))
    return named(out, "PixelShuffleBackward0")


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(*, C, H * r, W * r) to (*, C * r * r, H, W), r being `downscale_factor`.

    Raises RuntimeError for fewer than three dimensions, a factor that is not positive, or sizes it does not divide.
    """
    r = downscale_factor
    if input.dim() < 3:
        raise RuntimeError(
            f"expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"expects a positive downscale_factor, but got {r}")
    *lead, channels, height, width = input.shape
    for side, size, d in (("height", height, -2), ("width", width, -1)):
        if size % r != 0:
            raise RuntimeError(
                f"expects {side} to be divisible by downscale_factor, but input.size({d})={size} is "
                f"not divisible by {r}; pad() it, or give another factor"
            )
    n = len(lead)
    split = input.reshape(*lead, channels, height // r, r, width // r, r)
    moved = split.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    out = _own(arranged(moved.reshape(*lead, channels * r * r, height // r, width // r), input))
    return named(out, "PixelUnshuffleBackward0")


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, *) with the channels of `groups` groups dealt out in turn.

    Raises RuntimeError for fewer than three dimensions, or groups that do not divide the channels.
    """
    if input.dim() < 3:
        raise RuntimeError(f"expects input with > 2 dims, but got input with sizes {list(input.shape)}; give (N, C, *)")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive, but got groups={groups}")
    batch, channels, *rest = input.shape
    if channels % groups != 0:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups; give a "
            "divisor"
        )
    moved = input.reshape(batch, groups, channels // groups, *rest).transpose(1, 2)
    # Where nothing moves, the result has memory of its own all the same.
    dealt = moved.reshape(input.shape) if 1 < groups < channels else input.clone()
    return named(arranged(dealt, input), "ChannelShuffleBackward0")


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle` under its other name."""
    return channel_shuffle(input, groups)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 + bias[k] for each k: (*, in1) and (*, in2) to (*, out); `weight` is (out, in1, in2).

    Raises RuntimeError for arguments whose dimensions do not fit.
    """
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for i in range(input1.dim() - 1):
        if input1.size(i) != input2.size(i):
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {input1.size(i)} and {input2.size(i)}"
            )
    for i, t in ((1, input1), (2, input2)):
        if t.size(-1) != weight.size(i):
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {t.size(-1)} but expected {weight.size(i)}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size(0)} but expected {weight.size(0)}"
        )
    lead = input1.shape[:-1]
    one, two = input1.reshape(-1, input1.size(-1)), input2.reshape(-1, input2.size(-1))
    out = einsum("ni,kij,nj->nk", one, weight, two)
    out = out if bias is None else out + bias
    return out.reshape(*lead, weight.size(0))


@lowers
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of (T, N, C) with `weight` (K, C, out): time in front, channels at the end.

    Raises RuntimeError for tensors of another number of dimensions.
    """
    if input.dim() != 3 or weight.dim() != 3 or bias.dim() != 1:
        raise RuntimeError(
            "conv_tbc(): expected input (T, N, C), weight (K, C, out) and bias (out), got shapes "
            f"{tuple(input.shape)}, {tuple(weight.shape)} and {tuple(bias.shape)}"
        )
    out = F.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return out.permute(2, 0, 1)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; each length counts as at least `eps`.

    >>> import pullback
    >>> pullback.nn.functional.cosine_similarity(pullback.ones(1, 2), pullback.tensor([[0.0, 3.0]]))
    tensor([0.7071])
    """
    if not x1.is_floating_point() or not x2.is_floating_point():
        dtype = result_type(x1, x2)
        dtype = dtype if dtype.is_floating_point else get_default_dtype()
        x1, x2 = (t if t.is_floating_point() else t.to(dtype) for t in (x1, x2))
    # `dim` is one of both together.
    x1, x2 = broadcast_tensors(x1, x2)
    one, two = (_at_least(linalg.vector_norm(t, dim=dim, keepdim=True), eps) for t in (x1, x2))
    return ((x1 / one) * (x2 / two)).sum(dim)


def _at_least(length: Tensor, eps: float) -> Tensor:
    """A length with a floor that moves no gradient: it has that of where it is above it."""
    value = length.detach()
    return length + (value.clamp(min=eps) - value)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return linalg.vector_norm(x1 - x2 + eps, p, dim=-1, keepdim=keepdim)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """`input` over its p-norm along `dim`, which counts as at least `eps`."""
    norm = linalg.vector_norm(input, p, dim=dim, keepdim=True).clamp(min=eps)
    return input / norm if out is None else div(input, norm, out=out)


def _lp_pool(dims: int, input: Tensor, p: float, kernel: Any, stride: Any, ceil_mode: bool) -> Tensor:
    if abs(p) == math.inf:
        largest: Callable[..., Tensor] = getattr(F, f"max_pool{dims}d")
        sign = math.copysign(1.0, p)
        return sign * largest(sign * input.abs(), kernel, stride, 0, 1, ceil_mode)
    average: Callable[..., Tensor] = getattr(F, f"avg_pool{dims}d")
    sizes = (kernel,) * dims if isinstance(kernel, int) else tuple(kernel)
    out = average(input.pow(p), sizes, stride, 0, ceil_mode)
    return (out.sign() * out.abs().relu()).mul(math.prod(sizes)).pow(1.0 / p)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of the last dimension."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of the last two dimensions."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of the last three dimensions."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha * m) ** beta, m being the mean of the squares of `size` neighbouring channels, zeros beyond the
    ends.

    Raises ValueError for fewer than three dimensions.
    """
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions); give (N, C, *)")
    if input.numel() == 0:
        return input
    channels = input.size(1)
    squares = input.mul(input).reshape(input.size(0), 1, channels, -1)
    padded = F.pad(squares, (0, 0, size // 2, (size - 1) // 2))
    mean = F.avg_pool2d(padded, (size, 1), stride=1).reshape(input.shape)
    return input / mean.mul(alpha).add(k).pow(beta)
