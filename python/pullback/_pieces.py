"""Pieces of a tensor that may be written to, and copies with a piece that is another tensor's."""

from __future__ import annotations

from itertools import pairwise

from . import _core
from ._core import Tensor
from .nn._overriding import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_functions: Any = _core.functions


def _apart(tensor: Tensor, pieces: Sequence[Tensor], dim: int) -> tuple[Tensor, ...]:
    """The same pieces, each a view of its own: a write to one is no write to one of several results."""
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + piece.size(dim))
    return tuple(tensor.narrow(dim, start, end - start) for start, end in pairwise(ends))


@shown
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk`, whose pieces may be written to where gradients are recorded; derivatives follow all writes.

    >>> import pullback
    >>> pullback.unsafe_chunk(pullback.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return _apart(input, input.chunk(chunks, dim), dim)


@shown
def unsafe_split(tensor: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """`split`, whose pieces may be written to where gradients are recorded; derivatives follow all writes.

    >>> import pullback
    >>> pullback.unsafe_split(pullback.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return _apart(tensor, tensor.split(split_size, dim), dim)


@shown
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes`, whose pieces may be written to where gradients are recorded; derivatives follow all writes.

    >>> import pullback
    >>> pullback.unsafe_split_with_sizes(pullback.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    return _apart(input, input.split_with_sizes(split_sizes, dim), dim)


@shown
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of `input` with `src` at the elements that `input.as_strided(size, stride, storage_offset)` shows.

    Elements of the memory between those of `input` are left out. Raises RuntimeError for a `src` of another shape,
    places outside of the tensor, and places that are named twice.

    >>> import pullback
    >>> pullback.as_strided_scatter(pullback.zeros(2, 3), pullback.ones(2), (2,), (4,))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    own = input.storage_offset()
    start = 0 if storage_offset is None else storage_offset - own
    if start < 0:
        raise RuntimeError(
            f"as_strided_scatter(): a storage offset of {storage_offset} is before the tensor's own, {own}; places are "
            "among its elements"
        )
    places = _functions["arange"](input.numel())
    if not input.is_contiguous():
        room = 1 + sum((n - 1) * step for n, step in zip(input.shape, input.stride(), strict=True))
        marks = _functions["full"]((room if input.numel() else 0,), -1)
        marks.as_strided(input.shape, input.stride(), 0).copy_(places.view(input.shape))
        places = marks
    at = places.as_strided(size, stride, start)
    at.copy_(at.clone())
    if at.shape != src.shape:
        raise RuntimeError(
            f"as_strided_scatter(): argument 'src' must have the shape {list(at.shape)} of what it replaces, "
            f"but has the shape {list(src.shape)}"
        )
    at, values = at.reshape(-1), src.reshape(-1).to(input.dtype)
    kept = at >= 0
    flat = input.reshape(-1).index_put((at[kept],), values[kept])
    out: Tensor = _functions["empty_like"](input).copy_(flat.view(input.shape))
    return out
