"""Losses by element, class and probability."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .._composites.losses import reduction_of
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]


class _Loss(Module):
    """A loss with a reduction: "mean", "sum" or "none"."""

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = reduction_of(size_average, reduce, reduction) if old else reduction


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element, kept as a buffer."""

    weight: Any

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """The mean of |x - y|.

    >>> import pullback
    >>> pullback.nn.L1Loss()(pullback.ones(2), pullback.zeros(2))
    tensor(1.)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The mean of (x - y)².

    >>> import pullback
    >>> pullback.nn.MSELoss()(pullback.full((2,), 3.0), pullback.zeros(2))
    tensor(9.)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """The mean of -x[y], weighted by class: log probabilities (N, C, *) and classes (N, *); `ignore_index` counts for
    nothing.

    >>> import pullback
    >>> pullback.nn.NLLLoss()(pullback.tensor([[-1.0, -2.0]]), pullback.tensor([1]))
    tensor(2.)
    """

    __constants__ = ["ignore_index", "reduction"]

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy of logits (N, C, *) with classes (N, *) or probabilities (N, C, *).

    >>> import pullback
    >>> pullback.nn.CrossEntropyLoss()(pullback.zeros(1, 2), pullback.tensor([1]))
    tensor(0.6931)
    """

    __constants__ = ["ignore_index", "label_smoothing", "reduction"]

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_WeightedLoss):
    """The binary cross entropy of probabilities.

    >>> import pullback
    >>> pullback.nn.BCELoss()(pullback.tensor([0.5]), pullback.ones(1))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """The binary cross entropy of logits; `pos_weight` weighs positive targets by class.

    >>> import pullback
    >>> pullback.nn.BCEWithLogitsLoss()(pullback.zeros(2), pullback.ones(2))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of log probabilities from probabilities, or from their logs with `log_target`.

    >>> import pullback
    >>> pullback.nn.KLDivLoss(reduction="batchmean")(pullback.zeros(1, 1), pullback.ones(1, 1))
    tensor(0.)
    """

    __constants__ = ["log_target", "reduction"]

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class SmoothL1Loss(_Loss):
    """d² / (2 beta) where the distance d is below `beta`, d - beta / 2 elsewhere.

    >>> import pullback
    >>> pullback.nn.SmoothL1Loss()(pullback.tensor([3.0]), pullback.zeros(1))
    tensor(2.5000)
    """

    __constants__ = ["beta", "reduction"]

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """d² / 2 where the distance d is below `delta`, delta * (d - delta / 2) elsewhere.

    >>> import pullback
    >>> pullback.nn.HuberLoss()(pullback.tensor([3.0]), pullback.zeros(1))
    tensor(2.5000)
    """

    __constants__ = ["delta", "reduction"]

    def __init__(
        self,
        reduction: str = "mean",
        delta: float = 1.0,
    ) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class CTCLoss(_Loss):
    """The negative log likelihood of labels over all alignments to steps: log probabilities (T, N, C), labels (N, S) or
    those of all sequences in one dimension, and the lengths of both; see `functional.ctc_loss`.

    >>> import pullback
    >>> log_probs = pullback.zeros(2, 1, 2).log_softmax(-1)
    >>> pullback.nn.CTCLoss()(log_probs, pullback.tensor([[1]]), (2,), (1,))
    tensor(0.2877)
    """

    __constants__ = ["blank", "reduction"]

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            blank=self.blank,
            reduction=self.reduction,
            zero_infinity=self.zero_infinity,
        )
