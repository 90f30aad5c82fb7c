"""_Orthogonal matrices as functions of any matrix."""

from __future__ import annotations

from ... import Tensor, cat, eye, finfo, geqrf, linalg, matrix_exp, no_grad, randn, zeros_like
from ..modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _is_orthogonal(q: Tensor) -> bool:
    eps = 10.0 * q.size(-2) * finfo(q.dtype).eps
    return bool(((q.mH @ q - eye(q.size(-1), dtype=q.dtype)).abs() <= eps).all())


def _make_orthogonal(a: Tensor) -> Tensor:
    q, r = linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Matrices with orthonormal rows or columns: `kind` is "matrix_exp", "cayley" or "householder"."""

    base: Any

    def __init__(self, weight: Tensor, kind: str, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and kind == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = kind
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        n, k = x.size(-2), x.size(-1)
        wide = n < k
        if wide:
            x, n, k = x.mT, k, n
        if self.orthogonal_map == "householder":
            a = x.tril(-1)
            tau = 2.0 / (1.0 + (a * a).sum(-2))
            # The signs of the diagonal are part of the map.
            q = linalg.householder_product(a, tau) * x.diagonal(dim1=-2, dim2=-1).trunc().detach().unsqueeze(-2)
        else:
            lower = x.tril()
            if n != k:
                lower = cat([lower, lower.new_zeros((n, n - k)).expand(*lower.shape[:-2], -1, -1)], -1)
            a = lower - lower.mH
            if self.orthogonal_map == "matrix_exp":
                q = matrix_exp(a)
            else:
                one = eye(n, dtype=a.dtype)
                q = linalg.solve(one - 0.5 * a, one + 0.5 * a)
            q = q[..., :k]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, q: Tensor) -> Tensor:
        """What is mapped to a matrix near `q`, exactly to `q` if that is orthogonal.

        Raises ValueError for another shape, and NotImplementedError for maps that cannot be inverted.
        """
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        first = q
        n, k = q.size(-2), q.size(-1)
        wide = n < k
        if wide:
            q, n, k = q.mT, k, n
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            a, tau = geqrf(q)
            diagonal = a.diagonal(dim1=-2, dim2=-1)
            diagonal.copy_(diagonal.sgn() * (1 - 2 * (tau == 0).to(a.dtype)))
            return a.mT if wide else a
        with no_grad():
            if n == k:
                base = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
            else:
                base = _make_orthogonal(cat([q, randn((*q.shape[:-2], n, n - k), dtype=q.dtype)], -1))
            self.base = base
            # The signs of the diagonal that the map of zeros needs to be the identity.
            start = zeros_like(first)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start
