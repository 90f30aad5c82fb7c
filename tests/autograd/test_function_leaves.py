"""Backwards that differentiate what was saved: adjoint methods, implicit layers, reversible blocks, old checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback import autograd
from pullback.autograd import Function, forward_ad
from pullback.func import custom_vjp, grad, hessian, jacrev, jvp, vjp, vmap

same = pb.testing.assert_close
X = pb.tensor([1.0, 2.0, -1.5])
ROWS = pb.stack([X, 2 * X])
LOST = r"(?s)Cube.*recording how.*test_function_leaves\.py:\d+.*create_graph=True"


# ---------------------------------------------------------------- x ** 3, differentiated in its backward
def linked(create_graph: bool) -> Callable[[Any, Any], Any]:
    def backward(x: Any, g: Any) -> Any:
        with pb.enable_grad():
            y = x**3
        return autograd.grad(y, x, g, create_graph=create_graph)[0]

    return backward


def detached(x: Any, g: Any) -> Any:
    x = x.detach().requires_grad_()
    with pb.enable_grad():
        y = x**3
    return autograd.grad(y, x, g)[0]


def asked(x: Any, g: Any) -> Any:
    copy = x.detach()
    copy.requires_grad = x.requires_grad
    with pb.set_grad_enabled(True):
        y = copy**3
    return autograd.grad(y, copy, g)[0]


def accumulated(x: Any, g: Any) -> Any:
    x = x.detach().requires_grad_()
    with pb.enable_grad():
        y = x**3
    autograd.backward(y, g)
    return x.grad


def again(x: Any, g: Any) -> Any:
    """In steps, each from a leaf of its own."""
    total = pb.zeros_like(g)
    for _ in range(3):
        with pb.no_grad(), pb.enable_grad():
            leaf = x.detach().requires_grad_()
            y = leaf**3 / 3
        (step,) = autograd.grad(y, leaf, g)
        total = total + step
    return total


RULES = {f.__name__: f for f in (detached, asked, accumulated, again)}
RULES |= {"linked": linked(False), "recorded": linked(True)}


def cube(rule: str, style: str) -> Any:
    pull = RULES[rule]

    def saved(ctx: Any) -> Any:
        return ctx.x if style == "attribute" else ctx.saved_tensors[0]

    def keep(ctx: Any, x: Any) -> None:
        if style == "attribute":
            ctx.x = x
        else:
            ctx.save_for_backward(x)

    def classic(ctx: Any, x: Any) -> Any:
        keep(ctx, x)
        return x**3

    methods: dict[str, Any] = {"backward": lambda ctx, g: pull(saved(ctx), g)}
    if style == "separate":
        methods |= {"forward": lambda x: x**3, "setup_context": lambda ctx, inputs, output: keep(ctx, inputs[0])}
    else:
        methods |= {"forward": classic}
    return type("Cube", (Function,), {n: staticmethod(m) for n, m in methods.items()}).apply


FIRST = 3 * X**2


@pytest.mark.parametrize("style", ["classic", "separate", "attribute"])
@pytest.mark.parametrize("rule", RULES)
def test_first_derivatives(rule: str, style: str) -> None:
    f = cube(rule, style)
    leaf = X.clone().requires_grad_()
    f(leaf).sum().backward()
    same(leaf.grad, FIRST)
    other = X.clone().requires_grad_()
    f(other * 2).sum().backward()
    same(other.grad, 8 * FIRST)
    assert not pb.autograd.grad(f(leaf).sum(), leaf)[0].requires_grad
    same(grad(lambda x: f(x).sum())(X), FIRST)
    same(vjp(f, X)[1](pb.ones(3))[0], FIRST)
    same(jacrev(f)(X), pb.diag(FIRST))
    rows = 3 * ROWS**2
    same(vmap(grad(lambda x: f(x).sum()))(ROWS), rows)
    same(grad(lambda r: vmap(f)(r).sum())(ROWS), rows)
    batch = ROWS.clone().requires_grad_()
    vmap(f)(batch).sum().backward()
    same(batch.grad, rows)
    assert pb.is_grad_enabled()
    assert not grad(lambda x: f(x).sum())(X).requires_grad


@pytest.mark.parametrize("style", ["classic", "separate", "attribute"])
@pytest.mark.parametrize("rule", RULES)
def test_second_derivatives_are_right_or_raise(rule: str, style: str) -> None:
    f = cube(rule, style)

    def twice(x: Any) -> Any:
        return grad(lambda x: grad(lambda x: f(x).sum())(x).sum())(x)

    def ambient(x: Any) -> Any:
        x = x.clone().requires_grad_()
        (g,) = autograd.grad(f(x).sum(), x, create_graph=True)
        return autograd.grad(g.sum(), x)[0]

    def outside(x: Any) -> Any:
        w = x.clone().requires_grad_()
        grad(lambda u: f(u * w).sum())(pb.ones(3)).sum().backward()
        return w.grad / 9 / x**2 * 6 * x

    for derivative in (twice, ambient, outside):
        if rule == "recorded":
            same(derivative(X), 6 * X)
        else:
            with pytest.raises(RuntimeError, match=LOST):
                derivative(X)


@pytest.mark.parametrize("style", ["classic", "separate", "attribute"])
@pytest.mark.parametrize("rule", ["linked", "recorded"])
def test_forward_mode(rule: str, style: str) -> None:
    f, ones = cube(rule, style), pb.ones(3)
    same(jvp(f, (X,), (ones,))[1], FIRST)
    same(jvp(grad(lambda x: f(x).sum()), (X,), (ones,))[1], 6 * X)
    same(hessian(lambda x: f(x).sum())(X), pb.diag(6 * X))
    with forward_ad.dual_level():
        x = X.clone().requires_grad_()
        (g,) = autograd.grad(f(forward_ad.make_dual(x, ones)).sum(), x)
        same(forward_ad.unpack_dual(g).tangent, 6 * X)


@pytest.mark.parametrize("style", ["classic", "separate", "attribute"])
@pytest.mark.parametrize("rule", ["detached", "asked", "accumulated", "again"])
def test_forward_mode_of_detached_leaves(rule: str, style: str) -> None:
    f, ones = cube(rule, style), pb.ones(3)
    same(jvp(f, (X,), (ones,))[1], FIRST)
    for derivative in (
        lambda: jvp(grad(lambda x: f(x).sum()), (X,), (ones,)),
        lambda: hessian(lambda x: f(x).sum())(X),
    ):
        with pytest.raises(RuntimeError, match=r"(?s)Cube.*detached.*tangent is lost.*test_function_leaves\.py:\d+"):
            derivative()
    with forward_ad.dual_level():
        x = X.clone().requires_grad_()
        with pytest.raises(RuntimeError, match="tangent is lost"):
            autograd.grad(f(forward_ad.make_dual(x, ones)).sum(), x)


def test_saved_outputs() -> None:
    class Exponential(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            assert y.requires_grad
            with pb.enable_grad():
                z = y * y / 2
            return autograd.grad(z, y, g)[0]

    x = X.clone().requires_grad_()
    Exponential.apply(x).sum().backward()
    same(x.grad, X.exp())
    same(grad(lambda x: Exponential.apply(x).sum())(X), X.exp())
    same(vmap(grad(lambda x: Exponential.apply(x).sum()))(ROWS), ROWS.exp())


def test_what_requires_grad_in_a_backward() -> None:
    seen: list[Any] = []

    class Mixed(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, constant: Any, whole: Any) -> Any:
            ctx.save_for_backward(x, None, constant, whole, x * 2)
            return x * constant

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, none, constant, whole, computed = ctx.saved_tensors
            assert none is None
            seen.append([t.requires_grad for t in (x, constant, whole, computed)])
            seen.append(pb.is_grad_enabled())
            return g * constant, None, None

    x, whole = X.clone().requires_grad_(), pb.tensor([1, 2, 3])
    Mixed.apply(x, pb.ones(3), whole).sum().backward()
    assert seen == [[True, False, False, False], False]
    seen.clear()
    grad(lambda x: Mixed.apply(x, pb.ones(3), whole).sum())(X)
    assert seen[0] == [True, False, False, False]


def test_two_arguments_that_are_one_value() -> None:
    """PyTorch gives each the gradient of both."""

    class Product(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            with pb.enable_grad():
                y = a * b
            return autograd.grad(y, (a, b), g)

    x = X.clone().requires_grad_()
    Product.apply(x, x).sum().backward()
    same(x.grad, 2 * X)
    same(grad(lambda x: Product.apply(x, x).sum())(X), 2 * X)


def test_rules_of_decorators() -> None:
    @custom_vjp
    def f(x: Any) -> Any:
        return x**3

    f.defvjp(lambda x: (x**3, x), lambda x, g: (linked(False)(x, g),))
    same(grad(lambda x: f(x).sum())(X), FIRST)
    same(vmap(grad(lambda x: f(x).sum()))(ROWS), 3 * ROWS**2)
    with pytest.raises(RuntimeError, match="create_graph=True"):
        grad(lambda x: grad(lambda x: f(x).sum())(x).sum())(X)


def test_an_error_leaves_nothing_behind() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            with pb.enable_grad():
                raise ValueError("wrong")

    total = lambda x: Wrong.apply(x).sum()
    for call in (lambda: grad(total)(X), lambda: total(X.clone().requires_grad_()).backward()):
        with pytest.raises(ValueError, match="wrong"):
            call()
        assert pb.is_grad_enabled()
        same(grad(lambda x: (x * x).sum())(X), 2 * X)
        x = X.clone().requires_grad_()
        assert x.detach().requires_grad_().is_leaf


# ---------------------------------------------------------------- the idioms whole
class Field:
    """A small module with parameters."""

    def __init__(self) -> None:
        self.w = pb.tensor([[0.5, -0.3], [0.2, 0.4]], requires_grad=True)
        self.b = pb.tensor([0.1, -0.2], requires_grad=True)

    def __call__(self, y: Any) -> Any:
        return (y @ self.w + self.b).sin()


def euler(f: Any, y: Any, steps: int) -> Any:
    for _ in range(steps):
        y = y + f(y) / steps
    return y


class Adjoint(Function):
    """Differentiates the steps one by one; the parameters are arguments, and the module's own."""

    @staticmethod
    def forward(ctx: Any, f: Any, y: Any, steps: int, *parameters: Any) -> Any:
        ctx.f, ctx.steps = f, steps
        path = [y]
        with pb.no_grad():
            for _ in range(steps):
                path.append(path[-1] + f(path[-1]) / steps)
        ctx.path = [p.detach() for p in path]
        ctx.save_for_backward(*parameters)
        return path[-1]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        with pb.no_grad():
            parameters = tuple(ctx.saved_tensors)
            sums = [pb.zeros_like(p) for p in parameters]
            for y in reversed(ctx.path[:-1]):
                with pb.enable_grad():
                    y = y.detach().requires_grad_(True)
                    step = ctx.f(y) / ctx.steps
                    found = autograd.grad(step, (y, *parameters), g, allow_unused=True, retain_graph=True)
                g = g + found[0]
                sums = [s if v is None else s + v for s, v in zip(sums, found[1:], strict=True)]
        return None, g, None, *sums


