"""Images of other sizes: each new element is a sum of few old ones along each dimension, with weights."""

from __future__ import annotations

import math
import warnings

from ... import Tensor, arange, bfloat16, float16, float32, float64, int64, stack, tensor, uint8, where
from .. import functional as F
from ._formats import arranged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Modes by the number of dimensions that they are for; the others are for all three.
_DIMS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_FLAT = ("nearest", "area", "nearest-exact")


def _check(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    n = input.dim() - 2
    if (mode not in _DIMS and mode not in _FLAT) or n not in (1, 2, 3):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | "
            "linear "
            f"| bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if mode in _FLAT and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    if mode in _DIMS and _DIMS[mode] != n:
        raise NotImplementedError(f"Got {n + 2}D input, but {mode} mode needs {_DIMS[mode] + 2}D input")


def _sizes(input: Tensor, size: Any, scale_factor: Any, recompute: bool | None) -> tuple[list[int], list[float | None]]:
    """The sizes of the result, and the factors that were given, if they say where elements lie."""
    spatial = list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given = size if size is not None else scale_factor
    what, shape = ("output size", "o") if size is not None else ("scale_factor", "s")
    values = list(given) if isinstance(given, (tuple, list)) else [given] * len(spatial)
    if len(values) != len(spatial):
        raise ValueError(
            "Input and "
            + ("output" if size is not None else "scale_factor")
            + " must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{spatial} and {what} of {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            f"{what} in "
            f"({shape}1, {shape}2, ...,{shape}K) format."
        )
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        out = [int(v) for v in values]
        factors: list[float | None] = [None] * len(spatial)
    else:
        out = [math.floor(float(n) * float(v)) for n, v in zip(spatial, values, strict=True)]
        factors = [None if recompute else float(v) for v in values]
    if any(n <= 0 for n in (*out, *spatial)):
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input (spatial: {spatial}) and output {out}"
        )
    return out, factors


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """(N, C, *) with other sizes, given as such or by a factor.

    `mode` is "nearest", "nearest-exact", "area", or with one dimension "linear", with two "bilinear" or "bicubic", with
    three "trilinear". With `align_corners` the first and last elements keep their values. `antialias` weighs all
    elements
    that a smaller image covers.

    >>> import pullback
    >>> x = pullback.tensor([[[0.0, 2.0]]])
    >>> pullback.nn.functional.interpolate(x, size=3, mode="linear", align_corners=True)
    tensor([[[0., 1., 2.]]])

    Raises:
        ValueError: for both or neither of size and factor, or options that the mode does not have.
        NotImplementedError: for a mode that is not for this number of dimensions.
    """
    _check(input, mode, align_corners, antialias)
    sizes, factors = _sizes(input, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        pool = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[input.dim() - 3]
        return pool(input, sizes)
    if mode in _FLAT:
        # Of few bits, sums of gradients would lose what is small.
        out = input.to(float32) if input.dtype in (float16, bfloat16) and input.requires_grad else input
        for d, (n, factor) in enumerate(zip(sizes, factors, strict=True)):
            out = out.index_select(d + 2, _nearest(out.size(d + 2), n, factor, mode == "nearest-exact"))
        return arranged(out.to(input.dtype), input)
    if not input.is_floating_point() and input.dtype != uint8:
        raise RuntimeError(
            f"interpolate(): mode '{mode}' is not for {input.dtype}; convert the input to floating point"
        )
    wide = input if input.dtype in (float32, float64) else input.to(float32)
    for d, (n, factor) in enumerate(zip(sizes, factors, strict=True)):
        wide = _along(wide, d + 2, n, factor, mode, bool(align_corners), antialias)
    if input.dtype == uint8:
        wide = wide.round().clamp(0, 255)
    return arranged(wide.to(input.dtype), input)


def _nearest(before: int, after: int, factor: float | None, exact: bool) -> Tensor:
    # In float32, as elsewhere: at ties the rounding decides.
    scale = _one(before) / _one(after) if factor is None else _one(1.0 / factor)
    at = arange(after, dtype=float32)
    return ((at + 0.5 if exact else at) * scale).floor().to(int64).clamp(max=before - 1)


def _one(value: float) -> Tensor:
    return tensor(float(value), dtype=float32)


def _along(
    x: Tensor, dim: int, after: int, factor: float | None, mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    """One dimension of another size."""
    before = x.size(dim)
    if before == after and factor is None:
        return x
    if align_corners:
        scale = (before - 1) / (after - 1) if after > 1 else 0.0
    else:
        scale = before / after if factor is None or factor <= 0 else 1.0 / factor
    cubic = mode == "bicubic"
    if antialias:
        places, weights = _window(before, after, scale, cubic)
    else:
        to = arange(after, dtype=float64)
        at = to * scale if align_corners else (to + 0.5) * scale - 0.5
        places, weights = _four(at) if cubic else _two(at, before)
    last = before - 1
    shape = [1] * x.dim()
    shape[dim] = after
    parts = []
    for place, weight in zip(places, weights, strict=True):
        rows = x.index_select(dim, place.to(int64).clamp(0, last))
        parts.append(rows * weight.to(x.dtype).reshape(shape))
    out = parts[0]
    for part in parts[1:]:
        out = out + part
    return out


def _two(at: Tensor, before: int) -> tuple[list[Tensor], list[Tensor]]:
    at = at.clamp(min=0.0)
    low = at.floor().clamp(max=before - 1)
    share = (at - low).clamp(0.0, 1.0)
    return [low, low + 1], [1 - share, share]


def _four(at: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    low = at.floor()
    t = at - low
    distances = [t + 1, t, 1 - t, 2 - t]
    return [low - 1, low, low + 1, low + 2], [_cubic(d, -0.75) for d in distances]


def _cubic(d: Tensor, a: float) -> Tensor:
    """The kernel of cubic convolution."""
    d = d.abs()
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    return where(d < 1, near, where(d < 2, far, 0.0))


def _window(before: int, after: int, scale: float, cubic: bool) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """All elements under a kernel that is as wide as a new element."""
    half = 2.0 if cubic else 1.0
    support = half * scale if scale >= 1.0 else half
    inverse = 1.0 / scale if scale >= 1.0 else 1.0
    centers = (arange(after, dtype=float64) + 0.5) * scale
    first = (centers - support + 0.5).trunc().clamp(min=0)
    end = (centers + support + 0.5).trunc().clamp(max=before)
    places, weights = [], []
    for k in range(math.ceil(support) * 2 + 2):
        place = first + k
        d = (place - centers + 0.5) * inverse
        weight = _cubic(d, -0.5) if cubic else (1 - d.abs()).clamp(min=0.0)
        weights.append(where(place < end, weight, 0.0))
        places.append(place.minimum(end - 1))
    total = stack(weights).sum(0)
    return places, [w / total for w in weights]


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of `interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "nearest", under its old name."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "bilinear" and aligned corners, under its old name."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
