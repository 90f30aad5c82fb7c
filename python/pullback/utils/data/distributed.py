"""A sampler for programs that divide a data set among processes of their own."""

import math
from collections.abc import Iterator, Sized
from typing import Any

from ... import _core
from ..._core import Generator
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every n-th index of a data set, from that of this process on; the order is the same in all processes.

    Each process has the same number of indices: some come twice, or with `drop_last` a few are left out. Call
    `set_epoch` before each pass, so that its order is another one.

    >>> from pullback.utils.data.distributed import DistributedSampler
    >>> [list(DistributedSampler(range(5), num_replicas=2, rank=k, shuffle=False)) for k in range(2)]
    [[0, 2, 4], [1, 3, 0]]

    Raises:
        RuntimeError: without `num_replicas` and `rank`, since nothing here knows other processes.
        ValueError: if there is no process of the number `rank`.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError(
                "DistributedSampler(): Requires distributed package to be available, which is out of scope: pass "
                "num_replicas and rank"
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler(): Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        indices: list[Any] = list(range(n))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = _core.functions["randperm"](n, generator=generator).tolist()
        indices = (indices * (-(-self.total_size // n) if n else 0))[: self.total_size]
        return iter(indices[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """The number of the pass, which is part of the seed."""
        self.epoch = epoch