def test_adjoint_method() -> None:
    m, y0 = Field(), pb.tensor([0.3, 0.7])
    inputs = (y0.clone().requires_grad_(), m.w, m.b)
    want = autograd.grad((euler(m, inputs[0], 8) ** 2).sum(), inputs)
    got = autograd.grad((Adjoint.apply(m, inputs[0], 8, m.w, m.b) ** 2).sum(), inputs)
    for a, b in zip(got, want, strict=True):
        same(a, b)
    loss = lambda y: (Adjoint.apply(m, y, 8, m.w, m.b) ** 2).sum()
    same(grad(loss)(y0), want[0])
    rows = pb.stack([y0, 2 * y0])
    same(vmap(grad(loss))(rows), pb.stack([grad(loss)(y) for y in rows]))
    same(grad(lambda rows: vmap(loss)(rows).sum())(rows), vmap(grad(loss))(rows))
    same(jacrev(lambda y: Adjoint.apply(m, y, 8, m.w, m.b))(y0), jacrev(lambda y: euler(m, y, 8))(y0))
    # The parameters are arguments by their values, also where they are the function's own tensors.
    of = lambda w: (Adjoint.apply(lambda y: (y @ w + m.b.detach()).sin(), y0, 8, w) ** 2).sum()
    same(grad(of)(m.w.detach()), want[1])
    batch = rows.clone().requires_grad_()
    (gw,) = autograd.grad(vmap(loss)(batch)[0], m.w)
    same(gw, want[1])


