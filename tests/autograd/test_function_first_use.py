"""PULLBACK_VERIFY=first: every kind of custom function is checked at its first use, also under transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.func import custom_jvp, custom_vjp, eval_shape, grad, jvp, vmap
from pullback.library import custom_op

X = pb.tensor([0.5, 1.5, -2.0], dtype=pb.float64)
same = pb.testing.assert_close


def classic(factor: float) -> Any:
    class Classic(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * factor * ctx.saved_tensors[0]

    return Classic.apply


class Square(Function):
    """What functions with a setup have in common; it saves the input for both modes."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)


def modern(factor: float) -> Any:
    class Modern(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * factor * ctx.saved_tensors[0]

    return Modern.apply


def forward_mode(factor: float) -> Any:
    class Forward(Square):
        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * factor * ctx.saved_tensors[0]

    return Forward.apply


def by_vjp(factor: float) -> Any:
    @custom_vjp
    def square(x: Any) -> Any:
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: (factor * x * g,))
    return square


def by_jvp(factor: float) -> Any:
    @custom_jvp
    def square(x: Any) -> Any:
        return x * x

    square.defjvp(lambda primals, tangents: (square(*primals), factor * primals[0] * tangents[0]))
    return square


def operator(factor: float) -> Any:
    @custom_op("tests::first_use", mutates_args=())
    def square(x: pb.Tensor) -> pb.Tensor:
        return pb.from_numpy(x.numpy() ** 2)

    square.register_vmap(lambda info, in_dims, x: (square(x), in_dims[0]))
    square.register_fake(lambda x: pb.empty_like(x))
    square.register_autograd(
        lambda ctx, g: g * factor * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    return square


KINDS: dict[str, Callable[[float], Any]] = {
    f.__name__: f for f in (classic, modern, forward_mode, by_vjp, by_jvp, operator)
}
USES: dict[str, Callable[[Any], Any]] = {
    "plain": lambda f: f(X),
    "tape": lambda f: f(X.clone().requires_grad_()).detach(),
    "grad": lambda f: grad(lambda x: f(x).sum())(X),
    "jvp": lambda f: jvp(f, (X,), (X,))[0],
    "vmap": lambda f: vmap(f)(pb.stack([X, X]))[0],
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).sum())(pb.stack([X, X])),
    "no_grad": lambda f: _without_grad(f),
}


def _without_grad(f: Any) -> Any:
    with pb.no_grad():
        return f(X)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_at_its_first_use(kind: str, use: str, monkeypatch: Any) -> None:
    make, run = KINDS[kind], USES[use]
    expected = run(make(2.0))
    monkeypatch.setenv("PULLBACK_VERIFY", "first")
    pb.manual_seed(3)
    state = pb.get_rng_state()
    same(run(make(2.0)), expected)
    assert pb.get_rng_state().equal(state)
    wrong = make(3.0)
    with pytest.raises(RuntimeError, match=r"PULLBACK_VERIFY: .*(backward|jvp) ~ differences"):
        run(wrong)
    monkeypatch.delenv("PULLBACK_VERIFY")
    run(make(3.0))


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_first_use(kind: str, monkeypatch: Any) -> None:
    """A function that has been checked is not again; values without data are no sample."""
    monkeypatch.setenv("PULLBACK_VERIFY", "first")
    f = KINDS[kind](3.0)
    eval_shape(f)(X)
    with pytest.raises(RuntimeError, match="PULLBACK_VERIFY"):
        f(X)
    same(f(X), X * X)


def test_what_is_not_differentiated(monkeypatch: Any) -> None:
    monkeypatch.setenv("PULLBACK_VERIFY", "first")

    def scaled(x: Any, by: Any) -> Any:
        return x * by

    made = custom_vjp(scaled, nondiff_argnums=(1,))
    made.defvjp(lambda x, by: (x * by, None), lambda by, _, g: (g * by,))
    same(grad(lambda x: made(x, X).sum())(X), X)
    wrong = custom_vjp(scaled, nondiff_argnums=(1,))
    wrong.defvjp(lambda x, by: (x * by, None), lambda by, _, g: (g * by * 2,))
    with pytest.raises(RuntimeError, match="PULLBACK_VERIFY: scaled: backward ~ differences"):
        grad(lambda x: wrong(x, X).sum())(X)


def test_arguments_by_name(monkeypatch: Any) -> None:
    monkeypatch.setenv("PULLBACK_VERIFY", "first")

    class Scaled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, by: float = 1.0) -> Any:
            ctx.by = by
            return x * by

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    with pytest.raises(RuntimeError, match="PULLBACK_VERIFY: Scaled: backward ~ differences"):
        Scaled.apply(X, by=2.0)


def test_a_rule_that_comes_later(monkeypatch: Any) -> None:
    monkeypatch.setenv("PULLBACK_VERIFY", "first")

    @custom_op("tests::first_use_later", mutates_args=())
    def twice(x: pb.Tensor) -> pb.Tensor:
        return x * 2

    same(twice(X), 2 * X)
    twice.register_autograd(lambda ctx, g: g * 3)
    with pytest.raises(RuntimeError, match="PULLBACK_VERIFY: tests::first_use_later: backward ~ differences"):
        twice(X)
