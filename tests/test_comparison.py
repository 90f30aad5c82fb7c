"""allclose, equal, isclose."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, vmap

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_isclose_agrees_with_numpy(dtype: str, equal_nan: bool) -> None:
    special = [] if dtype == "int64" else [NAN, INF, -INF]
    a = np.array([0, 1, 100000, -5, *special, 3], dtype=dtype)
    b = np.array([0, 2, 100001, -5, *special[::-1], 3], dtype=dtype)
    for x, y in ((a, b), (a, a), (a[:, None], b), (a[:0], b[:0])):
        expected = np.isclose(x, y, rtol=1e-4, atol=1e-3, equal_nan=equal_nan)
        got = pb.isclose(pb.tensor(x), pb.tensor(y), rtol=1e-4, atol=1e-3, equal_nan=equal_nan)
        assert got.tolist() == expected.tolist()
        assert pb.allclose(pb.tensor(x), pb.tensor(y), 1e-4, 1e-3, equal_nan) == expected.all()
        assert pb.tensor(x).allclose(pb.tensor(y), rtol=1e-4, atol=1e-3, equal_nan=equal_nan) == expected.all()


def test_equal() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    assert pb.equal(x, pb.tensor([1.0, 2.0])) and x.equal(x)
    assert not pb.equal(x, pb.tensor([1.0])) and not pb.equal(x, pb.tensor([1.0, 3.0]))
    assert not pb.equal(pb.tensor(NAN), pb.tensor(NAN))
    assert grad(lambda y: y.sum() * (3 if y.equal(x.detach()) else 1))(x.detach()).tolist() == [3.0, 3.0]


def test_errors() -> None:
    with pytest.raises(RuntimeError, match="expected dtype float32 for argument 'other', but got int64; convert it"):
        pb.allclose(pb.ones(2), pb.tensor([1, 1]))
    with pytest.raises(TypeError, match=r"equal\(\): argument 'other' must be Tensor, not list"):
        pb.equal(pb.ones(2), [1.0, 1.0])
    with pytest.raises(RuntimeError, match="rtol and atol must be greater than or equal to zero"):
        pb.isclose(pb.ones(2), pb.ones(2), rtol=-1.0)
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(lambda v: v if pb.allclose(v, pb.zeros(2)) else -v)(pb.ones(3, 2))
