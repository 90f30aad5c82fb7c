"""Samples of operators that repeat, turn, join and combine tensors, and of makers of ranges and windows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg

import pullback as pb
from support.samples import Maker, S, Sample, of


@of("tile", like=np.tile)
def tile(m: Maker) -> Iterator[Sample]:
    for dims in [(2,), (2, 1), (1, 2, 2), ()]:
        yield from (S(m(*shape), dims) for shape in [(), (0,), (2, 3)])
    yield from (S(x, (2, 2)) for x in m.layouts(2, 3))


def repeated(x: Any, repeats: Any = None, dim: Any = None, output_size: Any = None) -> Any:
    if repeats is None:
        return np.repeat(np.arange(len(x)), x)
    return np.repeat(x, repeats, axis=dim)


@of("repeat_interleave", like=repeated)
def repeat_interleave(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape), 2) for shape in [(), (0,), (3,), (2, 3)])
    yield from (S(x, 2, 1) for x in m.layouts(2, 3))
    yield S(m(2, 3), 0, dim=0)
    yield S(m(2, 3), m.ints(2), 0).but(batched=False)
    yield S(m(3), m.ints(3)).but(batched=False)
    yield S(m(2, 2), pb.tensor([1, 2]), -1, output_size=3)
    yield S(m.ints(4)).but(batched=False)


@of("meshgrid", like=lambda xs, indexing="ij": np.meshgrid(*xs, indexing=indexing))
def meshgrid(m: Maker) -> Iterator[Sample]:
    yield S([m(2), m(3)], indexing="xy")
    yield S([m(2), m(), m(0)], indexing="ij")
    yield S([m(2)])


@of("hstack", like=np.hstack)
@of("vstack", like=np.vstack)
@of("dstack", like=np.dstack)
@of("column_stack", like=np.column_stack)
def stacks(m: Maker) -> Iterator[Sample]:
    yield S([m(3), m(3)])
    yield S([m(2, 3), m(2, 3), m(2, 3)])
    yield S([m(), m()])
    yield S([m(0), m(0)])
    yield S([m(2, 3).T, m(3, 2)])


def each(f: Any) -> Any:
    return lambda x, *others: [f(v) for v in (x if isinstance(x, list) else [x])] + [f(v) for v in others]


@of("atleast_1d", like=each(np.atleast_1d))
@of("atleast_2d", like=each(np.atleast_2d))
@of("atleast_3d", like=each(np.atleast_3d))
def padded(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape)) for shape in [(), (0,), (3,), (2, 3), (1, 2, 3, 1)])
    yield S([m(), m(2, 3)])
    yield S([m(2)])
    yield S(m(), m(2, 3), m(1))


@of("fliplr", like=np.fliplr)
@of("flipud", like=np.flipud)
def flipped(m: Maker) -> Iterator[Sample]:
    yield from (S(x) for x in m.layouts(2, 3))
    yield S(m(2, 0, 3))
    yield S(m(1, 1))


@of("rot90", like=lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims))
def turned(m: Maker) -> Iterator[Sample]:
    yield from (S(m(2, 3), k) for k in range(-1, 4))
    yield from (S(x, 1, (1, 0)) for x in m.layouts(2, 3))
    yield S(m(2, 0, 3), 3, (0, -1))


@of("block_diag", like=lambda xs: linalg.block_diag(*xs))
def block_diag(m: Maker) -> Iterator[Sample]:
    yield S([m(2, 3), m(2), m(), m(0), m(2, 0)])
    yield S([m(2, 2)])


@of("kron", like=np.kron)
def kron(m: Maker) -> Iterator[Sample]:
    for a, b in [((), ()), ((2,), ()), ((2, 3), (2,)), ((2,), (1, 2, 2)), ((0,), (3,)), ((1, 2), (2, 1))]:
        yield S(m(*a), m(*b))
    yield from (S(x, y) for x, y in zip(m.layouts(2, 3), m.layouts(2, 2), strict=True))


def products(xs: Any) -> Any:
    rows = np.array(list(itertools.product(*xs))).reshape(-1, len(xs))
    return xs[0] if len(xs) == 1 else rows


@of("cartesian_prod", like=products)
def cartesian_prod(m: Maker) -> Iterator[Sample]:
    yield S([m(2), m(3), m(1)])
    yield S([m(2)])
    yield S([m(2), m(0)])


def choices(x: Any, r: int = 2, again: bool = False) -> Any:
    if r == 0:
        return np.zeros(0)
    chosen = itertools.combinations_with_replacement(x, r) if again else itertools.combinations(x, r)
    return np.array(list(chosen)).reshape(-1, r)


@of("combinations", like=choices)
def combinations(m: Maker) -> Iterator[Sample]:
    for r in range(4):
        yield S(m(3), r)
        yield S(m(3), r, True)
    yield S(m(0))


@of("narrow_copy", like=lambda x, d, start, n: np.take(x, range(start, start + n), axis=d))
def narrow_copy(m: Maker) -> Iterator[Sample]:
    yield from (S(x, 1, 1, 2) for x in m.layouts(2, 3))
    yield S(m(3), 0, -1, 1)
    yield S(m(0, 2), 0, 0, 0)


@of("diagflat", like=lambda x, offset=0: np.diagflat(x, offset))
def diagflat(m: Maker) -> Iterator[Sample]:
    for offset in (0, 1, -2):
        yield from (S(m(*shape), offset) for shape in [(), (0,), (3,), (2, 2)])


@of("linalg.vander", like=lambda x, N=None: x[..., None] ** np.arange(x.shape[-1] if N is None else N))
def powers(m: Maker) -> Iterator[Sample]:
    yield from (S(x) for x in m.layouts(2, 3))
    yield S(m(2, 1), N=4)
    yield S(m.ints(3), N=2)


@of("vander", like=lambda x, N=None, increasing=False: np.vander(x, N, increasing))
def vander(m: Maker) -> Iterator[Sample]:
    yield from (S(m(n)) for n in (0, 1, 3))
    yield S(m(3), 2, True)
    yield S(m.ints(3), 4)


@of("tril_indices", like=lambda n, m, offset=0: np.array(np.tril_indices(n, offset, m)))
@of("triu_indices", like=lambda n, m, offset=0: np.array(np.triu_indices(n, offset, m)))
def triangles(m: Maker) -> Iterator[Sample]:
    yield S(3, 3)
    yield from (S(3, 4, offset) for offset in (-4, -1, 0, 1, 5))
    yield S(0, 3)
    yield S(2, 0)
    yield S(2, 2, dtype=pb.int32)


@of("range", like=lambda start, end, step=1: np.arange(start, end + np.sign(step) * 1e-9, step))
def ranges(m: Maker) -> Iterator[Sample]:
    yield S(0, 3)
    yield S(1, 2, 0.5)
    yield S(5, 1, -2, dtype=pb.int64)


@of("logspace", like=lambda start, end, steps, base=10.0, dtype=None: np.logspace(start, end, steps, base=base))
def logspace(m: Maker) -> Iterator[Sample]:
    yield from (S(0, 2, n, dtype=pb.float64) for n in (0, 1, 5))
    yield S(0.5, -1.5, 4, 2.0, dtype=pb.float64)
    yield S(m(low=0, high=1), m(low=1, high=2), 3, dtype=pb.float64)


def window(f: Any) -> Any:
    return lambda n, periodic=True, *a: f(n + 1, *a)[:n] if periodic and n > 1 else f(n, *a)


def kaiser_like(n: int, beta: float = 12.0) -> Any:
    return np.kaiser(n, beta)


def hamming_like(n: int, alpha: float = 0.54, beta: float = 0.46) -> Any:
    return alpha - beta * np.cos(2 * np.pi * np.arange(n) / (n - 1)) if n > 1 else np.ones(n)


@of("hann_window", like=window(np.hanning))
@of("hamming_window", like=window(hamming_like))
@of("bartlett_window", like=window(np.bartlett))
@of("blackman_window", like=window(np.blackman))
@of("kaiser_window", like=window(kaiser_like))
def windows(m: Maker) -> Iterator[Sample]:
    for n in (0, 1, 2, 5):
        yield S(n, dtype=pb.float64)
        yield S(n, False, dtype=pb.float64)


@of("hamming_window")
def hamming(m: Maker) -> Iterator[Sample]:
    yield S(4, True, 0.6, 0.4, dtype=pb.float64)


@of("kaiser_window")
def kaiser(m: Maker) -> Iterator[Sample]:
    yield S(4, True, 3.0, dtype=pb.float64)


@of("empty_strided")
def empty_strided(m: Maker) -> Iterator[Sample]:
    yield S((2, 3), (1, 2))
    yield S((2, 3), (0, 4), dtype=pb.int64)
    yield S((), ())
    yield S((0, 2), (2, 1))


@of("Tensor.new_empty_strided")
def new_empty_strided(m: Maker) -> Iterator[Sample]:
    yield S(m(2), (2, 3), (1, 2))
    yield S(m.ints(1), (), ())


@of("empty_permuted")
def empty_permuted(m: Maker) -> Iterator[Sample]:
    yield S((2, 3, 4), (2, 0, 1))
    yield S((0, 2), (1, 0), dtype=pb.int64)
