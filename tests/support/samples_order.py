"""Samples of operators on the order of elements: medians, modes, quantiles, searches, counts of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pullback as pb
from support.samples import Maker, S, Sample, of

NAN = float("nan")


def holes(x: Any) -> Any:
    """NaN where the element is small, which it stays when it moves a little."""
    return pb.where(x.abs() < 0.7, NAN, x)


def lines(x: Any, dim: Any, keepdim: bool, f: Callable[[Any], Any]) -> Any:
    """The results of `f`, a number or several, on the lines along a dimension."""
    if not np.ndim(x):
        return f(np.reshape(x, 1))
    return np.apply_along_axis(f, dim, x) if not keepdim else np.expand_dims(np.apply_along_axis(f, dim, x), dim)


def lower_median(skip: bool) -> Callable[..., Any]:
    def middle(line: Any) -> Any:
        numbers = np.sort(line[~np.isnan(line)] if line.dtype.kind == "f" else line)
        if len(numbers) < len(line) and not (skip and len(numbers)):
            return NAN
        return numbers[(len(numbers) - 1) // 2]

    def f(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return np.float64(NAN) if not np.size(x) else middle(np.ravel(x)).reshape((1,) * (np.ndim(x) * keepdim))
        return (lines(x, dim, keepdim, middle),)

    return f


def medians(m: Maker) -> Iterator[Sample]:
    for shape in [(), (1,), (4,), (2, 3)]:
        yield S(m(*shape))
    yield S(m(), 0)
    yield S(m(2, 3), 1)
    yield S(m(4, 2), -2, keepdim=True)
    yield from (S(x, -1) for x in m.layouts(2, 3) if 0 not in x.stride())
    yield S(m.ints(3, 3), 0)


def medians_of_the_rest(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 5), 1).but(via={0: holes})
    yield S(m(5)).but(via={0: holes})


of("median", like=lower_median(False))(medians)
of("nanmedian")(medians_of_the_rest)
of("nanmedian", like=lower_median(True))(medians)


def most_frequent(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    def f(line: Any) -> Any:
        values, counts = np.unique(line, return_counts=True)
        return values[counts.argmax()]

    return (lines(x, dim, keepdim, f),)


@of("mode", like=most_frequent)
def mode(m: Maker) -> Iterator[Sample]:
    yield S(m())
    yield S(m(1))
    yield S(m(3, 2), 0)
    yield S(m.ints(2, 6, high=3), -1, keepdim=True)
    yield S(m.bools(5))
    # Each element twice.
    yield S(m(2, 3), 1).but(via={0: lambda x: x[:, [0, 1, 0]]}, second=False)


def quantile_like(skip: bool) -> Callable[..., Any]:
    def f(x: Any, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear") -> Any:
        g = np.nanquantile if skip else np.quantile
        return g(x, q, axis=dim if np.ndim(x) else None, keepdims=keepdim, method=interpolation)

    return f


def quantiles(m: Maker) -> Iterator[Sample]:
    yield S(m(), 0.3)
    yield S(m(1), m(low=0.1, high=0.9))
    yield S(m(5), m(2, low=0.0, high=1.0))
    yield S(m(2, 3), 0.6, 1)
    yield S(m(3, 2), m(3, low=0.0, high=1.0), 0, keepdim=True)
    yield S(m(3, 2), 0.4, keepdim=True)
    for how in ("lower", "higher", "midpoint", "nearest"):
        yield S(m(2, 4), pb.tensor([0.1, 0.4, 0.9], dtype=pb.float64), 1, interpolation=how).but(second=False)


def quantiles_of_the_rest(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 5), 0.5, 1).but(via={0: holes})
    yield S(m(5), m(2, low=0.0, high=1.0)).but(via={0: holes})


of("nanquantile")(quantiles_of_the_rest)
of("quantile", like=quantile_like(False))(quantiles)
of("nanquantile", like=quantile_like(True))(quantiles)


@of("msort", like=lambda x: np.sort(x, 0) if np.ndim(x) else x)
def msort(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (3, 2)]:
        yield S(m(*shape))
    yield S(m.bools(4))


def found(s: Any, v: Any, out_int32: bool = False, right: bool = False, side: Any = None, sorter: Any = None) -> Any:
    side = "right" if right or side == "right" else "left"
    if np.ndim(s) == 1:
        return np.searchsorted(s, v, side, sorter)
    s = s if sorter is None else np.take_along_axis(s, sorter, -1)
    if not v.size:
        return np.zeros(v.shape, int)
    rows = zip(s.reshape(-1, s.shape[-1]), v.reshape(-1, v.shape[-1]), strict=True)
    return np.array([np.searchsorted(a, b, side) for a, b in rows]).reshape(v.shape)


@of("searchsorted", like=found)
def searchsorted(m: Maker) -> Iterator[Sample]:
    rising = {0: lambda x: x.sort().values}
    yield S(m(5), m()).but(via=rising)
    yield S(m(5), m(2, 3)).but(via=rising)
    yield S(m(0), m(2))
    yield S(m(2, 4), m(2, 3), right=True).but(via=rising)
    yield S(m(2, 4), m(2, 0)).but(via=rising)
    yield S(m.ints(6), m.ints(2, 2), side="right").but(via=rising)
    yield S(m.ints(6), m.ints(3), side="left").but(via=rising)
    yield S(m.ints(6), 2, out_int32=True).but(via=rising)
    x = m(2, 4)
    yield S(x, m(2, 2), sorter=x.argsort(-1))


@of("bucketize", like=lambda v, s, out_int32=False, right=False: np.searchsorted(s, v, "right" if right else "left"))
def bucketize(m: Maker) -> Iterator[Sample]:
    rising = {1: lambda x: x.sort().values}
    yield S(m(), m(4)).but(via=rising)
    yield S(m(2, 3), m(4), right=True).but(via=rising)
    yield S(m.ints(2, 3), m.ints(4), out_int32=True).but(via=rising)
    yield S(m.ints(2, 3), m.ints(4), right=True).but(via=rising)
    yield S(2, pb.tensor([1, 2, 3]))


@of("isin", like=lambda x, t, assume_unique=False, invert=False: np.isin(x, t, invert=invert))
def isin(m: Maker) -> Iterator[Sample]:
    yield S(m.ints(2, 3), m.ints(2))
    yield S(m.ints(), m.ints(2, 2), invert=True)
    yield S(m.ints(3), m.ints(0))
    yield S(m.ints(3), 2)
    yield S(1, m.ints(3))
    yield S(m.ints(4), pb.tensor([1.0, 2.5]), assume_unique=True)


@of("bincount", like=np.bincount)
def bincount(m: Maker) -> Iterator[Sample]:
    yield S(m.ints(5)).but(batched=False)
    yield S(m.ints(5), m(5)).but(batched=False)
    yield S(m.ints(0), minlength=2)
    yield S(m.ints(4), m.ints(4), 7).but(batched=False)


def counted(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    if np.size(x) and min == max:
        min, max = np.min(x), np.max(x)
    if min == max:
        min, max = min - 1, max + 1
    return np.histogram(x, bins, (min, max))[0]


@of("histc", like=counted)
def histc(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), 4)
    yield S(m(), 3)
    yield S(m(0), 2)
    yield S(m(7), bins=5, min=-1, max=1.5)


def histogram_like(x: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    return np.histogram(x, bins, range, density=density, weights=weight)


@of("histogram", like=histogram_like)
def histogram(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), 4).but(second=False)
    yield S(m(5), 3, range=(-1.0, 1.0), weight=m(5), density=True)
    yield S(m(5), pb.tensor([-1.0, 0.1, 1.0, 3.0], dtype=pb.float64), weight=m(5))
    yield S(m(0), 2)


def asked(out: Any, inverse: bool, counts: bool) -> Any:
    return out[0] if not (inverse or counts) else (out[0], *out[1:2][: int(inverse)], *out[2:][: int(counts)])


def unique_like(x: Any, sorted: bool = True, inverse: bool = False, counts: bool = False, dim: Any = None) -> Any:
    out = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
    out = (out[0], out[1].reshape(np.shape(x)) if dim is None else out[1].ravel(), out[2])
    return asked(out, inverse, counts)


@of("unique", like=lambda x, sorted=True, return_inverse=False, return_counts=False, dim=None: unique_like(
    x, sorted, return_inverse, return_counts, dim))  # fmt: skip
def unique(m: Maker) -> Iterator[Sample]:
    yield S(m()).but(batched=False)
    yield S(m(0), return_inverse=True).but(batched=False)
    yield S(m(2, 3)).but(batched=False)
    yield S(m.ints(2, 5), return_inverse=True, return_counts=True).but(batched=False)
    yield S(m.ints(5, 2, high=2), False, return_counts=True, dim=0).but(batched=False)
    yield S(m.ints(2, 6, high=2), dim=-1, return_inverse=True).but(batched=False)
    yield S(m.bools(4)).but(batched=False)
    yield S(m(3)).but(batched=False, via={0: lambda x: pb.cat([x, x])}, grad=False)


def runs_like(x: Any, inverse: bool = False, counts: bool = False, dim: Any = None) -> Any:
    rows = np.ravel(x) if dim is None else np.moveaxis(x, dim, 0)
    flat = rows.reshape(len(rows), int(np.prod(rows.shape[1:])))
    new = np.ones(len(rows), bool)
    new[1:] = (flat[1:] != flat[:-1]).any(1)
    values = rows[new] if dim is None else np.moveaxis(rows[new], 0, dim)
    which = np.cumsum(new) - 1
    out = (values, which.reshape(np.shape(x)) if dim is None else which, np.bincount(which))
    return asked(out, inverse, counts)


@of("unique_consecutive", like=lambda x, return_inverse=False, return_counts=False, dim=None: runs_like(
    x, return_inverse, return_counts, dim))  # fmt: skip
def unique_consecutive(m: Maker) -> Iterator[Sample]:
    yield S(m()).but(batched=False)
    yield S(m(0)).but(batched=False)
    yield S(m.ints(8, high=2), True, True).but(batched=False)
    yield S(m.ints(2, 5, high=2), return_counts=True).but(batched=False)
    yield S(m.ints(2, 6, high=2), dim=1, return_inverse=True).but(batched=False)
    yield S(m(2, 3), dim=0).but(batched=False)


@of("argwhere", like=np.argwhere)
def argwhere(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (2, 3)]:
        yield S(m.ints(*shape, high=2)).but(batched=False)


def first_nonzero(x: Any, size: int, fill_value: int = -1) -> Any:
    rows = np.argwhere(x)[:size]
    return np.concatenate([rows, np.full((size - len(rows), np.ndim(x)), fill_value)])


@of("nonzero_static", like=first_nonzero)
def nonzero_static(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (2, 3)]:
        yield S(m.ints(*shape, high=2), size=4)
    yield S(m.bools(5), size=1, fill_value=9)
    yield S(m.bools(5), size=0)


@of("unravel_index", like=lambda i, shape: np.unravel_index(i, shape))
def unravel_index(m: Maker) -> Iterator[Sample]:
    yield S(m.ints(2, 3, high=6), (2, 3))
    yield S(m.ints(high=6), (3, 2, 1))
    yield S(m.ints(0), 4)
