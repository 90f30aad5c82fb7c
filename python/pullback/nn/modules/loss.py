"""Losses."""

from __future__ import annotations

from ... import Tensor
from ..._members import adopt
from .. import functional as F
from ._linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from ._losses import BCELoss as BCELoss
from ._losses import BCEWithLogitsLoss as BCEWithLogitsLoss
from ._losses import CrossEntropyLoss as CrossEntropyLoss
from ._losses import CTCLoss as CTCLoss
from ._losses import HuberLoss as HuberLoss
from ._losses import KLDivLoss as KLDivLoss
from ._losses import L1Loss as L1Loss
from ._losses import MSELoss as MSELoss
from ._losses import NLLLoss as NLLLoss
from ._losses import SmoothL1Loss as SmoothL1Loss
from ._losses import _Loss as _Loss
from ._losses import _WeightedLoss as _WeightedLoss
from .distance import PairwiseDistance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class SoftMarginLoss(_Loss):
    """The mean of log(1 + exp(-y x)) for targets of 1 and -1.

    >>> import pullback
    >>> pullback.nn.SoftMarginLoss()(pullback.zeros(2), pullback.ones(2))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """The mean of x where the target is 1, and of max(0, margin - x) where it is -1.

    >>> import pullback
    >>> pullback.nn.HingeEmbeddingLoss()(pullback.ones(1), pullback.ones(1))
    tensor(1.)
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """The mean of max(0, -y (x1 - x2) + margin).

    >>> import pullback
    >>> one = pullback.ones(1)
    >>> pullback.nn.MarginRankingLoss(margin=0.5)(one, one, one)
    tensor(0.5000)
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """The mean of 1 - cos where the target is 1, and of max(0, cos - margin) where it is -1: (N, D), (N, D) and (N).

    >>> import pullback
    >>> x = pullback.ones(1, 2)
    >>> pullback.nn.CosineEmbeddingLoss()(x, x, -pullback.ones(1)).item() > 0.99
    True
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """The negative log likelihood of Poisson counts; `full` adds Stirling's approximation.

    >>> import pullback
    >>> pullback.nn.PoissonNLLLoss()(pullback.zeros(1), pullback.ones(1))
    tensor(1.)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """The negative log likelihood of Gaussians with means (*) and variances (*).

    >>> import pullback
    >>> one = pullback.ones(1)
    >>> pullback.nn.GaussianNLLLoss()(one, one, one)
    tensor(0.)

    Raises ValueError for a negative variance.
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(
        self,
        full: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class MultiLabelMarginLoss(_Loss):
    """The hinge loss of several classes, ended by -1 in each row of targets, against all others.

    >>> import pullback
    >>> x = pullback.tensor([[0.1, 0.2, 0.4, 0.8]])
    >>> pullback.nn.MultiLabelMarginLoss()(x, pullback.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the binary cross entropy with logits: (N, C).

    >>> import pullback
    >>> pullback.nn.MultiLabelSoftMarginLoss()(pullback.zeros(1, 2), pullback.ones(1, 2))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The mean over other classes of max(0, margin - x[y] + x[i]) ** p: (N, C) and classes (N).

    >>> import pullback
    >>> x = pullback.tensor([[0.1, 0.2, 0.4, 0.8]])
    >>> pullback.nn.MultiMarginLoss()(x, pullback.tensor([3]))
    tensor(0.3250)

    Raises ValueError for another `p` than 1 and 2.
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: only p == 1 and p == 2 supported, got p={p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """The mean of max(0, |a - p| - |a - n| + margin) with p-norms: (N, D) each, or (D).

    >>> import pullback
    >>> x = pullback.ones(1, 2)
    >>> pullback.nn.TripletMarginLoss()(x, x, x)
    tensor(1.)

    Raises ValueError for a margin that is not positive.
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of one's own.

    >>> import pullback
    >>> x = pullback.ones(1, 2)
    >>> pullback.nn.TripletMarginWithDistanceLoss(distance_function=pullback.nn.PairwiseDistance())(x, x, x)
    tensor(1.)

    Raises ValueError for a margin that is not positive.
    """

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function: Any = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """`NLLLoss`, under its old name for images.

    >>> import pullback
    >>> pullback.nn.NLLLoss2d()(pullback.zeros(1, 2, 1, 1), pullback.zeros(1, 1, 1, dtype=pullback.int64)) == 0
    tensor(True)
    """


adopt(globals())
