"""Tables of vectors."""

from __future__ import annotations

from ... import Tensor, empty, no_grad
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Embedding", "EmbeddingBag"]


def _padding(padding_idx: int | None, count: int) -> int | None:
    if padding_idx is None:
        return None
    if not -count <= padding_idx < count:
        raise AssertionError(f"Padding_idx must be within num_embeddings, {count}, but got padding_idx={padding_idx}")
    return padding_idx % count


def _check_rows(embeddings: Tensor) -> None:
    if embeddings.dim() != 2:
        raise AssertionError(
            f"Embeddings parameter is expected to be 2-dimensional, but has the shape {list(embeddings.shape)}"
        )


class _Table(Module):
    padding_idx: int | None
    weight: Any

    def _make_weight(self, given: Tensor | None, rows: int, width: int, freeze: bool, options: dict[str, Any]) -> None:
        if given is None:
            self.weight = Parameter(empty((rows, width), **options), requires_grad=not freeze)
            self.reset_parameters()
            return
        if list(given.shape) != [rows, width]:
            raise AssertionError(
                f"Shape of weight does not match num_embeddings and embedding_dim: it is {list(given.shape)}"
            )
        self.weight = Parameter(given, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draws the vectors from a normal distribution; that of the padding is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """The vectors of a table at integer indices: (*) to (*, embedding_dim).

    `weight` is (num_embeddings, embedding_dim). The vector `padding_idx` gets no gradient. With `max_norm` the
    vectors that
    are looked up are first shortened to it, in place. `sparse` is accepted; gradients are dense.

    >>> import pullback
    >>> m = pullback.nn.Embedding(10, 3, padding_idx=0)
    >>> m(pullback.tensor([[0, 2, 5]])).shape, m(pullback.tensor(0)).tolist()
    (pullback.Size([1, 3, 3]), [0.0, 0.0, 0.0])

    Raises AssertionError for a `padding_idx` outside of the table, or a weight of another shape.
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _padding(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make_weight(_weight, num_embeddings, embedding_dim, _freeze, {"device": device, "dtype": dtype})

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        parts = [
            f"{self.num_embeddings}, {self.embedding_dim}",
            f"padding_idx={self.padding_idx}" if self.padding_idx is not None else "",
            f"max_norm={self.max_norm}" if self.max_norm is not None else "",
            f"norm_type={self.norm_type}" if self.norm_type != 2 else "",
            f"scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else "",
            "sparse=True" if self.sparse else "",
        ]
        return ", ".join(part for part in parts if part)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A table of these vectors, which learn only with `freeze=False`."""
        _check_rows(embeddings)
        rows, width = embeddings.shape
        return cls(rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the vectors of each bag of indices.

    The argument is (B, N), each row a bag, or (N) with the offsets at which bags start.

    >>> import pullback
    >>> m = pullback.nn.EmbeddingBag(10, 3, mode="sum")
    >>> m(pullback.tensor([1, 2, 4, 5]), pullback.tensor([0, 2])).shape
    pullback.Size([2, 3])

    Raises ValueError for another mode, or offsets that do not fit.
    """

    __constants__ = [
        *("num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse"),
        *("include_last_offset", "padding_idx"),
    ]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _padding(padding_idx, num_embeddings)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make_weight(_weight, num_embeddings, embedding_dim, False, {"device": device, "dtype": dtype})

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        parts = [
            f"{self.num_embeddings}, {self.embedding_dim}",
            f"max_norm={self.max_norm}" if self.max_norm is not None else "",
            f"norm_type={self.norm_type}" if self.norm_type != 2 else "",
            f"scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else "",
            f"mode={self.mode!r}",
            f"padding_idx={self.padding_idx}" if self.padding_idx is not None else "",
        ]
        return ", ".join(part for part in parts if part)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A table of these vectors, which learn only with `freeze=False`."""
        _check_rows(embeddings)
        rows, width = embeddings.shape
        made = cls(
            rows,
            width,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made
