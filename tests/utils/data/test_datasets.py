"""Data sets and samplers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

import pullback as pb
from pullback.utils import data


class Squares(data.Dataset[int]):
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self.n:
            raise IndexError(index)
        return index**2


class Count(data.IterableDataset[int]):
    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.n))

    def __len__(self) -> int:
        return self.n


def test_tensor_dataset() -> None:
    x, y = pb.arange(6).reshape(3, 2), pb.arange(3.0)
    d = data.TensorDataset(x, y)
    assert len(d) == 3 and d[2][0].tolist() == [4, 5] and d[-1][1] == 2
    assert d[1:][0].equal(x[1:]), "whatever indexes tensors"
    many = d.__getitems__([2, 0, -1])
    assert [[p.tolist() for p in s] for s in many] == [[p.tolist() for p in d[k]] for k in (2, 0, -1)]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(x, y[:2])
    with pytest.raises(TypeError, match="one or more tensors"):
        data.TensorDataset([1, 2])  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        d.__getitems__([3])


def test_stack_dataset() -> None:
    d = data.StackDataset(Squares(3), data.TensorDataset(pb.arange(3)))
    assert d[2] == (4, (pb.tensor(2),)) and len(d) == 3
    named = data.StackDataset(a=Squares(3), b=Squares(3))
    assert named[1] == {"a": 1, "b": 1} and named.__getitems__([2, 0]) == [{"a": 4, "b": 4}, {"a": 0, "b": 0}]
    for args, kwargs, match in (
        ((Squares(2), Squares(3)), {}, "Size mismatch between datasets"),
        ((), {}, "At least one dataset"),
        ((Squares(2),), {"a": Squares(2)}, "not both"),
    ):
        with pytest.raises(ValueError, match=match):
            data.StackDataset(*args, **kwargs)


def test_concatenation_and_subsets() -> None:
    d = Squares(3) + Squares(2)
    assert [d[k] for k in range(len(d))] == [0, 1, 4, 0, 1] and d[-1] == 1 and d[-5] == 0
    assert list(d) == [0, 1, 4, 0, 1]
    with pytest.raises(IndexError, match="list index out of range: 5"):
        d[5]
    with pytest.raises(ValueError, match="should not exceed dataset length 5"):
        d[-6]
    with pytest.raises(AssertionError, match="not be an empty iterable"):
        data.ConcatDataset([])
    with pytest.raises(ValueError, match="does not support IterableDataset"):
        data.ConcatDataset([Count(2)])
    chain = Count(2) + Count(3)
    assert list(chain) == [0, 1, 0, 1, 2] and len(chain) == 5
    with pytest.raises(TypeError, match="only supports IterableDataset"):
        list(data.ChainDataset([Squares(2)]))
    part = data.Subset(d, [4, 0, 2])
    assert [part[k] for k in range(3)] == [1, 0, 4] and part.__getitems__([2, 1]) == [4, 0] and len(part) == 3


def test_random_split() -> None:
    d = Squares(10)
    parts = data.random_split(d, [7, 3], pb.Generator().manual_seed(0))
    again = data.random_split(d, [7, 3], pb.Generator().manual_seed(0))
    assert [p.indices for p in parts] == [p.indices for p in again]
    assert sorted(k for p in parts for k in p.indices) == list(range(10))
    assert [len(p) for p in data.random_split(d, [0.5, 0.25, 0.25])] == [6, 2, 2]
    assert [len(p) for p in data.random_split(d, [1 / 3] * 3)] == [4, 3, 3]
    assert [len(p) for p in data.random_split(Squares(1), [1])] == [1]
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        assert [len(p) for p in data.random_split(d, [1, 0])] == [10, 0], "what adds up to 1 is fractions"
    with pytest.raises(ValueError, match="Sum of input lengths"):
        data.random_split(d, [7, 4])
    with pytest.raises(ValueError, match="Fraction at index 0"):
        data.random_split(d, [-0.5, 1.5])


def seeded(seed: int = 5) -> pb.Generator:
    return pb.Generator().manual_seed(seed)


def test_orders() -> None:
    s = range(7)
    assert list(data.SequentialSampler(s)) == list(s)
    shuffled = list(data.RandomSampler(s, generator=seeded()))
    assert sorted(shuffled) == list(s) and shuffled == pb.randperm(7, generator=seeded()).tolist()
    assert len(list(data.RandomSampler(s, num_samples=3))) == 3
    many = list(data.RandomSampler(s, num_samples=20))
    assert len(many) == 20 and sorted(many[:7]) == list(s) == sorted(many[7:14]), "one pass after the other"
    drawn = list(data.RandomSampler(s, replacement=True, num_samples=500, generator=seeded()))
    assert set(drawn) == set(s) and len(drawn) == 500
    for replacement in (True, False):
        endless = data.RandomSampler(s, replacement=replacement, num_samples=10**10)
        assert len(endless) == 10**10 and set(islice(endless, 1000)) == set(s)
    assert sorted(data.SubsetRandomSampler([3, 9, 4])) == [3, 4, 9]
    pb.manual_seed(1)
    first = list(data.RandomSampler(s)), list(data.RandomSampler(s))
    pb.manual_seed(1)
    assert first == (list(data.RandomSampler(s)), list(data.RandomSampler(s))) and first[0] != first[1]


def test_weights() -> None:
    drawn = Counter(data.WeightedRandomSampler([1.0, 0.0, 3.0], 4000, generator=seeded()))
    assert drawn[1] == 0 and 0.22 < drawn[0] / 4000 < 0.28
    assert sorted(data.WeightedRandomSampler([1, 2, 3], 3, replacement=False)) == [0, 1, 2]


def test_parts_for_processes() -> None:
    parts = [data.DistributedSampler(range(10), 3, k, shuffle=True, seed=2) for k in range(3)]
    orders = [list(p) for p in parts]
    assert set().union(*orders) == set(range(10)) and [len(o) for o in orders] == [4, 4, 4] == [len(p) for p in parts]
    for p in parts:
        p.set_epoch(1)
    assert [list(p) for p in parts] != orders
    few = [list(data.DistributedSampler(range(10), 3, k, shuffle=False, drop_last=True)) for k in range(3)]
    assert few == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert [len(list(data.DistributedSampler(range(2), 3, k, drop_last=True))) for k in range(3)] == [0, 0, 0]
    with pytest.raises(RuntimeError, match="Requires distributed package"):
        data.DistributedSampler(range(3))
    with pytest.raises(ValueError, match=r"Invalid rank 3, rank should be in the interval \[0, 2\]"):
        data.DistributedSampler(range(3), 3, 3)


def test_batches_of_indices() -> None:
    whole = data.BatchSampler(data.SequentialSampler(range(5)), 2, False)
    assert list(whole) == [[0, 1], [2, 3], [4]] and len(whole) == 3
    part = data.BatchSampler(data.SequentialSampler(range(5)), 2, True)
    assert list(part) == [[0, 1], [2, 3]] and len(part) == 2
    assert list(data.BatchSampler(iter("abc"), 2, False)) == [["a", "b"], ["c"]]  # type: ignore[arg-type]


BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: data.RandomSampler(range(3), replacement=1), TypeError, "replacement should be a boolean value"),  # type: ignore[arg-type]
    (lambda: data.RandomSampler(range(3), num_samples=-1), ValueError, "num_samples should be a positive"),
    (lambda: data.RandomSampler(range(3), num_samples=0), ValueError, "num_samples should be a positive"),
    (
        lambda: data.RandomSampler([]),
        ValueError,
        "num_samples should be a positive integer value, but got num_samples=0",
    ),
    (lambda: data.WeightedRandomSampler([1.0], 0), ValueError, "num_samples should be a positive"),
    (lambda: data.WeightedRandomSampler([1.0], True), ValueError, "num_samples should be a positive"),
    (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError, "weights should be a 1d sequence"),  # type: ignore[list-item]
    (lambda: data.BatchSampler([1], 0, False), ValueError, "batch_size should be a positive"),
    (lambda: data.BatchSampler([1], 2, 1), ValueError, "drop_last should be a boolean"),  # type: ignore[arg-type]
    (lambda: data.Dataset()[0], NotImplementedError, "should implement __getitem__"),
    (lambda: iter(data.IterableDataset()), NotImplementedError, "should implement __iter__"),
    (lambda: iter(data.Sampler()), NotImplementedError, "should implement __iter__"),
]


@pytest.mark.parametrize(("call", "error", "match"), BAD)
def test_what_is_refused(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()
