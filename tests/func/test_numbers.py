"""Numbers and NumPy arrays as arguments of transforms: they count as tensors of their values."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import functional
from pullback.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

same = pb.testing.assert_close
A = np.array([1.0, 2.0])
Point = namedtuple("Point", "x y")


def square(x: Any) -> Any:
    assert isinstance(x, pb.Tensor)
    return x * x


def total(x: Any) -> Any:
    return square(x).sum()


def exactly(got: Any, expected: Any) -> None:
    assert type(got) is pb.Tensor
    same(got, expected)


def test_floats() -> None:
    exactly(grad(square)(3.0), pb.tensor(6.0))
    assert grad_and_value(square)(3.0)[1].item() == 9
    exactly(jacrev(square)(3.0), pb.tensor(6.0))
    exactly(jacfwd(square)(3.0), pb.tensor(6.0))
    exactly(hessian(square)(3.0), pb.tensor(2.0))
    exactly(grad(grad(lambda x: x**3))(2.0), pb.tensor(12.0))
    assert [t.item() for t in jvp(square, (3.0,), (2.0,))] == [9, 12]
    y, pull = vjp(square, 3.0)
    assert y.item() == 9 and pull(2.0)[0].item() == 12
    y, push = linearize(square, 3.0)
    assert y.item() == 9 and push(2.0).item() == 12


def test_the_default_dtype_is_that_of_floats() -> None:
    before = pb.get_default_dtype()
    pb.set_default_dtype(pb.float64)
    try:
        assert grad(square)(3.0).dtype == pb.float64
    finally:
        pb.set_default_dtype(before)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_arrays(dtype: str) -> None:
    a = A.astype(dtype)
    two = pb.tensor(2 * a)
    exactly(grad(total)(a), two)
    exactly(jacrev(square)(a), pb.diag(two))
    exactly(jacfwd(square)(a), pb.diag(two))
    exactly(hessian(total)(a), pb.diag(pb.tensor(0 * a + 2)))
    exactly(jvp(square, (a,), (a,))[1], pb.tensor(2 * a * a))
    exactly(vjp(square, a)[1](a)[0], pb.tensor(2 * a * a))
    exactly(linearize(square, a)[1](a), pb.tensor(2 * a * a))
    exactly(vmap(grad(square))(a), two)
    exactly(grad(square)(a[1]), two[1])
    exactly(grad(square)(np.array(a[1])), two[1])
    assert a.tolist() == [1, 2]


def test_layouts_of_arrays() -> None:
    for a in (np.arange(6.0).reshape(2, 3).T, np.arange(6.0)[::-2], np.broadcast_to(2.0, (2, 2)), np.ones((0, 2))):
        exactly(grad(total)(a), pb.tensor(np.ascontiguousarray(2 * a)))


def test_what_is_written_to_the_argument_does_not_reach_the_array() -> None:
    a = A.copy()
    exactly(jvp(lambda x: x.mul_(2), (a,), (a,))[0], pb.tensor(2 * A))
    exactly(vmap(lambda x: x.mul_(2))(a), pb.tensor(2 * A))
    assert a.tolist() == A.tolist()


def test_in_trees_and_several_arguments() -> None:
    f = grad(lambda x, y: (x * y).sum(), argnums=(0, 1))
    g, h = f(A, pb.tensor(A))
    exactly(g, pb.tensor(A))
    exactly(h, pb.tensor(A))
    g, h = f(3.0, 2.0)
    assert (g.item(), h.item()) == (2, 3)
    got = grad(lambda p: p["w"][0] * p["w"][1] + p["b"].x * p["b"].y)({"w": [2.0, 3.0], "b": Point(4.0, np.float64(5))})
    assert [t.item() for t in got["w"]] == [3, 2] and isinstance(got["b"], Point) and got["b"].x.item() == 5
    # Arguments that are not differentiated stay as they are.
    assert grad(lambda x, n: x * n if type(n) is int else None)(2.0, 3).item() == 3
    assert jvp(lambda x, y: x * y, (2.0, pb.tensor(3.0)), (1.0, 0.0))[1].item() == 3
    jac = jacrev(lambda p: p[0] * p[1])([2.0, A])
    exactly(jac[0], pb.tensor(A).float())
    exactly(jac[1], pb.diag(pb.tensor([2.0, 2.0], dtype=pb.float64)))


def test_directions_are_of_the_dtype_of_what_they_belong_to() -> None:
    x = pb.tensor([1.0, 2.0], dtype=pb.float64)
    assert jvp(square, (pb.tensor(1.0, dtype=pb.float64),), (1.0,))[1].dtype == pb.float64
    assert jvp(square, (3.0,), (1,))[1].item() == 6
    assert vjp(lambda v: v.sum(), x)[1](1.0)[0].dtype == pb.float64
    assert vjp(lambda v: v.sum(), x)[1](1)[0].tolist() == [1, 1]
    exactly(jvp(square, (x,), (np.array([1, 0]),))[1], pb.tensor([2.0, 0.0], dtype=pb.float64))
    exactly(linearize(square, x)[1](np.array([1, 0], dtype="f4")), pb.tensor([2.0, 0.0], dtype=pb.float64))
    for primal, tangent in [(x, 1.0), (1.0, x), (np.ones(3), x), (x, np.ones(3))]:
        with pytest.raises(RuntimeError, match="only contain Tensors, or numbers and arrays of the same shape"):
            jvp(square, (primal,), (tangent,))


@pytest.mark.parametrize("bad", [3, True, np.array([1, 2]), np.int64(3), [1, 2.0], {"a": 1}])
def test_integers_have_no_derivative(bad: Any) -> None:
    def f(x: Any) -> Any:
        return pb.zeros(())

    for call in (
        lambda: grad(f)(bad),
        lambda: grad_and_value(f)(bad),
        lambda: jacrev(f)(bad),
        lambda: jacfwd(f)(bad),
        lambda: hessian(f)(bad),
        lambda: vjp(f, bad),
        lambda: linearize(f, bad),
        lambda: jvp(f, (bad,), (bad,)),
    ):
        with pytest.raises((RuntimeError, ValueError), match="float.*(int64|bool).*give a float, as in 3.0"):
            call()


@pytest.mark.parametrize("bad", ["a", None, object(), np.array(["a"]), np.array([None])])
def test_other_objects_are_refused(bad: Any) -> None:
    for call in (lambda: grad(total)(bad), lambda: vjp(total, bad), lambda: jvp(total, (bad,), (bad,))):
        with pytest.raises((RuntimeError, ValueError, TypeError)):
            call()


def test_vmap_maps_over_arrays() -> None:
    m = np.arange(6.0).reshape(2, 3)
    exactly(vmap(lambda r: r.sum())(m), pb.tensor([3.0, 12.0], dtype=pb.float64))
    exactly(vmap(lambda r: r.sum(), in_dims=1)(m), pb.tensor([3.0, 5.0, 7.0], dtype=pb.float64))
    exactly(vmap(lambda r, s: r * s, in_dims=(0, None))(m, 2.0), pb.tensor(2 * m))
    exactly(vmap(lambda r, s: r * s, in_dims=(0, 1))(m, pb.tensor(m.T.copy())), pb.tensor(m * m))
    exactly(vmap(lambda d: d["a"] + d["b"])({"a": np.arange(3), "b": pb.ones(3)}), pb.tensor([1.0, 2.0, 3.0]))
    exactly(vmap(lambda r: r.sum(), chunk_size=1)(m), pb.tensor([3.0, 12.0], dtype=pb.float64))
    assert vmap(lambda r, s: s, in_dims=(0, None), out_dims=None)(m, m) is m
    for bad in (3.0, 3, "a", [1.0, 2.0], np.float64(3)):
        with pytest.raises(ValueError, match="vmap.*in_dim"):
            vmap(lambda x: x)(bad)


def test_the_functional_module() -> None:
    exactly(functional.jacobian(square, 3.0), pb.tensor(6.0))
    exactly(functional.jacobian(square, A), pb.diag(pb.tensor(2 * A)))
    exactly(functional.hessian(total, A), pb.diag(pb.tensor(0 * A + 2)))
    exactly(functional.vjp(square, A, A)[1], pb.tensor(2 * A * A))
    exactly(functional.jvp(square, A, A)[1], pb.tensor(2 * A * A))
    exactly(functional.hvp(total, A, A)[1], pb.tensor(2 * A))
    exactly(functional.vhp(total, A, A)[1], pb.tensor(2 * A))
    exactly(functional.vjp(square, (2.0,), 1.0)[1][0], pb.tensor(4.0))
    with pytest.raises(TypeError, match="inputs given to jacobian must be either a Tensor"):
        functional.jacobian(square, 3)
    with pytest.raises(TypeError, match="outputs of the user-provided function"):
        functional.jacobian(lambda x: 3.0, A)
