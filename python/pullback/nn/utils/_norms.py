"""Lengths of the slices of a tensor."""

from __future__ import annotations

from ... import Tensor, linalg


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The norm over all dimensions but one, which keeps its size; over all for -1.

    Raises IndexError for a dimension that is not there.
    """
    if dim == -1:
        return linalg.vector_norm(v)
    n = v.dim()
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    dim %= n
    others = [d for d in range(v.dim()) if d != dim]
    if not others:
        return v.abs()
    return linalg.vector_norm(v, dim=others, keepdim=True)
