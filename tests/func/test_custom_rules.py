"""What rules of `custom_vjp` and `custom_jvp` get and may return: trees, constants, random numbers, and the errors."""

from __future__ import annotations

import dataclasses
import functools
import gc
import weakref
from typing import Any, NamedTuple

import pytest

import pullback as pb
from pullback.func import custom_jvp, custom_vjp, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.3, 0.7, -1.1], dtype=pb.float64)
Y = pb.tensor([1.3, -0.7, 0.4], dtype=pb.float64)


def plain(x: Any, y: Any) -> Any:
    return x.sin() * y * y


def total(f: Any) -> Any:
    return lambda *args: f(*args).sum()


def fwd(f: Any) -> Any:
    """Residuals of all kinds: an argument, the result, values computed on the way, no tensor."""

    def rule(x: Any, y: Any) -> Any:
        out = f(x, y)
        return out, {"cos": x.cos(), "sin": x.sin(), "y": y, "out": out, "two": 2}

    return rule


def bwd(res: Any, g: Any) -> Any:
    return g * res["cos"] * res["y"] ** 2, g * res["two"] * res["sin"] * res["y"]


def only_vjp() -> Any:
    f = custom_vjp(plain)
    f.defvjp(fwd(f), bwd)
    return f


class Pair(NamedTuple):
    first: Any
    second: Any


def test_pytrees() -> None:
    def product(p: Any, scale: float, names: Any) -> Any:
        return Pair({"sum": p["a"] + p["b"][0]}, [p["a"] * p["b"][0] * scale, "text", p["n"]])

    @custom_vjp
    def f(p: Any, scale: float = 2.0, names: Any = ("u", None)) -> Any:
        return product(p, scale, names)

    def forward(p: Any, scale: float, names: Any) -> Any:
        assert names == ("u", None)
        return product(p, scale, names), (p, scale)

    def backward(res: Any, g: Any) -> Any:
        assert isinstance(g, Pair) and g.second[1] is None and g.second[2] is None
        p, scale = res
        along, across = g.first["sum"], g.second[0] * scale
        return {"a": along + across * p["b"][0], "b": [along + across * p["a"]], "n": None}, None, None

    f.defvjp(forward, backward)
    n = pb.tensor(4)

    def loss(function: Any) -> Any:
        def evaluate(a: Any, b: Any) -> Any:
            out = function({"a": a, "b": [b], "n": n})
            assert out.second[1] == "text" and out.second[2].item() == 4
            return (out.first["sum"] ** 2).sum() + (out.second[0] * a).sum()

        return evaluate

    reference = functools.partial(product, scale=2.0, names=None)
    for transform in (lambda h: grad(h, (0, 1)), lambda h: hessian(h, (0, 1)), lambda h: jacfwd(h, (0, 1))):
        same(transform(loss(f))(X, Y), transform(loss(reference))(X, Y))
    same(f({"a": X, "b": [Y], "n": n}, scale=3.0).second[0], X * Y * 3)


def test_jvp_rule_gets_trees() -> None:
    @custom_jvp
    def f(p: Any, k: Any, c: Any) -> Any:
        return {"out": p["x"] * k * c}

    @f.defjvp
    def f_jvp(primals: Any, tangents: Any) -> Any:
        (p, k, c), (dp, dk, dc) = primals, tangents
        assert dk == 0.0 and dc is None
        return f(p, k, c), {"out": dp["x"] * k * c + p["x"] * dk * c}

    assert f_jvp is not f and f.rule is f_jvp
    same(jvp(lambda x: f({"x": x}, 2.0, 3), (X,), (Y,)), ({"out": 6 * X}, {"out": 6 * Y}))
    same(grad(lambda x: f({"x": x}, 2.0, 3)["out"].sum())(X), pb.full_like(X, 6))


