"""Samples of operators that read between the elements of images."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from support.samples import Maker, S, Sample, of


def position(x: float, size: int, align: bool) -> float:
    return (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2


def reflected(u: float, size: int, align: bool) -> float:
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    if low == high:
        return 0.0
    u = (u - low) % (2 * (high - low))
    return min(u, 2 * (high - low) - u) + low


def padded(u: float, size: int, padding: str, align: bool) -> float:
    if padding == "reflection":
        u = reflected(u, size, align)
    return u if padding == "zeros" else min(max(u, 0.0), size - 1.0)


def weights(x: float, size: int, mode: str, padding: str, align: bool) -> dict[int, float]:
    """The weight of each element of one axis."""
    u = position(x, size, align)
    if mode == "bicubic":
        t, a = u - np.floor(u), -0.75
        near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1
        far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        terms = zip(np.floor(u) + np.arange(-1, 3), [far(t + 1), near(t), near(1 - t), far(2 - t)], strict=True)
        pairs = [(padded(i, size, padding, align), w) for i, w in terms]
    else:
        u = padded(u, size, padding, align)
        t = u - np.floor(u)
        pairs = [(np.round(u), 1.0)] if mode == "nearest" else [(np.floor(u), 1 - t), (np.floor(u) + 1, t)]
    out: dict[int, float] = {}
    for i, w in pairs:
        if 0 <= i < size:
            out[int(i)] = out.get(int(i), 0.0) + w
    return out


def grid_sample_like(
    x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for at in np.ndindex(*grid.shape[:-1]):
        axes = [
            weights(c, size, mode, padding_mode, bool(align_corners))
            for c, size in zip(grid[at], x.shape[:1:-1], strict=True)
        ]
        for taps in itertools.product(*(axis.items() for axis in axes)):
            index = tuple(i for i, _ in reversed(taps))
            out[(at[0], slice(None), *at[1:])] += x[(at[0], slice(None), *index)] * np.prod([w for _, w in taps])
    return out


@of("nn.functional.grid_sample", like=grid_sample_like)
def grid_sample(m: Maker) -> Iterator[Sample]:
    for mode, padding, align in itertools.product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    ):
        settings = {"mode": mode, "padding_mode": padding, "align_corners": align}
        yield S(m(2, 2, 3, 4), m(2, 2, 1, 2, low=-1.9, high=1.9), **settings)
        if mode != "bicubic":
            yield S(m(1, 2, 2, 3, 2), m(1, 1, 2, 1, 3, low=-1.9, high=1.9), **settings)
    yield S(m(1, 1, 1, 1), m(1, 1, 2, 2, low=-0.9, high=0.9), padding_mode="reflection")
    yield S(m(1, 0, 2, 2), m(1, 1, 2, 2))
    yield S(m(0, 1, 2, 2), m(0, 1, 2, 2))
    yield S(m(1, 2, 2, 2), m(1, 0, 2, 2))