@pytest.mark.parametrize("create_graph", [True, False])
@pytest.mark.parametrize("wanted", [True, False])
def test_ambient_parameters_below_a_batch(create_graph: bool, wanted: bool) -> None:
    """Parameters that another tape follows: their gradients may be computed along, and nothing of theirs is lost."""
    w, b = pb.tensor([[1.0, 0.5], [0.2, 0.7]], requires_grad=True), pb.tensor([0.1, -0.3], requires_grad=True)
    rows = pb.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, -0.6]])
    f = lambda y: (y @ w).sin() + b * b

    class Inner(Function):
        @staticmethod
        def forward(f: Any, y: Any, *parameters: Any) -> Any:
            with pb.no_grad():
                return f(y)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.f = inputs[0]
            ctx.save_for_backward(*inputs[1:])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            y, *parameters = ctx.saved_tensors
            with pb.enable_grad():
                out = ctx.f(y)
            targets = [t for t in ((y, *parameters) if wanted else (y,)) if t.requires_grad]
            found = iter(autograd.grad(out, targets, g, create_graph=create_graph))
            return None, *(next(found) if any(t is s for s in targets) else None for t in (y, *parameters))

    of = lambda apply: lambda y: (apply(y) ** 2).sum()
    inner, plain = of(lambda y: Inner.apply(f, y, w, b)), of(f)
    first: dict[str, Any] = {
        "grad": lambda g: grad(g)(rows),
        "vmap of grad": lambda g: vmap(grad(g))(rows),
        "grad of vmap": lambda g: grad(lambda y: vmap(g)(y).sum())(rows),
        "vmap of jacrev": lambda g: vmap(jacrev(g))(rows),
    }
    for name, derivative in first.items():
        got, want = derivative(inner), derivative(plain)
        same(got, want)
        loss = lambda g: (g * w.sum() * b.sum()).sum()
        if create_graph and wanted:
            for a, c in zip(autograd.grad(loss(got), (w, b)), autograd.grad(loss(want), (w, b)), strict=True):
                same(a, c)
        elif not create_graph:
            with pytest.raises(RuntimeError, match=r"(?s)Inner.*recording how.*create_graph=True"):
                print(name, autograd.grad(loss(got), (w, b)))

    class Stranger(Inner):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            y, *_ = ctx.saved_tensors
            with pb.enable_grad():
                out = ctx.f(y)
            return None, *autograd.grad(out, (y, w), g)

    with pytest.raises(RuntimeError, match=r"cannot be swept through.*as an argument, save it"):
        vmap(grad(of(lambda y: Stranger.apply(f, y)[0])))(rows)


