"""Errors have PyTorch's type and the words that people search for, and name the user's line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.3, -0.8, 1.1])
M = pb.arange(6.0).reshape(2, 3)
N = pb.arange(3)


def total(x: Any) -> Any:
    return (x * x).sum()


CASES = [
    # grad
    (lambda: grad(lambda x: x)(X), RuntimeError, "return a scalar Tensor.*1 dims"),
    (lambda: grad(lambda x: x.sum().reshape(1))(X), RuntimeError, "return a scalar Tensor"),
    (lambda: grad(lambda x: None)(X), RuntimeError, "to return a Tensor, got NoneType"),
    (lambda: grad(lambda x: (x.sum(), x))(X), RuntimeError, "to return a Tensor, got tuple"),
    (lambda: grad(lambda x: x.sum(), has_aux=True)(X), RuntimeError, r"should be a tuple: \(output, aux\)"),
    (lambda: grad(total)(N), RuntimeError, "floating point.*int64"),
    (lambda: grad(total)("a"), ValueError, "must be Tensor, got str"),
    (lambda: grad(lambda d: total(d["a"]))({"a": X, "b": None}), ValueError, "must be Tensor, got NoneType"),
    (lambda: grad(total)(), RuntimeError, "argnum=0, but only 0 positional"),
    (lambda: grad(total, 1)(X), RuntimeError, "argnum=1, but only 1 positional"),
    (lambda: grad(total, -2)(X), RuntimeError, "argnum=-2, but only 1 positional"),
    (lambda: grad(total, [0])(X), RuntimeError, r"argnums must be int or Tuple\[int, ...\]"),
    (lambda: grad(total, ())(X), RuntimeError, "argnums must be non-empty"),
    (lambda: grad(total, (0, 0))(X), RuntimeError, "argnums elements must be unique"),
    (lambda: grad(lambda a, b: total(a), (0, -2))(X, X), RuntimeError, "argnums elements must be unique"),
    (lambda: grad_and_value(lambda x: x)(X), RuntimeError, "grad_and_value.*scalar"),
    # vjp
    (lambda: vjp(total, "a"), ValueError, "must be Tensor"),
    (lambda: vjp(total, N), RuntimeError, "floating point"),
    (lambda: vjp(lambda x: None, X), RuntimeError, "non-empty output"),
    (lambda: vjp(lambda x: (), X), RuntimeError, "non-empty output"),
    (lambda: vjp(lambda x: (x, 3), X), RuntimeError, "only tensors, got unsupported type int"),
    (lambda: vjp(lambda x: N, X), RuntimeError, "floating-point or complex"),
    (lambda: vjp(lambda x: x, X, has_aux=True), RuntimeError, r"\(output, aux\)"),
    (lambda: vjp(lambda x: x, X)[1](), TypeError, "cotangents"),
    (lambda: vjp(lambda x: x, X)[1](X[:2]), RuntimeError, "Mismatch in shape"),
    (lambda: vjp(lambda x: x, X)[1]((X, X)), RuntimeError, "pytree structure of cotangents"),
    (lambda: vjp(lambda x: (x, x), X)[1](X), RuntimeError, "pytree structure of cotangents"),
    (lambda: vjp(lambda x: x, X)[1]("a"), ValueError, "must be Tensor"),
    # jvp
    (lambda: jvp(total, X, X), RuntimeError, "primals to be a tuple"),
    (lambda: jvp(total, [X], [X]), RuntimeError, "primals to be a tuple"),
    (lambda: jvp(total, (X,), X), RuntimeError, "same python structure"),
    (lambda: jvp(total, (X,), (X, X)), RuntimeError, "same python structure"),
    (lambda: jvp(total, (X,), ({"a": X},)), RuntimeError, "same python structure"),
    (lambda: jvp(lambda: X, (), ()), RuntimeError, "at least one Tensor"),
    (lambda: jvp(total, ("a",), (X,)), RuntimeError, "only contain Tensors"),
    (lambda: jvp(total, (X,), (X[:2],)), RuntimeError, "different size"),
    (lambda: jvp(total, (N,), (N,)), ValueError, "floating point or complex"),
    (lambda: jvp(lambda x: None, (X,), (X,)), RuntimeError, "non-empty output"),
    (lambda: jvp(lambda x: 3, (X,), (X,)), RuntimeError, "only tensors, got unsupported type int"),
    (lambda: jvp(lambda x: pb.ones(3), (X,), (X,), strict=True), RuntimeError, "independent of the inputs"),
    # jacobians
    (lambda: jacrev(total, chunk_size=0), ValueError, "chunk_size"),
    (lambda: jacfwd(total, chunk_size=-1), ValueError, "chunk_size"),
    (lambda: jacrev(total)(N), RuntimeError, "floating point"),
    (lambda: jacfwd(total)(N), ValueError, "floating point"),
    (lambda: jacrev(total)("a"), ValueError, "Tensor"),
    (lambda: hessian(total)("a"), ValueError, "Tensor"),
    (lambda: jacrev(total, None)(X), RuntimeError, "argnums must be int"),
    (lambda: jacfwd(total, randomness="x"), RuntimeError, "randomness"),
    # vmap
    (lambda: vmap(lambda a, b: a)(M, X), ValueError, r"same size in the mapped dimension, got sizes \[2, 3\]"),
    (lambda: vmap(total)(), ValueError, "got no inputs"),
    (lambda: vmap(total)(x=M), ValueError, "got no inputs"),
    (lambda: vmap(total, in_dims=(None,))(M), ValueError, "at least one Tensor to vmap over"),
    (lambda: vmap(total, in_dims=[0])(M), ValueError, "`in_dims` to be int or a"),
    (lambda: vmap(total, in_dims=None)(M), ValueError, "`in_dims` to be int or a"),
    (lambda: vmap(total, in_dims=(0, 0))(M), ValueError, "in_dims is not compatible with the structure of `inputs`"),
    (lambda: vmap(total, in_dims=((0, 0),))(M), ValueError, "in_dims is not compatible"),
    (lambda: vmap(total, in_dims=({"b": 0},))({"a": M}), ValueError, "in_dims is not compatible"),
    (lambda: vmap(total, in_dims=(0.5,))(M), ValueError, "in_dim must be either an integer dimension or None"),
    (lambda: vmap(lambda a, b: a)(M, 3), ValueError, "input is of type int"),
    (lambda: vmap(lambda a, b: a)(M, None), ValueError, "input is of type NoneType"),
    (lambda: vmap(total, in_dims=2)(M), ValueError, "expected in_dim to satisfy -2 <= in_dim < 2"),
    (lambda: vmap(total, in_dims=-3)(M), ValueError, "expected in_dim to satisfy"),
    (lambda: vmap(total)(pb.tensor(1.0)), ValueError, "dimensionality 0"),
    (lambda: vmap(lambda a: 3)(M), ValueError, "must only return Tensors, got type <class 'int'>"),
    (lambda: vmap(lambda a: a, out_dims=None)(M), ValueError, "can not return a BatchedTensor when out_dim is None"),
    (lambda: vmap(lambda a: a, out_dims=2)(M), IndexError, "Dimension out of range"),
    (lambda: vmap(lambda a: a, out_dims=-3)(M), IndexError, "Dimension out of range"),
    (lambda: vmap(lambda a: a, out_dims="a")(M), ValueError, "`out_dims` must be an int, None or a python collection"),
    (lambda: vmap(lambda a: a, out_dims=(0, 1))(M), ValueError, "out_dims is not compatible with the structure"),
    (lambda: vmap(lambda a: (a, a), out_dims=(0, 0.5))(M), ValueError, "`out_dims` must be an int"),
    (lambda: vmap(total, randomness="x"), RuntimeError, "Only allowed values for randomness"),
    (lambda: vmap(total, chunk_size=0), ValueError, "chunk_size should be None or greater than 0"),
    (lambda: vmap(lambda a: a + pb.randn(3))(M), RuntimeError, "vmap: called random operation"),
]


@pytest.mark.parametrize(("call", "kind", "terms"), CASES)
def test_type_and_words(call: Any, kind: type[Exception], terms: str) -> None:
    with pytest.raises(kind, match=terms) as caught:
        call()
    assert type(caught.value) is kind
    assert "test_messages.py:" in str(caught.value), str(caught.value)
    same(grad(total)(X), 2 * X)


def test_what_is_no_error() -> None:
    same(grad(lambda x: pb.tensor(3))(X), pb.zeros(3))
    same(vmap(lambda a: (a, 3), out_dims=(0, None))(M)[1], 3)
    same(vmap(lambda a: a, out_dims=(0,))(M), M)
    assert vmap(lambda a: ())(M) == ()
    assert vmap(lambda v: v, chunk_size=2)(M[:0]).shape == (0, 3)
    assert vmap(lambda a: (a, "s"), out_dims=(0, None), chunk_size=1)(M)[1] == "s"
    value, tangent = jvp(lambda x: x * 2, (X,), (X.double(),))
    assert value.dtype == tangent.dtype == pb.float32
    same(vjp(lambda x: x * 2, X)[1](X.double())[0], 2 * X)
    value, pull = vjp(lambda: pb.ones(2))
    assert pull(pb.ones(2)) == ()
    same(vjp(lambda x: pb.ones(2), X)[1](pb.ones(2))[0], pb.zeros(3))


def test_pullback_takes_one_argument_for_each_output() -> None:
    _, pull = vjp(lambda x: (x, 2 * x), X)
    same(pull(X, X)[0], 3 * X)
    same(pull((X, X))[0], 3 * X)
    same(pull(cotangents=(X, X))[0], 3 * X)


def test_pullback_can_free_what_it_used() -> None:
    _, pull = vjp(lambda x: x.sin(), X)
    same(pull(X, retain_graph=False)[0], X * X.cos())
    with pytest.raises(RuntimeError, match="second time"):
        pull(X)


def test_pullback_without_a_graph() -> None:
    def f(x: Any, create: bool) -> Any:
        return (vjp(lambda u: u**3, x)[1](pb.ones(3), create_graph=create)[0]).sum()

    same(grad(lambda x: f(x, True))(X), 6 * X)
    same(grad(lambda x: f(x, False))(X), pb.zeros(3))


def test_escape_names_the_line_of_the_transform() -> None:
    held: list[Iterator[Any]] = []

    def f(v: Any) -> Any:
        def later() -> Iterator[Any]:
            yield v.shape
            yield v + 1

        held.append(later())
        next(held[-1])
        return v

    line = "test_messages.py"
    vmap(f)(M)
    with pytest.raises(RuntimeError, match=r"vmap\(f\)") as caught:
        next(held[0])
    assert str(caught.value).count(line) == 2, str(caught.value)
    kept = []
    vmap(lambda v: kept.append(v) or v)(M)  # type: ignore[func-returns-value]
    with pytest.raises(RuntimeError, match=r"escaped"):
        vmap(lambda v: v + kept[0])(M)
    with pytest.raises(RuntimeError, match=r"escaped"):
        grad(lambda v: kept[0].sum())(X)


def test_values_of_other_dead_levels_are_plain() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return (x * x).sum()

    grad(f)(X)
    jvp(f, (X,), (X,))
    jacfwd(f)(X)
    same(kept[0] + 0, 2 * X)
    same(kept[1] + 0, 2 * X)
    same(kept[2] + 0, 2 * X)
    same(grad(lambda x: (x * kept[0]).sum())(X), 2 * X)
