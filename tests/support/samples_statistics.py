"""Samples of counts, moments, covariances, running products, differences and integrals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pullback as pb
from support.samples import Maker, S, Sample, of
from support.samples_complex import whole
from support.samples_order import holes


def axes(x: Any, dim: Any) -> Any:
    return None if dim in (None, ()) or not np.ndim(x) else tuple(dim) if isinstance(dim, (list, tuple)) else dim


@of("count_nonzero", like=lambda x, dim=None: np.count_nonzero(x, axis=axes(x, dim)))
def count_nonzero(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (2, 3)]:
        yield S(m.ints(*shape, high=2))
    yield S(m.bools(2, 3), 1)
    yield S(m(2, 3, 2), (0, -1))


@of("nanmean", like=lambda x, dim=None, keepdim=False, dtype=None: np.nanmean(x, axes(x, dim), keepdims=keepdim))
def nanmean(m: Maker) -> Iterator[Sample]:
    yield S(m())
    yield S(m(2, 5)).but(via={0: holes})
    yield S(m(2, 5), 1, keepdim=True).but(via={0: holes})
    yield S(m(2, 3, 2), (0, -1), dtype=pb.float64)


def moments(root: bool) -> Any:
    def f(x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = None) -> Any:
        ddof = correction if correction is not None else int(unbiased is None or unbiased)
        v = np.var(x, axis=axes(x, dim), ddof=ddof, keepdims=keepdim)
        return np.sqrt(v) if root else v, np.mean(x, axis=axes(x, dim), keepdims=keepdim)

    return f


def spreads(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3))
    yield S(m(2, 3), 1, unbiased=False)
    yield S(m(4), 0, correction=2, keepdim=True)
    yield S(m(2, 3, 2), (0, 2))
    yield S(m(2, 3, 2), 1, correction=0).but(via={0: whole})
    yield S(m(3, 2)).but(via={0: whole})


of("var_mean", like=moments(False))(spreads)
of("std_mean", like=moments(True))(spreads)


def both_ends(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return tuple(f(x, axis=axes(x, dim), keepdims=keepdim) for f in (np.min, np.max))


@of("aminmax", like=both_ends)
def aminmax(m: Maker) -> Iterator[Sample]:
    yield S(m())
    yield S(m(2, 3))
    yield S(m(2, 3), keepdim=True)
    yield S(m(3, 2), dim=0)
    yield S(m(0, 2), dim=1)
    yield S(m.bools(3), dim=-1, keepdim=True)


def cov_like(x: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    return np.cov(np.atleast_1d(x), ddof=correction, fweights=fweights, aweights=aweights)


@of("cov", like=cov_like)
def cov(m: Maker) -> Iterator[Sample]:
    yield S(m(4))
    yield S(m(2, 4))
    yield S(m(3, 4), correction=0)
    yield S(m(2, 4), fweights=m.ints(4, low=1), aweights=m(4, low=0.5, high=1.5))
    yield S(m(2, 3), aweights=m(3, low=0.5, high=1.5), correction=0)


@of("corrcoef", like=np.corrcoef)
def corrcoef(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 5))
    yield S(m(4)).but(grad=False)


def renorm_like(x: Any, p: float, dim: int, most: float) -> Any:
    others = tuple(d for d in range(x.ndim) if d != dim % x.ndim)
    norm = (np.abs(x) ** p).sum(others, keepdims=True) ** (1 / p)
    return x * np.where(norm > most, most / (norm + 1e-7), 1)


@of("renorm", like=renorm_like)
def renorm(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), 2, 0, 0.5)
    yield S(m(2, 3), 1, -1, 2.5)
    yield S(m(2, 2, 3), 3, 1, 1.5)


def running(f: Any) -> Any:
    return lambda x, dim, dtype=None: f.accumulate(x, axis=dim, dtype=dtype and float) if np.ndim(x) else x


@of("cumprod", like=running(np.multiply))
def cumprod(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (5,)]:
        yield S(m(*shape), 0)
    yield S(m(2, 3), -1)
    yield S(m(3, 2), 0)
    yield S(m(4), 0).but(via={0: lambda x: x * pb.tensor([1.0, 0.0, 1.0, 0.0])})
    yield S(m.ints(3), 0, dtype=pb.float64)


@of("logcumsumexp", like=lambda x, dim: np.log(np.cumsum(np.exp(x - x.max()), dim)) + x.max() if np.size(x) > 1 else x)
def logcumsumexp(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (5,)]:
        yield S(m(*shape), 0)
    yield S(m(2, 3), -1)
    yield S(m(3, 2) * 3, 0)


def diff_like(x: Any, n: int = 1, dim: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    return np.diff(x, n, dim, prepend, append)


@of("diff", like=diff_like)
def diff(m: Maker) -> Iterator[Sample]:
    yield S(m(4))
    yield S(m(2, 3), 2)
    yield S(m(3, 2), 1, 0, m(1, 2), m(2, 2))
    yield S(m(3), 0)
    yield S(m(2), 5)
    yield S(m.bools(4))
    yield S(m(3), append=m(1))


def trapezoid_like(y: Any, x: Any = None, dx: float = 1, dim: int = -1) -> Any:
    return np.trapezoid(y, x, dx, dim)


def sums_of_pieces(y: Any, x: Any = None, dx: float = 1, dim: int = -1) -> Any:
    y = np.moveaxis(y, dim, -1)
    areas = (y[..., 1:] + y[..., :-1]) / 2 * (dx if x is None else np.diff(x))
    return np.moveaxis(np.cumsum(areas, -1), -1, dim)


def integrals(m: Maker) -> Iterator[Sample]:
    yield S(m(4))
    yield S(m(2, 3), dx=0.5, dim=0)
    yield S(m(2, 3), m(3))
    yield S(m(2, 3), m(2, 3), dim=1)
    yield S(m(1))
    yield S(m.ints(4), dim=0)


of("trapezoid", like=trapezoid_like)(integrals)
of("cumulative_trapezoid", like=sums_of_pieces)(integrals)


def gradient_like(x: Any, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    many = isinstance(spacing, (list, tuple))
    steps = spacing if many else [spacing]
    out = np.gradient(x, *steps, axis=dim, edge_order=edge_order)
    return tuple(out) if isinstance(out, (list, tuple)) else (out,)


@of("gradient", like=gradient_like)
def gradient(m: Maker) -> Iterator[Sample]:
    yield S(m(4))
    yield S(m(2, 3))
    yield S(m(3, 4), spacing=0.5, edge_order=2)
    yield S(m(3, 4), spacing=[2.0, 3.0])
    yield S(m(3, 4), spacing=(m(4),), dim=1).but(via={1: lambda x: x.sort().values}, second=False)
    yield S(m(4), spacing=(m(4),), edge_order=2).but(via={1: lambda x: x.sort().values}, second=False)
    yield S(m.ints(3, 3, high=9), dim=(1, 0))


def shrunk(x: Any, *size: Any) -> Any:
    size = size[0] if size and isinstance(size[0], tuple) else size
    x = x.sum(tuple(range(x.ndim - len(size))))
    return x.sum(tuple(i for i, n in enumerate(size) if n == 1), keepdims=True)


@of("Tensor.sum_to_size", like=shrunk)
def sum_to_size(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), (3,))
    yield S(m(2, 3), (2, 1))
    yield S(m(2, 3), (2, 3))
    yield S(m(2, 3, 2), (1, 3, 1))
    yield S(m(3), ())