def test_deep_equilibrium() -> None:
    class Fixed(Function):
        @staticmethod
        def forward(ctx: Any, f: Any, x: Any, *parameters: Any) -> Any:
            with pb.no_grad():
                z = pb.zeros_like(x)
                for _ in range(60):
                    z = f(z, x)
            ctx.f = f
            ctx.save_for_backward(z, x, *parameters)
            return z

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            z, x, *parameters = ctx.saved_tensors
            z = z.detach().requires_grad_()
            with pb.enable_grad():
                f = ctx.f(z, x)
            u = g
            for _ in range(60):
                u = autograd.grad(f, z, u, retain_graph=True)[0] + g
            inputs = [x, *parameters]
            found = iter(autograd.grad(f, [t for t in inputs if t.requires_grad], u, allow_unused=True))
            return None, *(next(found) if t.requires_grad else None for t in inputs)

    w, x = pb.tensor([[0.3, 0.1], [-0.2, 0.25]]), pb.tensor([0.5, 1.0])

    def unrolled(x: Any, w: Any) -> Any:
        z = pb.zeros(2)
        for _ in range(60):
            z = (z @ w + x).tanh()
        return (z * z).sum()

    def loss(x: Any, w: Any) -> Any:
        return (Fixed.apply(lambda z, x: (z @ w + x).tanh(), x, w) ** 2).sum()

    want = grad(unrolled, argnums=(0, 1))(x, w)
    leaves = x.clone().requires_grad_(), w.clone().requires_grad_()
    for a, b in zip(autograd.grad(loss(*leaves), leaves), want, strict=True):
        same(a, b)
    for a, b in zip(grad(loss, argnums=(0, 1))(x, w), want, strict=True):
        same(a, b)
    same(vmap(grad(loss, argnums=1), in_dims=(0, None))(pb.stack([x, x]), w)[1], want[1])