def test_nondiff_argnums() -> None:
    @functools.partial(custom_vjp, nondiff_argnums=(0, 2))
    def apply(function: Any, x: Any, mask: Any) -> Any:
        return function(x) * mask

    def forward(function: Any, x: Any, mask: Any) -> Any:
        return apply(function, x, mask), x

    def backward(function: Any, mask: Any, x: Any, g: Any) -> Any:
        return (10 * g * mask * grad(total(function))(x),)

    apply.defvjp(forward, backward)
    mask = pb.tensor([1.0, 0.0, 2.0], dtype=pb.float64)
    expected = 10 * X.cos() * mask
    same(grad(lambda x: apply(pb.sin, x, mask).sum())(X), expected)
    same(vmap(grad(lambda x, m: apply(pb.sin, x, m)))(X, mask), expected)
    same(jvp(lambda x: apply(pb.sin, x, mask), (X,), (Y,))[1], expected * Y)
    with pytest.raises(RuntimeError, match=r"apply: argument 'mask' is in nondiff_argnums, .*detach"):
        grad(lambda m: apply(pb.sin, X, m).sum())(mask)
    with pytest.raises(RuntimeError, match=r"'mask' is in nondiff_argnums"):
        jvp(lambda m: apply(pb.sin, X, m), (mask,), (mask,))
    with pytest.raises(RuntimeError, match=r"'mask' is in nondiff_argnums"):
        apply(pb.sin, X.clone().requires_grad_(), mask.clone().requires_grad_())

    @custom_jvp(nondiff_argnames="n")
    def power(x: Any, n: int) -> Any:
        return x**n

    power.defjvp(lambda n, primals, tangents: (power(*primals, n), n * primals[0] ** (n - 1) * tangents[0]))
    same(grad(total(lambda x: power(x, n=3)))(X), 3 * X**2)
    same(jacfwd(jacrev(lambda x: power(x, 3)))(X), jacfwd(jacrev(lambda x: x**3))(X))


def test_none_and_integers() -> None:
    f = custom_vjp(lambda x, i, p: (x[i] * 2, i + 1))

    def backward(i: Any, g: Any) -> Any:
        assert g[1] is None
        return pb.zeros_like(X).index_put((i,), g[0] * 2), None, None

    f.defvjp(lambda x, i, p: (f(x, i, p), i), backward)
    i = pb.tensor(1)
    same(grad(lambda x: f(x, i, {"a": X})[0])(X), pb.tensor([0.0, 2.0, 0.0], dtype=pb.float64))
    same(grad(lambda p: f(X, i, {"a": p})[0])(Y), pb.zeros_like(Y))
    value, place = f(X.clone().requires_grad_(), i, None)
    assert value.requires_grad and not place.requires_grad and place.item() == 2


def test_symbolic_zeros() -> None:
    seen: list[Any] = []

    def make(symbolic: bool) -> Any:
        f = custom_vjp(lambda x: (x * 2, x * 3))

        def backward(_: Any, g: Any) -> Any:
            seen.append(g[1])
            return (g[0] * 2 if g[1] is None else g[0] * 2 + g[1] * 3,)

        f.defvjp(lambda x: (f(x), None), backward, symbolic_zeros=symbolic)
        return f

    for symbolic in (False, True):
        f = make(symbolic)
        same(grad(lambda x: f(x)[0].sum())(X), pb.full_like(X, 2))  # noqa: B023
    same(seen[0], pb.zeros_like(X))
    assert seen[1] is None


def test_fwd_runs_once_and_instead_of_the_function() -> None:
    calls: list[str] = []

    @custom_vjp
    def f(x: Any) -> Any:
        calls.append("f")
        return x * 2

    def forward(x: Any) -> Any:
        calls.append("fwd")
        return x * 2, x.exp()

    f.defvjp(forward, lambda e, g: (2 * g,))
    f(X)
    vmap(f)(X)
    assert calls == ["f", "f"]
    calls.clear()
    grad(total(f))(X)
    vmap(grad(f))(X)
    f(X.clone().requires_grad_()).sum().backward()
    assert calls == ["fwd"] * 3


