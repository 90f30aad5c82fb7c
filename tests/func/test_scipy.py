"""Functions of tensors in SciPy's optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import as_scipy

optimize = pytest.importorskip("scipy.optimize")


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


START = np.array([1.3, 0.7, 0.8, 1.9])


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-exact", "trust-ncg", "trust-krylov"])
def test_minimize(method: str) -> None:
    f = as_scipy(rosenbrock)
    options: dict[str, Any] = {"hess": f.hess} if method == "trust-exact" else {}
    options = {"hessp": f.hessp} if method in ("Newton-CG", "trust-ncg", "trust-krylov") else options
    found = optimize.minimize(f, START, jac=f.jac, method=method, **options)
    np.testing.assert_allclose(found.x, 1, atol=1e-4)


def test_derivatives_are_scipys() -> None:
    f = as_scipy(rosenbrock)
    assert f(START) == pytest.approx(optimize.rosen(START)) and type(f(START)) is float
    np.testing.assert_allclose(f.jac(START), optimize.rosen_der(START))
    np.testing.assert_allclose(f.hess(START), optimize.rosen_hess(START))
    np.testing.assert_allclose(f.hessp(START, START[::-1]), optimize.rosen_hess_prod(START, START[::-1]))
    assert f.jac(START).dtype == np.float64


def test_value_and_gradient_come_together() -> None:
    calls = []

    def counted(x: Any, scale: float) -> Any:
        calls.append(scale)
        return (x**2).sum() * scale

    f = as_scipy(counted)
    f(START, 2.0)
    gradient = f.jac(START, 2.0)
    gradient[:] = 0
    assert len(calls) == 1 and f.jac(START, 2.0).any(), "what was given out is a copy"
    point = START.copy()
    f(point, 3.0)
    point[0] = 9
    np.testing.assert_allclose(f.jac(point, 3.0), 6 * point)
    assert calls[-1] == 3.0 and len(calls) == 3


def test_vectors() -> None:
    x = pb.linspace(0, 1, 20, dtype=pb.float64)
    y = 3 * (-2 * x).exp() + 0.5

    def residual(p: Any) -> Any:
        return p[0] * (-p[1] * x).exp() + p[2] - y

    f = as_scipy(residual)
    found = optimize.least_squares(f, [1.0, 1.0, 0.0], jac=f.jac)
    np.testing.assert_allclose(found.x, [3, 2, 0.5], rtol=1e-6)
    g = as_scipy(lambda p: pb.stack([p[0] ** 2 - 2, p[0] * p[1] - 1]))
    np.testing.assert_allclose(optimize.root(g, [1.0, 1.0], jac=g.jac).x, [2**0.5, 2**-0.5])


def test_trees() -> None:
    example = {"w": pb.zeros(2, 2), "b": pb.ones(2, dtype=pb.float64)}
    seen = []

    def loss(p: Any) -> Any:
        seen.append((p["w"].dtype, p["b"].dtype, tuple(p["w"].shape)))
        return ((p["w"] - 3) ** 2).sum() + ((p["b"] + 1) ** 2).sum()

    f = as_scipy(loss, example)
    assert f.x0.tolist() == [1, 1, 0, 0, 0, 0] or f.x0.tolist() == [0, 0, 0, 0, 1, 1]
    found = f.tree(optimize.minimize(f, f.x0, jac=f.jac, method="BFGS").x)
    pb.testing.assert_close(found["w"], pb.full((2, 2), 3.0), rtol=0, atol=1e-4)
    assert found["b"].dtype is pb.float64 and seen[0] == (pb.float32, pb.float64, (2, 2))


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="must be callable"):
        as_scipy(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no tensor of real numbers: pullback.int64"):
        as_scipy(rosenbrock, [pb.arange(2)])
    with pytest.raises(ValueError, match="at most one dimension, got a tensor of shape"):
        as_scipy(lambda x: x.reshape(2, 2))(START)
    with pytest.raises(ValueError, match="at most one dimension, got float"):
        as_scipy(lambda x: 1.0)(START)
    with pytest.raises(ValueError, match="there is no example"):
        _ = as_scipy(rosenbrock).x0
    with pytest.raises(ValueError, match="an array of 2 numbers is expected"):
        as_scipy(rosenbrock, pb.ones(2))(START)
