"""Points where a formula gives NaN or overflows and the function does not; test_grids has PyTorch's answers at more."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap

same = pb.testing.assert_close
FLOATS = [pb.float32, pb.float64]


def numbers(*values: float, dtype: Any = None) -> Any:
    return pb.tensor(list(values), dtype=dtype)


SPREADS = {
    "std": pb.std,
    "std, correction 0": lambda x: pb.std(x, correction=0),
    "var": pb.var,
    "var, correction 0": lambda x: pb.var(x, correction=0),
    "std, kept": lambda x: pb.std(x, 0, keepdim=True).sum(),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", SPREADS)
def test_spread_of_constants(name: str, dtype: Any) -> None:
    f = SPREADS[name]
    for value in (0.0, 2.0, 0.1, -3e7):
        x = pb.full((7,), value, dtype=dtype)
        zero = pb.zeros(7, dtype=dtype)
        assert f(x).item() == 0.0
        same(
            grad(f)(x), zero, atol=1e-6 if dtype == pb.float32 and value == -3e7 and "var" in name else 1e-12, rtol=0.0
        )
        if name.startswith("std"):
            same(jacfwd(f)(x), zero)
            same(hessian(f)(x), pb.zeros(7, 7, dtype=dtype))
        rows = pb.stack([x, pb.arange(7, dtype=dtype)])
        same(vmap(grad(f))(rows)[1], grad(f)(rows[1]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_spread_of_single_elements(dtype: Any) -> None:
    x = numbers(5.0, dtype=dtype)
    for op in (pb.std, pb.var):
        assert grad(lambda v, op=op: op(v, correction=0))(x).item() == 0.0
        assert jvp(lambda v, op=op: op(v, correction=0), (x,), (x,))[1].item() == 0.0
        assert math.isnan(op(x).item()) and math.isnan(grad(op)(x).item())


def test_spread_without_overflow() -> None:
    x = numbers(1e30, -1e30, 2e30)
    same(pb.std(x), pb.tensor(1.5275252e30))
    same(grad(pb.std)(x), numbers(0.10910895, -0.5455447, 0.43643578))
    tiny = numbers(1e-30, 2e-30, 1e-30)
    same(pb.std(tiny), pb.tensor(5.7735026e-31), rtol=1e-5, atol=0.0)
    same(grad(pb.std)(tiny), numbers(-0.28867513, 0.57735027, -0.28867513))
    half = pb.full((4,), 300.0, dtype=pb.float16) * pb.tensor([1, -1, 1, -1], dtype=pb.float16)
    same(pb.std(half, correction=0), pb.tensor(300.0, dtype=pb.float16))
    assert pb.std(half + 60000, correction=0).isfinite()


def test_derivatives_of_spread() -> None:
    x = pb.tensor([[0.3, -1.2, 2.5], [1.0, 0.25, -0.75]], dtype=pb.float64)
    for call in (
        lambda v: pb.var(v, 1),
        lambda v: pb.std(v, 0, correction=0),
        lambda v: pb.std(v, (0, 1), keepdim=True),
        lambda v: pb.var(v, correction=2.5),
        lambda v: pb.std(v),
    ):
        pb.autograd.gradcheck(call, (x.clone().requires_grad_(),))
        pb.autograd.gradgradcheck(call, (x.clone().requires_grad_(),))
        same(jacfwd(call)(x), jacrev(call)(x))


def angle(x: Any) -> Any:
    return pb.atan2(x[0], x[1])


@pytest.mark.parametrize("dtype", FLOATS)
def test_angle_of_the_origin(dtype: Any) -> None:
    zero = pb.zeros(2, dtype=dtype)
    for point in (zero, -zero, numbers(0.0, -0.0, dtype=dtype)):
        same(jacrev(angle)(point), zero)
        same(jacfwd(angle)(point), zero)
        same(hessian(angle)(point), pb.zeros(2, 2, dtype=dtype))


@pytest.mark.parametrize("exponents", [pb.arange(4), pb.arange(4, dtype=pb.float64)])
def test_powers_at_zero(exponents: Any) -> None:
    c = numbers(1.0, 2.0, 3.0, 4.0, dtype=pb.float64)
    zero = pb.tensor(0.0, dtype=pb.float64)

    def polynomial(x: Any) -> Any:
        return (c * x**exponents).sum()

    derivatives: list[Callable[..., Any]] = [polynomial]
    for _ in range(3):
        derivatives.append(grad(derivatives[-1]))
    assert [d(zero).item() for d in derivatives] == [1.0, 2.0, 6.0, 24.0]
    assert hessian(polynomial)(zero).item() == 6.0
    assert jacfwd(jacfwd(jacfwd(polynomial)))(zero).item() == 24.0


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.0, 1.0, 2.0])
def test_constant_powers_at_zero(exponent: float) -> None:
    zero = pb.tensor(0.0)

    def f(x: Any) -> Any:
        return x**exponent

    want, order = [0.0**exponent], exponent
    factor = 1.0
    for _ in range(3):
        factor, order = factor * order, order - 1
        want.append(factor if order == 0 else 0.0)
    for k, value in enumerate(want):
        g, h = f, f
        for _ in range(k):
            g, h = grad(g), jacfwd(h)
        assert (g(zero).item(), h(zero).item()) == (value, value), f"derivative {k}"


@pytest.mark.parametrize("dtype", FLOATS)
def test_cross_entropy_of_saturated_probabilities(dtype: Any) -> None:
    z = numbers(1000.0, -1000.0, 200.0, -200.0, 0.5, dtype=dtype)
    for target in (0.0, 1.0, 0.3):

        def loss(z: Any, target: float = target) -> Any:
            return pb.nn.functional.binary_cross_entropy(pb.sigmoid(z), pb.full_like(z, target), reduction="sum")

        g = grad(loss)(z)
        assert g.isfinite().all() and jvp(loss, (z,), (pb.ones_like(z),))[1].isfinite()
        assert hessian(loss)(z).isfinite().all()
        same(g[4], pb.sigmoid(z[4]) - target, rtol=1e-5, atol=1e-6)
    x = numbers(0.0, 1.0, dtype=dtype)
    slope = grad(lambda v: pb.nn.functional.binary_cross_entropy(v, numbers(0.0, 1.0, dtype=dtype), reduction="sum"))(x)
    same(slope, pb.zeros(2, dtype=dtype))


def test_cross_entropy_away_from_its_limits() -> None:
    x = numbers(0.2, 0.7, 0.5, dtype=pb.float64)
    t = numbers(0.1, 0.9, 0.5, dtype=pb.float64)
    loss = pb.nn.functional.binary_cross_entropy
    same(loss(x, t, reduction="none"), -(t * x.log() + (1 - t) * (1 - x).log()))
    args = (x.requires_grad_(), t.requires_grad_())
    pb.autograd.gradcheck(loss, args)
    pb.autograd.gradgradcheck(loss, args)


def test_norms_of_infinities() -> None:
    for p in (-1, -2, -math.inf, math.inf, 1, 2, 3, 0.5):
        assert pb.linalg.vector_norm(numbers(-math.inf), p).item() == math.inf
    assert pb.linalg.vector_norm(numbers(0.0, 1.0), -1).item() == 0.0
    assert pb.norm(pb.tensor(-2.0), 1, dim=0).item() == 2.0


def test_limits_that_are_no_numbers() -> None:
    x = numbers(-1.0, 0.5, math.nan)
    nan = pb.tensor(math.nan)
    for call in (
        lambda v: v.clamp(min=math.nan),
        lambda v: v.clamp(max=math.nan),
        lambda v: v.clamp(-1, math.nan),
        lambda v: v.clamp(min=nan),
        lambda v: v.clamp(min=nan.expand(3)),
    ):
        assert call(x).isnan().all()
        same(grad(lambda v, call=call: call(v).sum())(x), pb.zeros(3))


def test_interpolation_is_exact_at_both_ends() -> None:
    a, b = numbers(-1e4, 1e8), numbers(0.3, 0.1)
    for w in (0.0, 1.0):
        want = a if w == 0.0 else b
        assert pb.equal(pb.lerp(a, b, w), want) and pb.equal(pb.lerp(a, b, pb.full((2,), w)), want)
    args = tuple(v.double().requires_grad_() for v in (numbers(1.0, 2.0), numbers(3.0, -1.0), numbers(0.2, 0.8)))
    pb.autograd.gradcheck(pb.lerp, args)
    pb.autograd.gradgradcheck(pb.lerp, args)


def test_integers_that_floats_do_not_have() -> None:
    x = numbers(math.nan, math.inf, -math.inf, 1e30)
    assert x.to(pb.int64).tolist() == [-(2**63)] * 4
    assert x.to(pb.int32).tolist() == [-(2**31)] * 4
    assert numbers(300.7, -1.5, 0.0).to(pb.uint8).tolist() == [44, 255, 0]


def test_gamma_at_tiny_and_infinite_arguments() -> None:
    x = numbers(-1e-300, 1e-300, dtype=pb.float64)
    same(pb.lgamma(x), pb.full((2,), 690.7755278982137, dtype=pb.float64))
    assert grad(pb.digamma)(pb.tensor(math.inf)).item() == 0.0
    assert grad(pb.digamma)(pb.tensor(-math.inf)).isnan()
    same(
        grad(pb.digamma)(pb.tensor(1e300, dtype=pb.float64)), pb.tensor(1e-300, dtype=pb.float64), rtol=1e-12, atol=0.0
    )


PIECES: dict[str, Callable[[Any], Any]] = {
    "abs": pb.abs,
    "relu": pb.relu,
    "relu6": pb.nn.functional.relu6,
    "hardtanh": pb.nn.functional.hardtanh,
    "leaky_relu": pb.nn.functional.leaky_relu,
    "clamp": lambda x: x.clamp(-1, 1),
    "maximum": lambda x: pb.maximum(x, x.detach() * 0),
    "l1_loss": lambda x: pb.nn.functional.l1_loss(x, x.detach() * 0),
    "norm": lambda x: pb.norm(x, 1),
}


@pytest.mark.parametrize("name", PIECES)
def test_slopes_that_are_constant_on_pieces_have_a_gradient(name: str) -> None:
    """Their gradient is 0, not missing, also without a transform."""
    x = numbers(1.0, -2.0, 3.0).requires_grad_()
    (g,) = pb.autograd.grad(PIECES[name](x).sum(), x, create_graph=True)
    assert g.requires_grad
    assert pb.autograd.grad(g.sum(), x)[0].tolist() == [0.0, 0.0, 0.0]
    assert pb.autograd.functional.hessian(lambda v: PIECES[name](v).sum(), numbers(1.0, -2.0)).tolist() == [
        [0, 0],
        [0, 0],
    ]
    same(jacfwd(grad(lambda v: PIECES[name](v).sum()))(x.detach()), pb.zeros(3, 3))


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, -1, math.inf])
def test_norm_of_one_element_takes_no_powers(p: float) -> None:
    for value in (1e-30, -1e30, 0.0, 3e38):
        x = numbers(value)
        assert pb.linalg.vector_norm(x, p).item() == abs(x.item())
        assert grad(lambda v: pb.linalg.vector_norm(v, p))(x).item() == (value > 0) - (value < 0)
        assert pb.norm(x[None], p, 1, keepdim=True).shape == (1, 1)


def test_half_precision_of_numbers_that_it_does_not_have() -> None:
    x = numbers(1e-4, 300.0, dtype=pb.float16)
    same(x * 1e5, numbers(10.0, math.inf, dtype=pb.float16), rtol=1e-2, atol=0.0)
    same(x / 1e5, numbers(0.0, 0.003, dtype=pb.float16), rtol=1e-2, atol=1e-7)
    same(grad(lambda v: (v / 1e5).sum())(x), pb.full((2,), 1e-5, dtype=pb.float16), rtol=1e-2, atol=0.0)
    same(vmap(lambda v: v * 1e5)(x), x * 1e5)
    same(jvp(lambda v: v * 1e5, (x,), (x,))[1], x * 1e5)


def test_probabilities_are_checked_at_every_level() -> None:
    loss = pb.nn.functional.binary_cross_entropy
    good, bad = numbers(0.2, 0.7), numbers(0.2, 1.5)
    for call in (
        lambda x: loss(x, good),
        lambda x: loss(good, x),
        lambda x: grad(lambda v: loss(v, good))(x),
        lambda x: vmap(lambda v: loss(v, v))(x),
        lambda x: jvp(lambda v: loss(v, good), (x,), (x,)),
    ):
        call(good)
        for wrong in (bad, -good, good * math.nan):
            with pytest.raises(RuntimeError, match="between 0 and 1"):
                call(wrong)


@pytest.mark.parametrize("dtype", [pb.float16, pb.bfloat16])
def test_layers_of_half_precision(dtype: Any) -> None:
    """What would overflow on the way does not."""
    x = numbers(300.0, 400.0, -300.0, 200.0, dtype=dtype)
    f, wide = pb.nn.functional, x.float()
    for call in (
        lambda v: f.layer_norm(v, (4,)),
        lambda v: f.rms_norm(v, (4,)),
        lambda v: f.group_norm(v[None], 2),
        lambda v: f.batch_norm(v[:, None], None, None, training=True),
        lambda v: pb.norm(v),
        lambda v: pb.linalg.vector_norm(v, 3),
        lambda v: f.scaled_dot_product_attention(v[:, None], v[:, None], v[:, None]),
        lambda v: pb.mean(v * 150),
        lambda v: f.log_softmax(v / 100, 0),
    ):
        same(call(x), call(wide).to(dtype), rtol=1e-2, atol=1e-3)
        scaled = grad(lambda v, call=call: (call(v) * pb.ones_like(call(v)).cumsum(0)).sum())
        assert scaled(x).isfinite().all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_angles_of_opposite_points(dtype: Any) -> None:
    """What lies on one axis has one angle, whatever the sign of its zero: the axis is rounded once."""
    ends = numbers(1.0, math.inf, 1e-30, 3.0, dtype=dtype)
    for zero in (0.0, -0.0):
        flat = pb.full_like(ends, zero)
        same(pb.atan2(ends, flat), pb.full_like(ends, math.pi / 2), rtol=0, atol=0)
        same(pb.atan2(-ends, flat), pb.full_like(ends, -math.pi / 2), rtol=0, atol=0)
    pb.manual_seed(0)
    x, y = pb.randn(1000, dtype=dtype), pb.randn(1000, dtype=dtype)
    gap = 4 * pb.finfo(dtype).eps
    same(pb.atan2(y, x) - pb.atan2(-y, -x), pb.pi * pb.sign(y), rtol=gap, atol=0)
    exact = numbers(*(math.atan2(b, a) for a, b in zip(x.tolist(), y.tolist(), strict=True)), dtype=dtype)
    same(pb.atan2(y, x), exact, rtol=gap, atol=0)
