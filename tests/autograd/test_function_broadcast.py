"""Gradients that are larger than their inputs by broadcasting are summed to them, in every style and mode."""

# ruff: noqa: B023 -- functions are called where they are made
from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.func import custom_vjp, grad, hessian, jacfwd, jacrev, jvp, vmap
from pullback.library import custom_op

same = pb.testing.assert_close
STYLES = ("new", "classic", "custom_vjp", "custom_op")
SHAPES = [((1, 3), (4, 3)), ((3,), (4, 3)), ((), (4, 3)), ((4, 1), (4, 3)), ((1, 1), (1, 3)), ((1,), (2, 0)), ((), ())]


def product(style: str, name: str = "") -> Any:
    """x · y of broadcast arguments, whose rule leaves the sums to the library."""
    rule = lambda saved, g: (g * saved[1], g * saved[0])
    if style == "custom_vjp":
        f = custom_vjp(lambda x, y: x * y)
        f.defvjp(lambda x, y: (x * y, (x, y)), rule)
        return f
    if style == "custom_op":

        @custom_op(f"tests::product{name}", mutates_args=())
        def times(x: pb.Tensor, y: pb.Tensor) -> pb.Tensor:
            return x * y

        save = lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
        times.register_autograd(lambda ctx, g: rule(ctx.saved_tensors, g), setup_context=save)
        return times

    def classic(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    methods: dict[str, Any] = {"forward": classic, "backward": lambda ctx, g: rule(ctx.saved_tensors, g)}
    if style == "new":
        methods["forward"] = lambda x, y: x * y
        methods["setup_context"] = lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
    return type("Product", (Function,), {k: staticmethod(m) for k, m in methods.items()}).apply


def number(*shape: int) -> Any:
    return (pb.arange(max(1, pb.zeros(shape).numel()), dtype=pb.float64) + 1)[: pb.zeros(shape).numel()].reshape(shape)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("small", "large"), SHAPES)
def test_as_the_operator(style: str, small: tuple[int, ...], large: tuple[int, ...]) -> None:
    f, g = product(style, f"{small}{large}".translate({ord(c): "_" for c in "(), "})), lambda x, y: x * y
    x, y, w = number(*small), number(*large), number(*large).cos()
    for a, b in ((x, y), (y, x)):
        loss = lambda f: lambda a, b: ((f(a, b) + 1) ** 2 * w).sum()
        same(grad(loss(f), (0, 1))(a, b), grad(loss(g), (0, 1))(a, b))
        same(jvp(f, (a, b), (a.sin(), b.sin())), jvp(g, (a, b), (a.sin(), b.sin())))
        same(jacrev(f)(a, b), jacrev(g)(a, b))
        same(jacfwd(f)(a, b), jacfwd(g)(a, b))
        same(hessian(loss(f))(a, b), hessian(loss(g))(a, b))
        leaves = [a.clone().requires_grad_(), b.clone().requires_grad_()]
        f(*leaves).sum().backward()
        same([t.grad for t in leaves], list(grad(lambda a, b: g(a, b).sum(), (0, 1))(a, b)))


@pytest.mark.parametrize("style", ["new", "classic", "custom_vjp"])
@pytest.mark.parametrize("in_dims", [(0, None), (None, 0), (0, 0), (1, None), (None, 1)])
def test_the_batch_is_not_summed(style: str, in_dims: Any) -> None:
    """Not even where a member's shape and the batch look alike."""
    f, g = product(style), lambda x, y: x * y
    shapes = [(3,) if d is None else (3, 3) for d in in_dims]
    x, y = (number(*s) for s in shapes)
    for a, b in ((x, y), (x[:1] if in_dims[0] is None else x, y)):
        loss = lambda f: lambda a, b: ((vmap(f, in_dims)(a, b) + 1) ** 2).sum()
        same(grad(loss(f), (0, 1))(a, b), grad(loss(g), (0, 1))(a, b))
        same(jvp(loss(f), (a, b), (a, b)), jvp(loss(g), (a, b), (a, b)))
        inside = lambda f: vmap(grad(lambda a, b: (f(a, b) ** 2).sum(), (0, 1)), in_dims)(a, b)
        same(inside(f), inside(g))
    member = vmap(f, (0, None))(number(2, 1), number(4, 3))
    weights = number(2, 4, 3)
    same(
        grad(lambda x: (vmap(f, (0, None))(x, number(4, 3)) * weights).sum())(number(2, 1)),
        (weights * number(4, 3)).sum((1, 2)).reshape(2, 1),
    )
    assert member.shape == (2, 4, 3)


def ruled(**rules: Any) -> Any:
    methods = {"forward": lambda x: x * 1, "setup_context": lambda ctx, inputs, output: None, **rules}
    return type("Ruled", (Function,), {k: staticmethod(m) for k, m in methods.items()}).apply


@pytest.mark.parametrize("shape", [(2,), (3, 1), (1, 2), (), (3, 4)])
def test_what_cannot_be_summed(shape: Any) -> None:
    f, x = ruled(backward=lambda ctx, g: g.sum() * pb.ones(shape)), pb.ones(3)
    with pytest.raises(RuntimeError, match=r"Ruled\.backward: .* got \[.*\] but expected shape compatible with \[3\]"):
        grad(lambda x: f(x).sum())(x)
    with pytest.raises(RuntimeError, match=r"Ruled\.backward: .* got \[.*\] but expected shape compatible with \[3\]"):
        jvp(f, (x,), (x,))
    with pytest.raises(RuntimeError, match=r"Ruled\.backward: .* got \[.*\] but expected shape compatible with \[3\]"):
        grad(lambda x: vmap(f)(x).sum())(pb.ones(4, 3))
    v = custom_vjp(lambda x: x * 1)
    v.defvjp(lambda x: (x * 1, None), lambda _, g: (g.sum() * pb.ones(shape),))
    for run in (lambda: grad(lambda x: v(x).sum())(x), lambda: jvp(v, (x,), (x,))):
        with pytest.raises(RuntimeError, match=r"got \[.*\] but expected shape compatible with \[3\]"):
            run()


def test_tangents_are_never_summed() -> None:
    for shape in ((2, 3), (1,), ()):
        f = ruled(jvp=lambda ctx, t, shape=shape: t.sum() * pb.ones(shape))
        with pytest.raises(RuntimeError, match=r"Ruled\.jvp: tangent 0 has dtype float32 and shape .* \[3\]"):
            jvp(f, (pb.ones(3),), (pb.ones(3),))
        with pytest.raises(RuntimeError, match=r"Ruled\.jvp: tangent 0 has dtype float32 and shape .* \[3\]"):
            grad(lambda x, f=f: f(x).sum())(pb.ones(3))
