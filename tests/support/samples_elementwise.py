"""Samples of elementwise operators that are special functions, limits and parts of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.special as sp

import pullback as pb
from support.samples import Maker, S, Sample, of
from support.samples_complex import whole
from support.samples_pointwise import SHAPES, binary, unary

inf, nan = float("inf"), float("nan")

for _name, _like, _bounds in (
    ("sinc", np.sinc, (None, None)),
    ("logit", lambda x, eps=None: sp.logit(x if eps is None else np.clip(x, eps, 1 - eps)), (0.1, 0.9)),
    ("deg2rad", np.deg2rad, (None, None)),
    ("rad2deg", np.rad2deg, (None, None)),
    (
        "nan_to_num",
        lambda x, *v: np.nan_to_num(x, **dict(zip(("nan", "posinf", "neginf"), v, strict=False))),
        (None, None),
    ),
):
    of(_name, like=_like)(unary(*_bounds))
for _name, _like, _four in (
    ("logaddexp2", np.logaddexp2, (-2, 2, -2, 2)),
    ("fmax", np.fmax, (0.1, 2, -2, -0.1)),
    ("fmin", np.fmin, (0.1, 2, -2, -0.1)),
    ("copysign", np.copysign, (None, None, None, None)),
    ("xlogy", sp.xlogy, (0.2, 2, 0.2, 2)),
    ("special.xlog1py", sp.xlog1py, (0.2, 2, 0.2, 2)),
    ("nextafter", np.nextafter, (0.2, 0.9, 1.1, 2)),
    ("float_power", np.float_power, (0.3, 2, -2, 2)),
    ("ldexp", lambda x, e: x * 2.0**e, (-2, 2, -2, 2)),
    ("clamp_min", np.maximum, (-2, -0.1, 0.1, 2)),
    ("clamp_max", np.minimum, (-2, -0.1, 0.1, 2)),
):
    of(_name, like=_like)(binary(*_four))


@of("sinc", "nan_to_num")
def of_complex(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, 2)).but(via={0: whole})


@of("sinc")
def at_zero(m: Maker) -> Iterator[Sample]:
    yield S(pb.tensor([0.0, 1e-4, -0.3], dtype=pb.float64))


@of("logit")
def with_limit(m: Maker) -> Iterator[Sample]:
    yield S(m(5, low=-0.2, high=1.2), 0.13)
    yield S(m(3, low=0.3, high=0.6), eps=0.1)


@of("nan_to_num")
def replaced(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), 2.0, 3.0, -3.0)
    yield S(m.ints(3), 2.0)
    yield S(pb.tensor([nan, inf, -inf, 1.0])).but(grad=False)


@of("copysign", "xlogy", "float_power", "special.xlog1py", "clamp_min", "clamp_max")
def with_number(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, low=0.2, high=0.9), 1.3)


@of("xlogy", "float_power", "special.xlog1py")
def number_first(m: Maker) -> Iterator[Sample]:
    yield S(1.3, m(2, 3, low=0.2, high=0.9))


@of("clamp_min", "clamp_max")
def between(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), 0.17)
    yield S(m(2, 3), m(3, low=-0.19, high=0.19))
    yield S(m.ints(3), 2)
    yield S(m.bools(3), m.bools(3))


@of("threshold", like=lambda x, t, v: np.where(x <= t, v, x))
def threshold(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,), (2, 3)]:
        yield S(m(*shape), 0.1, 7.5)
    yield S(m.ints(4), 1, -2)


@of("heaviside", like=lambda x, v: np.where(x == 0, v, x > 0))
def heaviside(m: Maker) -> Iterator[Sample]:
    for a, b in SHAPES:
        yield S(m.ints(*a, low=-1, high=2), m.ints(*b))
    yield S(m(3), m()).but(grad=False)
    yield S(m.bools(3), m.bools(3))


@of("gcd", like=np.gcd)
@of("lcm", like=np.lcm)
def divisors(m: Maker) -> Iterator[Sample]:
    for a, b in SHAPES:
        yield S(m.ints(*a, low=-30, high=30), m.ints(*b, low=-12, high=12))


@of("addcmul", like=lambda x, a, b, value=1: x + value * a * b)
@of("addcdiv", like=lambda x, a, b, value=1: x + value * a / b)
def added(m: Maker) -> Iterator[Sample]:
    for a, b, c in [((), (), ()), ((2, 3), (3,), (2, 1)), ((0,), (1,), (0,)), ((1,), (2, 2), ())]:
        yield S(m(*a), m(*b), m(*c, low=0.5, high=2))
    yield S(m(2, 3), m(2, 3), m(3, low=0.5, high=2), value=-1.5)
    yield S(m(2, 2), m(2, 2), m(2, 2)).but(via={0: whole, 1: whole, 2: whole})


@of("addcmul")
def added_integers(m: Maker) -> Iterator[Sample]:
    yield S(m.ints(2, 3), m.ints(3), m.ints(2, 1), value=2)


@of("polygamma", like=sp.polygamma)
def polygamma(m: Maker) -> Iterator[Sample]:
    for n in range(4):
        yield S(n, m(2, 3, low=0.3, high=3))
    yield S(1, m(low=0.3, high=3))
    yield S(2, m(0))


@of("special.gammainc", like=sp.gammainc)
def gammainc(m: Maker) -> Iterator[Sample]:
    for shapes in SHAPES:
        yield S(*(m(*shape, low=0.3, high=4) for shape in shapes)).but(second=False)


@of("_standard_gamma_grad")
def gamma_slope(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, low=0.3, high=4), m(3, low=0.3, high=4)).but(grad=False)


@of("_standard_gamma")
def gamma_variable(m: Maker) -> Iterator[Sample]:
    yield from (S(m(*shape, low=0.1, high=5)).but(grad=False) for shape in [(), (0,), (2, 3)])


@of("_dirichlet_grad")
def beta_slope(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, low=0.1, high=0.9), m(3, low=0.3, high=4), m(2, 1, low=4.1, high=8)).but(grad=False)


@of("Tensor.polygamma", like=lambda x, n: sp.polygamma(n, x))
def polygamma_method(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, low=0.3, high=3), 1)


def multigammaln(x: Any, p: int) -> Any:
    return p * (p - 1) / 4 * np.log(np.pi) + sum(sp.gammaln(x - j / 2) for j in range(p))


@of("mvlgamma", like=multigammaln)
def mvlgamma(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (2, 3)]:
        yield S(m(*shape, low=1.2, high=4), 3)
    yield S(m(3, low=0.3, high=2), 1)


@of("frexp", like=np.frexp)
def frexp(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (1,)]:
        yield S(m(*shape, low=1.1, high=1.9))
    yield from (S(x) for x in m.layouts(2, 3, low=0.6, high=0.9))


@of("ldexp")
def by_integers(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m.ints(3))


@of("isposinf", like=np.isposinf)
@of("isneginf", like=np.isneginf)
def infinite(m: Maker) -> Iterator[Sample]:
    for shape in [(), (0,), (2, 3)]:
        yield S(m(*shape))
    yield S(m.ints(2, 3))
    yield S(pb.tensor([nan, inf, -inf, 1.0]))


@of("lerp")
def complex_lerp(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 2), m(2, 2), m(2, 2)).but(via={0: whole, 1: whole, 2: whole})
