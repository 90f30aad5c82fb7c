"""`autograd.functional` against the transforms, which have the same in another form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.autograd import functional as F
from pullback.testing import assert_close, make_tensor


def two(a: Any, b: Any) -> Any:
    return a * b.exp(), (a * a).sum()


def number(a: Any, b: Any) -> Any:
    return (a * a * b.sin()).sum()


def total(a: Any) -> Any:
    return (a**3).sum()


def inputs() -> Any:
    return tuple(make_tensor(3, dtype=pb.float64, low=0.5, high=2, requires_grad=True) for _ in range(2))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian(create_graph: bool, vectorize: bool) -> None:
    x, y = inputs()
    found = F.jacobian(two, (x, y), create_graph=create_graph, vectorize=vectorize)
    assert_close(found, pb.func.jacrev(two, argnums=(0, 1))(x, y))
    single = F.jacobian(pb.exp, x, create_graph=create_graph, vectorize=vectorize)
    assert_close(single, pb.diag(x.exp()))
    assert single.requires_grad == found[0][0].requires_grad == create_graph
    if create_graph:
        (g,) = pb.autograd.grad(single.sum(), x)
        assert_close(g, x.exp())


def test_forward_mode() -> None:
    x, y = inputs()
    vectorized = F.jacobian(two, (x, y), vectorize=True, strategy="forward-mode")
    assert_close(vectorized, F.jacobian(two, (x, y)))
    with pytest.raises(NotImplementedError, match="vectorize"):
        F.jacobian(two, (x, y), strategy="forward-mode")


@pytest.mark.parametrize(
    "kwargs", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]
)
def test_hessian(kwargs: Any) -> None:
    x, y = inputs()
    assert_close(F.hessian(number, (x, y), **kwargs), pb.func.hessian(number, argnums=(0, 1))(x, y))
    assert_close(F.hessian(lambda a: (a**3).sum(), x, **kwargs), pb.diag(6 * x.detach()))


@pytest.mark.parametrize("create_graph", [False, True])
def test_products(create_graph: bool) -> None:
    x, y = inputs()
    v = (make_tensor(3, dtype=pb.float64), make_tensor((), dtype=pb.float64))
    value, product = F.vjp(two, (x, y), v, create_graph=create_graph)
    expected, pull = pb.func.vjp(two, x, y)
    assert_close((value, product), (expected, pull(v)))
    u = (make_tensor(3, dtype=pb.float64), make_tensor(3, dtype=pb.float64))
    assert_close(F.jvp(two, (x, y), u, create_graph=create_graph), pb.func.jvp(two, (x, y), u))
    h = F.hessian(number, (x, y))
    expected = tuple(h[i][0] @ u[0] + h[i][1] @ u[1] for i in range(2))
    for f in (F.hvp, F.vhp):
        value, product = f(number, (x, y), u, create_graph=create_graph)
        assert_close((value, product), (number(x, y), expected))
        assert product[0].requires_grad == create_graph


def test_defaults_of_vectors() -> None:
    x = pb.tensor(2.0, requires_grad=True)
    for f, expected in [(F.vjp, 12.0), (F.jvp, 12.0), (F.hvp, 12.0), (F.vhp, 12.0)]:
        value, product = f(lambda a: a**3, x)
        assert (value.item(), product.item()) == (8.0, expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: F.vjp(pb.exp, x), RuntimeError, "v can only be None if the user-provided function returns"),
        (lambda x: F.jvp(pb.exp, x), RuntimeError, "v can only be None if the input to the user-provided function"),
        (lambda x: F.jvp(pb.exp, x, pb.ones(2)), RuntimeError, r"v has invalid size: should be .*3.* but got .*2"),
        (lambda x: F.jvp(pb.add, (x, x), (x, pb.ones(2))), RuntimeError, "Entry 1 in v has invalid size"),
        (lambda x: F.jvp(pb.add, (x, x), (x,)), RuntimeError, "v is a tuple of invalid length: should be 2 but got 1"),
        (lambda x: F.hessian(pb.exp, x), RuntimeError, "given to hessian should contain a single element"),
        (lambda x: F.hvp(lambda a: 3, x, x), TypeError, "outputs of the user-provided function given to hvp must"),
        (lambda x: F.hvp(lambda a: (a, a), x, x), RuntimeError, "given to hvp should return a single Tensor"),
        (lambda x: F.jacobian(pb.exp, "x"), TypeError, "inputs given to jacobian must be either a Tensor or a tuple"),
        (lambda x: F.jacobian(pb.exp, (x, 3)), TypeError, "the value at index 1 has type int"),
        (lambda x: F.jacobian(lambda a: 3, x), TypeError, "outputs of the user-provided function given to jacobian"),
        (lambda x: F.jacobian(pb.exp, x, strategy="other"), AssertionError, "Expected strategy to be either"),
        (lambda x: F.hessian(total, x, outer_jacobian_strategy="o"), AssertionError, "Expected strategy to be either"),
        (lambda x: F.jacobian(pb.exp, x, vectorize=True, strict=True), RuntimeError, "not supported together"),
        (lambda x: F.hessian(total, x, vectorize=True, strict=True), RuntimeError, "not supported together"),
    ],
)
def test_errors(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(pb.ones(3, requires_grad=True))


def test_independent_outputs_are_zero() -> None:
    x, y = inputs()
    assert_close(F.jacobian(lambda a, b: a * 1, (x, y))[1], pb.zeros(3, 3, dtype=pb.float64))
    assert_close(F.vjp(lambda a: pb.ones(()), x)[1], pb.zeros(3, dtype=pb.float64))


NO_GRADIENT = "Output 0 of the user-provided function does not require gradient"
INDEPENDENT = "utput (0 )?of the user-provided function is independent of input 1"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: F.jacobian(lambda a: pb.ones(2), x, strict=True), NO_GRADIENT),
        (lambda x: F.vjp(lambda a: pb.ones(()), x, strict=True), NO_GRADIENT),
        (lambda x: F.jvp(lambda a: pb.ones(()), x, x, strict=True), NO_GRADIENT),
        (lambda x: F.hessian(lambda a: pb.ones(()), x, strict=True), NO_GRADIENT),
        (lambda x: F.hvp(lambda a: pb.ones(()), x, x, strict=True), NO_GRADIENT),
        (lambda x: F.jacobian(lambda a, b: a.exp(), (x, x), strict=True), INDEPENDENT),
        (lambda x: F.vjp(lambda a, b: total(a), (x, x), strict=True), INDEPENDENT),
        (lambda x: F.jvp(lambda a, b: total(a), (x, x), (x, x), strict=True), INDEPENDENT),
        (lambda x: F.hessian(lambda a, b: total(a), (x, x), strict=True), INDEPENDENT),
        (lambda x: F.vhp(lambda a, b: total(a), (x, x), (x, x), strict=True), INDEPENDENT),
        (lambda x: F.hessian(pb.sum, x, strict=True), "jacobian of the user-provided function with respect to input 0"),
        (lambda x: F.hvp(pb.sum, x, x, strict=True), "jacobian of the user-provided function with respect to input 0"),
        (lambda x: F.hvp(lambda a, b: total(a) + b.sum(), (x, x), (x, x), strict=True), "with respect to input 1"),
        (
            lambda x: F.jacobian(lambda a: a * 2, x, strict=True, create_graph=True),
            "strict mode when create_graph=True",
        ),
        (lambda x: F.vjp(pb.sum, x, strict=True, create_graph=True), "strict mode when create_graph=True"),
        (lambda x: F.jvp(pb.sum, x, pb.ones(3), strict=True, create_graph=True), "strict mode when create_graph=True"),
        (
            lambda x: F.hvp(lambda a: (a * a).sum(), x, pb.ones(3), strict=True, create_graph=True),
            "when create_graph=True",
        ),
    ],
)
def test_strict_mode(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(pb.ones(3, requires_grad=True))


def test_strict_mode_passes_what_depends() -> None:
    """In a product each input needs influence on one of the outputs, not on all."""
    x, y = inputs()
    apart = lambda a, b: (a**3, b**3)
    for create_graph in (False, True):
        options: Any = {"strict": True, "create_graph": create_graph}
        assert_close(F.vjp(apart, (x, y), (x, y), **options), F.vjp(apart, (x, y), (x, y)))
        assert_close(F.jvp(apart, (x, y), (x, y), **options), F.jvp(apart, (x, y), (x, y)))
        assert_close(F.hvp(number3, (x, y), (x, y), **options), F.hvp(number3, (x, y), (x, y)))
        assert_close(F.hessian(number3, (x, y), **options), F.hessian(number3, (x, y)))
        assert_close(F.jacobian(lambda a: a**3, x, **options), F.jacobian(lambda a: a**3, x))


def number3(a: Any, b: Any) -> Any:
    return (a**3 * b**3).sum()


def test_helpers_that_programs_import():
    helpers = pb.autograd.functional
    x = pb.ones(2, requires_grad=True)
    assert helpers._as_tuple(x)[0] is x and helpers._as_tuple([1, 2]) == (1, 2)
    assert helpers._as_tuple((x,), "inputs", "f")[0] is True and helpers._as_tuple(x, "inputs", "f")[0] is False
    with pytest.raises(TypeError, match="The inputs given to f must be"):
        helpers._as_tuple((x, "a"), "inputs", "f")
    with pytest.raises(TypeError, match="The inputs given to f must be"):
        helpers._as_tuple([x], "inputs", "f")
    (leaf,) = helpers._grad_preprocess((x,), create_graph=False, need_graph=True)
    assert leaf.is_leaf and leaf is not x and leaf.requires_grad
    (view,) = helpers._grad_preprocess((x,), create_graph=True, need_graph=True)
    assert view is not x and view.requires_grad
    row = ((x * 2, x * 3),)
    assert not helpers._grad_postprocess(row, create_graph=False)[0][1].requires_grad
    assert helpers._grad_postprocess(row, create_graph=True)[0][1].requires_grad
    assert helpers._tuple_postprocess((x,), False) is x and helpers._tuple_postprocess((x,), True) == (x,)
    assert helpers._tuple_postprocess(((x,),), (False, False)) is x
    assert helpers._tuple_postprocess(((x, view),), (False, True)) == (x, view)
