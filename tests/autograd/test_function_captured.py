"""Tensors that reach a Function through a callable argument, and outputs that carry what nobody passed."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.func import custom_jvp, custom_vjp, grad, hessian, jacrev, jvp, vmap

same = pb.testing.assert_close
X, K = pb.tensor([1.0, 2.0, 3.0]), pb.tensor([2.0, -1.0, 0.5])
ROWS = pb.stack([K, 2 * K])
ONES = pb.ones(3)
HERE = Path(__file__).name


class Holder:
    def __init__(self, k: Any) -> None:
        self.k = k

    def __call__(self, x: Any) -> Any:
        return x * self.k

    def method(self, x: Any) -> Any:
        return x * self.k


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "closure": lambda k: lambda x: x * k,
    "partial": lambda k: functools.partial(lambda k, x: x * k, k),
    "object": Holder,
    "bound method": lambda k: Holder(k).method,
    "default": lambda k: lambda x, k=k: x * k,
    "list": lambda k: lambda x, held=[k]: x * held[0],
}


class Classic(Function):
    @staticmethod
    def forward(ctx: Any, f: Any, x: Any, k: Any) -> Any:
        ctx.f = f
        ctx.save_for_backward(x, k)
        return f(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, k = ctx.saved_tensors
        return None, g * k, g * x


class Separate(Function):
    """All methods call what they were given."""

    @staticmethod
    def forward(f: Any, x: Any, k: Any) -> Any:
        return f(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.f = inputs[0]
        ctx.save_for_backward(*inputs[1:], inputs[0](inputs[1]))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, k, y = ctx.saved_tensors
        return None, ctx.f(g) + 0 * y, g * x

    @staticmethod
    def jvp(ctx: Any, _: Any, tx: Any, tk: Any) -> Any:
        x, k, y = ctx.saved_tensors
        return ctx.f(tx) + x * tk + 0 * y


class Decorated:
    @staticmethod
    def apply(f: Any, x: Any, k: Any) -> Any:
        rule = custom_vjp(lambda f, x, k: f(x), nondiff_argnums=(0,))
        rule.defvjp(lambda f, x, k: (f(x), (x, k)), lambda f, r, g: (f(g), g * r[0]))
        return rule(f, x, k)


class Forward:
    @staticmethod
    def apply(f: Any, x: Any, k: Any) -> Any:
        rule = custom_jvp(lambda f, x, k: f(x), nondiff_argnums=(0,))
        rule.defjvp(lambda f, primals, tangents: (f(primals[0]), f(tangents[0]) + primals[0] * tangents[1]))
        return rule(f, x, k)


FUNCTIONS = {"classic": Classic, "separate": Separate, "custom_vjp": Decorated, "custom_jvp": Forward}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_an_argument_that_is_captured_too(function: str, holder: str) -> None:
    apply, hold = FUNCTIONS[function].apply, HOLDERS[holder]
    loss = lambda k: (apply(hold(k), X, k) ** 2).sum()
    first = 2 * X * X * K
    leaf = K.clone().requires_grad_()
    loss(leaf).backward()
    same(leaf.grad, first)
    leaf.grad = None
    loss(leaf * 2).backward()
    same(leaf.grad, 4 * first)
    same(grad(loss)(K), first)
    same(grad(lambda k: grad(loss)(k).sum())(K), 2 * X * X)
    same(hessian(loss)(K), pb.diag(2 * X * X))
    same(jacrev(lambda k: apply(hold(k), X, k))(K), pb.diag(X))
    same(vmap(lambda k: apply(hold(k), X, k))(ROWS), ROWS * X)
    same(vmap(grad(loss))(ROWS), 2 * X * X * ROWS)
    same(grad(lambda rows: (vmap(lambda k: apply(hold(k), X, k))(rows) ** 2).sum())(ROWS), 2 * X * X * ROWS)
    same(jvp(lambda k: apply(hold(k), X, k), (K,), (ONES,))[1], X)
    same(jvp(lambda k: apply(hold(k), X * k, k), (K,), (ONES,))[1], 2 * X * K)
    same(jvp(lambda rows: vmap(lambda k: apply(hold(k), X, k))(rows), (ROWS,), (pb.ones(2, 3),))[1], X.expand(2, 3))
    same(vmap(lambda k: jvp(lambda k: apply(hold(k), X, k), (k,), (ONES,))[1])(ROWS), X.expand(2, 3))
    with forward_ad.dual_level():
        k = forward_ad.make_dual(K, ONES)
        same(forward_ad.unpack_dual(apply(hold(k), X, k)).tangent, X)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_stranger_that_is_captured_raises(function: str) -> None:
    apply = FUNCTIONS[function].apply
    w = K.clone().requires_grad_()
    for call in (
        lambda: grad(lambda k: apply(lambda x: x * k, X, 2 * k).sum())(K),
        lambda: apply(lambda x: x * w, X, w * 2),
        lambda: apply(lambda x: x * w * 1, X.clone().requires_grad_(), K),
        lambda: jvp(lambda k: apply(lambda x: x * k, X * k, K), (K,), (ONES,)),
        lambda: vmap(lambda k: apply(lambda x: x * k, X, k + 1))(ROWS),
    )[
        : 5 if issubclass(FUNCTIONS[function], Function) else 4
    ]:  # without a derivative, decorated functions run as they are
        with pytest.raises(RuntimeError, match=rf"(?s)captured tensor.*not an argument.*{HERE}:\d+"):
            call()


@pytest.mark.parametrize("mode", [pb.no_grad, pb.enable_grad, None])
def test_members_meet_members_whatever_the_mode(mode: Any) -> None:
    """Below a tape or a tangent, what is captured is as much a member as what is passed, also where it is compared."""

    def around(f: Any) -> Any:
        return f() if mode is None else mode()(f)()

    class Chosen(Function):
        @staticmethod
        def forward(f: Any, x: Any, k: Any) -> Any:
            return around(lambda: f(x))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.f, x, k = inputs
            ctx.mask = around(lambda: ctx.f(x) != x)
            ctx.save_for_backward(x, k)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, k = ctx.saved_tensors
            mask = around(lambda: ctx.f(x) != x) & ctx.mask
            return None, pb.where(mask, g * k, g), pb.where(mask, g * x, 0 * g)

    plain = lambda x, k: pb.where(k < 2, x * k, x)
    loss = lambda f: lambda x, k: (f(x, k) ** 2).sum()
    chosen = lambda x, k: Chosen.apply(lambda x: pb.where(x * k < 2 * x, x * k, x), x, k)
    xs, ks = pb.stack([X, X + 1]), pb.stack([K, 2 * K + 1])
    derivatives: dict[str, Any] = {
        "vmap": lambda f: vmap(f)(xs, ks),
        "vmap of vmap": lambda f: vmap(vmap(f))(xs, ks),
        "grad of vmap": lambda f: grad(lambda x, k: vmap(loss(f))(x, k).sum(), (0, 1))(xs, ks),
        "vmap of grad": lambda f: vmap(grad(loss(f), (0, 1)))(xs, ks),
        "vmap of vmap of grad": lambda f: vmap(vmap(grad(loss(f), (0, 1))))(xs, ks),
        "vmap of grad of vmap": lambda f: vmap(grad(lambda x, k: vmap(loss(f))(x, k).sum(), (0, 1)))(xs, ks),
        "vmap of grad of one": lambda f: vmap(lambda k: grad(lambda x: loss(f)(x, k))(xs[0]))(ks),
        "vmap of grad of the other": lambda f: vmap(lambda x: grad(lambda k: loss(f)(x, k))(ks[0]))(xs),
        "grad of vmap of grad": lambda f: grad(lambda k: vmap(grad(loss(f)))(xs, k).sum())(ks),
        "vmap of hessian": lambda f: vmap(hessian(loss(f), (0, 1)))(xs, ks),
        "jvp of vmap": lambda f: jvp(vmap(f), (xs, ks), (xs, ks)),
        "vmap of jvp": lambda f: vmap(lambda *a: jvp(f, a, a))(xs, ks),
    }
    for name, derivative in derivatives.items():
        same(derivative(chosen), derivative(plain), msg=lambda text, name=name: f"{name}: {text}")


def test_members_of_strangers_raise_in_every_mode() -> None:
    """no_grad() makes a constant for the tape of what is captured; its batch would be lost all the same."""
    for mode in (pb.no_grad, pb.enable_grad):
        for operator in (lambda x, c: x * c, lambda x, c: x > c):

            class Stranger(Function):
                @staticmethod
                def forward(f: Any, x: Any) -> Any:
                    with mode():  # noqa: B023
                        return f(x) * 1.0

                @staticmethod
                def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    return None, g

            of = lambda x, k: Stranger.apply(lambda x: operator(x, 2 * k), x).sum()  # noqa: B023
            for run in (vmap(grad(of, (0, 1))), vmap(of)):
                with pytest.raises(RuntimeError, match=rf"captured tensor.*batched by vmap.*{HERE}:\d+"):
                    run(ROWS, ROWS + 1)


def test_an_argument_of_the_function_around() -> None:
    """What the outer function has as an argument is a constant for an inner one."""

    class Outer(Function):
        @staticmethod
        def forward(ctx: Any, f: Any, x: Any, k: Any) -> Any:
            ctx.save_for_backward(x, k)
            return Classic.apply(f, x, pb.ones(3))

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, k = ctx.saved_tensors
            return None, g * k, g * x

    same(grad(lambda k: Outer.apply(lambda x: x * k, X, k).sum())(K), X)
    same(vmap(lambda k: Outer.apply(lambda x: x * k, X, k))(ROWS), ROWS * X)


# ---------------------------------------------------------------- what leaves a forward
def function(forward: Any) -> Any:
    methods = {"forward": forward, "backward": lambda ctx, *g: g[0]}
    return type("Leaking", (Function,), {n: staticmethod(f) for n, f in methods.items()}).apply


def enabled(w: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        with pb.enable_grad():
            return x * w

    return forward


def several(w: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        with pb.enable_grad():
            y = (x * w).sin()
        return x * 1, {"y": [y]}

    return forward


def written(w: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        out = pb.zeros(3)
        with pb.enable_grad():
            out[1:] = w[1:]
        return out

    return forward


def threaded(w: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        out: list[Any] = []
        thread = threading.Thread(target=lambda: out.append(x * w))
        thread.start()
        thread.join()
        return out[0]

    return forward


LEAKS: dict[str, Any] = {
    "enabled": enabled,
    "several": several,
    "written": written,
    "threaded": threaded,
    "returned": lambda w: lambda ctx, x: w,
    "returned in a list": lambda w: lambda ctx, x: [x * 1, w],
}


@pytest.mark.parametrize("leak", LEAKS)
def test_captured_values_do_not_leave_a_forward(leak: str) -> None:
    make = LEAKS[leak]
    w = K.clone().requires_grad_()
    match = rf"(?s)Leaking\.forward: (output \d|mul).*captured tensor.*as an argument.*{HERE}:\d+"
    with pytest.raises(RuntimeError, match=match):
        function(make(w))(X.clone().requires_grad_())
    if leak != "threaded":  # values of transforms stay on their thread
        with pytest.raises(RuntimeError, match=match):
            vmap(function(make(w)))(pb.stack([X, X]).requires_grad_())
        with pytest.raises(RuntimeError, match=match if leak != "written" else "inplace"):
            grad(lambda k: pb.stack(pb.utils.pytree.tree_leaves(function(make(k))(X * k))).sum())(K)
    # Detached, it is a constant by the program's own word.
    detached = function(make(w.detach()))(X.clone().requires_grad_())
    assert all(y.requires_grad for y in pb.utils.pytree.tree_leaves(detached))
    # Nobody follows the arguments: what the forward recorded stays.
    outputs = pb.utils.pytree.tree_leaves(function(make(w))(X)) if leak != "written" else [w.sum()]
    outputs[-1].sum().backward()
    assert w.grad is not None


def test_what_a_forward_records_for_itself_ends_with_it() -> None:
    class Slope(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            with pb.enable_grad():
                u, v = x.detach().requires_grad_(), w.detach().requires_grad_()
                e = (u**3 * v).sum()
                g, _ = pb.autograd.grad(e, (u, v), create_graph=True)
                h = g * 1
            ctx.save_for_backward(x, w)
            return h

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            return g * 6 * x * w, (g * 3 * x**2)

    x, w = X.clone().requires_grad_(), K.clone().requires_grad_()
    y = Slope.apply(x, w)
    same(y, 3 * X**2 * K)
    y.sum().backward()
    same(x.grad, 6 * X * K)
    same(w.grad, 3 * X**2)
    same(grad(lambda x: Slope.apply(x, K).sum())(X), 6 * X * K)
    assert not Slope.apply(X, K).detach().requires_grad


def test_an_argument_recorded_in_a_forward_ends_with_it() -> None:
    class Through(Function):
        @staticmethod
        def forward(ctx: Any, f: Any, x: Any, k: Any) -> Any:
            ctx.save_for_backward(x, k)
            with pb.enable_grad():
                return f(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, k = ctx.saved_tensors
            return None, g * k, g * x

    k = K.clone().requires_grad_()
    Through.apply(lambda x: x * k, X, k).sum().backward()
    same(k.grad, X)
    same(grad(lambda k: Through.apply(lambda x: x * k, X, k).sum())(K), X)
    returned = type(
        "Returned", (Through,), {"forward": staticmethod(lambda ctx, f, x, k: (ctx.save_for_backward(x, k), k)[1])}
    )
    k.grad = None
    returned.apply(None, X, k).sum().backward()
    same(k.grad, X)


@pytest.mark.parametrize("leak", ["enabled", "threaded"])
def test_captured_values_are_not_used_on_in_a_forward(leak: str) -> None:
    w = K.clone().requires_grad_()

    def forward(ctx: Any, x: Any) -> Any:
        return LEAKS[leak](w)(ctx, x).sin() * 2

    with pytest.raises(RuntimeError, match=rf"(?s)Leaking\.forward: sin.*captured tensor.*{HERE}:\d+"):
        function(forward)(X.clone().requires_grad_())

    def apart(ctx: Any, x: Any) -> Any:
        return LEAKS[leak](w)(ctx, x).detach().sin() * 2

    same(function(apart)(X.clone().requires_grad_()), (X * K).sin() * 2)
