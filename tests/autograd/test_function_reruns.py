"""Forwards that run again for a second derivative must give what they gave."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.func import custom_vjp, grad, hessian, jvp, vmap

same = pb.testing.assert_close
X = pb.tensor([1.0, 2.0, 3.0])
HERE = Path(__file__).name


class Counter:
    n = 0

    def __call__(self) -> float:
        self.n += 1
        return 1.0 + self.n


GENERATOR = np.random.default_rng(0)
OWN = pb.Generator()
SOURCES: dict[str, Any] = {
    "numpy": lambda: float(np.random.rand() + 0.5),
    "random": lambda: random.random() + 0.5,
    "numpy's generator": lambda: float(GENERATOR.random() + 0.5),
    "a counter": Counter(),
}


def scaled(source: Any, style: str) -> Any:
    """c * x ** 2, whose slope is computed in the forward, with a number c that the forward draws."""

    def classic(ctx: Any, x: Any) -> Any:
        slope = 2 * source() * x
        if style == "attribute":
            ctx.slope = slope
        else:
            ctx.save_for_backward(slope)
        return x * slope / 2

    def backward(ctx: Any, g: Any) -> Any:
        return g * (ctx.slope if style == "attribute" else ctx.saved_tensors[0])

    if style == "custom_vjp":
        f = custom_vjp(lambda x: x * source() * x)

        def fwd(x: Any) -> Any:
            slope = 2 * source() * x
            return x * slope / 2, slope

        f.defvjp(fwd, lambda slope, g: (g * slope,))
        f.__name__ = "Scaled"
        return f
    if style == "marked":

        def marked(ctx: Any, x: Any) -> Any:
            slope = 2 * source() * x
            ctx.save_for_backward(slope)
            ctx.mark_non_differentiable(slope)
            return x * slope / 2, slope

        methods = {"forward": marked, "backward": lambda ctx, g, _: g * ctx.saved_tensors[0]}
        made = type("Scaled", (Function,), {n: staticmethod(m) for n, m in methods.items()}).apply
        return lambda x: made(x)[0]
    methods = {"forward": classic, "backward": backward}
    return type("Scaled", (Function,), {n: staticmethod(m) for n, m in methods.items()}).apply


STYLES = ("saved", "attribute", "marked", "custom_vjp")


def second(f: Any) -> Any:
    return grad(lambda x: grad(lambda x: f(x).sum())(x).sum())


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("source", SOURCES)
def test_a_forward_that_draws_is_not_run_again(source: str, style: str) -> None:
    # Two draws may be so close that they pass for rounding: which are drawn is no matter of chance here.
    np.random.seed(0)
    random.seed(0)
    f = scaled(SOURCES[source], style)
    x = X.clone().requires_grad_()
    (g,) = pb.autograd.grad(f(x).sum(), x, create_graph=True)
    for derivative in (
        lambda: pb.autograd.grad(g.sum(), x),
        lambda: second(f)(X),
        lambda: jvp(grad(lambda x: f(x).sum()), (X,), (pb.ones(3),)),
        lambda: hessian(lambda x: f(x).sum())(X),
        lambda: vmap(second(f))(pb.stack([X, 2 * X])),
        lambda: second(vmap(f))(pb.stack([X, 2 * X])),
    ):
        with pytest.raises(RuntimeError, match=rf"(?s)(than the first time.*NumPy|randomness error mode).*{HERE}:\d+"):
            derivative()


def test_draws_of_a_generator_are_known() -> None:
    """What draws from a generator of its own is repeated by rules, and refused where nobody wrote one."""
    source = lambda: pb.rand((), generator=OWN) + 0.5
    x = X.clone().requires_grad_()
    (g,) = pb.autograd.grad(scaled(source, "custom_vjp")(x).sum(), x, create_graph=True)
    state = OWN.get_state()
    same(pb.autograd.grad(g.sum(), x)[0] * x, g)
    assert OWN.get_state().equal(state)
    for style in STYLES[:-1]:
        with pytest.raises(RuntimeError, match=r"draws random numbers, which would not be the same"):
            second(scaled(source, style))(X)


@pytest.mark.parametrize("style", STYLES)
def test_draws_of_other_threads_are_theirs(style: str) -> None:
    def source() -> float:
        thread = threading.Thread(target=lambda: pb.rand(3))
        thread.start()
        thread.join()
        return 1.5

    f = scaled(source, style)
    pb.manual_seed(0)
    same(second(f)(X), 3 * pb.ones(3))
    after = pb.get_rng_state()
    pb.manual_seed(0)
    pb.rand(3)
    assert not after.equal(pb.get_rng_state())  # What the other threads drew is not put back.


@pytest.mark.parametrize("style", STYLES)
def test_a_forward_that_gives_the_same_runs_again(style: str) -> None:
    f = scaled(lambda: 1.5, style)
    same(second(f)(X), 3 * pb.ones(3))
    same(hessian(lambda x: f(x).sum())(X), 3 * pb.eye(3))
    rows = pb.stack([X, 2 * X])
    same(vmap(second(f))(rows), 3 * pb.ones(2, 3))
    same(second(vmap(f))(rows), 3 * pb.ones(2, 3))
    odd = pb.tensor([float("nan"), float("inf"), 0.0])
    same(grad(lambda x: f(x).sum())(odd)[2], pb.tensor(0.0))
    assert second(f)(odd)[2] == 3


def test_sums_in_another_order_are_the_same() -> None:
    """A recorded forward may add and multiply in another order than the first run."""

    class Product(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            p = x.prod() + x.logsumexp(0) + (x - x.mean()).sum()
            ctx.save_for_backward(x, p)
            return p * x.sum()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, p = ctx.saved_tensors
            return g * (p + x.sum() * (x.prod() / x + x.softmax(0)))

    pb.manual_seed(3)
    x = pb.rand(50, dtype=pb.float64) + 0.5
    true = lambda x: ((x.prod() + x.logsumexp(0)) * x.sum()).sum()
    same(hessian(lambda x: Product.apply(x))(x), hessian(true)(x), rtol=1e-6, atol=1e-9)


def test_filling_a_ctx_afterwards_gives_the_same() -> None:
    class Mapped(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            c = SOURCES["a counter"]()
            ctx.save_for_backward(x * c)
            return x * x * c / 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x * x * SOURCES["a counter"]() / 2, in_dims[0]

    with pytest.raises(RuntimeError, match="other values than the vmap staticmethod"):
        vmap(grad(lambda x: Mapped.apply(x).sum()))(pb.stack([X, X]))
