"""Special functions and exponentials beyond what the samples show: all orders, extremes, other dtypes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import scipy.special as sp

import pullback as pb
from pullback import func
from pullback.autograd import gradcheck, gradgradcheck


def orders(f: Any, x: float, count: int) -> list[float]:
    out, at = [], pb.tensor(x, dtype=pb.float64)
    for _ in range(count):
        out.append(float(f(at)))
        f = func.grad(f)
    return out


@pytest.mark.parametrize("forward", [False, True])
def test_bessel_functions_have_all_derivatives_at_zero(forward: bool) -> None:
    want = {pb.special.i0: [1, 0, 1 / 2, 0, 3 / 8, 0], pb.special.i1: [0, 1 / 2, 0, 3 / 8, 0, 5 / 16]}
    for f, values in want.items():
        if forward:
            g = f
            for value in values:
                assert float(g(pb.tensor(0.0, dtype=pb.float64))) == pytest.approx(value, abs=1e-15)
                g = lambda x, g=g: func.jvp(g, (x,), (pb.ones_like(x),))[1]  # type: ignore[misc]
        else:
            assert orders(f, 0.0, 6) == pytest.approx(values, abs=1e-15)


@pytest.mark.parametrize("x", [-45.0, -3.0, 1e-5, 0.4, 7.9, 8.1, 29.9, 30.1, 200.0])
def test_derivatives_of_bessel_functions(x: float) -> None:
    assert orders(pb.special.i0, x, 5) == pytest.approx([sp.ivp(0, x, n) for n in range(5)], rel=1e-12)
    assert orders(pb.special.i1, x, 4) == pytest.approx([sp.ivp(1, x, n) for n in range(4)], rel=1e-12)
    first = sp.i1e(x) - (x > 0) * sp.i0e(x) + (x < 0) * sp.i0e(x)
    assert orders(pb.special.i0e, x, 2)[1] == pytest.approx(first, rel=1e-9, abs=1e-12)


def test_bessel_functions_in_single_precision_and_at_the_ends() -> None:
    x = pb.linspace(-80.0, 80.0, 4001)
    for f, reference in [(pb.special.i0, sp.i0), (pb.special.i1, sp.i1), (pb.special.i1e, sp.i1e)]:
        want = pb.from_numpy(reference(x.numpy().astype("float64")))
        error = ((f(x).double() - want) / want.where(want != 0, 1.0)).abs().max()
        assert float(error) < 6.1e-8
    ends = pb.tensor([float("inf"), float("-inf"), float("nan"), 712.0], dtype=pb.float64)
    assert pb.i0(ends).tolist()[:2] == [float("inf")] * 2 and pb.isfinite(pb.i0(ends)).tolist()[3]
    assert pb.special.i1(ends).tolist()[:2] == [float("inf"), float("-inf")]
    assert pb.special.i1e(ends).tolist()[:2] == [0.0, 0.0] and pb.isnan(pb.i0(ends)).tolist()[2]
    assert pb.i0(pb.tensor([1, 2])).dtype == pb.float32
    y = pb.ones(2)
    assert y.i0_() is y and pb.equal(y, pb.special.i0(pb.ones(2)))


@pytest.mark.parametrize("dtype", [pb.float32, pb.float64, pb.complex64, pb.complex128])
@pytest.mark.parametrize("size", [1e-5, 0.05, 0.5, 3.0, 40.0])
def test_matrix_exponentials_are_groups(dtype: Any, size: float) -> None:
    a = pb.randn(3, 4, 4, generator=pb.Generator().manual_seed(3), dtype=dtype)
    # Skew-Hermitian: the exponential is unitary, so no product is ill-conditioned.
    a = (a - a.mH) * size
    one = pb.linalg.matrix_exp(a) @ pb.linalg.matrix_exp(-a)
    gap = (one - pb.eye(4, dtype=dtype)).abs().max()
    assert float(gap) < (2e-5 if dtype in (pb.float32, pb.complex64) else 2e-13) * max(1.0, size)


def test_matrix_exponential_of_what_is_not_finite() -> None:
    for bad in (float("nan"), float("inf")):
        assert pb.isnan(pb.matrix_exp(pb.tensor([[bad, 1.0], [0.0, 1.0]]))).all()
    far = pb.tensor([[-2000.0, 0.0], [0.0, 0.0]], dtype=pb.float64)
    assert far.matrix_exp().tolist() == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("dtype", [pb.float64, pb.complex128])
def test_matrix_exponential_has_derivatives_of_all_orders(dtype: Any) -> None:
    a = pb.randn(2, 2, generator=pb.Generator().manual_seed(1), dtype=dtype).requires_grad_()
    assert gradcheck(pb.linalg.matrix_exp, (a,), check_forward_ad=True)
    assert gradgradcheck(pb.linalg.matrix_exp, (a,))
    e = pb.randn(2, 2, generator=pb.Generator().manual_seed(2), dtype=dtype)

    def along(t: Any) -> Any:
        return pb.linalg.matrix_exp(t * e)

    # The derivatives along a line are powers times the exponential.
    f, t = along, pb.tensor(0.3, dtype=dtype)
    power = pb.eye(2, dtype=dtype)
    for _ in range(4):
        assert pb.allclose(f(t), power @ along(t), rtol=1e-9, atol=1e-10)
        f = lambda t, f=f: func.jvp(f, (t,), (pb.ones_like(t),))[1]  # type: ignore[misc]
        power = power @ e


GRIDS = list(itertools.product(("bilinear", "bicubic"), ("zeros", "border", "reflection"), (False, True)))
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(("mode", "padding", "align"), GRIDS)
def test_points_that_are_no_numbers(mode: str, padding: str, align: bool) -> None:
    """As in PyTorch: what lies outside is chosen for bilinear samples, unless zeros lie there."""
    x = pb.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    grid = pb.tensor([[NAN, 0.0], [INF, 0.0], [-INF, 0.0], [0.0, NAN]]).reshape(1, 1, 4, 2)
    y = pb.nn.functional.grid_sample(x, grid, mode, padding, align).flatten().tolist()
    if mode == "bicubic" or padding == "zeros":
        assert all(v != v for v in y)
    else:
        assert y == ([4.0, 6.0, 4.0, 2.0] if padding == "border" else [4.0, 4.0, 4.0, 2.0])


@pytest.mark.parametrize(
    ("mode", "padding", "align", "want"),
    [
        ("bilinear", "zeros", False, [6.0, -9.0, 1.5, 0.0, 0.0]),
        ("bilinear", "zeros", True, [1.0, -6.0, 1.0, -6.0, 4.0]),
        ("bilinear", "border", False, [0.0, 0.0, 1.5, 0.0, 0.0]),
        ("bilinear", "border", True, [0.0, 0.0, 1.0, 0.0, 0.0]),
        ("bilinear", "reflection", False, [0.0, 0.0, 1.5, -1.5, -1.5]),
        ("bilinear", "reflection", True, [0.0, 0.0, 1.0, -1.0, -1.0]),
        ("bicubic", "zeros", False, [6.46875, -10.40625, 2.25, 1.6875, -1.125]),
        ("bicubic", "border", True, [0.75, 0.75, 1.5, -0.25, -0.25]),
        ("bicubic", "reflection", True, [0.0, 0.0, 1.5, -4 / 3, -4 / 3]),
    ],
)
def test_slopes_on_borders(mode: str, padding: str, align: bool, want: list[float]) -> None:
    """PyTorch's derivatives by a coordinate that lies on a border or on an element."""
    x = pb.arange(1.0, 10.0, dtype=pb.float64).reshape(1, 1, 3, 3)
    at = pb.tensor([-1.0, 1.0, 0.0, 5 / 3, -5 / 3], dtype=pb.float64)
    grid = pb.stack([at, pb.zeros_like(at)], -1).reshape(1, 1, 5, 2)
    g = func.grad(lambda g: pb.nn.functional.grid_sample(x, g, mode, padding, align).sum())(grid)
    assert g[..., 0].flatten().tolist() == pytest.approx(want, abs=1e-5)


@pytest.mark.parametrize(("mode", "padding", "align"), GRIDS)
def test_third_derivatives_of_samples(mode: str, padding: str, align: bool) -> None:
    rng = pb.Generator().manual_seed(4)
    x = pb.randn(1, 2, 4, 4, generator=rng, dtype=pb.float64).requires_grad_()
    grid = (pb.rand(1, 1, 3, 2, generator=rng, dtype=pb.float64) * 1.6 - 0.8).requires_grad_()

    def slope(x: Any, grid: Any) -> Any:
        def total(x: Any, grid: Any) -> Any:
            return (pb.nn.functional.grid_sample(x, grid, mode, padding, align) ** 2).sum()

        return func.grad(total, (0, 1))(x, grid)

    assert gradgradcheck(slope, (x, grid), check_fwd_over_rev=True)
