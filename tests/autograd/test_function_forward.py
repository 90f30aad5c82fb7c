"""Forward mode through custom functions: how often a jvp runs, and masks that were drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.func import custom_vjp, grad, hessian, jacfwd, jacrev, jvp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.3, -0.7, 1.1], dtype=pb.float64)
ONES = pb.ones_like(X)


def exponential(style: str, calls: list[int]) -> Callable[..., Any]:
    """With a jvp that deletes what it has used."""

    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.result = y if style != "hidden" else y * 1
        return y

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.result = output

    def along(ctx: Any, t: Any) -> Any:
        calls.append(1)
        out = t * ctx.result
        del ctx.result
        with pytest.raises(AttributeError):
            _ = ctx.result
        with pytest.raises(AttributeError):
            del ctx.result
        return out

    methods: dict[str, Any] = {"forward": forward, "jvp": along, "backward": lambda ctx, g: g * ctx.result}
    if style == "new":
        methods |= {"forward": lambda x: x.exp(), "setup_context": setup}
    if style == "jvp alone":
        del methods["backward"]
    return type("Exponential", (Function,), {k: staticmethod(m) for k, m in methods.items()}).apply


def dual(f: Any, x: Any) -> tuple[Any, Any]:
    with forward_ad.dual_level():
        return tuple(forward_ad.unpack_dual(f(forward_ad.make_dual(x, ONES))))


LEAF = X.clone().requires_grad_()
ONCE: dict[str, Callable[[Any], Any]] = {
    "forward_ad": lambda f: dual(f, X)[1],
    "forward_ad of what requires grad": lambda f: dual(f, LEAF)[1].detach(),
    "forward_ad of a history": lambda f: dual(f, LEAF * 1)[1].detach(),
    "jvp": lambda f: jvp(f, (X,), (ONES,))[1],
    "jvp of what requires grad": lambda f: jvp(f, (LEAF,), (ONES,))[1].detach(),
    "gradient of jvp": lambda f: grad(lambda x: jvp(f, (x,), (ONES,))[1].sum())(X),
    "batch of jvp": lambda f: vmap(lambda x: jvp(f, (x,), (ONES,))[1])(X.expand(2, 3))[1],
    "jvp of a batch": lambda f: jvp(vmap(f), (X.expand(2, 3),), (ONES.expand(2, 3),))[1][1],
    "jacfwd": lambda f: jacfwd(f)(X) @ ONES,
}


@pytest.mark.parametrize("style", ["new", "classic", "hidden", "jvp alone"])
@pytest.mark.parametrize("program", ONCE)
def test_jvp_runs_once(program: str, style: str) -> None:
    if style == "jvp alone" and program.startswith("gradient"):
        return
    calls: list[int] = []
    same(ONCE[program](exponential(style, calls)), X.exp())
    assert len(calls) == 1


@pytest.mark.parametrize("style", ["new", "classic", "hidden", "jvp alone"])
def test_once_for_each_level(style: str) -> None:
    calls: list[int] = []
    f = exponential(style, calls)
    along = lambda f: lambda x: jvp(f, (x,), (ONES,))[1]
    same(along(along(f))(X), X.exp())
    same(jacfwd(jacfwd(lambda x: f(x).sum()))(X), pb.diag(X.exp()))
    same(hessian(lambda x: f(x).sum())(X), pb.diag(X.exp()))
    same(jacrev(jacfwd(lambda x: f(x).sum()))(X), pb.diag(X.exp()))
    calls.clear()
    along(along(f))(X)
    # Each level differentiates the call, and the outer one also what the inner one's jvp did.
    assert len(calls) == 2


@pytest.mark.parametrize("style", ["new", "classic", "hidden"])
def test_backward_after_jvp(style: str) -> None:
    calls: list[int] = []
    leaf = X.clone().requires_grad_()
    with forward_ad.dual_level():
        out = exponential(style, calls)(forward_ad.make_dual(leaf, ONES))
        (g,) = pb.autograd.grad(out.sum(), leaf)
        same(tuple(forward_ad.unpack_dual(g)), (X.exp(), X.exp()))
    assert len(calls) == 1


# ---------------------------------------------------------------- masks
def dropout(style: str) -> Callable[..., Any]:
    """x · mask; the mask is drawn in forward."""
    p = 0.5

    def drawn(x: Any) -> Any:
        return (pb.rand(x.shape) > p).to(x.dtype) / (1 - p)

    if style == "custom_vjp":

        def fwd(x: Any) -> Any:
            mask = drawn(x)
            return (x * mask, mask), mask

        f = custom_vjp(lambda x: fwd(x)[0])
        f.defvjp(fwd, lambda mask, gs: (gs[0] * mask,))
        return f

    def forward(ctx: Any, x: Any) -> Any:
        mask = drawn(x)
        ctx.save_for_backward(mask)
        ctx.save_for_forward(mask)
        if style in ("marked", "with jvp"):
            ctx.mark_non_differentiable(mask)
            return x * mask, mask
        return x * mask, mask.clone().bool()

    def separate(x: Any) -> Any:
        mask = drawn(x)
        return x * mask, mask

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    methods: dict[str, Any] = {"forward": forward, "backward": lambda ctx, g, _: g * ctx.saved_tensors[0]}
    if style == "with jvp":
        methods["jvp"] = lambda ctx, t: (t * ctx.saved_tensors[0], None)
    if style == "new":
        methods |= {"forward": separate, "setup_context": setup}
    made = type("Dropout", (Function,), {k: staticmethod(m) for k, m in methods.items()})
    made.generate_vmap_rule = True
    return made.apply


@pytest.mark.parametrize("randomness", ["different", "same"])
@pytest.mark.parametrize("style", ["marked", "hidden", "new", "with jvp", "custom_vjp"])
def test_dropout(style: str, randomness: str) -> None:
    f = dropout(style)
    rows = pb.stack([X, 2 * X])
    first = lambda x: f(x)[0]
    batch = lambda g: vmap(g, randomness=randomness)

    def mask_of(y: Any) -> Any:
        return (y != 0).double() * 2

    y, t = jvp(batch(first), (rows,), (rows.cos(),))
    same(t, rows.cos() * mask_of(y))
    y, t = batch(lambda x: jvp(first, (x,), (x.cos(),)))(rows)
    same(t, rows.cos() * mask_of(y))
    kept: list[Any] = []
    g = grad(lambda x: (kept.append(y := batch(first)(x)), (y * y).sum())[1])(rows)
    same(g, 2 * rows * mask_of(kept[0]) ** 2)
    y, t = jvp(first, (X,), (X.cos(),))
    same(t, X.cos() * mask_of(y))
    g, y = batch(lambda x: pb.func.grad_and_value(lambda x: (f(x)[0] ** 2).sum())(x))(rows)
    assert bool((g.bool() == (g != 0)).all()) and y.shape == (2,)
    square = lambda x: (f(x)[0] ** 2).sum()
    for second in (
        lambda: jvp(grad(square), (X,), (X,)),
        lambda: jvp(batch(grad(square)), (rows,), (rows,)),
        lambda: jvp(grad(lambda x: (batch(first)(x) ** 2).sum()), (rows,), (rows,)),
        lambda: batch(lambda x: jvp(grad(square), (x,), (x,)))(rows),
    ):
        g, t = second()
        same(g, t)
    h = jacfwd(jacrev(square), randomness=randomness)(X)
    assert bool(((h == 0) | (h == 8)).all()) and bool((h == pb.diag(h.diagonal())).all())


def test_the_library_s_dropout() -> None:
    f = lambda x: pb.nn.functional.dropout(x, 0.5, training=True)
    rows = pb.stack([X, 2 * X])
    for randomness in ("different", "same"):
        y, t = jvp(vmap(f, randomness=randomness), (rows,), (rows,))
        same(y, t)
        y, t = vmap(lambda x: jvp(f, (x,), (x,)), randomness=randomness)(rows)
        same(y, t)
        g, t = jvp(vmap(grad(lambda x: (f(x) ** 2).sum()), randomness=randomness), (rows,), (rows,))
        same(g, t)
