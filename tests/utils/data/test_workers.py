"""The loader with processes: the same batches, seeds of their own, errors with their traceback, and no process left."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.utils import data
from pullback.utils.data import DataLoader, get_worker_info

PER_SAMPLE = 2000


class Samples(data.Dataset[Any]):
    def __init__(self, n: int = 11) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        return {"x": pb.full((PER_SAMPLE,), float(index)), "a": np.arange(3) + index, "i": index, "s": str(index)}


class Draws(data.Dataset[Any]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        assert info is not None and info.num_workers == 2 and isinstance(info.dataset, Draws)
        return info.id, info.seed, pb.rand(1).item(), random.random(), float(np.random.rand()), pb.get_num_threads()


class Fails(data.Dataset[Any]):
    def __init__(self, error: Any) -> None:
        self.error = error

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        if index == 2:
            if callable(self.error):
                self.error()
            raise self.error
        return index


class Count(data.IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        return iter(range(10)) if info is None else iter(range(info.id, 10, info.num_workers))


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    # An exception holds the frames that hold the loader.
    gc.collect()
    end = time.monotonic() + 10
    while multiprocessing.active_children() and time.monotonic() < end:
        time.sleep(0.01)
    assert not multiprocessing.active_children()


def seeded(seed: int = 1) -> pb.Generator:
    return pb.Generator().manual_seed(seed)


def same(a: Any, b: Any) -> bool:
    return all(
        x["x"].equal(y["x"]) and x["a"].equal(y["a"]) and x["i"].equal(y["i"]) and x["s"] == y["s"]
        for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_batches_are_those_of_this_process(workers: int) -> None:
    here = list(DataLoader(Samples(), 3, shuffle=True, generator=seeded()))
    there = list(DataLoader(Samples(), 3, shuffle=True, generator=seeded(), num_workers=workers, prefetch_factor=3))
    assert same(here, there)
    there[0]["x"].fill_(0)
    assert same(here[1:], there[1:]), "what arrives can be written to"


def test_started_anew() -> None:
    here = list(DataLoader(Samples(5), 2))
    assert same(here, list(DataLoader(Samples(5), 2, num_workers=1, multiprocessing_context="spawn")))


def test_seeds() -> None:
    def run(seed: int) -> list[Any]:
        loader = DataLoader(Draws(), batch_size=None, num_workers=2, generator=seeded(seed))
        return list(loader)

    first = run(1)
    assert first == run(1) != run(2)
    assert [s[0] for s in first] == [0, 1] * 4
    assert len({tuple(s[2:5]) for s in first}) == 8, "workers draw different numbers"
    assert {s[1] for s in first} == {first[0][1], first[0][1] + 1} and {s[5] for s in first} == {1}
    assert get_worker_info() is None


def test_workers_can_stay() -> None:
    loader = DataLoader(Samples(), 3, num_workers=2, persistent_workers=True)
    here = list(DataLoader(Samples(), 3))
    pids = set()
    for _ in range(3):
        assert same(here, list(loader))
        pids.add(tuple(p.pid for p in loader._iterator.processes))  # type: ignore[union-attr]
    for _ in loader:
        break
    assert same(here, list(loader)), "a pass that was left does not show in the next one"
    assert len(pids) == 1


def test_a_pass_can_be_left() -> None:
    for _ in DataLoader(Samples(100), 3, num_workers=2):
        break


def test_iterable_data_sets() -> None:
    batches = [b.tolist() for b in DataLoader(Count(), 2, num_workers=2)]
    assert batches == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]
    assert sorted(DataLoader(Count(), None, num_workers=3)) == list(range(10))
    stays = DataLoader(Count(), 4, num_workers=2, persistent_workers=True)
    assert [[b.tolist() for b in stays] for _ in range(2)] == [[[0, 2, 4, 6], [1, 3, 5, 7], [8], [9]]] * 2


class Strange(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("no such sample"), ValueError, "no such sample"),
        (KeyError("k"), KeyError, "KeyError: 'k'"),
        (Strange(1, 2), RuntimeError, "Strange: "),
    ],
)
def test_errors_reach_the_user(error: Exception, kind: type[Exception], text: str) -> None:
    seen = []
    with pytest.raises(kind, match=r"(?s)Caught .* in DataLoader worker process 0\.\nOriginal .*__getitem__.*" + text):
        for batch in DataLoader(Fails(error), 1, num_workers=2):
            seen.append(batch.item())
    assert seen == [0, 1]


def test_errors_of_what_runs_first() -> None:
    def init(worker: int) -> None:
        raise OSError(f"worker {worker}")

    with pytest.raises(OSError, match=r"(?s)in DataLoader worker process 0.*worker 0"):
        list(DataLoader(range(4), num_workers=2, worker_init_fn=init))  # type: ignore[arg-type]
    with pytest.raises((TypeError, AttributeError, RuntimeError, Exception), match="(?i)pickle"):
        list(DataLoader(range(2), num_workers=1, collate_fn=lambda x: lambda: 0))  # type: ignore[arg-type]


def test_what_runs_first(tmp_path: Path) -> None:
    def init(worker: int) -> None:
        (tmp_path / str(worker)).touch()

    list(DataLoader(range(4), num_workers=2, worker_init_fn=init))  # type: ignore[arg-type]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0", "1"]


def test_a_worker_that_dies() -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(DataLoader(Fails(die), 1, num_workers=2))


def test_a_worker_that_is_slow() -> None:
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.3 seconds"):
        list(DataLoader(Fails(lambda: time.sleep(30)), 1, num_workers=1, timeout=0.3))


class Uneven(data.Dataset[int]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        time.sleep(0.5 if index == 0 else 0)
        return index


def test_out_of_order() -> None:
    found = [b.item() for b in DataLoader(Uneven(), 1, num_workers=2, in_order=False)]
    assert sorted(found) == list(range(6)) and found[0] != 0


def test_large_lists_of_indices() -> None:
    n = 200_000
    loader = DataLoader(data.TensorDataset(pb.arange(n)), n // 2, num_workers=1, prefetch_factor=4)
    assert sum(b[0].sum().item() for b in loader) == n * (n - 1) // 2
