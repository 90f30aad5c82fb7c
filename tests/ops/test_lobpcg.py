"""Eigenpairs by products: values, vectors and derivatives against all eigenpairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback import func

M = 24


def matrix(seed: int = 0, dtype: Any = pb.float64) -> Any:
    """Hermitian, with eigenvalues far apart."""
    g = pb.Generator().manual_seed(seed)
    q = pb.linalg.qr(pb.randn(M, M, generator=g, dtype=dtype))[0]
    values = pb.arange(1.0, M + 1, dtype=pb.float64) ** 1.5
    a = q @ (values[:, None] * q.mH)
    return (a + a.mH) / 2


def metric(seed: int = 1, dtype: Any = pb.float64) -> Any:
    c = pb.randn(M, M, generator=pb.Generator().manual_seed(seed), dtype=dtype)
    return c @ c.mH / M + pb.eye(M, dtype=dtype)


A, B = matrix(), metric()
X0 = pb.randn(M, 4, generator=pb.Generator().manual_seed(2), dtype=pb.float64)


@pytest.mark.parametrize("dtype", [pb.float64, pb.complex128])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("with_metric", [True, False])
def test_pairs(dtype: Any, largest: bool, with_metric: bool) -> None:
    a, b = matrix(5, dtype), metric(6, dtype) if with_metric else None
    values, vectors = pb.lobpcg(a, 3, b, tol=1e-10, largest=largest)
    all_values = scipy.linalg.eigh(a.numpy(), None if b is None else b.numpy(), eigvals_only=True)
    want = all_values[::-1][:3] if largest else all_values[:3]
    assert np.allclose(values.numpy(), want, rtol=1e-10) and not values.is_complex()
    turned = vectors if b is None else b @ vectors
    assert (a @ vectors - turned * values).abs().max() < 1e-6
    assert (vectors.mH @ turned - pb.eye(3, dtype=dtype)).abs().max() < 1e-12


def test_batches_starts_and_preconditioners() -> None:
    many = pb.stack([A, 2 * A]).reshape(2, 1, M, M)
    values, vectors = pb.lobpcg(many, X=X0, k=2, tol=1e-10)
    assert values.shape == (2, 1, 2) and vectors.shape == (2, 1, M, 2)
    assert (values[1] - 2 * values[0]).abs().max() < 1e-9
    smallest = pb.lobpcg(A, 2, iK=pb.linalg.inv(A), largest=False, tol=1e-10)[0]
    assert (smallest - pb.linalg.eigvalsh(A)[:2]).abs().max() < 1e-9
    single = pb.lobpcg(A.float(), 2)[0]
    assert single.dtype is pb.float32 and (single - values[0, 0]).abs().max() < 1e-3
    assert pb.lobpcg(pb.zeros(0, M, M), 2)[1].shape == (0, M, 2)


def test_tracker_and_steps() -> None:
    seen: list[tuple[int, int]] = []

    def tracker(search: Any) -> None:
        seen.append((search.ivars["istep"], search.ivars["iterations_left"]))
        assert search.X.shape == (M, 2) and search.tvars["rerr"].shape == (2,)

    pb.lobpcg(A, 2, niter=3, tol=1e-14, tracker=tracker)
    assert seen == [(0, 3), (1, 2), (2, 1), (3, 0)]


def by_products(a: Any, b: Any, largest: bool = True) -> Any:
    a, b = (a + a.mT) / 2, (b + b.mT) / 2
    values, vectors = pb.lobpcg(a, 3, b, X0, tol=1e-14, niter=300, largest=largest)
    return (values / 30).sin().sum() + (vectors**2).sin().sum()


def directly(a: Any, b: Any, largest: bool = True) -> Any:
    half = pb.linalg.cholesky((b + b.mT) / 2)
    inner = pb.linalg.solve_triangular(half, (a + a.mT) / 2, upper=False)
    inner = pb.linalg.solve_triangular(half.mT, inner, upper=True, left=False)
    values, vectors = pb.linalg.eigh((inner + inner.mT) / 2)
    values, vectors = (values.flip(0)[:3], vectors.flip(1)[:, :3]) if largest else (values[:3], vectors[:, :3])
    vectors = pb.linalg.solve_triangular(half.mT, vectors, upper=True)
    return (values / 30).sin().sum() + (vectors**2).sin().sum()


def close(found: Any, want: Any) -> bool:
    return bool((found - want).abs().max() < 1e-6 * (1e-3 + want.abs().max()))


@pytest.mark.parametrize("largest", [True, False])
def test_derivatives(largest: bool) -> None:
    f, g = (lambda a, b, h=h: h(a, b, largest) for h in (by_products, directly))
    for found, want in zip(func.grad(f, (0, 1))(A, B), func.grad(g, (0, 1))(A, B), strict=True):
        assert close(found, want)
    along = (matrix(7), metric(8))
    assert close(func.jvp(f, (A, B), along)[1], func.jvp(g, (A, B), along)[1])
    twice = [
        func.jvp(func.grad(h, (0, 1)), (A, B), along)[1] + func.vjp(func.grad(h, (0, 1)), A, B)[1](along)
        for h in (f, g)
    ]
    assert all(close(x, y) for x, y in zip(*twice, strict=True))


def test_members_of_a_batch() -> None:
    many = pb.stack([A, A + 0.01 * matrix(9), A + 0.01 * matrix(10)])
    for f in (by_products, func.grad(by_products)):
        found = func.vmap(f, (0, None))(many, B)
        assert close(found, pb.stack([f(a, B) for a in many]))
    found = func.vmap(lambda b: by_products(A, b))(pb.stack([B, 2 * B]))
    assert close(found, pb.stack([by_products(A, B), by_products(A, 2 * B)]))


def test_recorded_derivatives() -> None:
    x = A.clone().requires_grad_()
    pb.lobpcg(x, 2, tol=1e-10)[0].sum().backward()
    vectors = pb.linalg.eigh(A)[1][:, -2:]
    assert x.grad is not None and (x.grad - vectors @ vectors.mT).abs().max() < 1e-6


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: pb.lobpcg(A[:3]), ValueError, "A must be square matrices"),
        (lambda: pb.lobpcg(A, 9), ValueError, "not applicable when the number of A rows"),
        (lambda: pb.lobpcg(A, 3, n=2), ValueError, "give 1 <= k <= n"),
        (lambda: pb.lobpcg(A, 5, X=X0), ValueError, "give 1 <= k <= n"),
        (lambda: pb.lobpcg(A, X=X0[:3]), ValueError, "X must have 24 rows"),
        (lambda: pb.lobpcg(A, B=B[:3]), ValueError, "A and B must have the same sizes"),
        (lambda: pb.lobpcg(A, method="qr"), ValueError, "method must be 'ortho' or 'basic'"),
        (lambda: pb.lobpcg(A.long()), RuntimeError, "A must be of floats"),
    ],
)
def test_errors(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()
