"""The loader: batches of a data set, in this process or by others."""

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ... import _core
from ..._warnings import warn
from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset, Subset, TensorDataset
from .sampler import CHUNK, BatchSampler, RandomSampler, Sampler, SequentialSampler, drawn_seed
from .worker import END, Failure, Fetcher, Task, get_worker_info, receive, send, work

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
T_co = TypeVar("T_co", covariant=True)
# The types of arguments, under the names that programs import.
_T = TypeVar("_T")
_collate_fn_t: TypeAlias = Callable[[list[_T]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class Samples(Protocol[T_co]):
    """What has samples by index: a list, an array, a dict of integers."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> T_co: ...


class _Endless(Sampler[None]):
    """As many indices as an iterable data set has samples."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Goes over a data set in batches.

    Args:
        dataset: what has `__getitem__` and `__len__`, or an `IterableDataset`.
        batch_size: the number of samples in a batch; None gives the samples one by one.
        shuffle: whether the order is random, anew for each pass.
        sampler: an order of the indices, instead of `shuffle`.
        batch_sampler: lists of indices, instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: how many processes make the batches; 0 makes them here.
        collate_fn: makes a batch of a list of samples; `default_collate` unless given.
        pin_memory, pin_memory_device: accepted; there is no memory to pin.
        drop_last: whether a last batch that is shorter is left out.
        timeout: seconds to wait for a batch of a worker; 0 waits for ever.
        worker_init_fn: called in each worker with its number, after it was seeded.
        multiprocessing_context: how workers are started: a name or a context.
        generator: draws the order, and the seeds of the workers; its seed decides all of it.
        prefetch_factor: how many batches each worker makes ahead; 2 unless given.
        persistent_workers: whether the workers stay for the next pass.
        in_order: whether the batches come in order, or as soon as a worker has made one.

    Raises:
        ValueError: for options that contradict each other.
        RuntimeError: in a pass, if a worker ends by itself or is too slow. Errors in a worker are raised here as what
            they were, with the traceback.

    >>> import pullback
    >>> from pullback.utils.data import DataLoader
    >>> loader = DataLoader(range(5), batch_size=2, shuffle=True, generator=pullback.Generator().manual_seed(3))
    >>> sorted(int(x) for batch in loader for x in batch)
    [0, 1, 2, 3, 4]
    """

    dataset: Dataset[T_co]
    batch_size: int | None
    num_workers: int
    drop_last: bool
    sampler: Any
    batch_sampler: Any
    _iterator: "_Workers | None" = None
    _asked_length: int | None = None
    _made = False

    def __init__(
        self,
        dataset: "Dataset[T_co] | Samples[T_co]",
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        given: Any = dataset
        self.dataset, self.num_workers, self.timeout, self.generator = given, num_workers, timeout, generator
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.worker_init_fn, self.persistent_workers = worker_init_fn, persistent_workers
        self.multiprocessing_context = multiprocessing_context
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("DataLoader(): sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader(): batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                    "drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "DataLoader(): batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None:
            sampler = _sampler(dataset, bool(shuffle), generator, self._iterable)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._made and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: a context of `multiprocessing`, or None for the default one."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and not self.num_workers:
            raise ValueError(
                "DataLoader(): multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                f"but got num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            if context not in (known := multiprocessing.get_all_start_methods()):
                raise ValueError(
                    f"DataLoader(): multiprocessing_context option should specify a valid start method in {known!r}, "
                    f"but got multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        elif context is not None and not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError(
                "DataLoader(): multiprocessing_context option should be a valid context object or a string specifying "
                f"the start method, but got multiprocessing_context={context!r}"
            )
        self._context = context

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._indices())
        n: int = len(self.dataset)  # type: ignore[arg-type]
        self._asked_length = n
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def _indices(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        kept = self._iterator if self.persistent_workers and self.num_workers else None
        # The seed is drawn with and without workers, so that a generator gives the same order in both cases.
        seed = drawn_seed(self.generator) if kept is None else 0
        if not self.num_workers:
            whole = _whole(self)
            found: Iterator[Any] = _single(self) if whole is None else whole
        elif kept is not None:
            kept.begin(self)
            found = kept
        else:
            workers = _Workers(self, seed)
            if self.persistent_workers:
                self._iterator = workers
            workers.begin(self)
            found = workers
        return _Pass(self, _counted(self, found, self._asked_length) if self._iterable else found)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool) -> None:
    if not isinstance(num_workers, int):
        raise TypeError(f"DataLoader(): num_workers must be an int, not {type(num_workers).__name__}")
    if num_workers < 0:
        raise ValueError(
            "DataLoader(): num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("DataLoader(): timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "DataLoader(): prefetch_factor option could only be specified in multiprocessing. Let num_workers > 0 to "
            "enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError("DataLoader(): prefetch_factor option should be positive")
    if persistent and num_workers == 0:
        raise ValueError("DataLoader(): persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    text = "DataLoader with IterableDataset: expected unspecified"
    if shuffle:
        raise ValueError(f"{text} shuffle option, but got shuffle={shuffle}")
    if sampler is not None:
        raise ValueError(f"{text} sampler option, but got sampler={sampler}")
    if batch_sampler is not None:
        raise ValueError(f"{text} batch_sampler option, but got batch_sampler={batch_sampler}")


def _sampler(dataset: Any, shuffle: bool, generator: Any, iterable: bool) -> Sampler[Any]:
    if iterable:
        return _Endless()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


# ---------------------------------------------------------------- in this process
class _Pass:
    """One pass over a data set, which knows how many batches it has."""

    def __init__(self, loader: DataLoader[Any], batches: Iterator[Any]) -> None:
        self.loader, self.batches = loader, batches

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.batches)

    def __len__(self) -> int:
        return len(self.loader._indices())


def _single(loader: DataLoader[Any]) -> Iterator[Any]:
    batched = loader.batch_sampler is not None
    fetcher = Fetcher(loader.dataset, batched, loader.collate_fn, loader.drop_last, loader._iterable)
    for index in loader._indices():
        try:
            batch = fetcher.fetch(index)
        except StopIteration:
            if loader._iterable:
                return
            raise
        yield batch


def _whole(loader: DataLoader[Any]) -> Iterator[Any] | None:
    """The batches of tensors whose samples nobody looks at one by one: they are indexed a batch at a time.

    That gives what stacking the samples gives, so it is done wherever no method of the user's is left out.
    """
    data: Any = loader.dataset
    within = None
    if type(data) is Subset:
        data, within = data.dataset, data.indices
    sampler, batches = loader.sampler, loader.batch_sampler
    plain = type(data) is TensorDataset and type(batches) is BatchSampler and type(sampler) in _ORDERS
    if not plain or loader.collate_fn is not default_collate or batches.sampler is not sampler:
        return None
    if len(sampler) > (len(sampler.data_source) if _shares(sampler) else max(len(data), CHUNK)):
        return None
    if sampler.data_source is not loader.dataset or any(type(t) is not _core.Tensor for t in data.tensors):
        return None
    return _parts(data, sampler, batches.batch_size, batches.drop_last, within)


_ORDERS = (SequentialSampler, RandomSampler)


def _shares(sampler: Any) -> bool:
    """Whether a sampler draws from a generator of the user's, who may draw from it between two batches."""
    return getattr(sampler, "generator", None) is not None


def _parts(data: TensorDataset, sampler: Any, size: int, drop_last: bool, within: Any) -> Iterator[Any]:
    tensors, n = data.tensors, len(sampler)
    sequential = type(sampler) is SequentialSampler
    order = None if sequential else sampler.order()
    if within is not None:
        indices = data._places(_core.as_tensor(within, dtype=_core.int64))
        order = indices if order is None else indices.index_select(0, order)
    for start in range(0, n, size):
        stop = min(start + size, n)
        if stop - start < size:
            if drop_last:
                break
            if not sequential:
                sampler.end()
        if order is None:
            # Copies, as stacked samples are.
            yield [t[start:stop].clone() for t in tensors]
        else:
            at = order[start:stop]
            yield [t.index_select(0, at) for t in tensors]
    if not sequential and (drop_last or n % size == 0):
        sampler.end()


def _counted(loader: DataLoader[Any], batches: Iterator[Any], expected: int | None) -> Iterator[Any]:
    """Warns if an iterable data set gives more batches than the length that the program has asked for."""
    for count, batch in enumerate(batches, 1):
        if expected is not None and count > expected:
            warn(
                f"Length of IterableDataset {loader.dataset} was reported to be {expected} (when accessing "
                f"len(dataloader)), but {count} samples have been fetched. Each worker gives all samples of "
                "its copy of the data set: use get_worker_info() to divide them"
            )
        yield batch


# ---------------------------------------------------------------- in other processes
class _Workers:
    """The processes of a loader, and the pass that they work on."""

    def __init__(self, loader: DataLoader[Any], seed: int) -> None:
        self.timeout, self.in_order = loader.timeout, loader.in_order
        context: Any = loader.multiprocessing_context or multiprocessing.get_context()
        self.connections: list[Any] = []
        self.processes: list[Any] = []
        self.waiting: dict[int, int] = {}
        for k in range(loader.num_workers):
            task = Task(
                *(k, loader.num_workers, (seed + k) % 2**63, loader.dataset, loader.batch_sampler is not None),
                *(loader.collate_fn, loader.drop_last, loader._iterable, loader.worker_init_fn, os.getpid()),
            )
            ours, theirs = context.Pipe()
            others = [*self.connections, ours] if context.get_start_method() == "fork" else []
            process = context.Process(target=work, args=(theirs, task, others), daemon=True)
            process.start()
            theirs.close()
            self.connections.append(ours)
            self.processes.append(process)

    def begin(self, loader: DataLoader[Any]) -> None:
        """Starts a pass."""
        while self.waiting:
            # What an earlier pass, which was left, has still asked for.
            self._receive()
        for connection, process in zip(self.connections, self.processes, strict=True):
            send(connection, (None, None), process.pid)
        self.indices = iter(loader._indices())
        self.keep = loader.persistent_workers
        self.sent = self.given = 0
        self.ready: dict[int, Any] = {}
        self.active = list(range(len(self.processes)))
        self.order: deque[int] = deque(self.active)
        for _ in range((loader.prefetch_factor or 1) * len(self.processes)):
            self._ask()

    def __iter__(self) -> "_Workers":
        return self

    def __next__(self) -> Any:
        while True:
            number = self._next_ready()
            if number is None:
                if not self.waiting:
                    self._finish()
                    raise StopIteration
                self._receive()
                continue
            result = self.ready.pop(number)
            self.given += number == self.given
            if result is END:
                continue
            self._ask()
            if isinstance(result, Failure):
                result.reraise()
            return result

    def _next_ready(self) -> int | None:
        if not self.in_order:
            return next(iter(self.ready), None)
        return self.given if self.given in self.ready else None

    def _ask(self) -> None:
        """Gives the next index to the next worker."""
        if not self.active:
            return
        try:
            index = next(self.indices)
        except StopIteration:
            self.active = []
            return
        while self.order[0] not in self.active:
            self.order.popleft()
        worker = self.order[0]
        self.order.rotate(-1)
        self.waiting[self.sent] = worker
        try:
            send(self.connections[worker], (self.sent, index), self.processes[worker].pid)
        except (BrokenPipeError, ConnectionResetError):
            self._fail(worker)
        self.sent += 1

    def _receive(self) -> None:
        """Takes what at least one worker has sent."""
        from multiprocessing.connection import wait

        busy = {self.connections[w]: w for w in set(self.waiting.values())}
        found = wait(list(busy), self.timeout or None)
        if not found:
            self.close(patience=0)
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")
        for connection in found:
            worker = busy[connection]
            try:
                number, result = receive(connection)
            except (EOFError, ConnectionResetError):
                self._fail(worker)
            del self.waiting[number]
            self.ready[number] = result
            if result is END and worker in self.active:
                self.active.remove(worker)
                self._ask()

    def _fail(self, worker: int) -> None:
        process = self.processes[worker]
        process.join(1)
        pid, code = process.pid, process.exitcode
        self.close(patience=0)
        raise RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly (exit code {code})")

    def _finish(self) -> None:
        if not self.keep:
            self.close()

    def close(self, patience: float = 5) -> None:
        """Ends the processes: they stop when their connection closes, or are stopped after so many seconds."""
        for connection in self.connections:
            connection.close()
        end = time.monotonic() + patience
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join(1)
        self.connections, self.processes, self.waiting, self.active = [], [], {}, []

    def __del__(self) -> None:
        if getattr(self, "processes", None):
            self.close()

    _shutdown_workers = close


# What programs ask the iterators of loaders to be.
_BaseDataLoaderIter, _MultiProcessingDataLoaderIter = _Pass, _Workers
