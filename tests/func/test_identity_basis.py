"""Products with the identity that Jacobians begin with are no products, and nobody can tell but by the clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import hessian, jacfwd, jacrev, trace

JACOBIANS = pytest.mark.parametrize("jacobian", [jacrev, jacfwd])


@JACOBIANS
@pytest.mark.parametrize("chunk_size", [None, 1, 2, 3])
def test_a_linear_map_is_its_jacobian(jacobian: Callable[..., Any], chunk_size: int | None) -> None:
    W = pb.randn(7, 4, dtype=pb.float64)
    if jacobian is jacrev:
        J = jacrev(lambda x: W @ x, chunk_size=chunk_size)(pb.randn(4, dtype=pb.float64))
    else:
        J = jacfwd(lambda x: W @ x)(pb.randn(4, dtype=pb.float64))
    assert pb.equal(J, W)


@JACOBIANS
def test_values_that_are_not_finite_stay_where_they_are(jacobian: Callable[..., Any]) -> None:
    W = pb.tensor([[1.0, float("inf")], [float("nan"), 2.0], [3.0, 4.0]])
    J = jacobian(lambda x: W @ x)(pb.ones(2))
    np.testing.assert_array_equal(J.numpy(), W.numpy())


@JACOBIANS
@pytest.mark.parametrize("make", [pb.tensor, lambda x: pb.from_numpy(np.array(x, dtype=np.float32))])
def test_a_jacobian_has_memory_of_its_own(jacobian: Callable[..., Any], make: Callable[..., Any]) -> None:
    W = make([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    before, x = W.tolist(), pb.ones(2)

    def fresh() -> Any:
        return jacobian(lambda x: W @ x)(x)

    fresh()[0, 0] = 77.0
    assert W.tolist() == before
    fresh().numpy()[1, 1] = 77.0
    assert W.tolist() == before
    J = fresh()
    W[1, 1] = 55.0
    assert J.tolist() == before
    W[1, 1] = before[1][1]
    J = fresh()
    W.numpy()[2, 0] = 55.0
    assert J.tolist() == before


def test_batches_and_several_inputs() -> None:
    W, A = pb.randn(5, 4, dtype=pb.float64), pb.randn(3, 4, dtype=pb.float64)
    x = pb.randn(4, dtype=pb.float64)
    a, b = jacfwd(lambda x, y: W @ x + W @ y * 2, argnums=(0, 1))(x, x)
    assert pb.equal(a, W) and pb.equal(b, 2 * W)
    for jacobian in (jacrev, jacfwd):
        J = jacobian(lambda A: A @ W.T)(A)
        for i in range(3):
            for k in range(3):
                assert pb.equal(J[i, :, k, :], W if i == k else pb.zeros(5, 4, dtype=pb.float64))
    assert pb.allclose(hessian(lambda x: ((W @ x) ** 2).sum())(x), 2 * W.T @ W)


def test_programs_say_what_constants_are() -> None:
    program = trace(jacrev(lambda x: (x.sin() + pb.zeros(5000)).sum()))(pb.ones(5000))
    text = str(program)
    assert "fill(0, float32[5000])" in text and "const float32[5000]" not in text
    assert "eye(0, float32[3, 3])" in str(trace(jacrev(lambda x: x.sin()))(pb.ones(3)))
