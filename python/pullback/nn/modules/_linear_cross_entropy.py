"""Cross entropy of logits that a linear layer gives."""

from __future__ import annotations

import math

from ... import Tensor
from .. import functional as F
from .linear import Linear
from .linear_cross_entropy_options import LinearCrossEntropyOptions
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LinearCrossEntropyLoss"]


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
            self.linear.weight.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        shown = [f"in_features={self.linear.in_features}"]
        shown += [f"{name}={getattr(self, name)}" for name in ("num_classes", "out_features")]
        shown.append(f"bias={self.linear.bias is not None}")
        for name in ("reduction", "ignore_index", "label_smoothing", "options"):
            shown.append(f"{name}={getattr(self, name)}")
        return ", ".join(shown)
