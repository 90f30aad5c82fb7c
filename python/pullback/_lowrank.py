"""Singular values of large matrices of low rank, by products with random vectors."""

from __future__ import annotations

from . import Tensor, get_default_dtype, linalg, randn
from .nn._overriding import shown

__all__ = ["pca_lowrank", "svd_lowrank"]


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values of `A - M`, and their vectors, approximately: `U`, `S`, `V`.

    NOTE. N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness" (2009), algorithms 4.4 and 5.1:
    the range of the matrix is that of its product with q random vectors, after `niter` steps of the power method.

    Args:
        A: matrices [..., m, n].
        q: how many singular values; a few more than the rank give good ones. By default 6.
        niter: steps of the power method.
        M: what is subtracted from A, such as its mean; it broadcasts to A.

    >>> import pullback
    >>> column = pullback.tensor([[3.0], [4.0]])
    >>> U, S, V = pullback.svd_lowrank(column @ column.mT, q=1)
    >>> S
    tensor([25.])
    """
    q = 6 if q is None else q
    A = A if M is None else A - M
    if A.shape[-2] < A.shape[-1]:
        V, S, U = _tall(A.mH, q, 2 if niter is None else niter)
        return U, S, V
    return _tall(A, q, 2 if niter is None else niter)


def _tall(A: Tensor, q: int, niter: int) -> tuple[Tensor, Tensor, Tensor]:
    dtype = A.dtype if A.is_floating_point() or A.is_complex() else get_default_dtype()
    A = A.to(dtype)
    basis = linalg.qr(A @ randn(A.shape[-1], q, dtype=dtype)).Q
    for _ in range(niter):
        basis = linalg.qr(A.mH @ basis).Q
        basis = linalg.qr(A @ basis).Q
    U, S, Vh = linalg.svd(basis.mH @ A, full_matrices=False)
    return basis @ U, S, Vh.mH


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of rows: `svd_lowrank` of A without the mean of its rows.

    Args:
        A: rows of data [..., m, n].
        q: how many components; by default 6, or fewer for smaller matrices.
        center: whether the mean is subtracted.
        niter: steps of the power method.

    Raises:
        ValueError: if `q` is not between 0 and the number of rows and columns, or `niter` is negative.

    >>> import pullback
    >>> U, S, V = pullback.pca_lowrank(pullback.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), q=1)
    >>> V.abs()
    tensor([[1.],
            [0.]])
    """
    most = min(A.shape[-2:])
    q = min(6, most) if q is None else q
    if not 0 <= q <= most:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A, q, niter, A.mean(-2, keepdim=True) if center else None)


svd_lowrank, pca_lowrank = shown(svd_lowrank), shown(pca_lowrank)
