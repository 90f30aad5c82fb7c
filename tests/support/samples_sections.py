"""Samples of windows, sections, and copies with a part replaced."""

from __future__ import annotations

from collections.abc import Iterator

import pullback as pb
from support.samples import Maker, S, Sample, of


@of("Tensor.unfold")
def unfold(m: Maker) -> Iterator[Sample]:
    yield S(m(), 0, 1, 1)
    yield S(m(5), 0, 3, 1)
    yield S(m(2, 6), -1, 2, 3)
    yield S(m(4, 2), 0, 4, 2)
    yield from (S(x, 0, 2, 1) for x in m.layouts(3, 2))


@of("unflatten")
def unflatten(m: Maker) -> Iterator[Sample]:
    yield S(m(6), 0, (2, 3))
    yield S(m(2, 6), -1, (3, -1))
    yield S(m(4, 2), 0, (2, 1, 2))


@of("tensor_split")
def tensor_split(m: Maker) -> Iterator[Sample]:
    yield S(m(5), 3)
    yield S(m(2, 5), (1, 3), 1)
    yield S(m(2, 5), (4, 2, -1, 9), -1)


@of("hsplit")
def hsplit(m: Maker) -> Iterator[Sample]:
    yield S(m(4), 2)
    yield S(m(2, 6), 3)
    yield S(m(2, 5), (1, 3))


@of("vsplit")
def vsplit(m: Maker) -> Iterator[Sample]:
    yield S(m(4, 2), 2)
    yield S(m(5, 2), (1, 3))


@of("dsplit")
def dsplit(m: Maker) -> Iterator[Sample]:
    yield S(m(1, 2, 4), 2)
    yield S(m(1, 2, 5), (1, 3))


@of("select_scatter")
def select_scatter(m: Maker) -> Iterator[Sample]:
    yield S(m(3), m(), 0, -1)
    yield S(m(2, 3), m(2), 1, 2)


@of("slice_scatter")
def slice_scatter(m: Maker) -> Iterator[Sample]:
    yield S(m(4), m(4))
    yield S(m(4), m(2), 0, 1, 3)
    yield S(m(2, 5), m(2, 3), 1, 0, 5, 2)


@of("diagonal_scatter")
def diagonal_scatter(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3), m(3))
    yield S(m(2, 3), m(2), 1)
    yield S(m(2, 3, 2), m(3, 2), 0, 0, 2)


@of("index_fill")
def index_fill(m: Maker) -> Iterator[Sample]:
    yield S(m(4), 0, pb.tensor([0, 2]), 1.5)
    yield S(m(2, 3), -1, pb.tensor([2]), -0.5)
    yield S(m(2, 3), 0, m.ints(0), 1.0)


@of("index_copy")
def index_copy(m: Maker) -> Iterator[Sample]:
    yield S(m(4), 0, m.choices(2, of=4), m(2))
    yield S(m(2, 3), 1, m.choices(2, of=3), m(2, 2))
    yield S(m(2, 3), 0, m.ints(0), m(0, 3))


@of("masked_scatter")
def masked_scatter(m: Maker) -> Iterator[Sample]:
    yield S(m(4), m.bools(4), m(4))
    yield S(m(2, 3), m.bools(3), m(3, 3))
    yield S(m(3, 2), m.bools(3, 1), m(6))
