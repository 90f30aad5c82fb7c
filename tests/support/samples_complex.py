"""Samples of operators on complex numbers, whose arguments are made of real parts along a last dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pullback as pb
from support.samples import Maker, S, Sample, of


def whole(x: Any) -> Any:
    """The complex numbers with these parts."""
    return pb.complex(x[..., 0], x[..., 1])


@of("real", "imag", "view_as_real", "conj", "conj_physical", "_neg_view", "angle", "sgn", "isreal")
def of_complex(m: Maker) -> Iterator[Sample]:
    for shape in [(2,), (0, 2), (2, 3, 2)]:
        yield S(m(*shape)).but(via={0: whole})


@of("real", "conj", "conj_physical", "_neg_view", "angle", "sgn", "isreal")
def of_real(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3))


@of("adjoint", "Tensor.H", "Tensor.mH")
def adjoints(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3))
    yield S(m(2, 3, 2)).but(via={0: whole})


@of("view_as_complex")
def pairs(m: Maker) -> Iterator[Sample]:
    for shape in [(2,), (0, 2), (2, 3, 2)]:
        yield S(m(*shape)).but(strict=True)


@of("complex")
def parts(m: Maker) -> Iterator[Sample]:
    for first, second in [((), ()), ((0,), (0,)), ((2, 3), (3,)), ((2, 1), (1, 3))]:
        yield S(m(*first), m(*second))


@of("polar")
def polar(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, low=0.5, high=2), m(3, low=-3, high=3))


@of("abs", "neg", "exp", "log", "sin", "cos", "sqrt", "reciprocal", "square", "sum", "clone")
def also_complex(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, 2)).but(via={0: whole})


@of("acos", "asin", "atan", "acosh", "asinh", "atanh", "tan", "sinh", "cosh", "tanh", "exp2", "expm1", "log1p", "log2")
@of("log10", "rsqrt", "sigmoid", "nn.functional.silu")
def elementary(m: Maker) -> Iterator[Sample]:
    for shape in [(2,), (0, 2), (2, 3, 2)]:
        yield S(m(*shape, low=0.2, high=1.4)).but(via={0: whole})


@of("add", "sub", "mul", "div", "pow", "matmul", "logaddexp")
def two_complex(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3, 2), m(3, 3, 2)).but(via={0: whole, 1: whole})
    yield S(m(3, 3, 2), whole(m(3, 3, 2))).but(via={0: whole})


@of("cumprod", "logcumsumexp")
def complex_scans(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, 2), 1).but(via={0: whole})


@of("var", "std")
def spreads(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2)).but(via={0: whole})
    yield S(m(2, 3, 2), 1, keepdim=True).but(via={0: whole})
    yield S(m(2, 3, 2), (0, 1), correction=0).but(via={0: whole})


@of("diff", "cov", "trapezoid", "gradient", "count_nonzero")
def of_complex_numbers(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, 2)).but(via={0: whole})


@of("lerp")
def between_complex(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, 2), m(3, 2), m(2, 1, 2)).but(via=dict.fromkeys(range(3), whole))
    yield S(m(2, 3, 2), m(2, 3, 2), 0.3 - 0.2j).but(via={0: whole, 1: whole})


def regular(x: Any) -> Any:
    return whole(x) + 4 * pb.eye(x.shape[-2], dtype=x.dtype)


def positive(x: Any) -> Any:
    z = whole(x)
    return z @ z.mH + 2 * pb.eye(x.shape[-2], dtype=x.dtype)


@of("linalg.solve")
def equations(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, 3, 2), m(2, 3, 2, 2)).but(via={0: regular, 1: whole})


@of("linalg.solve_triangular")
def triangles(m: Maker) -> Iterator[Sample]:
    for upper in (True, False):
        yield S(m(2, 3, 3, 2), m(2, 3, 2, 2), upper=upper).but(via={0: regular, 1: whole})


@of("linalg.inv", "linalg.det", "linalg.slogdet", "logdet")
def inverses(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3, 2)).but(via={0: regular})


@of("linalg.cholesky")
def factors(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3, 2)).but(via={0: positive})


@of("linalg.eigvalsh")
def values(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3, 2)).but(via={0: positive})
