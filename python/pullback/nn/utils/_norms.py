"""Lengths of the slices of a tensor."""

from __future__ import annotations

from ... import Tensor, linalg


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The norm over all dimensions but one, which keeps its size; over all for -1."""
    if dim == -1:
        return linalg.vector_norm(v)
    others = [d for d in range(v.dim()) if d != dim]
    if not others:
        return v.abs()
    return linalg.vector_norm(v, dim=others, keepdim=True)
