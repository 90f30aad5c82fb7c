"""Samples of gathers, scatters and masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import pullback as pb
from support.samples import Maker, S, Sample, of


@of("gather")
def gather(m: Maker) -> Iterator[Sample]:
    yield S(m(), 0, m.ints(high=1))
    yield S(m(3), 0, m.ints(5, high=3))
    yield S(m(2, 3), 1, m.ints(2, 2, high=3))
    yield S(m(3, 2), -2, m.ints(1, 2, high=3))
    yield S(m(3), 0, m.ints(0))


@of("take_along_dim")
def take_along_dim(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m.ints(4, high=6))
    yield S(m(2, 3), m.ints(2, 1, high=3), 1)
    yield S(m(1, 3), m.ints(2, 2, high=3), -1)


@of("index_select")
def index_select(m: Maker) -> Iterator[Sample]:
    yield S(m(), 0, m.ints(1, high=1))
    yield S(m(3), 0, m.ints(4, high=3))
    yield S(m(2, 3), -1, m.ints(2, high=3))
    yield S(m(2, 3), 0, m.ints(0))


@of("scatter")
def scatter(m: Maker) -> Iterator[Sample]:
    yield S(m(), 0, m.ints(high=1), m())
    yield S(m(4), 0, m.choices(2, of=4), m(3))
    yield S(m(2, 4), 1, m.choices(2, 3, of=4), m(2, 3))
    yield S(m(2, 4), -1, m.choices(2, 2, of=4), 0.5)
    yield S(m(3), 0, m.ints(4, high=3), m(4), reduce="add")
    yield S(m(3), 0, m.ints(0), m(2))


@of("scatter")
def scatter_product(m: Maker) -> Iterator[Sample]:
    yield S(m(3), 0, m.ints(4, high=3), m(4), reduce="multiply")
    yield S(m(2, 4), -1, m.ints(1, 3, high=4), m(2, 3), reduce="multiply")
    yield S(m(3), 0, pb.tensor([1, 1, 2]), m(3) * pb.tensor([0.0, 1.0, 0.0]), reduce="multiply")
    yield S(m(3), 0, m.ints(2, high=3), 1.5, reduce="multiply")


@of("scatter_add")
def scatter_add(m: Maker) -> Iterator[Sample]:
    yield S(m(), 0, m.ints(high=1), m())
    yield S(m(3), 0, m.ints(5, high=3), m(5))
    yield S(m(2, 3), -1, m.ints(1, 4, high=3), m(2, 4))
    yield S(m(3), 0, m.ints(0), m(2))


@of("index_add")
def index_add(m: Maker) -> Iterator[Sample]:
    yield S(m(3), 0, m.ints(4, high=3), m(4))
    yield S(m(2, 3), -1, m.ints(2, high=3), m(2, 2), alpha=2.5)
    yield S(m(2, 3), 0, m.ints(0), m(0, 3))


@of("index_put")
def index_put(m: Maker) -> Iterator[Sample]:
    yield S(m(4), (m.choices(2, of=4),), m(2))
    yield S(m(2, 3), (m.ints(4, high=2), m.ints(4, high=3)), m(4), accumulate=True)
    yield S(m(3, 2), (m.choices(2, of=3),), m())
    yield S(m(3), (m.ints(0),), m(0))


@of("masked_fill")
def masked_fill(m: Maker) -> Iterator[Sample]:
    yield S(m(), m.bools(), 0.5)
    yield S(m(2, 3), m.bools(3), m())
    yield S(m(2, 3), m.bools(2, 1), -1)
    yield S(m(0), m.bools(1), 2.0)


@of("masked_select")
def masked_select(m: Maker) -> Iterator[Sample]:
    yield S(m(), m.bools()).but(batched=False)
    yield S(m(2, 3), m.bools(2, 3)).but(batched=False)
    yield S(m(2, 1), m.bools(3)).but(batched=False)
    yield S(m(0), m.bools(0)).but(batched=False)


@of("nonzero")
def nonzero(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (2, 3)]:
        yield S(m.ints(*shape, high=2)).but(batched=False)
    yield S(m.bools(3), as_tuple=True).but(batched=False)


@of("nn.functional.embedding")
def embedding(m: Maker) -> Iterator[Sample]:
    yield S(m.ints(), m(4, 2))
    yield S(m.ints(2, 3), m(4, 2))
    yield S(m.ints(0), m(4, 2))


@of("nn.functional.embedding")
def embedding_with_padding(m: Maker) -> Iterator[Sample]:
    """The row of the padding gets no gradient, which is no derivative."""
    yield S(m.ints(3), m(4, 2), padding_idx=1).but(grad=False)


@of("nn.functional.one_hot")
def one_hot(m: Maker) -> Iterator[Sample]:
    yield S(m.ints(), 5)
    yield S(m.ints(2, 3), 4)
    yield S(pb.tensor([0, 2, 1])).but(batched=False)


FOLDS = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum, "mean": np.add}


def folded(x: Any, dim: int, i: Any, src: Any, reduce: str, include_self: bool = True) -> Any:
    """One value after another."""
    out, counts = np.array(np.atleast_1d(x), dtype=float), np.full(np.shape(np.atleast_1d(x)), float(include_self))
    for at in np.ndindex(np.shape(np.atleast_1d(i))):
        place = list(at)
        place[dim] = np.atleast_1d(i)[at]
        p = tuple(place)
        value = np.atleast_1d(src)[at]
        out[p] = FOLDS[reduce](out[p], value) if counts[p] else value
        counts[p] += 1
    return (out / np.maximum(counts, 1) if reduce == "mean" else out).reshape(np.shape(x))


@of("scatter_reduce", like=folded)
def scatter_reduce(m: Maker) -> Iterator[Sample]:
    for how in ("sum", "prod", "mean", "amax", "amin"):
        yield S(m(3), 0, m.ints(5, high=3), m(5), how)
        yield S(m(2, 4), -1, m.ints(1, 3, high=4), m(2, 3), how, include_self=False)
    yield S(m(), 0, m.ints(high=1), m(), "amax")
    yield S(m(3), 0, m.ints(0), m(2), "amin")
    yield S(m.ints(3), 0, m.ints(4, high=3), m.ints(4), "prod")


def folded_members(x: Any, dim: int, i: Any, src: Any, reduce: str, include_self: bool = True) -> Any:
    shape = [1] * np.ndim(src)
    shape[dim] = -1
    return folded(x, dim, np.broadcast_to(i.reshape(shape), np.shape(src)), src, reduce, include_self)


@of("index_reduce", like=folded_members)
def index_reduce(m: Maker) -> Iterator[Sample]:
    for how in ("prod", "mean", "amax", "amin"):
        yield S(m(3), 0, m.ints(4, high=3), m(4), how)
        yield S(m(2, 3), -1, m.ints(2, high=3), m(2, 2), how, include_self=False)
    yield S(m(2, 3), 0, m.ints(0), m(0, 3), "prod")


@of("take", like=lambda x, i: np.take(x, i))
def take(m: Maker) -> Iterator[Sample]:
    yield S(m(), m.ints(high=1))
    yield S(m(2, 3), m.ints(2, 2, low=-6, high=6))
    yield S(m(3), m.ints(0))


def put_like(x: Any, i: Any, src: Any, accumulate: bool = False) -> Any:
    out = np.array(x).ravel()
    if accumulate:
        np.add.at(out, np.ravel(i), np.ravel(src))
    else:
        out[np.ravel(i)] = np.ravel(src)
    return out.reshape(np.shape(x))


@of("put", like=put_like)
def put(m: Maker) -> Iterator[Sample]:
    yield S(m(), m.ints(high=1), m())
    yield S(m(2, 3), m.choices(4, of=6), m(2, 2))
    yield S(m(2, 3), m.ints(5, low=-6, high=6), m(5), accumulate=True)
    yield S(m(3), m.ints(0), m(0))
