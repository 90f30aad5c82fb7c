"""Random operators under vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback import func


def test_multinomial_draws_for_each_member() -> None:
    weights = pb.tensor([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]])
    draw = func.vmap(lambda w: pb.multinomial(w, 40, replacement=True), randomness="different")(weights)
    assert draw.shape == (3, 40)
    assert [set(row.tolist()) for row in draw] == [{1}, {2, 3}, {0, 1}]
    few = func.vmap(lambda w: pb.multinomial(w, 2), randomness="different")(pb.ones(200, 3))
    assert all(a != b for a, b in few.tolist())
    assert len({tuple(row) for row in few.tolist()}) == 6


def test_multinomial_repeats_its_numbers_for_all_members() -> None:
    weights = pb.rand(4) + 0.1
    f: Callable[[Any], Any] = lambda w: pb.multinomial(w, 3)
    same = func.vmap(f, randomness="same")(weights.expand(5, 4))
    assert (same == same[0]).all()
    pb.manual_seed(3)
    alone = f(weights)
    pb.manual_seed(3)
    assert func.vmap(f, randomness="same")(weights.expand(2, 4))[1].tolist() == alone.tolist()


def test_multinomial_of_constant_weights() -> None:
    f = lambda x: pb.multinomial(pb.ones(50), 20) + 0 * x
    draw = func.vmap(f, randomness="different")(pb.zeros(4, 1, dtype=pb.int64))
    assert draw.shape == (4, 20)
    assert len({tuple(row) for row in draw.tolist()}) == 4
    with pytest.raises(RuntimeError, match=r"random operation while in randomness error mode: multinomial\(\)"):
        func.vmap(f)(pb.zeros(4, 1, dtype=pb.int64))


def test_multinomial_under_two_batches() -> None:
    weights = pb.eye(3).reshape(3, 1, 3).expand(3, 2, 3)
    f = func.vmap(func.vmap(lambda w: pb.multinomial(w, 1), randomness="different"), randomness="different")
    assert f(weights).squeeze(-1).tolist() == [[0, 0], [1, 1], [2, 2]]
    with pytest.raises(RuntimeError, match=r"multinomial\(\): .*sum of probabilities <= 0"):
        f(0 * weights)


@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_chunks_draw_the_same_numbers(chunk: int) -> None:
    own = pb.Generator().manual_seed(9)

    def f(x: Any) -> Any:
        return x + pb.rand(2) + pb.rand(2, generator=own) + pb.nn.functional.dropout(pb.ones(2))

    pb.manual_seed(1)
    got = func.vmap(f, randomness="same", chunk_size=chunk)(pb.zeros(5, 2))
    after = pb.rand(3).tolist()
    assert (got == got[0]).all()
    pb.manual_seed(1)
    own.manual_seed(9)
    assert func.vmap(f, randomness="same")(pb.zeros(5, 2)).tolist() == got.tolist()
    assert pb.rand(3).tolist() == after


def test_chunks_of_jacfwd_draw_the_same_numbers() -> None:
    f = lambda x: x * pb.rand(4)
    jacobian = func.jacfwd(f, randomness="same", chunk_size=1)(pb.ones(4))
    pb.manual_seed(0)
    assert jacobian.diagonal().tolist() == pb.rand(4).tolist()


def test_chunks_that_differ_go_on() -> None:
    got = func.vmap(lambda x: x + pb.rand(3), randomness="different", chunk_size=2)(pb.zeros(4, 3))
    assert len({tuple(row) for row in got.tolist()}) == 4


DRAWS: dict[str, Callable[[Any], Any]] = {
    "bernoulli": lambda p: pb.bernoulli(p),
    "bernoulli of a number": lambda p: pb.bernoulli(p, 0.5),
    "poisson": lambda p: pb.poisson(p),
    "binomial": lambda p: pb.binomial(4 * pb.ones(3), p),
    "normal": lambda p: pb.normal(p, p),
    "mean": lambda p: pb.normal(p, 1.0),
    "deviation": lambda p: pb.normal(0.0, p),
    "uniform_": lambda p: (p * 1).uniform_(),
    "bernoulli_": lambda p: (p * 1).bernoulli_(0.5),
    "normal_": lambda p: (p * 1).normal_(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_depend_on_their_parameters_with_a_derivative_of_zero(name: str) -> None:
    draw = DRAWS[name]
    p = pb.tensor([0.25, 0.5, 1.0], requires_grad=True)
    out = draw(p)
    assert out.requires_grad
    out.sum().backward()
    assert p.grad is not None and p.grad.tolist() == [0.0] * 3
    primal, tangent = func.jvp(draw, (p.detach(),), (pb.ones(3),))
    assert tangent.tolist() == [0.0] * 3 and not draw(p.detach()).requires_grad
    both = func.vmap(func.grad(lambda q: draw(q).sum()), randomness="different")(p.detach().expand(2, 3))
    assert both.tolist() == [[0.0] * 3] * 2
    with pb.no_grad():
        assert not draw(p).requires_grad
