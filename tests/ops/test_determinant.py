"""Derivatives of determinants where the matrix has no inverse."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback import func
from pullback.autograd import gradcheck, gradgradcheck


def matrix_of_rank(n: int, rank: int) -> pb.Tensor:
    rng = np.random.default_rng(10 * n + rank)
    return pb.tensor(rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n)), dtype=pb.float64)


def cofactors(a: np.ndarray) -> np.ndarray:
    n = len(a)
    minor = lambda i, j: np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
    return np.array([[(-1) ** (i + j) * minor(i, j) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("rank", [4, 3, 2, 1, 0])
def test_gradient_is_the_matrix_of_cofactors(rank: int) -> None:
    a = matrix_of_rank(4, rank)
    got = func.grad(pb.linalg.det)(a)
    np.testing.assert_allclose(got.numpy(), cofactors(a.numpy()), atol=1e-11)
    assert gradcheck(pb.linalg.det, (a.requires_grad_(),), check_forward_ad=True)


@pytest.mark.parametrize("rank", [3, 2, 1, 0])
def test_second_derivatives_at_any_rank(rank: int) -> None:
    a = matrix_of_rank(3, rank).requires_grad_()
    assert gradgradcheck(pb.linalg.det, (a,), check_fwd_over_rev=True)


def test_nearly_singular_matrix() -> None:
    a = matrix_of_rank(4, 3) + 1e-13 * pb.eye(4, dtype=pb.float64)
    np.testing.assert_allclose(func.grad(pb.linalg.det)(a).numpy(), cofactors(a.numpy()), rtol=1e-6)


def test_singular_members_of_a_batch() -> None:
    batch = pb.stack([matrix_of_rank(3, r) for r in (3, 2, 1)])
    got = func.vmap(func.grad(pb.linalg.det))(batch)
    loop = pb.stack([func.grad(pb.linalg.det)(a) for a in batch])
    np.testing.assert_allclose(got.numpy(), loop.numpy(), atol=1e-12)


def test_logarithm_of_a_singular_determinant_has_no_derivative() -> None:
    a = matrix_of_rank(3, 0)
    assert pb.linalg.slogdet(a).logabsdet.item() == float("-inf")
    for transform in (func.grad, func.jacfwd):
        with pytest.raises(
            pb.linalg.LinAlgError, match=r"slogdet: 'logabsdet' has no derivative .*test_determinant.py:"
        ):
            transform(lambda x: pb.linalg.slogdet(x).logabsdet)(a)


def test_integers_have_exact_determinants() -> None:
    assert pb.linalg.det(pb.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=pb.float64)).item() == -2.0
    assert pb.linalg.det(1e-200 * pb.eye(2, dtype=pb.float64)).item() == 0.0
    tiny = pb.diag(pb.tensor([1e-200, 1e-200, 1e300], dtype=pb.float64))
    assert pb.linalg.det(tiny).item() == pytest.approx(1e-100)
