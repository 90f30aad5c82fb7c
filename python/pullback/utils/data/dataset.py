"""Collections of samples."""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ... import _core
from ..._core import Generator, Tensor
from ..._warnings import warn

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """What has samples by index: a subclass defines `__getitem__`, and `__len__` for most samplers.

    A subclass may also define `__getitems__`, which takes a list of indices and gives a list of samples: the loader
    then asks for a whole batch at once.

    >>> from pullback.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> Squares()[3]
    9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset[T_co]") -> "ConcatDataset[T_co]":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """What gives samples one after the other: a subclass defines `__iter__`.

    Each worker of a loader has a copy of it and gives all samples of that; `get_worker_info` tells the copies apart.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[T_co]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples along the first dimension of tensors, which must have the same size there.

    >>> import pullback
    >>> from pullback.utils.data import TensorDataset
    >>> TensorDataset(pullback.arange(3), pullback.eye(3))[1]
    (tensor(1), tensor([0., 1., 0.]))

    Raises:
        TypeError: if there is no tensor, or something else.
        ValueError: if the sizes differ.
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors or not all(isinstance(t, Tensor) for t in tensors):
            raise TypeError("TensorDataset(): one or more tensors are expected")
        if any(t.ndim == 0 or t.shape[0] != tensors[0].shape[0] for t in tensors):
            sizes = [tuple(t.shape) for t in tensors]
            raise AssertionError(
                f"TensorDataset(): Size mismatch between tensors: the first dimensions of {sizes} differ"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __getitems__(self, indices: Any) -> list[tuple[Tensor, ...]]:
        return list(zip(*(t.unbind(0) for t in self._batch(indices)), strict=True))

    def _batch(self, indices: Any) -> list[Tensor]:
        """The samples of many indices as the loader stacks them: each tensor is indexed once."""
        at = self._places(indices if isinstance(indices, Tensor) else _core.tensor(indices, dtype=_core.int64))
        return [tensor.index_select(0, at) for tensor in self.tensors]

    def _places(self, at: Tensor) -> Tensor:
        """Indices without those that count from the end."""
        if at.numel() and (at < 0).any():
            at = _core.functions["where"](at < 0, at + len(self), at)
        return at

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Samples of several data sets side by side: tuples, or dicts where the data sets have names.

    >>> import pullback
    >>> from pullback.utils.data import StackDataset
    >>> StackDataset(image=["a", "b"], label=[0, 1])[1]
    {'image': 'b', 'label': 1}

    Raises ValueError if there is none, if some have names and others not, or if the lengths differ.
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            text = "Supported either tuple- (via args) or dict-like (via kwargs) input, not both" if args else None
            raise ValueError(f"StackDataset(): {text or 'At least one dataset should be passed'}")
        self.datasets = args or kwargs
        if len({len(d) for d in self._all()}) > 1:
            raise ValueError(f"StackDataset(): Size mismatch between datasets: {[len(d) for d in self._all()]}")

    def _all(self) -> list[Any]:
        return list(self.datasets.values()) if isinstance(self.datasets, dict) else list(self.datasets)

    def _together(self, parts: Sequence[Any]) -> Any:
        return dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._together([d[index] for d in self._all()])

    def __getitems__(self, indices: Any) -> list[Any]:
        columns = [_items(d, indices) for d in self._all()]
        for column in columns:
            if len(column) != len(indices):
                text = "Nested dataset's output size mismatch. Expected"
                raise ValueError(f"StackDataset(): {text} {len(indices)}, got {len(column)}")
        return [self._together(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return len(self._all()[0])


def _items(dataset: Any, indices: Any) -> Any:
    """The samples of a list of indices, at once where the data set can."""
    many = getattr(dataset, "__getitems__", None)
    return many(indices) if callable(many) else [dataset[k] for k in indices]


class ConcatDataset(Dataset[T_co]):
    """Data sets one behind the other; `a + b` gives one.

    Raises ValueError if there is none, or one of them is iterable.
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset(): datasets should not be an empty iterable; give one at least")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise ValueError("ConcatDataset does not support IterableDataset: chain them by ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> T_co:
        n = len(self)
        if index < -n:
            raise ValueError(
                f"ConcatDataset(): absolute value of index should not exceed dataset length {n}, got {index}"
            )
        if index >= n:
            # Loops over the data set end by it.
            raise IndexError(f"ConcatDataset(): list index out of range: {index}, and there are {n} samples")
        index = index + n if index < 0 else index
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[T_co]):
    """Iterable data sets one after the other; `a + b` gives one."""

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[T_co]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise TypeError(f"ChainDataset only supports IterableDataset, got {type(d).__name__}")
            yield from d

    def __len__(self) -> int:
        return sum(map(len, self.datasets))  # type: ignore[arg-type]


class Subset(Dataset[T_co]):
    """The samples of a data set at some indices."""

    dataset: Dataset[T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[k] for k in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Any) -> list[T_co]:
        found: list[T_co] = _items(self.dataset, [self.indices[k] for k in indices])
        return found

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[T]]:
    """Parts of a data set without common samples, drawn at random: their lengths, or fractions that add up to 1.

    What fractions leave over goes to the first parts, one sample each.

    >>> import pullback
    >>> from pullback.utils.data import TensorDataset, random_split
    >>> parts = random_split(TensorDataset(pullback.arange(10)), [0.75, 0.25], pullback.Generator().manual_seed(1))
    >>> [len(part) for part in parts]
    [8, 2]

    Raises ValueError if the lengths do not add up to that of the data set, or a fraction is not between 0 and 1.
    """
    n = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1):
        for k, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"random_split(): Fraction at index {k} is not between 0 and 1: {fraction}")
        sizes = [math.floor(n * fraction) for fraction in lengths]
        for k in range(n - sum(sizes)):
            sizes[k % len(sizes)] += 1
        for k in (k for k, size in enumerate(sizes) if size == 0):
            warn(f"random_split(): Length of split at index {k} is 0. This might result in an empty dataset.")
    else:
        sizes = list(lengths)  # type: ignore[arg-type]
    if sum(sizes) != n:
        raise ValueError(
            f"random_split(): Sum of input lengths does not equal the length of the input dataset! {sum(sizes)} != {n}"
        )
    order = _core.functions["randperm"](n, generator=generator).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