def test_reversible_block() -> None:
    class Block(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, f: Any, g: Any) -> Any:
            with pb.no_grad():
                x1, x2 = x.chunk(2)
                y1 = x1 + f(x2)
                y2 = x2 + g(y1)
            ctx.f, ctx.g = f, g
            out = pb.cat([y1, y2])
            ctx.y = out.detach()
            return out

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (y1, y2), (dy1, dy2) = ctx.y.chunk(2), dy.chunk(2)
            with pb.enable_grad():
                y1 = y1.detach().requires_grad_()
                gy1 = ctx.g(y1)
                autograd.backward(gy1, dy2)
            with pb.no_grad():
                x2 = y2 - gy1
                dx1 = dy1 + y1.grad
            with pb.enable_grad():
                x2.requires_grad = True
                autograd.backward(ctx.f(x2), dx1, retain_graph=True)
            return pb.cat([dx1, dy2 + x2.grad]), None, None

    def parts() -> Any:
        a, b = pb.tensor([0.5, -0.2], requires_grad=True), pb.tensor([0.3, 0.9], requires_grad=True)
        return a, b, lambda u: (u * a).sin(), lambda u: (u * b).cos()

    x = pb.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    a, b, f, g = parts()
    x1, x2 = x.chunk(2)
    y1 = x1 + f(x2)
    want = autograd.grad((y1**2).sum() + ((x2 + g(y1)) ** 2).sum(), (x, a, b))
    a, b, f, g = parts()
    (Block.apply(x * 1, f, g) ** 2).sum().backward()
    for got, true in zip((x.grad, a.grad, b.grad), want, strict=True):
        same(got, true)


def test_old_checkpoint() -> None:
    class Checkpoint(Function):
        @staticmethod
        def forward(ctx: Any, run: Any, *args: Any) -> Any:
            ctx.run = run
            ctx.save_for_backward(*args)
            with pb.no_grad():
                return run(*args)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            inputs = []
            for x in ctx.saved_tensors:
                y = x.detach()
                y.requires_grad = x.requires_grad
                inputs.append(y)
            with pb.enable_grad():
                outputs = ctx.run(*inputs)
            pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if o.requires_grad]
            autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
            return None, *(x.grad for x in inputs)

    w = pb.tensor(2.0, requires_grad=True)
    x, k = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 4.0])
    run = lambda x, k: ((x * w * k).sin(), x + k)
    loss = lambda y: y[0].sum() + (y[1] ** 2).sum()
    want = autograd.grad(loss(run(x, k)), (x, w))
    loss(Checkpoint.apply(run, x * 1, k)).backward()
    same(x.grad, want[0])
    same(w.grad, want[1])


def test_graph_kept_from_the_forward() -> None:
    class Kept(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with pb.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = ctx.x**3
            return ctx.y.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return autograd.grad(ctx.y, ctx.x, g, create_graph=pb.is_grad_enabled())[0]

    x = X.clone().requires_grad_()
    Kept.apply(x * 1).sum().backward()
    same(x.grad, FIRST)
    same(grad(lambda x: Kept.apply(x).sum())(X), FIRST)
    with pytest.raises(RuntimeError, match=r"Kept.*forward recorded for itself"):
        grad(lambda x: grad(lambda x: Kept.apply(x).sum())(x).sum())(X)


def test_leaves_of_two_tapes() -> None:
    """Under a transform a saved value is a leaf of another tape than what the backward captures."""
    w = pb.tensor(2.0, requires_grad=True)

    class Scaled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            with pb.no_grad():
                return x * x * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            with pb.enable_grad():
                y = x * x * w
            seen.append(autograd.grad(y, w, g, retain_graph=True)[0])
            gx, gw = autograd.grad(y, (x, w), g)
            same(gw, seen[-1])
            return gx

    seen: list[Any] = []
    same(grad(lambda x: Scaled.apply(x).sum())(X), 4 * X)
    same(seen.pop(), (X * X).sum())
    x = X.clone().requires_grad_()
    Scaled.apply(x).sum().backward()
    same(seen.pop(), (X * X).sum())

    class Backward(Scaled):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with pb.enable_grad():
                y = x * x * w
            y.backward(g)
            return x.grad

    Backward.apply(x).sum().backward()
    same(w.grad, (X * X).sum())
    with pytest.raises(RuntimeError, match="would not reach"):
        grad(lambda x: Backward.apply(x).sum())(X)
