"""Places of grids to the last bit: where a derivative jumps, the side depends on it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pullback as pb

F = pb.nn.functional


def rounded_once(a: Any, b: Any, c: Any, dtype: Any) -> Any:
    """`a b + c` as a fused multiply-add gives it."""
    return dtype(float(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))))


def places(low: float, high: float, n: int, dtype: Any) -> list[Any]:
    low, high = dtype(low), dtype(high)
    step = (high - low) / dtype(n - 1)
    front = [rounded_once(step, i, low, dtype) for i in range(n // 2)]
    return front + [rounded_once(-step, n - 1 - i, high, dtype) for i in range(n // 2, n)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_evenly_spaced_numbers_are_rounded_once(dtype: Any) -> None:
    of = pb.float32 if dtype is np.float32 else pb.float64
    for low, high in ((-1, 1), (0.3, 7.7), (5, -2)):
        for n in (2, 3, 7, 28, 61):
            assert pb.linspace(low, high, n, dtype=of).numpy().tolist() == places(low, high, n, dtype)
    many = pb.linspace(-1, 1, 100_001, dtype=of).numpy()
    halves = many[:50_000], -many[:50_000:-1]
    assert (halves[0] == halves[1]).all() and many[0] == -1 and (np.diff(many) > 0).all()
    some = [0, 1, 4095, 4096, 4097, 49_999, 50_000, 50_001, 99_999, 100_000]
    assert many[some].tolist() == np.array(places(-1, 1, 100_001, dtype))[some].tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [5, 7, 28])
def test_the_identity_looks_at_its_elements_from_the_same_side(dtype: Any, size: int) -> None:
    """Samples at the elements themselves: rounding decides between which two neighbours a place lies."""
    of = pb.float32 if dtype is np.float32 else pb.float64
    same = pb.eye(2, 3, dtype=of)[None]
    grid = F.affine_grid(same, (1, 1, 1, size), align_corners=False)
    at = grid[0, 0, :, 0].numpy()
    want = np.array(places(-1, 1, size, dtype)) * dtype(size - 1) / dtype(size)
    assert at.tolist() == want.tolist()
    image = (pb.arange(size, dtype=of) ** 2).reshape(1, 1, 1, size)
    leaf = grid.clone().requires_grad_()
    F.grid_sample(image, leaf, padding_mode="border", align_corners=False).sum().backward()
    assert leaf.grad is not None
    for i in range(1, size - 1):
        below = int(np.floor(rounded_once(at[i] + dtype(1), size / 2, -0.5, dtype)))
        slope = (2 * below + 1) * size / 2
        assert leaf.grad[0, 0, i, 0].item() == pytest.approx(slope, rel=1e-5)
