"""Cross entropy of logits that a linear layer gives."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ... import Tensor
from .. import functional as F
from .linear import Linear
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


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


class LinearCrossEntropyLoss(Module):
    """`CrossEntropyLoss` behind a `Linear` layer of its own, which gives the logits.

    `out_features` are further dimensions of the target, with a class at each place. With `options` the logits of the
    whole batch are never there at once.

    >>> import pullback
    >>> loss = pullback.nn.LinearCrossEntropyLoss(5, 10)
    >>> loss(pullback.randn(3, 5), pullback.tensor([1, 0, 4])).shape
    pullback.Size([])
    """

    __constants__ = ["ignore_index", "label_smoothing", "reduction"]
    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.register_buffer("weight", weight)
        self.linear = Linear(in_features, num_classes * math.prod(self.out_features), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        shown = [f"{name}={getattr(self, name)}" for name in ("in_features", "num_classes", "out_features")]
        shown.append(f"bias={self.linear.bias is not None}")
        for name in ("reduction", "ignore_index", "label_smoothing", "options"):
            shown.append(f"{name}={getattr(self, name)}")
        return ", ".join(shown)
