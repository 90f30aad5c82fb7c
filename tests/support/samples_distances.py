"""Samples of distances, inner and cross products, and of operators that draw counts and windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pullback as pb
from support.samples import Maker, S, Sample, of
from support.samples_complex import whole


def norms(d: Any, p: float = 2.0) -> Any:
    d = np.abs(d)
    if p == 0:
        return np.sum(d != 0, axis=-1)
    return np.max(d, axis=-1, initial=0) if p == float("inf") else np.sum(d**p, axis=-1) ** (1 / p)


def all_pairs(a: Any, b: Any, p: float = 2.0, compute_mode: str = "") -> Any:
    return norms(a[..., :, None, :] - b[..., None, :, :], p)


def each_pair(x: Any, p: float = 2.0) -> Any:
    i, j = np.triu_indices(len(x), 1)
    return norms(x[i] - x[j], p)


@of("cdist", like=all_pairs)
def cdist(m: Maker) -> Iterator[Sample]:
    for p in (1.0, 1.5, 2.0, 3.0, float("inf")):
        yield S(m(3, 2), m(4, 2), p)
    yield S(m(2, 3, 2), m(2, 1, 2))
    yield S(m(27, 2), m(2, 2))
    yield S(m(3, 2), m(4, 2), compute_mode="use_mm_for_euclid_dist")
    yield S(m(3, 2), m(4, 2), 2.0, "donot_use_mm_for_euclid_dist")


@of("cdist")
def broadcast_cdist(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 1, 3, 2), m(3, 4, 2))
    yield S(m(0, 2), m(3, 2))
    yield S(m(2, 0), m(3, 0))
    yield S(m(2, 3), m(2, 3), 0.0)
    yield S(m(2, 1, 3, 2), m(3, 4, 2), 2.5)
    yield S(m(3, 1), m(4, 1), 3.0)
    yield S(m(0, 2), m(3, 2), 1.5)
    yield S(m(2, 0), m(3, 0), 1.0)


@of("pdist", like=each_pair)
def pdist(m: Maker) -> Iterator[Sample]:
    for p in (1.0, 1.5, 2.0, 3.0, float("inf")):
        yield S(m(4, 2), p)
    yield S(m(1, 2))
    yield from (S(x) for x in list(m.layouts(3, 2))[:-1])  # the last repeats a row, where distances have a kink


@of("cross", like=lambda a, b, dim=None: np.cross(a, b, axis=-1 if dim is None else dim))
@of("linalg.cross", like=lambda a, b, dim=-1: np.cross(a, b, axis=dim))
def cross(m: Maker) -> Iterator[Sample]:
    yield S(m(3), m(3))
    yield S(m(2, 3), m(1, 3))
    yield S(m(3, 2), m(3, 2), dim=0)
    yield S(m(0, 3), m(0, 3))
    yield from (S(x, y) for x, y in zip(m.layouts(2, 3), m.layouts(2, 3), strict=True))


@of("linalg.vecdot", like=lambda x, y, dim=-1: np.sum(np.conj(x) * y, axis=dim))
def vecdot(m: Maker) -> Iterator[Sample]:
    yield S(m(3), m(3))
    yield S(m(2, 3), m(3))
    yield S(m(2, 3), m(2, 3), dim=0)
    yield S(m(2, 0), m(2, 0))
    yield S(m(2, 3, 2), m(3, 2)).but(via={0: whole, 1: whole})


@of("vdot", like=np.vdot)
def vdot(m: Maker) -> Iterator[Sample]:
    yield S(m(3), m(3))
    yield S(m(0), m(0))
    yield S(m(3, 2), m(3, 2)).but(via={0: whole, 1: whole})


@of("inner", like=np.inner)
def inner(m: Maker) -> Iterator[Sample]:
    for a, b in [((), ()), ((2,), ()), ((3,), (3,)), ((2, 3), (4, 3)), ((2, 2, 3), (3,)), ((2, 0), (3, 0))]:
        yield S(m(*a), m(*b))
    yield from (S(x, y) for x, y in zip(m.layouts(2, 3), m.layouts(2, 3), strict=True))


def plus_outer(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return x | np.outer(a, b) if x.dtype == bool else beta * x + alpha * np.outer(a, b)


@of("addr", like=plus_outer)
def addr(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(2), m(3))
    yield S(m(3), m(2), m(3), beta=0.5, alpha=2)
    yield S(m(), m(0), m(3))
    yield S(m.bools(2, 2), m.bools(2), m.bools(2))


@of("addbmm", like=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * np.sum(a @ b, axis=0))
def addbmm(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(4, 2, 2), m(4, 2, 3))
    yield S(m(3), m(4, 2, 2), m(4, 2, 3), beta=0.5, alpha=2)
    yield S(m(2, 3), m(0, 2, 2), m(0, 2, 3))


@of("poisson")
def poisson(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape, low=0, high=5)).but(grad=False) for shape in [(), (0,), (2, 3)])


@of("binomial")
def binomial(m: Maker) -> Iterator[Sample]:
    yield S(pb.tensor([3.0, 10.0], dtype=pb.float64), m(2, low=0, high=1)).but(grad=False)
    yield S(pb.tensor([[3.0], [10.0]], dtype=pb.float64), m(3, low=0, high=1)).but(grad=False)


@of("_rrelu_slopes")
def rrelu_slopes(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape), 0.1, 0.3).but(grad=False) for shape in [(), (0,), (2, 3)])


@of("nn.functional.fractional_max_pool2d")
def fractional_2d(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 2, 5, 4), 2, 3, _random_samples=m(2, 2, 2, low=0, high=1)).but(second=False)
    yield S(m(2, 5, 4), (2, 1), (3, 4), _random_samples=m(1, 2, 2, low=0, high=1)).but(second=False)


@of("nn.functional.fractional_max_pool3d")
def fractional_3d(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 2, 4, 4, 3), 2, 2, _random_samples=m(2, 2, 3, low=0, high=1)).but(second=False)
