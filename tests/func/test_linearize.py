"""linearize: one run of the function, and a linear function of tangents that serves everywhere."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, jvp, linearize, vjp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.3, -0.8, 1.1], dtype=pb.float64)
T = pb.tensor([1.0, 0.5, -2.0], dtype=pb.float64)


def f(x: Any) -> Any:
    return {"a": x.sin() * x, "b": (x.exp().sum() * x, x.cumsum(0))}


def test_agrees_with_jvp_and_runs_once() -> None:
    runs = []

    def counted(x: Any) -> Any:
        runs.append(1)
        return f(x)

    y, push = linearize(counted, X)
    same(y, f(X))
    for t in (T, 2 * T, pb.zeros_like(T)):
        same(push(t), jvp(f, (X,), (t,))[1])
    assert len(runs) == 1


def test_is_linear() -> None:
    _, push = linearize(lambda x: x.sin() * x, X)
    same(push(2 * T + X), 2 * push(T) + push(X))


def test_trees_of_primals() -> None:
    tree = {"w": X, "deep": [T, (X * T,)]}

    def g(t: Any, s: Any) -> Any:
        return t["w"] * t["deep"][0] * s, t["deep"][1][0].sum()

    y, push = linearize(g, tree, X)
    tangents = {"w": T, "deep": [X, (X,)]}
    same(y, g(tree, X))
    same(push(tangents, T), jvp(g, (tree, X), (tangents, T))[1])


def test_under_other_transforms() -> None:
    _, push = linearize(lambda x: x.sin() * x, X)
    eye = pb.eye(3, dtype=pb.float64)
    slope = X.cos() * X + X.sin()
    same(vmap(push)(eye), pb.diag(slope))
    same(grad(lambda t: (push(t) ** 2).sum())(T), 2 * slope**2 * T)
    same(jvp(push, (T,), (X,))[1], slope * X)
    same(vjp(push, T)[1](X)[0], slope * X)


def test_inside_other_transforms() -> None:
    def along(x: Any) -> Any:
        return linearize(lambda u: u**3, x)[1](T)

    same(grad(lambda x: along(x).sum())(X), 6 * X * T)
    same(vmap(along)(pb.stack([X, 2 * X])), pb.stack([3 * X**2 * T, 12 * X**2 * T]))
    same(jvp(along, (X,), (T,))[1], 6 * X * T * T)
    same(linearize(along, X)[1](X), 6 * X * T * X)


def test_primal_values_decide_control_flow() -> None:
    def g(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else -x

    same(linearize(g, X)[1](T), 2 * T)
    same(linearize(g, -X)[1](T), -T)


def test_outputs_that_do_not_depend() -> None:
    y, push = linearize(lambda x: (pb.ones(2), x), X)
    same(y[0], pb.ones(2))
    same(push(T), (pb.zeros(2), T))


@pytest.mark.parametrize(
    ("call", "kind", "terms"),
    [
        (lambda push: push(T, T), RuntimeError, "argspec"),
        (lambda push: push((T,)), RuntimeError, "argspec"),
        (lambda push: push(T[:2]), RuntimeError, "shape.*doesn't match"),
        (lambda push: push(T.float()), RuntimeError, "dtype.*doesn't match"),
        (lambda push: push("a"), ValueError, "Tensor"),
        (lambda push: linearize(lambda x: 3, X), RuntimeError, "only tensors"),
        (lambda push: linearize(lambda x: None, X), RuntimeError, "non-empty"),
        (lambda push: linearize(lambda x: x, pb.arange(3)), ValueError, "floating point"),
        (lambda push: linearize(lambda x: x, "a"), ValueError, "Tensor"),
    ],
)
def test_wrong_arguments(call: Any, kind: type[Exception], terms: str) -> None:
    _, push = linearize(lambda x: x.sin(), X)
    with pytest.raises(kind, match=terms):
        call(push)
