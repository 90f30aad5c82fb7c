"""Orders of the indices of a data set."""

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ... import _core
from ..._core import Generator

T_co = TypeVar("T_co", covariant=True)

CHUNK = 1 << 16


class Sampler(Generic[T_co]):
    """What gives indices, or lists of indices: a subclass defines `__iter__`, and `__len__` if the length is known.

    >>> from pullback.utils.data import Sampler
    >>> class Twice(Sampler):
    ...     def __iter__(self):
    ...         return iter([0, 0, 1, 1])
    >>> list(Twice())
    [0, 0, 1, 1]
    """

    def __init__(self, data_source: Any = None) -> None: ...

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """All indices, in their order."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def seeded(generator: Generator | None) -> Generator:
    """The generator that is given, or a new one whose seed is drawn from the default generator."""
    if generator is not None:
        return generator
    return Generator().manual_seed(drawn_seed(None))


def drawn_seed(generator: Generator | None) -> int:
    seed: int = _core.functions["empty"]((), dtype=_core.int64).random_(generator=generator).item()
    return seed


class RandomSampler(Sampler[int]):
    """All indices in a random order; with `replacement`, `num_samples` independent ones.

    >>> import pullback
    >>> from pullback.utils.data import RandomSampler
    >>> sorted(RandomSampler(range(4), generator=pullback.Generator().manual_seed(0)))
    [0, 1, 2, 3]

    Raises TypeError or ValueError for a `replacement` that is no bool or a `num_samples` that is not positive.
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"RandomSampler(): replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "RandomSampler(): num_samples should be a positive integer value, but got "
                f"num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def order(self) -> Any:
        """The indices of one pass as a tensor."""
        drawn = list(self._draws())
        if len(drawn) == 1:
            return drawn[0]
        return _core.functions["cat"](drawn) if drawn else _core.tensor([], dtype=_core.int64)

    def _draws(self) -> Iterator[Any]:
        """Tensors of indices, drawn when they are asked for: `num_samples` may be larger than what is ever used."""
        generator, n, wanted = seeded(self.generator), len(self.data_source), self.num_samples
        while wanted > 0 and n:
            if self.replacement:
                size = min(CHUNK, wanted)
                yield _core.functions["randint"](0, n, (size,), dtype=_core.int64, generator=generator)
            else:
                size = min(n, wanted)
                yield _core.functions["randperm"](n, generator=generator)[:size]
            wanted -= size

    def end(self) -> None:
        """Leaves the user's generator as PyTorch leaves it where a pass ends: it draws one permutation more."""
        n = len(self.data_source)
        if self.generator is not None and not self.replacement and n and self.num_samples % n == 0:
            _core.functions["randperm"](n, generator=self.generator)

    def __iter__(self) -> Iterator[int]:
        for drawn in self._draws():
            yield from drawn.tolist()
        self.end()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some indices, in a random order."""

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for k in _core.functions["randperm"](len(self.indices), generator=self.generator).tolist():
            yield self.indices[k]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices with probabilities in proportion to weights, independent of each other or without repetition.

    Raises TypeError or ValueError for weights, a number of samples or a `replacement` that cannot be.

    >>> from pullback.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                "WeightedRandomSampler(): num_samples should be a positive integer value, but got "
                f"num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"WeightedRandomSampler(): replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = _core.as_tensor(weights, dtype=_core.float64)
        if self.weights.ndim != 1:
            raise ValueError(
                "WeightedRandomSampler(): weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = _core.functions["multinomial"](
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of so many indices of another sampler; the last one may be shorter, or is dropped.

    >>> from pullback.utils.data import BatchSampler, SequentialSampler
    >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]

    Raises ValueError for a size that is not positive or a `drop_last` that is no bool.
    """

    sampler: Sampler[int] | Iterable[int]
    batch_size: int
    drop_last: bool

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"BatchSampler(): batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler(): drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