def test_what_is_drawn_in_fwd_is_drawn_once() -> None:
    """The mask of the result and that of the gradient are one, at every order."""

    @custom_vjp
    def dropout(x: Any) -> Any:
        return x**3 * (pb.rand_like(x) > 0.5)

    def forward(x: Any) -> Any:
        mask = pb.rand_like(x) > 0.5
        return x**3 * mask, (3 * x * x * mask, mask)

    dropout.defvjp(forward, lambda res, g: (g * res[0],))
    x = pb.linspace(0.5, 2, 40, dtype=pb.float64)
    out, pull = vjp(dropout, x)
    same(pull(pb.ones_like(x))[0], 3 * x**2 * (out != 0))

    def kept(v: Any) -> Any:
        y, push = vjp(dropout, v)
        return push(pb.ones_like(v))[0], (y != 0)

    def total_and_mask(v: Any) -> Any:
        first, mask = kept(v)
        return first.sum(), mask

    second, mask = grad(total_and_mask, has_aux=True)(x)
    assert 0 < mask.sum() < 40
    same(second, 6 * x * mask)

    noisy = custom_jvp(lambda v: v * pb.rand_like(v))

    @noisy.defjvp
    def noisy_jvp(primals: Any, tangents: Any) -> Any:
        noise = pb.rand_like(primals[0])
        return primals[0] * noise, tangents[0] * noise

    same(*jvp(noisy, (x,), (x,)))
    rows = pb.stack([x, x])
    for transform in (
        vmap(lambda v: jvp(noisy, (v,), (v,)), randomness="different"),
        lambda r: jvp(vmap(noisy, randomness="different"), (r,), (r,)),
    ):
        out, tangent = transform(rows)
        same(out, tangent)
        assert (out[0] != out[1]).any()
    out, pull = vjp(noisy, x)
    pb.rand(5)
    state = pb.get_rng_state()
    same(pull(x)[0], out)
    assert pb.get_rng_state().equal(state)
    g = pb.Generator().manual_seed(3)
    seeded = custom_jvp(lambda v, g: v * pb.rand(40, generator=g))

    @seeded.defjvp
    def seeded_jvp(primals: Any, tangents: Any) -> Any:
        noise = pb.rand(40, generator=primals[1])
        return primals[0] * noise, tangents[0] * noise

    same(*jvp(lambda v: seeded(v, g), (x,), (x,)))


def test_residuals_are_freed_with_the_graph() -> None:
    class Token:
        pass

    kept: list[Any] = []

    def forward(x: Any) -> Any:
        token = Token()
        kept.append(weakref.ref(token))
        return x * 2, (token, x > 0)

    f = custom_vjp(lambda x: x * 2)
    f.defvjp(forward, lambda res, g: (g * 2 * res[1],))
    x = X.clone().requires_grad_()
    out = f(x)
    gc.collect()
    assert kept[0]() is not None
    out.sum().backward()
    same(x.grad, 2.0 * (X > 0).double())
    del out
    gc.collect()
    assert kept[0]() is None


def test_as_a_method_and_signature() -> None:
    class Layer:
        def __init__(self) -> None:
            self.factor = 3.0

        @functools.partial(custom_vjp, nondiff_argnums=0)
        def scale(self, x: Any) -> Any:
            """Scales."""
            return x * self.factor

        scale.defvjp(lambda self, x: (x * self.factor, None), lambda self, _, g: (-g * self.factor,))

    layer = Layer()
    same(grad(total(layer.scale))(X), pb.full_like(X, -3))
    assert Layer.scale.__doc__ == "Scales." and Layer.scale.__name__ == "scale"
    assert repr(Layer.scale) == "<custom_vjp function scale>"
    assert "scale" in layer.scale(X.clone().requires_grad_()).grad_fn.name()


def test_exceptions_of_rules_pass_through() -> None:
    error = KeyError("stop")

    def backward(_: Any, g: Any) -> Any:
        raise error

    f = custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), backward)
    for call in (lambda: grad(total(f))(X), lambda: f(X.clone().requires_grad_()).sum().backward()):
        with pytest.raises(KeyError) as caught:
            call()
        assert caught.value is error


def with_bwd(result: Any) -> Any:
    f = custom_vjp(plain)
    f.defvjp(lambda x, y: (plain(x, y), None), lambda _, g: result(g))
    return lambda: grad(total(f))(X, Y)


def with_rule(result: Any) -> Any:
    f = custom_jvp(plain)
    f.defjvp(lambda p, t: result(*p))
    return lambda: jvp(f, (X, Y), (X, Y))


