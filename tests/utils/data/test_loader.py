"""The loader, in this process."""

from __future__ import annotations

import random
from collections import namedtuple
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.utils import data
from pullback.utils.data import DataLoader, Subset, TensorDataset


class Slow(TensorDataset):
    """The same samples one by one: nothing is known of a subclass."""


def values(batches: Any) -> Any:
    if isinstance(batches, pb.Tensor):
        return str(batches.dtype), batches.tolist()
    return [values(b) for b in batches] if isinstance(batches, list | tuple) else batches


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 3, 7, 20])
@pytest.mark.parametrize("within", [None, [5, 0, -1, 3, 3, 9, 2]])
def test_whole_batches_are_those_of_samples(shuffle: bool, drop_last: bool, size: int, within: Any) -> None:
    tensors = [pb.arange(10), pb.rand(10, 2, 3), pb.rand(10) > 0.5, pb.rand(10, 0), pb.randn(10, dtype=pb.complex64)]
    found = []
    for kind in (TensorDataset, Slow):
        d: Any = kind(*tensors)
        d = d if within is None else data.Subset(d, within)
        loader = DataLoader(d, size, shuffle, drop_last=drop_last, generator=pb.Generator().manual_seed(4))
        found.append([values(list(loader)) for _ in range(2)])
        assert len(loader) == len(found[-1][0])
    assert found[0] == found[1]
    assert (found[0][0] == found[0][1]) == (not shuffle or not found[0][0]), "each pass has an order of its own"


def test_the_quick_way_is_taken_and_only_where_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from pullback.utils.data import dataloader

    d = TensorDataset(pb.arange(4))
    assert dataloader._whole(DataLoader(d, 2)) is not None
    assert dataloader._whole(DataLoader(data.Subset(d, [1, 2]), 2, shuffle=True)) is not None
    for loader in (
        DataLoader(d, 2, collate_fn=lambda samples: samples),
        DataLoader(d, batch_size=None),
        DataLoader(d, 2, sampler=[3, 1]),
        DataLoader(d, batch_sampler=[[3, 1]]),
        DataLoader(Slow(pb.arange(4)), 2),
        DataLoader(d, 2, sampler=data.SequentialSampler(range(2))),
    ):
        assert dataloader._whole(loader) is None
        assert len(list(loader)) == len(loader)


def test_batches_are_copies() -> None:
    x = pb.zeros(4)
    for (batch,) in DataLoader(TensorDataset(x), 2):
        batch.fill_(1)
    assert x.sum() == 0


def test_batches_keep_gradients() -> None:
    x = pb.ones(4, requires_grad=True)
    sum((batch * 2).sum() for (batch,) in DataLoader(TensorDataset(x), 3)).backward()  # type: ignore[union-attr]
    assert x.grad is not None and x.grad.tolist() == [2.0] * 4


def test_a_pass_knows_how_many_batches_it_has() -> None:
    for workers in (0, 1):
        loader: DataLoader[int] = DataLoader(list(range(7)), batch_size=2, num_workers=workers)
        found = iter(loader)
        assert len(found) == 4 and next(found).tolist() == [0, 1] and iter(found) is found  # type: ignore[arg-type]
        assert len(list(found)) == 3


def test_many_items_at_once() -> None:
    asked = []

    class Many(data.Dataset[int]):
        def __len__(self) -> int:
            return 5

        def __getitems__(self, indices: list[int]) -> list[int]:
            asked.append(indices)
            return [10 * k for k in indices]

    assert [b.tolist() for b in DataLoader(Many(), 2)] == [[0, 10], [20, 30], [40]]
    assert asked == [[0, 1], [2, 3], [4]]


def test_without_batches() -> None:
    assert values(list(DataLoader(np.arange(3), batch_size=None))) == values([pb.tensor(k) for k in range(3)])  # type: ignore[arg-type]
    assert list(DataLoader("abc", batch_size=None, sampler=[2, 0])) == ["c", "a"]  # type: ignore[arg-type]


class Count(data.IterableDataset[int]):
    def __init__(self, n: int, claimed: int | None = None) -> None:
        self.n, self.claimed = n, claimed

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.n))

    def __len__(self) -> int:
        if self.claimed is None:
            raise TypeError("no length")
        return self.claimed


