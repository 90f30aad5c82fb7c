"""Samples of operators that make tensors, and of random ones."""

from __future__ import annotations

from collections.abc import Iterator

import pullback as pb
from support.samples import Maker, S, Sample, of


@of("zeros", "ones", "empty", "rand", "randn")
def sizes(m: Maker) -> Iterator[Sample]:
    yield from (S(shape) for shape in [(), (0,), (2, 3)])
    yield S(3)
    yield S(2, 0, dtype=pb.float64)


@of("full")
def full(m: Maker) -> Iterator[Sample]:
    yield S((), 1)
    yield S((2, 0), 1.5)
    yield S((2, 3), True, dtype=pb.int64)


@of("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like")
def like(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape)) for shape in [(), (0,), (2, 3)])
    yield S(m(2), dtype=pb.float32)


@of("full_like")
def full_like(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), 1.5)
    yield S(m.ints(2), 4)


@of("Tensor.new_zeros", "Tensor.new_ones", "Tensor.new_empty")
def new(m: Maker) -> Iterator[Sample]:
    yield S(m(2), (3, 0))
    yield S(m.ints(2), (2,), dtype=pb.float64)


@of("Tensor.new_full")
def new_full(m: Maker) -> Iterator[Sample]:
    yield S(m(2), (3, 1), 0.5)
    yield S(m.ints(2), (), 7)


@of("arange")
def arange(m: Maker) -> Iterator[Sample]:
    yield S(5)
    yield S(1, 4)
    yield S(0.5, -2, -0.5)
    yield S(0)


@of("linspace")
def linspace(m: Maker) -> Iterator[Sample]:
    yield S(0, 1, 5)
    yield S(2, -1.5, 4, dtype=pb.float64)
    yield S(0, 1, 0)
    yield S(m(), m(), 3, dtype=pb.float64)


@of("eye")
def eye(m: Maker) -> Iterator[Sample]:
    yield S(3)
    yield S(2, 3)
    yield S(0)


@of("scalar_tensor")
def scalar_tensor(m: Maker) -> Iterator[Sample]:
    yield S(2.5)
    yield S(3, dtype=pb.int64)


@of("randint")
def randint(m: Maker) -> Iterator[Sample]:
    yield S(10, (2, 3))
    yield S(-3, 3, (4,))


@of("randint_like")
def randint_like(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), 5)
    yield S(m.ints(4), -3, 3)


@of("randperm")
def randperm(m: Maker) -> Iterator[Sample]:
    yield S(5)
    yield S(0)


@of("normal")
def normal(m: Maker) -> Iterator[Sample]:
    yield S(0.0, 1.0, (2, 3))
    yield S(m(2, 3), m(3, low=0.5, high=1.5))
    yield S(m(3), 2.0)


@of("bernoulli")
def bernoulli(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, low=0.1, high=0.9))
    yield S(m(4), 0.3)


@of("multinomial")
def multinomial(m: Maker) -> Iterator[Sample]:
    yield S(m(5, low=0.1, high=1.0), 3)
    yield S(m(2, 4, low=0.1, high=1.0), 6, True)


@of(*(f"Tensor.{law}" for law in "uniform normal exponential cauchy log_normal geometric random".split()))
def fills(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape)) for shape in [(), (0,), (2, 3)])


@of("Tensor.bernoulli")
def fill_by_probabilities(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape), 0.4) for shape in [(), (0,), (2, 3)])
    yield S(m(2, 3), m(3, low=0.1, high=0.9))


@of("Tensor.random")
def fill_between(m: Maker) -> Iterator[Sample]:
    yield S(m(4), 2, 9)


@of("result_type")
def result_type(m: Maker) -> Iterator[Sample]:
    yield S(m(2), m.ints(2))
    yield S(m.ints(2), 1.5)
