"""Tensors as parts of one flat tensor, which PyTorch has in a private module that programs import."""

from typing import Any

from ._core import Tensor, functions

__all__ = ["_flatten_dense_tensors", "_unflatten_dense_tensors"]


def _flatten_dense_tensors(tensors: Any) -> Tensor:
    """The elements of all tensors, one after the other.

    >>> import pullback
    >>> from pullback._utils import _flatten_dense_tensors
    >>> _flatten_dense_tensors([pullback.ones(2), pullback.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    flat: Tensor = functions["cat"]([t.contiguous().view(-1) for t in tensors])
    return flat


def _unflatten_dense_tensors(flat: Tensor, tensors: Any) -> tuple[Tensor, ...]:
    """Views of the parts of a flat tensor, with the shapes of these tensors.

    >>> import pullback
    >>> from pullback._utils import _unflatten_dense_tensors
    >>> _unflatten_dense_tensors(pullback.arange(3), [pullback.ones(2), pullback.zeros(1, 1)])
    (tensor([0, 1]), tensor([[2]]))
    """
    parts, at = [], 0
    for t in tensors:
        parts.append(flat.narrow(0, at, t.numel()).view_as(t))
        at += t.numel()
    return tuple(parts)
