"""Options of `LinearCrossEntropyLoss`."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LinearCrossEntropyOptions"]


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` goes through the batch in pieces.

    `batch_chunk_size` is how many instances a piece has, by default so many that their logits take about the memory of
    the argument. The others are accepted: pieces are added up in the dtype of the argument, and a second backward
    works.

    >>> import pullback
    >>> pullback.nn.LinearCrossEntropyOptions(batch_chunk_size=16).batch_chunk_size
    16

    Raises ValueError for a size that is not positive, or a policy that there is not.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.batch_chunk_size is not None and self.batch_chunk_size <= 0:
            raise ValueError(f"batch_chunk_size must be positive, got {self.batch_chunk_size}")
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"acc_policy must be 'accurate', 'balanced', 'compact' or 'auto', got {self.acc_policy!r}")
