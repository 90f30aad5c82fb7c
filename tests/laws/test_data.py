"""Samplers, splits and loaders: every sample once, and an order that the generator alone decides."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pullback as pb
from pullback.utils import data

sizes = st.integers(0, 40)


def generator(seed: int) -> Any:
    return pb.Generator().manual_seed(seed)


@given(st.integers(1, 40), st.integers(1, 9), st.booleans(), st.booleans(), st.integers(0, 99))
def test_loaders_give_every_sample_once(n: int, size: int, shuffle: bool, drop_last: bool, seed: int) -> None:
    x, y = pb.arange(n), pb.arange(n) * 10
    loader = data.DataLoader(
        data.TensorDataset(x, y), batch_size=size, shuffle=shuffle, drop_last=drop_last, generator=generator(seed)
    )
    batches = list(loader)
    assert len(loader) == len(batches) == (n // size if drop_last else math.ceil(n / size))
    assert all(len(a) == size for a, _ in batches[:-1]) and all(pb.equal(a * 10, b) for a, b in batches)
    seen = [v for a, _ in batches for v in a.tolist()]
    assert len(set(seen)) == len(seen) == (n // size * size if drop_last else n)
    assert shuffle or seen == list(range(len(seen)))
    again = data.DataLoader([*range(n)], size, shuffle, drop_last=drop_last, generator=generator(seed))
    assert [v for b in again for v in b.tolist()] == seen, "the data set has no say in the order"
    other = [v for b in again for v in b.tolist()]
    assert sorted(other) == sorted(seen) or drop_last


@given(sizes, st.integers(1, 9), st.booleans(), st.integers(0, 99))
def test_batches_of_a_sampler_are_its_order(n: int, size: int, drop_last: bool, seed: int) -> None:
    order = list(data.RandomSampler(range(n), generator=generator(seed))) if n else []
    batches = list(data.BatchSampler(order, size, drop_last))
    assert [i for b in batches for i in b] == order[: n // size * size if drop_last else n]
    assert len(data.BatchSampler(order, size, drop_last)) == len(batches)
    assert sorted(order) == list(range(n))


@given(st.integers(1, 30), st.integers(1, 60), st.booleans(), st.integers(0, 99))
def test_counts_of_random_samplers(n: int, count: int, replacement: bool, seed: int) -> None:
    sampler = data.RandomSampler(range(n), replacement, count, generator(seed))
    drawn = list(sampler)
    assert len(sampler) == len(drawn) == count and set(drawn) <= set(range(n))
    counts = Counter(drawn)
    if not replacement:
        assert all(count // n <= counts[i] <= -(-count // n) for i in range(n)), "as often as each other, up to one"
    assert drawn == list(data.RandomSampler(range(n), replacement, count, generator(seed)))


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(0, 99))
def test_weighted_samplers_draw_what_has_weight(weights: list[int], seed: int) -> None:
    able = [i for i, w in enumerate(weights) if w]
    if not able:
        return
    drawn = list(data.WeightedRandomSampler(weights, 20, generator=generator(seed)))
    assert len(drawn) == 20 and set(drawn) <= set(able)
    once = list(data.WeightedRandomSampler(weights, len(able), replacement=False, generator=generator(seed)))
    assert sorted(once) == able


@pytest.mark.filterwarnings("ignore:.*Length of split at index:UserWarning")
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 99))
def test_splits_by_lengths(lengths: list[int], seed: int) -> None:
    n = sum(lengths)
    parts = data.random_split(range(100, 100 + n), lengths, generator(seed))
    assert [len(p) for p in parts] == lengths
    assert sorted(v for p in parts for v in p) == list(range(100, 100 + n))
    again = data.random_split(range(100, 100 + n), lengths, generator(seed))
    assert [list(p) for p in again] == [list(p) for p in parts]


@given(st.integers(5, 60), st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 99))
def test_splits_by_fractions(n: int, shares: list[int], seed: int) -> None:
    fractions = [w / sum(shares) for w in shares]
    if min(fractions) * n < 1:  # parts without a sample are warned of
        return
    parts = data.random_split(range(n), fractions, generator(seed))
    assert sorted(v for p in parts for v in p) == list(range(n))
    assert all(abs(len(p) - f * n) <= 1 for p, f in zip(parts, fractions, strict=True))


@given(st.integers(1, 30), st.integers(1, 5), st.booleans(), st.booleans(), st.integers(0, 5))
def test_distributed_samplers_cover_the_data(n: int, replicas: int, shuffle: bool, drop_last: bool, epoch: int) -> None:
    drawn = []
    for rank in range(replicas):
        sampler = data.DistributedSampler(range(n), replicas, rank, shuffle, 3, drop_last)
        sampler.set_epoch(epoch)
        drawn.append(list(sampler))
        assert len(sampler) == len(drawn[-1])
    assert len({len(d) for d in drawn}) == 1
    together = Counter(i for d in drawn for i in d)
    if drop_last and n >= replicas:
        assert max(together.values()) == 1 and sum(together.values()) == n // replicas * replicas
    elif not drop_last:
        assert set(together) == set(range(n)) and sum(together.values()) == -(-n // replicas) * replicas


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.data())
def test_joined_data_sets_are_indexed_as_one(lengths: list[int], drawn: st.DataObject) -> None:
    parts = [list(range(10 * i, 10 * i + n)) for i, n in enumerate(lengths)]
    want = [v for p in parts for v in p]
    joined = data.ConcatDataset(parts)
    assert len(joined) == len(want) and [joined[i] for i in range(len(want))] == want
    assert [joined[i] for i in range(-len(want), 0)] == want
    chosen = drawn.draw(st.lists(st.integers(0, len(want) - 1), max_size=5)) if want else []
    subset = data.Subset(joined, chosen)
    assert [subset[i] for i in range(len(subset))] == [want[i] for i in chosen]


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.integers(1, 5))
def test_collate_stacks_leaves(shape: list[int], n: int) -> None:
    samples = [{"x": pb.full(shape, float(i)), "k": (i, [i * 0.5]), "s": str(i)} for i in range(n)]
    got = data.default_collate(samples)
    assert got["x"].shape == (n, *shape) and got["x"][n - 1].eq(n - 1).all()
    assert got["k"][0].tolist() == list(range(n)) and got["k"][1][0].tolist() == [i * 0.5 for i in range(n)]
    assert got["s"] == [str(i) for i in range(n)]
