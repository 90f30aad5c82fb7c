"""Singular values by random products: against those of the whole matrix, and with PyTorch's random numbers."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

same = pb.testing.assert_close


@pytest.mark.parametrize("dtype", [pb.float32, pb.float64, pb.complex64])
@pytest.mark.parametrize("shape", [(9, 7), (7, 9), (2, 7, 9)])
def test_matrices_of_low_rank(dtype: Any, shape: tuple[int, ...]) -> None:
    pb.manual_seed(0)
    A = pb.randn(*shape[:-1], 3, dtype=dtype) @ pb.randn(*shape[:-2], 3, shape[-1], dtype=dtype)
    U, S, V = pb.svd_lowrank(A, q=4)
    same(S[..., :3], pb.linalg.svdvals(A)[..., :3], rtol=1e-4, atol=1e-4)
    same(U @ pb.diag_embed(S.to(dtype)) @ V.mH, A, rtol=1e-3, atol=1e-4)
    U, S, V = pb.svd_lowrank(A, q=4, niter=1, M=A.mean(-1, keepdim=True))
    same(S[..., :3], pb.linalg.svdvals(A - A.mean(-1, keepdim=True))[..., :3], rtol=1e-3, atol=1e-4)
    assert U.shape[-1] == V.shape[-1] == 4


def test_principal_components() -> None:
    pb.manual_seed(0)
    A = pb.randn(20, 6) * pb.tensor([9.0, 5.0, 1.0, 1.0, 1.0, 1.0]) + 3
    S = pb.pca_lowrank(A, q=2)[1]
    same(S, pb.linalg.svdvals(A - A.mean(0))[:2], rtol=1e-2, atol=0)
    assert pb.pca_lowrank(A, center=False)[1][0] > S[0]
    assert pb.pca_lowrank(A[:4])[1].shape == (4,)
    for q, niter, text in ((7, 2, r"q\(=7\)"), (-1, 2, r"q\(=-1\)"), (2, -1, r"niter\(=-1\)")):
        with pytest.raises(ValueError, match=text):
            pb.pca_lowrank(A, q, niter=niter)


def test_random_numbers_are_pytorchs() -> None:
    pb.manual_seed(0)
    left = pb.svd_lowrank(pb.arange(12.0).reshape(3, 4), q=2)[0]
    pb.manual_seed(0)
    pb.randn(3, 2)
    after = pb.rand(1)
    pb.manual_seed(0)
    pb.svd_lowrank(pb.arange(12.0).reshape(3, 4), q=2)
    same(pb.rand(1), after)
    assert left.shape == (3, 2)
