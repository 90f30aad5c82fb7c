"""Classes of optimisers under transforms: what is made inside is stepped by operators, what is outside stays whole."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback import optim
from pullback.autograd import forward_ad
from pullback.func import grad, jvp, trace, vmap

MAKERS = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.NAdam, optim.Adagrad]


def descended(make: Any, x: Any, steps: int = 3, **options: Any) -> Any:
    w = x.clone()
    optimizer = make([w], lr=0.1, **options)
    for k in range(steps):
        w.grad = 2 * w + k
        optimizer.step()
    return w


@pytest.mark.parametrize("make", MAKERS)
def test_members_of_a_batch_are_stepped_as_alone(make: Any) -> None:
    x = pb.tensor([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.1]])
    batched = vmap(lambda x: descended(make, x))(x)
    assert pb.allclose(batched, pb.stack([descended(make, row) for row in x]), atol=1e-6)


@pytest.mark.parametrize("make", MAKERS)
def test_derivatives_follow_differentiable_steps(make: Any) -> None:
    x = pb.tensor([1.0, -2.0], dtype=pb.float64)

    def loss(x: Any) -> Any:
        return (descended(make, x, differentiable=True) ** 2).sum()

    derivative, h = grad(loss)(x), 1e-6
    for i in range(2):
        way = pb.eye(2, dtype=pb.float64)[i]
        difference = (loss(x + h * way) - loss(x - h * way)) / (2 * h)
        assert derivative[i].item() == pytest.approx(difference.item(), rel=1e-4, abs=1e-6)
        assert jvp(loss, (x,), (way,))[1].item() == pytest.approx(difference.item(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("transform", [lambda f: vmap(f)(pb.ones(2, 3)), lambda f: trace(f)(pb.ones(3))])
def test_what_is_outside_cannot_keep_values_of_a_transform(transform: Any) -> None:
    w = pb.ones(3, requires_grad=True)
    optimizer = optim.Adam([w], lr=0.1)
    w.grad = pb.ones(3)
    optimizer.step()
    before = w.tolist(), optimizer.state[w]["step"].item(), optimizer.state[w]["exp_avg"].tolist()

    def step(x: Any) -> Any:
        w.grad = x * 2
        optimizer.step()
        return x

    w.grad = None
    with pytest.raises(RuntimeError, match="was made outside"):
        transform(step)
    w.grad = None
    assert before == (w.tolist(), optimizer.state[w]["step"].item(), optimizer.state[w]["exp_avg"].tolist())


def test_plain_parameters_are_stepped_inside_of_a_transform() -> None:
    w = pb.ones(3, requires_grad=True)
    w.grad = pb.ones(3)
    optimizer = optim.SGD([w], lr=0.5)

    def inside(x: Any) -> Any:
        optimizer.step()
        return x

    vmap(inside)(pb.ones(2))
    assert w.tolist() == [0.5] * 3


def test_tangents_of_parameters() -> None:
    with forward_ad.dual_level():
        p = forward_ad.make_dual(pb.ones(2), pb.tensor([1.0, 2.0]))
        p.grad = pb.ones(2)
        optim.SGD([p], lr=0.5, weight_decay=0.5).step()
        primal, tangent = forward_ad.unpack_dual(p)
        assert primal.tolist() == [0.25] * 2 and tangent.tolist() == [0.75, 1.5]


def test_parameters_without_data() -> None:
    p = pb.ones(2, device="meta")
    p.grad = pb.ones(2, device="meta")
    optimizer = optim.Adam([p])
    optimizer.step()
    assert p.is_meta and optimizer.state[p]["exp_avg"].is_meta