def test_iterable_data_sets() -> None:
    assert [b.tolist() for b in DataLoader(Count(5), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Count(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Count(3), None)) == [0, 1, 2]
    assert len(DataLoader(Count(5, 5), 2)) == 3 and len(DataLoader(Count(5, 5), 2, drop_last=True)) == 2
    with pytest.raises(TypeError, match="no length"):
        len(DataLoader(Count(5)))
    loader = DataLoader(Count(3, 2))
    # The length counts once a program has asked for it.
    for _ in loader:
        pass
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2 .* but 3 samples have been fetched"):
        list(loader)


@pytest.mark.parametrize(
    "samples", [range(6), TensorDataset(pb.arange(6)), Subset(TensorDataset(pb.arange(9)), range(6))]
)
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("drop_last", [False, True])
def test_a_pass_draws_a_permutation_more_at_its_end(samples: Any, size: int, drop_last: bool) -> None:
    """A generator of the user's is left as PyTorch leaves it, however the batches are made."""
    own, same = pb.Generator().manual_seed(5), pb.Generator().manual_seed(5)
    loader = DataLoader(samples, size, shuffle=True, generator=own, drop_last=drop_last)
    for _ in range(2):
        list(loader)
        pb.empty((), dtype=pb.int64).random_(generator=same)
        pb.randperm(6, generator=same), pb.randperm(6, generator=same)
        assert (own.get_state() == same.get_state()).all()
    next(iter(loader))
    pb.empty((), dtype=pb.int64).random_(generator=same)
    pb.randperm(6, generator=same)
    assert (own.get_state() == same.get_state()).all()


Pair = namedtuple("Pair", "a b")


class Box(dict):  # type: ignore[type-arg]
    pass


def test_collate() -> None:
    collate = data.default_collate
    assert values(collate([1, 2])) == ("pullback.int64", [1, 2])
    assert values(collate([True, False])) == ("pullback.bool", [True, False])
    assert values(collate([1.5, 2])) == ("pullback.float64", [1.5, 2.0])
    assert values(collate([np.float32(1), np.float32(2)])) == ("pullback.float32", [1.0, 2.0])
    assert values(collate([np.ones(2, np.int8)] * 2)) == ("pullback.int8", [[1, 1], [1, 1]])
    assert collate(["a", "b"]) == ["a", "b"] and collate([b"a"]) == [b"a"]
    found = collate([Pair(1, "x"), Pair(2, "y")])
    assert type(found) is Pair and found.a.tolist() == [1, 2] and found.b == ("x", "y")
    assert [x.tolist() for x in collate([(1, 2), (3, 4)])] == [[1, 3], [2, 4]]
    boxes = collate([Box(k=1), Box(k=2)])
    assert type(boxes) is Box and boxes["k"].tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="equal size"):
        collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="must contain tensors, numpy arrays, numbers, dicts or lists; found .*object"):
        collate([object()])
    with pytest.raises(TypeError, match="do not become tensors"):
        collate([np.array(["a"])])
    with pytest.raises(RuntimeError, match="equal size"):
        collate([pb.ones(1), pb.ones(2)])


def test_convert() -> None:
    convert = data.default_convert
    assert values(convert({"a": np.arange(2), "b": [np.float64(1), "s"]})["a"]) == ("pullback.int64", [0, 1])
    assert values(convert((np.arange(2),))) == [("pullback.int64", [0, 1])]
    assert convert(np.array(["a"])).tolist() == ["a"] and convert(3) == 3
    x = pb.ones(1)
    assert convert(x) is x and type(convert(Pair(x, 1))) is Pair


def test_a_generator_decides_the_order() -> None:
    def orders(**options: Any) -> list[list[int]]:
        loader = DataLoader(range(20), 4, shuffle=True, **options)  # type: ignore[arg-type]
        return [[k for b in loader for k in b.tolist()] for _ in range(2)]

    assert orders(generator=pb.Generator().manual_seed(1)) == orders(generator=pb.Generator().manual_seed(1))
    pb.manual_seed(2)
    first = orders()
    pb.manual_seed(2)
    assert orders() == first and first[0] != first[1]
    random.seed(0)
    state = random.getstate()
    orders()
    assert random.getstate() == state, "no other generator is touched"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"num_workers": -1}, "num_workers option should be non-negative"),
    ({"timeout": -1}, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
    ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor option should be positive"),
    ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
    ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
    ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
    ({"batch_size": 0}, "batch_size should be a positive integer"),
    ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
    ({"multiprocessing_context": "x", "num_workers": 1}, "valid start method"),
    ({"dataset": Count(1), "shuffle": True}, "expected unspecified shuffle option"),
    ({"dataset": Count(1), "sampler": [0]}, "expected unspecified sampler option"),
    ({"dataset": Count(1), "batch_sampler": [[0]]}, "expected unspecified batch_sampler option"),
]


@pytest.mark.parametrize(("options", "match"), BAD)
def test_what_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        DataLoader(**{"dataset": range(3), **options})


def test_what_is_fixed() -> None:
    loader = DataLoader(range(3))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    with pytest.raises(TypeError, match="valid context object"):
        DataLoader(range(3), num_workers=1, multiprocessing_context=3)  # type: ignore[arg-type]
    assert list(DataLoader(range(3), pin_memory=True, pin_memory_device="cuda"))  # type: ignore[arg-type]


def test_orders_without_end() -> None:
    """A sampler may promise more samples than memory holds: batches are drawn as they are asked for."""
    values = TensorDataset(pb.arange(8.0))
    loader = DataLoader(values, sampler=data.RandomSampler(values, replacement=True, num_samples=10**10), batch_size=4)
    assert len(loader) == 10**10 // 4
    batches = [batch for [batch] in islice(loader, 50)]
    assert all(batch.shape == (4,) for batch in batches) and set(pb.cat(batches).tolist()) == set(range(8))
