"""`custom_vjp` and `custom_jvp`: the rules are used, the missing one is derived, and both compose at every order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.func import custom_jvp, custom_vjp, grad, hessian, jacfwd, jacrev, jvp, linearize, trace, vjp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.3, 0.7, -1.1], dtype=pb.float64)
Y = pb.tensor([1.3, -0.7, 0.4], dtype=pb.float64)


def plain(x: Any, y: Any) -> Any:
    return x.sin() * y * y


def fwd(f: Any) -> Any:
    """Residuals of all kinds: an argument, the result, values computed on the way, no tensor."""

    def rule(x: Any, y: Any) -> Any:
        out = f(x, y)
        return out, {"cos": x.cos(), "sin": x.sin(), "y": y, "out": out, "two": 2}

    return rule


def bwd(res: Any, g: Any) -> Any:
    return g * res["cos"] * res["y"] ** 2, g * res["two"] * res["sin"] * res["y"]


def rule(f: Any) -> Any:
    def jvp_rule(primals: Any, tangents: Any) -> Any:
        (x, y), (s, t) = primals, tangents
        return f(x, y), s * x.cos() * y**2 + t * 2 * y * x.sin()

    return jvp_rule


def only_vjp() -> Any:
    f = custom_vjp(plain)
    f.defvjp(fwd(f), bwd)
    return f


def only_jvp() -> Any:
    f = custom_jvp(plain)
    f.defjvp(rule(f))
    return f


def only_jvps() -> Any:
    f = custom_jvp(plain)
    f.defjvps(lambda t, ans, x, y: t * x.cos() * y**2, lambda t, ans, x, y: t * 2 * y * x.sin())
    return f


def both() -> Any:
    f = only_vjp()
    f.defjvp(rule(f))
    return f


MAKERS = [only_vjp, only_jvp, only_jvps, both]
Transformer = Callable[[Any], Any]


def total(f: Any) -> Any:
    return lambda *args: f(*args).sum()


TRANSFORMS: dict[str, Transformer] = {
    "value": lambda f: f,
    "grad": lambda f: grad(total(f), argnums=(0, 1)),
    "jacrev": lambda f: jacrev(f, argnums=(0, 1)),
    "jacfwd": lambda f: jacfwd(f, argnums=(0, 1)),
    "hessian": lambda f: hessian(total(f), argnums=(0, 1)),
    "rev rev": lambda f: jacrev(jacrev(f, argnums=1)),
    "fwd fwd": lambda f: jacfwd(jacfwd(f, argnums=1)),
    "rev fwd": lambda f: jacrev(jacfwd(f), argnums=1),
    "fwd rev": lambda f: jacfwd(jacrev(f), argnums=1),
    "rev rev rev": lambda f: jacrev(jacrev(jacrev(f))),
    "fwd fwd fwd": lambda f: jacfwd(jacfwd(jacfwd(f, argnums=1))),
    "rev fwd rev": lambda f: jacrev(jacfwd(jacrev(f, argnums=1), argnums=1)),
    "vmap": vmap,
    "vmap grad": lambda f: vmap(grad(f)),
    "vmap hessian": lambda f: vmap(hessian(f, argnums=(0, 1))),
    "grad vmap": lambda f: grad(lambda x, y: vmap(f)(x, y).sum(), argnums=(0, 1)),
    "grad vmap shared": lambda f: grad(lambda x, y: vmap(f, (None, 0))(x, pb.outer(y, x)).sum(), (0, 1)),
    "vmap vmap grad": lambda f: lambda x, y: vmap(vmap(grad(f), (None, 0)), (0, None))(x, y),
    "jvp vmap grad": lambda f: lambda x, y: jvp(vmap(grad(f)), (x, y), (y, x)),
    "grad vmap jvp": lambda f: grad(lambda x, y: vmap(lambda a, b: jvp(f, (a, b), (b, a))[1])(x, y).sum()),
    "grad vmap grad": lambda f: grad(lambda x, y: vmap(grad(f))(x, y).sum(), argnums=1),
    "vjp twice": lambda f: lambda x, y: [vjp(f, x, y)[1](x), vjp(f, x, y)[1](y)],
    "linearize": lambda f: lambda x, y: linearize(f, x, y)[1](y, x),
}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_composes(name: str, make: Any) -> None:
    transform = TRANSFORMS[name]
    same(transform(make())(X, Y), transform(plain)(X, Y))


@pytest.mark.parametrize("make", MAKERS)
def test_traced_and_then_transformed(make: Any) -> None:
    program = trace(make())(X, Y)
    for name in ("value", "grad", "hessian", "fwd rev", "rev fwd", "fwd fwd", "rev rev rev"):
        transform = TRANSFORMS[name]
        same(transform(program)(X, Y), transform(plain)(X, Y))
    same(trace(grad(total(make()), (0, 1)))(X, Y)(X, Y), grad(total(plain), (0, 1))(X, Y))


@pytest.mark.parametrize("make", MAKERS)
def test_under_the_tape(make: Any) -> None:
    f = make()
    x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
    f(x, y).sum().backward()
    same((x.grad, y.grad), grad(total(plain), (0, 1))(X, Y))
    for g in (f, plain):
        first = pb.autograd.grad(g(x, y).sum(), (x, y), create_graph=True)
        second = pb.autograd.grad((first[0] * y + first[1] * x).sum(), (x, y), create_graph=True)
        third = pb.autograd.grad((second[0] * second[1]).sum(), (x, y))
        results = (first, second, third) if g is f else results  # noqa: F821
    same(results, (first, second, third))
    assert f(X, y).requires_grad and not f(X, Y).requires_grad
    with pb.no_grad():
        assert not f(x, y).requires_grad
    assert pb.autograd.gradcheck(f, (x, y), check_forward_ad=True, check_batched_grad=True)
    assert pb.autograd.gradgradcheck(f, (x, y), check_fwd_over_rev=True)


def test_given_rules_are_used() -> None:
    """Rules that are not the derivative, so that a derivative of the operators would show."""
    f = custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, None), lambda _, g: (7 * g,))
    same(grad(total(f))(X), pb.full_like(X, 7))
    same(jvp(f, (X,), (X,))[1], 7 * X)
    same(vmap(grad(f))(X), pb.full_like(X, 7))
    f.defjvp(lambda primals, tangents: (f(*primals), 5 * tangents[0]))
    same(grad(total(f))(X), pb.full_like(X, 7))
    same(jvp(f, (X,), (X,))[1], 5 * X)
    traced = trace(f)(X)
    same(grad(total(traced))(X), pb.full_like(X, 7))
    same(jvp(traced, (X,), (X,))[1], 5 * X)
    g = custom_jvp(lambda x: x * x)
    g.defjvp(lambda primals, tangents: (g(*primals), 5 * tangents[0]))
    same(grad(total(g))(X), pb.full_like(X, 5))
