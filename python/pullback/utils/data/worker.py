"""What runs in the processes of a loader, and how batches come from there.

What is sent is a pickle whose arrays lie beside it. Large ones are written to a file in memory that is passed on as a
file descriptor, so the loader does not copy them.
"""

import mmap
import os
import pickle
import random
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ... import _core

# What is sent through the connection itself stays below what that takes without a reader.
_LARGE = 1 << 12
_info: "WorkerInfo | None" = None


@dataclass(frozen=True)
class WorkerInfo:
    """What `get_worker_info` tells: number and count of workers, the seed, and this worker's copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a `DataLoader`, what is known of it; None elsewhere.

    >>> from pullback.utils.data import get_worker_info
    >>> print(get_worker_info())
    None
    """
    return _info


class Failure:
    """An exception of a worker, with its traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: Any = type(error)
        self.text = "".join(traceback.format_exception(error))
        self.where = where
        try:
            pickle.loads(pickle.dumps(self.kind))
        except Exception:
            # A class that exists in the worker alone.
            self.kind = RuntimeError

    def reraise(self) -> None:
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            # KeyError shows the repr of its text.
            raise KeyError(_Plain(text))
        try:
            error = self.kind(text)
        except Exception:
            # The class wants other arguments.
            raise RuntimeError(text) from None
        raise error


class _Plain(str):
    def __repr__(self) -> str:
        return str(self)


# ---------------------------------------------------------------- messages
def send(connection: Any, item: Any, receiver: int) -> None:
    """Sends an object to a process: a large one, and its arrays, as a file in memory."""
    buffers: list[pickle.PickleBuffer] = []
    parts = [memoryview(pickle.dumps(item, 5, buffer_callback=buffers.append)), *(b.raw() for b in buffers)]
    if sum(map(len, parts)) < _LARGE or not hasattr(os, "memfd_create"):
        connection.send_bytes(pickle.dumps([bytes(p) for p in parts]))
        return
    from multiprocessing.reduction import send_handle

    handle = os.memfd_create("pullback", os.MFD_CLOEXEC)
    try:
        places, at = [], 0
        for part in parts:
            places.append((at, len(part)))
            _write(handle, part, at)
            at += -(-len(part) // 64) * 64
        os.ftruncate(handle, at)
        connection.send_bytes(pickle.dumps(tuple(places)))
        send_handle(connection, handle, receiver)
    finally:
        os.close(handle)


def _write(handle: int, part: memoryview, at: int) -> None:
    written = 0
    while written < len(part):
        written += os.pwrite(handle, part[written : written + (1 << 30)], at + written)


def receive(connection: Any) -> Any:
    """What `send` sent."""
    sent = pickle.loads(connection.recv_bytes())
    if type(sent) is list:
        return pickle.loads(sent[0], buffers=[bytearray(b) for b in sent[1:]])
    from multiprocessing.reduction import recv_handle

    handle = recv_handle(connection)
    try:
        memory = memoryview(mmap.mmap(handle, 0))
    finally:
        os.close(handle)
    first, *rest = (memory[start : start + length] for start, length in sent)
    return pickle.loads(first, buffers=rest)


# ---------------------------------------------------------------- fetching
class Fetcher:
    """Makes batches: of samples by index, or of the next samples of an iterator."""

    def __init__(
        self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool, iterable: bool
    ) -> None:
        self.dataset, self.batched, self.collate, self.drop_last = dataset, batched, collate_fn, drop_last
        self.iterator = iter(dataset) if iterable else None
        self.ended = False

    def fetch(self, index: Any) -> Any:
        if self.iterator is not None:
            return self._next(index)
        if not self.batched:
            return self.collate(self.dataset[index])
        many = getattr(self.dataset, "__getitems__", None)
        return self.collate(many(index) if callable(many) else [self.dataset[k] for k in index])

    def _next(self, index: Any) -> Any:
        assert self.iterator is not None
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate(next(self.iterator))
        samples = []
        for _ in index:
            try:
                samples.append(next(self.iterator))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(index)):
            raise StopIteration
        return self.collate(samples)


@dataclass
class Task:
    """What a worker is told: everything that it needs."""

    id: int
    count: int
    seed: int
    dataset: Any
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    iterable: bool
    init: Callable[[int], None] | None
    parent: int


def seed_all(seed: int) -> None:
    _core.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed([seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF])


def work(connection: Any, task: Task, others: list[Any]) -> None:
    """The life of a worker: it gets `(number, index)` and sends `(number, batch)`, until the other side closes."""
    global _info
    for other in others:
        # Copies of the ends of other workers would keep these from seeing that the loader has gone.
        other.close()
    try:
        _core.set_num_threads(1)
        seed_all(task.seed)
        _info = WorkerInfo(task.id, task.count, task.seed, task.dataset)
        where = f"in DataLoader worker process {task.id}"
        failed: Failure | None = None
        fetcher: Fetcher | None = None
        try:
            if task.init is not None:
                task.init(task.id)
        except Exception as e:
            failed = Failure(e, where)
        while True:
            number, index = receive(connection)
            if number is None:
                fetcher = None
                continue
            result: Any = None
            try:
                if failed is None:
                    if fetcher is None:
                        fetcher = Fetcher(task.dataset, task.batched, task.collate, task.drop_last, task.iterable)
                    result = fetcher.fetch(index)
            except StopIteration as e:
                result = END if task.iterable else Failure(e, where)
            except Exception as e:
                result = Failure(e, where)
            _answer(connection, number, result if failed is None else failed, task.parent, where)
            failed, result = None, None
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        # The loader has gone, or reports the interrupt itself.
        pass


def _answer(connection: Any, number: int, result: Any, parent: int, where: str) -> None:
    try:
        send(connection, (number, result), parent)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise
    except Exception as e:
        # What cannot be pickled is an error of the batch.
        send(connection, (number, Failure(e, where)), parent)


class _End:
    """The copy of an iterable data set in a worker has no more samples."""

    def __reduce__(self) -> str:
        return "END"


END = _End()
