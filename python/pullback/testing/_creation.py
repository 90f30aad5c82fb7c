"""`make_tensor`: random inputs for tests."""

from __future__ import annotations

import math
from typing import Any

import pullback as pb


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of numbers drawn evenly from ``[low, high)``, up to the rounding of the dtype.

    Args:
        shape: ints, or one sequence of ints.
        low, high: by default 0 and 2 for bool, 0 and 10 for uint8, -9 and 10 for the other integers, -9 and 9 for
            floats and for both parts of complex numbers.
        noncontiguous: let the elements lie apart in memory; without effect on tensors of at most 64 bytes.
        exclude_zero: put the smallest positive number in place of zeros.

    Raises:
        ValueError: if `low` is not below `high`, one is NaN, or integers were asked of a range without any.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
    sizes = tuple(int(n) for n in sizes)
    pb.device(device)
    if memory_format is not None and noncontiguous:
        raise ValueError("make_tensor(): arguments 'noncontiguous' and 'memory_format' exclude each other")
    low, high = _range(dtype, low, high)
    spread = noncontiguous and math.prod(sizes) > 1 and bool(sizes)
    wide = (*sizes[:-1], 2 * sizes[-1]) if spread else sizes
    if dtype.is_complex:
        result = pb.complex(*(_reals(wide, dtype.to_real(), low, high) for _ in range(2)))
    elif dtype.is_floating_point:
        result = _reals(wide, dtype, low, high)
    else:
        result = pb.randint(math.ceil(low), math.ceil(high), wide).to(dtype)
    if spread:
        result = result[..., ::2]
    if exclude_zero:
        smallest = pb.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
        result[result == 0] = smallest  # in place, which keeps the strides
    return result.requires_grad_() if requires_grad else result


def _range(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    if dtype.is_floating_point or dtype.is_complex:
        default, bounds = (-9.0, 9.0), (pb.finfo(dtype).min, pb.finfo(dtype).max)
    elif dtype is pb.bool:
        default, bounds = (0, 2), (0, 2)
    else:
        default = (0, 10) if dtype is pb.uint8 else (-9, 10)
        bounds = (pb.iinfo(dtype).min, pb.iinfo(dtype).max)
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if not low < high:  # also for NaN
        raise ValueError(f"make_tensor(): argument 'low' must be below 'high', got {low} and {high}")
    low, high = max(low, bounds[0]), min(high, bounds[1])
    if not (dtype.is_floating_point or dtype.is_complex) and math.ceil(low) >= math.ceil(high):
        raise ValueError(f"make_tensor(): no {dtype} lies in [{low}, {high})")
    return low, high


def _reals(shape: tuple[int, ...], dtype: Any, low: float, high: float) -> Any:
    unit = pb.rand(shape, dtype=pb.float64)
    return (low + (high - low) * unit).clamp(low, high).to(dtype)
