"""A softmax over many classes, of which most are rare."""

from __future__ import annotations

from collections import namedtuple

from ... import Tensor, cat, where
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NamedTuple

    class _ASMoutput(NamedTuple):
        output: Tensor
        loss: Tensor
else:
    _ASMoutput = namedtuple("_ASMoutput", ("output", "loss"))

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log probability of each target, and the mean loss, where classes are in clusters by how often they are met.

    `cutoffs` are where the clusters begin: classes below the first are in the head, those of cluster i are computed
    from
    in_features / div_value ** i features. Arguments are (N, in_features) and classes (N), or without the batch.

    >>> import pullback
    >>> m = pullback.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[4, 10])
    >>> out, loss = m(pullback.randn(3, 16), pullback.tensor([1, 5, 15]))
    >>> out.shape, m.log_prob(pullback.randn(3, 16)).shape
    (pullback.Size([3]), pullback.Size([3, 20]))

    Raises:
        ValueError: for cutoffs that are no rising integers between 0 and `n_classes`.
        RuntimeError: for arguments whose dimensions do not fit, or classes that there are not.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: Any = {"device": device, "dtype": dtype}
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if ends != sorted(set(ends)) or ends[0] <= 0 or ends[-1] > n_classes - 1 or any(int(c) != c for c in ends):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value "
                "is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*ends, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **options), Linear(width, size, bias=False, **options)
                )
            )

    def reset_parameters(self) -> None:
        """Draws the weights anew."""
        for layer in (self.head, *(part for pair in self.tail for part in pair)):
            layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() not in (0, 1) or input_.dim() != target_.dim() + 1:
            if target_.dim() > 1:
                raise RuntimeError(
                    f"0D or 1D target tensor expected, multi-target not supported, but it is {target_.dim()}D"
                )
            raise RuntimeError(
                f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, but found inputs with "
                f"size {list(input_.shape)}"
            )
        batched = target_.dim() == 1
        x, y = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if x.size(0) != y.size(0):
            raise RuntimeError(
                f"Input and target should have the same size in the batch dimension, got {x.size(0)} and {y.size(0)}"
            )
        if bool(((y < 0) | (y >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{y.min().item()}, "
                f"{y.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(x), 1)
        out = head.gather(1, where(y < self.shortlist_size, y, 0).unsqueeze(1)).squeeze(1)
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i : i + 2]
            rows = ((y >= low) & (y < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            inside = F.log_softmax(self.tail[i](x.index_select(0, rows)), 1)
            own = inside.gather(1, (y[rows] - low).unsqueeze(1)).squeeze(1)
            out = out.index_copy(0, rows, head[rows, self.shortlist_size + i] + own)
        loss = (-out).mean()
        return _ASMoutput(out if batched else out.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, 1)
        parts = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            at = self.shortlist_size + i
            parts.append(F.log_softmax(self.tail[i](input), 1) + head[:, at : at + 1])
        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes: (N, in_features) to (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The likeliest class of each row."""
        return self.log_prob(input).argmax(1)