def with_fwd(result: Any) -> Any:
    f = custom_vjp(plain)
    f.defvjp(lambda x, y: result, lambda _, g: (g, g))
    return lambda: grad(total(f))(X, Y)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: custom_vjp(plain)(X, Y), AttributeError, r"No rule is defined for .*plain; use defvjp"),
        (lambda: custom_jvp(plain)(X, Y), AttributeError, r"No rule is defined for .*plain; use defjvp"),
        (with_fwd(X), TypeError, r"plain: the fwd of defvjp\(\) must return a pair .*got Tensor"),
        (with_bwd(lambda g: g), TypeError, r"plain: the bwd of defvjp\(\) must return a tuple .*2, got Tensor"),
        (with_bwd(lambda g: (g,)), TypeError, r"2, got 1 values"),
        (
            with_bwd(lambda g: (g, [g])),
            TypeError,
            r"gradient that bwd returned for argument 'y': expected the structure",
        ),
        (with_bwd(lambda g: (g[:2], g)), RuntimeError, r"plain.*shape"),
        (with_rule(lambda x, y: x), TypeError, r"the rule of defjvp\(\) must return a pair .*got Tensor"),
        (with_rule(lambda x, y: ((x, y), (x, y))), TypeError, r"gave an output of structure"),
        (with_rule(lambda x, y: (x, (y,))), TypeError, r"the tangent that the rule of defjvp\(\) returned: expected"),
        (with_rule(lambda x, y: (x, y[:2])), RuntimeError, r"plain.*shape"),
        (lambda: custom_vjp(3), TypeError, r"'fun' must be callable, got int"),
        (
            lambda: custom_vjp(plain).defvjp(plain, 3),
            TypeError,
            r"defvjp\(\): argument 'bwd' must be callable, got int",
        ),
        (lambda: custom_jvp(plain).defjvp(3), TypeError, r"defjvp\(\): argument 'jvp' must be callable, got int"),
        (lambda: custom_vjp(plain, nondiff_argnums=2), ValueError, r"numbers of the 2 arguments of plain, got \(2,\)"),
        (lambda: custom_vjp(plain, nondiff_argnames="z"), ValueError, r"'nondiff_argnames' has 'z'"),
        (lambda: custom_jvp(plain, nondiff_argnums=0).defjvps(None), TypeError, r"nondiff_argnums"),
        (lambda: only_vjp()(X, Y, z=Y), TypeError, r"z"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_arguments_by_name_only() -> None:
    @custom_vjp
    def f(x: Any, *, scale: float) -> Any:
        return x * scale

    f.defvjp(lambda x: (x, None), lambda _, g: (g,))
    with pytest.raises(TypeError, match=r"\['scale'\] can only be given by name"):
        f(X, scale=2.0)


@dataclasses.dataclass
class Point:
    a: Any
    b: Any


pb.utils.pytree.register_dataclass(Point)


def with_rules(f: Any, forward: Any, backward: Any) -> Any:
    made = custom_vjp(f)
    made.defvjp(forward, backward)
    return made


def test_results_that_are_arguments_or_views() -> None:
    turned = with_rules(lambda x: x, lambda x: (x, None), lambda _, g: (-g,))
    same(grad(total(turned))(X), pb.full_like(X, -1))
    same(vmap(grad(turned))(X), pb.full_like(X, -1))
    same(jvp(turned, (X,), (Y,)), (X, -Y))
    x = X.clone().requires_grad_()
    y = turned(x * 1)
    y.mul_(2)
    y.sum().backward()
    same(x.grad, pb.full_like(X, -2))
    t = with_rules(lambda x: x.t(), lambda x: (x.t(), None), lambda _, g: (3 * g.t(),))
    m = pb.ones(2, 3, dtype=pb.float64)
    same(grad(lambda x: (t(x) * pb.arange(6.0).reshape(3, 2)).sum())(m), 3 * pb.arange(6.0).reshape(3, 2).t().double())


def test_arguments_and_results_that_are_one() -> None:
    product = with_rules(pb.mul, lambda x, y: (x * y, (x, y)), lambda r, g: (g * r[1] * 10, g * r[0]))
    same(grad(lambda x: product(x, x).sum())(X), 11 * X)
    x = X.clone().requires_grad_()
    product(x, x).sum().backward()
    same(x.grad, 11 * X)

    def forward(x: Any) -> Any:
        y = x * 2
        return (y, y), None

    twice = with_rules(lambda x: forward(x)[0], forward, lambda _, g: (2 * g[0] + 5 * g[1],))
    same(grad(lambda x: (twice(x)[0] + twice(x)[1] * 3).sum())(X), pb.full_like(X, 17))


def test_dataclasses_and_no_result() -> None:
    f = with_rules(
        lambda p: Point(p.a * p.b, p.a),
        lambda p: (Point(p.a * p.b, p.a), p),
        lambda p, c: (Point(c.a * p.b + c.b, c.a * p.a),),
    )
    same(grad(lambda a: f(Point(a, Y)).a.sum() + f(Point(a, Y)).b.sum())(X), Y + 1)
    nothing = with_rules(lambda x: None, lambda x: (None, None), lambda _, g: (None,))
    assert nothing(X) is None and nothing(X.clone().requires_grad_()) is None
