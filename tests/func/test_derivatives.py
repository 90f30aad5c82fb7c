"""grad, vjp, jvp, the Jacobians, hessian and linearize: arguments, structures and errors."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

same = pb.testing.assert_close


def vector(*numbers: float) -> Any:
    return pb.tensor(list(numbers), dtype=pb.float64)


X, Y = vector(0.3, -0.7, 1.1), vector(0.5, 0.2, -0.4)


def energy(x: Any, y: Any) -> Any:
    return (x.sin() * y**2).sum()


# ---------------------------------------------------------------- argnums and has_aux
def test_argnums() -> None:
    dx, dy = X.cos() * Y**2, 2 * X.sin() * Y
    same(grad(energy)(X, Y), dx)
    same(grad(energy, argnums=1)(X, Y), dy)
    same(grad(energy, argnums=-1)(X, Y), dy)
    same(grad(energy, argnums=(0,))(X, Y), (dx,))
    same(grad(energy, argnums=(1, 0))(X, Y), (dy, dx))
    same(jacrev(lambda x, y: x * y, argnums=(0, 1))(X, Y), (pb.diag(Y), pb.diag(X)))
    same(jacfwd(lambda x, y: x * y, argnums=(0, 1))(X, Y), (pb.diag(Y), pb.diag(X)))
    blocks = hessian(energy, argnums=(0, 1))(X, Y)
    same(blocks[0][1], pb.diag(2 * X.cos() * Y))
    same(blocks[1][0], blocks[0][1].T)


def test_aux() -> None:
    def f(x: Any) -> Any:
        return (x * x).sum(), {"doubled": 2 * x}

    value, aux = grad(f, has_aux=True)(X)
    same(value, 2 * X)
    same(aux["doubled"], 2 * X)
    g, (value, aux) = grad_and_value(f, has_aux=True)(X)
    same((g, value, aux["doubled"]), (2 * X, (X * X).sum(), 2 * X))
    value, pull, aux = vjp(f, X, has_aux=True)
    same(pull(vector(1.0)[0])[0], 2 * X)
    value, tangent, aux = jvp(lambda x: (x * x, 2 * x), (X,), (Y,), has_aux=True)
    same((value, tangent, aux), (X * X, 2 * X * Y, 2 * X))
    for jacobian in (jacrev, jacfwd):
        matrix, aux = jacobian(lambda x: (x * x, 2 * x), has_aux=True)(X)
        same((matrix, aux), (pb.diag(2 * X), 2 * X))


def test_keyword_arguments() -> None:
    same(grad(lambda x, *, scale: (x * scale).sum())(X, scale=Y), Y)


def test_gradient_and_value_come_in_this_order() -> None:
    g, value = grad_and_value(energy, argnums=1)(X, Y)
    same((g, value), (2 * X.sin() * Y, energy(X, Y)))


# ---------------------------------------------------------------- pytrees
def test_gradient_has_the_structure_of_the_argument() -> None:
    tree = {"w": X, "deep": [Y, (X * Y,)]}
    g = grad(lambda t: (t["w"] * t["deep"][0]).sum() + (t["deep"][1][0] ** 2).sum())(tree)
    assert isinstance(g["deep"], list) and isinstance(g["deep"][1], tuple)
    same(g, {"w": Y, "deep": [X, (2 * X * Y,)]})


def test_jacobian_of_trees() -> None:
    for jacobian in (jacrev, jacfwd):
        j = jacobian(lambda t: {"sum": t["a"].sum(), "prod": t["a"] * t["b"]})({"a": X, "b": Y})
        same(j["sum"], {"a": pb.ones_like(X), "b": pb.zeros_like(X)})
        same(j["prod"], {"a": pb.diag(Y), "b": pb.diag(X)})


def test_vjp_and_jvp_of_trees() -> None:
    value, pull = vjp(lambda a, b: {"p": a * b, "s": (a.sum(), b)}, X, Y)
    same(value["s"][1], Y)
    ga, gb = pull({"p": X, "s": (vector(2.0)[0], Y)})
    same((ga, gb), (X * Y + 2, X * X + Y))
    value, tangent = jvp(lambda t: [t["a"] * t["b"]], ({"a": X, "b": Y},), ({"a": Y, "b": X},))
    same((value, tangent), ([X * Y], [X * X + Y * Y]))


# ---------------------------------------------------------------- chunks, shapes, other forms
@pytest.mark.parametrize("size", [None, 1, 2, 5, 100])
def test_chunked_jacobians(size: int | None) -> None:
    def f(x: Any) -> Any:
        return pb.outer(x, x.sin())

    want = pb.stack([jvp(f, (X,), (row,))[1] for row in pb.eye(3, dtype=pb.float64)], -1)
    same(jacrev(f, chunk_size=size)(X), want)
    same(jacfwd(f, chunk_size=size)(X), want)


def test_jacobian_shapes() -> None:
    x = X.repeat(2).reshape(2, 3)
    assert jacrev(lambda x: x.sum(0))(x).shape == (3, 2, 3)
    assert jacfwd(lambda x: x.sum())(x).shape == (2, 3)
    assert hessian(lambda x: (x**3).sum())(x).shape == (2, 3, 2, 3)
    assert jacrev(lambda x: pb.zeros(2))(X).shape == (2, 3)


def test_linearize() -> None:
    value, push = linearize(lambda x: x.sin() * Y, X)
    same(value, X.sin() * Y)
    for direction in (Y, X, pb.ones_like(X)):
        same(push(direction), X.cos() * Y * direction)
    same(vmap(push)(pb.eye(3, dtype=pb.float64)), pb.diag(X.cos() * Y))


def test_independent_inputs_have_zero_gradients() -> None:
    same(grad(lambda x, y: y.sum())(X, Y), pb.zeros_like(X))
    same(jvp(lambda x: Y, (X,), (Y,))[1], pb.zeros_like(Y))
    same(vjp(lambda x: Y, X)[1](Y)[0], pb.zeros_like(X))
    with pytest.raises(RuntimeError, match="strict"):
        jvp(lambda x: Y, (X,), (Y,), strict=True)


def test_results_are_plain_tensors() -> None:
    for t in (
        grad(energy)(X, Y),
        jvp(lambda x: x * 2, (X,), (Y,))[1],
        vjp(lambda x: x * 2, X)[0],
        hessian(energy)(X, Y),
    ):
        assert not t.requires_grad and t.grad_fn is None
        t.numpy()


def test_transforms_take_part_in_the_tape_outside() -> None:
    x = X.clone().requires_grad_()
    g = grad(lambda v: (v**3).sum())(x)
    assert g.requires_grad
    g.sum().backward()
    same(x.grad, 6 * X)


def test_higher_orders() -> None:
    f: Any = pb.sin
    for k in range(1, 6):
        f = grad(f)
        same(f(vector(0.7)[0]), (vector(0.7) + k * 1.5707963267948966).sin()[0])


def test_transformed_functions_behave_like_functions() -> None:
    def documented(x: Any) -> Any:
        """Says something."""
        return x.sum()

    for transform in (grad, vmap, jacrev, jacfwd, hessian, grad_and_value):
        g = transform(documented)
        assert g.__name__ == "documented" and g.__doc__ == "Says something."
        assert inspect.unwrap(g) is documented

    class Model:
        scale = 2.0

        def loss(self, x: Any) -> Any:
            return (self.scale * x).sum()

        slope = grad(loss, argnums=1)

    same(Model().slope(X), 2 * pb.ones_like(X))


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("call", "kind", "terms"),
    [
        (lambda: grad(lambda x: x * 2)(X), RuntimeError, "scalar"),
        (lambda: grad(lambda x: 3.0)(X), RuntimeError, "Tensor"),
        (lambda: grad(energy, argnums=2)(X, Y), RuntimeError, "argnum"),
        (lambda: grad(energy, argnums=(0, 5))(X, Y), RuntimeError, "argnum"),
        (lambda: grad(energy, argnums="x")(X, Y), RuntimeError, "argnums"),
        (lambda: grad(lambda x: x.sum(), has_aux=True)(X), RuntimeError, "aux|tuple"),
        (lambda: grad(lambda x: x.sum())(pb.arange(3)), RuntimeError, "float|dtype|floating"),
        (lambda: jvp(lambda x: x, X, (Y,)), RuntimeError, "tuple"),
        (lambda: jvp(lambda x: x, (X,), (Y, Y)), RuntimeError, "structure|tree"),
        (lambda: jvp(lambda x: x, (X,), (Y[:2],)), RuntimeError, "shape|size"),
        (lambda: jvp(lambda x: 3, (X,), (Y,)), RuntimeError, "[Tt]ensor"),
        (lambda: vjp(lambda x: (x, x), X)[1](Y), RuntimeError, "structure|tree"),
        (lambda: vjp(lambda x: x, X)[1](Y[:2]), RuntimeError, "shape"),
    ],
)
def test_wrong_arguments(call: Any, kind: type[Exception], terms: str) -> None:
    with pytest.raises(kind, match=terms):
        call()
    same(grad(energy)(X, Y), X.cos() * Y**2)


def test_in_place_on_an_argument_of_grad_raises() -> None:
    x = X.clone()
    with pytest.raises(RuntimeError, match="leaf"):
        grad(lambda v: v.mul_(2).sum())(x)
    same(x, X)


def test_backward_and_requires_grad_inside_a_transform_raise() -> None:
    with pytest.raises(RuntimeError, match="backward"):
        grad(lambda v: (v.sum().backward(), v.sum())[1])(X)
    with pytest.raises(RuntimeError, match="requires_grad_"):
        grad(lambda v: v.clone().requires_grad_().sum())(X)


def written(name: str) -> Any:
    """Writes into y what depends on x, and computes with it."""

    def f(x: Any, y: Any) -> Any:
        if name == "mul_":
            y.mul_(x)
        elif name == "copy_":
            y.copy_(x * x)
        elif name == "part":
            y[0] = x[1] * 3
        elif name == "view":
            y[1:].mul_(x[:1])
        elif name == "twice":
            y.mul_(x).add_(1).mul_(x)
        else:
            pb.mul(y, x, out=y)
        return (y * x).sin()

    return f


def plainly(name: str, x: Any, y: Any) -> Any:
    if name == "copy_":
        return x * x
    if name == "part":
        return pb.stack([x[1] * 3, y[1]])
    if name == "view":
        return pb.stack([y[0], y[1] * x[0]])
    return (y * x + 1) * x if name == "twice" else y * x


@pytest.mark.parametrize("name", ["mul_", "copy_", "part", "view", "twice"])
def test_arguments_that_are_not_differentiated_may_be_written_to(name: str) -> None:
    """As in PyTorch, they then hold plain values; the derivative follows what was written."""
    x, y0 = pb.tensor([1.5, 0.5], dtype=pb.float64), pb.tensor([3.0, 4.0], dtype=pb.float64)
    f = written(name)
    out_of_place = lambda x, y: (plainly(name, x, y) * x).sin()
    total = lambda f: lambda x, y: f(x, y).sum()
    derivatives: dict[str, Any] = {
        "grad": lambda f, y: grad(total(f))(x, y),
        "keyword": lambda f, y: grad(lambda x, *, y: total(f)(x, y))(x, y=y),
        "tree": lambda f, y: grad(lambda x, d: total(f)(x, d["y"][0]))(x, {"y": [y]}),
        "second": lambda f, y: grad(lambda y, x: total(f)(x, y), argnums=1)(y, x),
        "value": lambda f, y: grad_and_value(total(f))(x, y),
        "jacrev": lambda f, y: jacrev(f)(x, y),
        "jacfwd": lambda f, y: jacfwd(f)(x, y),
        "hessian": lambda f, y: hessian(total(f))(x, y),
        "grad of grad": lambda f, y: grad(lambda x, y: grad(total(f))(x, y).sum())(x, y),
        "jvp of grad": lambda f, y: jvp(lambda x: grad(total(f))(x, y * x), (x,), (x,)),
    }
    for which, derivative in derivatives.items():
        y = y0.clone()
        got = derivative(f, y)
        want = derivative(out_of_place, y0)
        same(got, want, msg=lambda text, which=which: f"{which}: {text}")
        if which == "jvp of grad":
            continue
        assert not y.requires_grad and y.grad_fn is None
        same(y, plainly(name, x, y0))
        # It is an ordinary tensor afterwards.
        y.mul_(2)
        same(grad(lambda x, y: (x * y).sum())(x, y), y)


def test_tensors_that_are_no_arguments_may_not_be_written_to() -> None:
    x, y = pb.tensor([1.5, 0.5]), pb.tensor([3.0, 4.0])
    for run in (
        lambda: grad(lambda x: y.mul_(x).sum())(x),
        lambda: grad(lambda x, z: y.mul_(x).sum())(x, y * 1),
        lambda: grad(lambda x, z: vmap(lambda x: z.mul_(x))(x).sum())(x, pb.tensor(1.0)),
    ):
        with pytest.raises(RuntimeError, match=r"not possible here.*test_derivatives\.py:\d+.*made outside"):
            run()
    same(y, pb.tensor([3.0, 4.0]))

    def fails(x: Any, y: Any) -> Any:
        y.mul_(x)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        grad(fails)(x, y)
    same(y, pb.tensor([4.5, 2.0]))

    # Where it was made counts again.
    def around(x: Any) -> Any:
        z = pb.zeros(())
        grad(lambda u, z: z.add_(u * 2))(pb.tensor(1.0), z)
        return z.add_(x)

    same(vmap(around)(x), x + 2)
