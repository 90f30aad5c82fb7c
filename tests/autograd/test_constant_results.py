"""A result that its input decides and does not move requires grad as in PyTorch, and passes a derivative of 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
import pullback.nn.functional as F

SQUARE = pb.tensor([[1.0, 0.0, -2.0], [0.5, 3.0, 0.0], [0.0, 1.5, 2.5]])
CALLS: dict[str, Callable[[pb.Tensor], pb.Tensor]] = {
    "norm of order 0": lambda x: pb.norm(x, 0),
    "linalg.norm of order 0": lambda x: pb.linalg.norm(x.flatten(), 0),
    "vector_norm of order 0": lambda x: pb.linalg.vector_norm(x, 0, dim=1),
    "dist of order 0": lambda x: pb.dist(x, x + 1, 0),
    "pdist of order 0": lambda x: F.pdist(x, 0),
    "cdist of order 0": lambda x: pb.cdist(x, x + 1, 0),
    "matrix_power of 0": lambda x: pb.linalg.matrix_power(x, 0),
    "fill": lambda x: pb.fill(x, 3.0),
    "fill_": lambda x: x.clone().fill_(3.0),
    "zero_": lambda x: x.clone().zero_(),
    "floor": pb.floor,
    "ceil": pb.ceil,
    "round": pb.round,
    "trunc": pb.trunc,
    "sign": pb.sign,
    "sgn": pb.sgn,
    "floor_divide": lambda x: pb.floor_divide(x, 2),
    "div, floor": lambda x: pb.div(x, 2, rounding_mode="floor"),
    "bernoulli": lambda x: pb.bernoulli(x.sigmoid()),
    "poisson": lambda x: pb.poisson(x.abs()),
    "normal": lambda x: pb.normal(x, 0.0),
    "prod of nothing": lambda x: x[:0].prod(),
    "prod of nothing, along": lambda x: x[:, :0].prod(1),
    "gather of nothing": lambda x: x.gather(0, pb.zeros(0, 3, dtype=pb.int64)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_derivative_is_zero(name: str) -> None:
    x = SQUARE.clone().requires_grad_()
    out = CALLS[name](x)
    assert out.requires_grad and out.grad_fn is not None
    out.sum().backward()
    assert x.grad is not None and not x.grad.any()
    assert not pb.func.jvp(lambda v: CALLS[name](v), (SQUARE,), (pb.ones(3, 3),))[1].any()


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("bernoulli", "poisson", "normal")])
def test_values_are_those_without_a_derivative(name: str) -> None:
    plain = CALLS[name](SQUARE)
    assert not plain.requires_grad
    assert pb.equal(CALLS[name](SQUARE.clone().requires_grad_()).detach(), plain)


@pytest.mark.parametrize("f", [pb.argmax, pb.zeros_like, pb.ones_like, lambda x: x > 0, lambda x: x.sort().indices])
def test_others_have_none(f: Callable[[pb.Tensor], Any]) -> None:
    assert not f(SQUARE.clone().requires_grad_()).requires_grad


def test_products_of_nothing() -> None:
    assert pb.ones(0).prod().item() == 1.0
    assert pb.ones(2, 0, dtype=pb.complex64).prod(1).tolist() == [1.0, 1.0]
    assert pb.ones(0, dtype=pb.int32).prod().dtype is pb.int64
    assert pb.ones(2, 0).prod(1, keepdim=True).shape == (2, 1)


def test_factors_of_no_rows_have_derivatives() -> None:
    a = pb.ones(0, 5, 5, requires_grad=True)
    packed, tau = pb.geqrf(pb.ones(0, 3, requires_grad=True))
    (packed.sum() + tau.sum()).backward()
    pb.ormqr(a, pb.ones(0, 5), pb.ones(0, 5, 5)).sum().backward()
