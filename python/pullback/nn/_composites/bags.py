"""Sums, means and maxima of embeddings in bags."""

from __future__ import annotations

from ... import Tensor, arange, int64, no_grad, where, zeros
from ..._warnings import warn
from .. import functional as F
from ._flags import check_flags
from ._nodes import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the embeddings of each bag of indices.

    `input` is (B, N), each row a bag, or (N) with the `offsets` at which bags start. `padding_idx` counts in no bag.
    Empty bags give zeros.

    >>> import pullback
    >>> w = pullback.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> pullback.nn.functional.embedding_bag(pullback.tensor([0, 2, 1]), w, pullback.tensor([0, 2]), mode="sum")
    tensor([[6., 8.],
            [3., 4.]])

    Raises:
        ValueError: for offsets beside a matrix of indices or missing beside a vector, another mode, weights that do
        not fit.
        NotImplementedError: for weights of samples with another mode than sum.
    """
    check_flags("embedding_bag", sparse=sparse)
    if not weight.is_floating_point() and input.is_floating_point():
        warn(
            "Argument order of nn.functional.embedding_bag was changed: the indices come first, and the weights second"
        )
        input, weight = weight, input
    if per_sample_weights is not None and per_sample_weights.size() != input.size():
        raise ValueError(
            f"If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape}); give a weight for each index"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}; give a row for each index"
        )
    input, offsets, per_sample_weights = _as_vector(input, offsets, per_sample_weights, include_last_offset)
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of 'sum', 'mean' or 'max', got {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'): weights make no mean or maximum; leave them out"
        )
    if mode == "max" and (sparse or scale_grad_by_freq):
        raise ValueError(
            "mode='max' does not support sparse weights or scaling the gradient by the frequency of the words; leave "
            "sparse and scale_grad_by_freq out"
        )
    if padding_idx is not None and not -weight.size(0) <= padding_idx < weight.size(0):
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {weight.size(0)}, but got padding_idx={padding_idx}"
        )
    count = offsets.numel()
    _check_offsets(offsets, input.numel())
    bag = (arange(input.numel()).unsqueeze(1) >= offsets).to(int64).sum(1) - 1
    rows = F.embedding(input, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    kept = bag >= 0
    if padding_idx is not None:
        kept = kept & (input != padding_idx % weight.size(0))
    bag = where(kept, bag, count)  # one more bag, which is cut off, for what does not count
    return named(_reduced(rows, bag, count, mode), "EmbeddingBagBackward0")


def _check_offsets(offsets: Tensor, count: int) -> None:
    """Bags begin with the first index, and none behind the last one, where that can be read."""
    if offsets.numel() == 0:
        return
    try:
        first, last = int(offsets[0]), int(offsets[-1])
    except (NotImplementedError, RuntimeError):
        return
    if first != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {first}; give each index a bag"
        )
    if last > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length, {count}, but got offsets[-1] of {last}; give places "
            "in the input"
        )


def _as_vector(
    input: Tensor, offsets: Tensor | None, weights: Tensor | None, include_last: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets).__name__}; leave it out"
            )
        rows, size = input.shape
        return input.reshape(-1), arange(rows) * size, None if weights is None else weights.reshape(-1)
    if input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}; flatten() it")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None; give the places where bags begin in the 1D input")
    if offsets.dim() != 1:
        raise ValueError(f"offsets has to be a 1D Tensor, but it has {offsets.dim()} dimensions; flatten() it")
    return input, offsets[:-1] if include_last else offsets, weights


def _reduced(rows: Tensor, bag: Tensor, count: int, mode: str) -> Tensor:
    width = rows.size(1)
    if mode == "max":
        return _maxima(rows, bag, count)
    out = rows.new_zeros((count + 1, width)).index_add(0, bag, rows)[:count]
    if mode == "mean":
        sizes = zeros(count + 1, dtype=rows.dtype).index_add(0, bag, rows.new_ones(rows.size(0)))[:count]
        out = out / sizes.clamp(min=1.0).unsqueeze(1)
    return out


def _maxima(rows: Tensor, bag: Tensor, count: int) -> Tensor:
    """The places of the maxima come from the values alone; the rows give the values, and get the gradients."""
    width = rows.size(1)
    if rows.size(0) == 0 or count == 0:
        return rows.new_zeros((count, width))
    with no_grad():
        member = bag.unsqueeze(0) == arange(count).unsqueeze(1)
        held = where(member.unsqueeze(2), rows.detach().unsqueeze(0), float("-inf"))
        places: Any = held.argmax(1)
        empty = ~member.any(1)
    return where(empty.unsqueeze(1), 0.0, rows.gather(0, places))
