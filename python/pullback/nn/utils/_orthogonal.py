"""Orthogonal matrices as functions of any matrix."""

from __future__ import annotations

from ... import Tensor, cat, eye, finfo, linalg, matrix_exp, no_grad, randn, stack, zeros_like
from ..modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def householder_product(vectors: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections 1 - tau[i] v[i] v[i]ᴴ, v[i] being column i below a 1."""
    n, k = vectors.shape[-2:]
    out = eye(n, k, dtype=vectors.dtype).expand(vectors.shape)
    lower = vectors.tril(-1) + eye(n, k, dtype=vectors.dtype)
    for i in reversed(range(k)):
        v = lower[..., i : i + 1]
        out = out - tau[..., i, None, None] * (v @ (v.mH @ out))
    return out


def householder_vectors(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The reflections that make a matrix triangular: vectors below the diagonal, the triangle on and above it, and
    tau."""
    a = matrix.clone()
    rows, columns = a.shape[-2:]
    taus = []
    for i in range(columns):
        x = a[..., i:, i]
        alpha, rest = x[..., 0], linalg.vector_norm(x[..., 1:], dim=-1) if i < rows - 1 else zeros_like(x[..., 0])
        done = rest == 0  # already triangular: no reflection
        beta = -(alpha * alpha + rest * rest).sqrt() * (1 - 2 * (alpha < 0).to(a.dtype))
        beta = beta.where(~done, alpha)
        tau = ((beta - alpha) / beta.where(~done, 1.0)).where(~done, 0.0)
        scale = (alpha - beta).where(~done, 1.0)
        v = cat([zeros_like(x[..., :1]) + 1.0, x[..., 1:] / scale.unsqueeze(-1)], -1)
        taus.append(tau)
        if i + 1 < columns:
            block = a[..., i:, i + 1 :]
            a[..., i:, i + 1 :] = block - tau[..., None, None] * v.unsqueeze(-1) * (v.unsqueeze(-2) @ block)
        a[..., i, i] = beta
        a[..., i + 1 :, i] = v[..., 1:]
    return a, stack(taus, -1)


def _is_orthogonal(q: Tensor) -> bool:
    eps = 10.0 * q.size(-2) * finfo(q.dtype).eps
    return bool(((q.mH @ q - eye(q.size(-1), dtype=q.dtype)).abs() <= eps).all())


def _make_orthogonal(a: Tensor) -> Tensor:
    q, r = linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class Orthogonal(Module):
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
            q = householder_product(a, tau) * x.diagonal(dim1=-2, dim2=-1).trunc().detach().unsqueeze(-2)
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
            a, tau = householder_vectors(q)
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
