"""Modules that are made inside of functions that are being transformed."""

from __future__ import annotations

from typing import Any

import pullback as pb
from pullback import nn
from pullback.func import grad, jacrev, jvp, vmap

x = pb.tensor([0.5, -1.0, 2.0])


def norm(v: Any) -> Any:
    return nn.LayerNorm(3)(v)


def test_they_compute_what_those_made_outside_do() -> None:
    outside = nn.LayerNorm(3)
    weights = pb.tensor([1.0, 2.0, 3.0])
    inside: Any = lambda v: (norm(v) * weights).sum()
    want: Any = lambda v: (outside(v) * weights).sum()
    pb.testing.assert_close(grad(inside)(x).detach(), grad(want)(x).detach())
    pb.testing.assert_close(jacrev(norm)(x).detach(), jacrev(outside)(x).detach())
    pb.testing.assert_close(jvp(norm, (x,), (weights,))[1].detach(), jvp(outside, (x,), (weights,))[1].detach())
    rows = pb.randn(4, 3)
    pb.testing.assert_close(vmap(norm)(rows).detach(), outside(rows).detach())


def test_their_parameters_are_leaves() -> None:
    made: list[nn.Module] = []

    def f(v: Any) -> Any:
        made.append(nn.Linear(3, 2))
        return made[-1](v)

    out = vmap(f, randomness="same")(pb.randn(4, 3))
    assert all(p.is_leaf and p.requires_grad for p in made[0].parameters())
    out.sum().backward()
    bias = made[0].bias
    assert isinstance(bias, nn.Parameter) and bias.grad is not None and bias.grad.tolist() == [4.0, 4.0]
