"""Samples of factors of matrices, least squares, and products of many."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import pullback as pb
from support.counterparts_factors import FACTORS
from support.samples import COUNTERPARTS, Maker, S, Sample, of
from support.samples_complex import whole

COUNTERPARTS.update(FACTORS)

SHAPES = [(3, 3), (1, 1), (4, 2), (2, 4), (2, 3, 3), (0, 0), (0, 2, 2)]


def definite(a: Any) -> Any:
    return a @ a.mT + pb.eye(a.shape[-1], dtype=a.dtype)


def triangle(a: Any) -> Any:
    return a.tril() + 3 * pb.eye(a.shape[-1], dtype=a.dtype)


def matrices(m: Maker, *shape: int) -> Any:
    """Matrices far from losing rank."""
    *lead, rows, cols = shape
    n = max(rows, cols)
    return m.regular(*lead, n, n)[..., :rows, :cols] if n and 0 not in lead else m(*shape)


def pivots(*rows: Any) -> Any:
    return pb.tensor(rows, dtype=pb.int32)


@of("linalg.lu_factor", "linalg.lu_factor_ex", "linalg.lu", "lu")
def lu(m: Maker) -> Iterator[Sample]:
    for shape in SHAPES:
        yield S(matrices(m, *shape))


@of("lu")
def lu_infos(m: Maker) -> Iterator[Sample]:
    yield S(matrices(m, 2, 2), get_infos=True)


@of("lu_unpack")
def lu_unpack(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3), pivots(2, 3, 3))
    yield S(m(3, 2), pivots(3, 2))
    yield S(m(2, 3), pivots(2, 2), unpack_pivots=False)
    yield S(m(2, 2, 2), pivots([2, 2], [1, 2]))
    yield S(m(2, 2), pivots(2, 2), unpack_data=False).but(grad=False)


@of("linalg.lu_solve")
def lu_solve(m: Maker) -> Iterator[Sample]:
    lu = {0: lambda a: a.tril() + triangle(a).mT}
    yield S(m(3, 3), pivots(2, 3, 3), m(3, 2)).but(via=lu)
    yield S(m(3, 3), pivots(2, 3, 3), m(2, 3), left=False).but(via=lu)
    yield S(m(2, 2), pivots(2, 2), m(3, 2, 1), adjoint=True).but(via=lu)
    yield S(m(2, 2, 2), pivots([2, 2], [1, 2]), m(2, 2), left=False, adjoint=True).but(via=lu)
    yield S(m(0, 0), pivots(), m(0, 2))


@of("lu_solve")
def old_lu_solve(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2), m(3, 3), pivots(2, 3, 3)).but(via={1: lambda a: a.tril() + triangle(a).mT})


def hollow(a: Any) -> Any:
    """With a diagonal that is small beside the rest, so that pivots are blocks of two."""
    return a * (1 - 0.98 * pb.eye(a.shape[-1], dtype=a.dtype))


@of("linalg.ldl_factor", "linalg.ldl_factor_ex")
def ldl(m: Maker) -> Iterator[Sample]:
    for shape in [(4, 4), (1, 1), (2, 3, 3), (0, 0), (0, 2, 2)]:
        yield S(m(*shape))
    yield S(m(5, 5), hermitian=True).but(via={0: hollow})
    yield S(m(2, 4, 4)).but(via={0: hollow})


@of("linalg.ldl_factor")
def complex_ldl(m: Maker) -> Iterator[Sample]:
    for hermitian in (False, True):
        yield S(m(4, 4, 2), hermitian=hermitian).but(via={0: lambda x: hollow(whole(x))})


@of("linalg.ldl_solve")
def ldl_solve(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3), pivots(2, 3, 3), m(3, 2)).but(via={0: triangle})
    yield S(m(3, 3), pivots(-3, -3, 3), m(3, 2)).but(via={0: hollow})
    yield S(m(2, 4, 4), pivots([3, -4, -4, 4], [-3, -3, -4, -4]), m(4, 1)).but(via={0: hollow})
    yield S(m(2, 2), pivots(1, 2).long(), m(3, 2, 2), hermitian=True).but(via={0: triangle})
    yield S(m(0, 0), pivots(), m(0, 2))


@of("linalg.solve_ex")
def solve_ex(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(3, 3), m(3))
    yield S(m.regular(2, 2), m(3, 2, 3), check_errors=True)
    yield S(m.regular(2, 2, 2), m(2, 1))
    yield S(m.regular(2, 2), m(3, 2), left=False)


@of("linalg.inv_ex")
def inv_ex(m: Maker) -> Iterator[Sample]:
    for shape in [(3, 3), (1, 1), (2, 2, 2)]:
        yield S(m.regular(*shape))
    yield S(m(0, 0), check_errors=True)


@of("linalg.cholesky_ex")
def cholesky_ex(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3)).but(via={0: definite})
    yield S(m(2, 2, 2), upper=True, check_errors=True).but(via={0: definite})
    yield S(m(0, 0))


@of("cholesky")
def cholesky(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3)).but(via={0: definite})
    yield S(m(2, 2, 2), True).but(via={0: definite})
    yield S(m(0, 0)).but(via={0: definite})


@of("cholesky_inverse")
def cholesky_inverse(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3)).but(via={0: triangle})
    yield S(m(2, 2, 2), upper=True).but(via={0: lambda a: triangle(a).mT})
    yield S(m(0, 0))


@of("cholesky_solve")
def cholesky_solve(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2), m(3, 3)).but(via={1: triangle})
    yield S(m(2, 1), m(2, 2, 2), upper=True).but(via={1: lambda a: triangle(a).mT})


@of("triangular_solve")
def triangular_solve(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2), m(3, 3)).but(via={1: lambda a: triangle(a).mT})
    yield S(m(2, 2), m(2, 2), upper=False, transpose=True).but(via={1: triangle})
    yield S(m(2, 1), m(2, 2, 2), transpose=True, unitriangular=True)


@of("qr")
def qr(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(3, 3))
    yield S(m.regular(3, 3)[:, :2], some=True)
    yield S(m.regular(2, 2, 2), some=False)


def sizes(factors: Any) -> Any:
    """Without the signs of vectors."""
    return factors.S, factors.U.abs(), factors.V.abs()


@of("svd")
def svd(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(3, 3)).but(after=sizes)
    yield S(m.regular(3, 3)[:2]).but(after=sizes)
    yield S(m.regular(2, 2, 2), some=False).but(after=sizes)
    yield S(m.regular(3, 3)[:, :2], compute_uv=False).but(after=sizes)


@of("geqrf")
def geqrf(m: Maker) -> Iterator[Sample]:
    for shape in [(3, 3), (4, 2), (2, 4), (2, 3, 3), (3, 1)]:
        yield S(matrices(m, *shape))


@of("linalg.householder_product")
def householder_product(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3), m(3))
    yield S(m(4, 3), m(2))
    yield S(m(2, 3, 2), m(2, 2))
    yield S(m(3, 2), m(0))
    yield S(m(2, 0), m(0))


@of("ormqr")
def ormqr(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2), m(2), m(3, 2))
    yield S(m(3, 2), m(2), m(2, 3), left=False)
    yield S(m(3, 3), m(2), m(3, 1), transpose=True)
    yield S(m(2, 3, 1), m(2, 1), m(2, 2, 3), left=False, transpose=True)


def powers(values: Any) -> Any:
    """Sums that do not depend on the order."""
    return [(values**k).sum(-1) for k in (1, 2, 3)]


@of("linalg.eigvals")
def eigvals(m: Maker) -> Iterator[Sample]:
    for shape in [(3, 3), (1, 1), (2, 4, 4), (0, 0)]:
        yield S(matrices(m, *shape)).but(after=powers)


def turned(pair: Any) -> Any:
    """What depends neither on the order nor on phases: the matrix, and how unevenly the vectors are filled."""
    w, v = pair
    return (v * w.unsqueeze(-2)) @ pb.linalg.inv(v), (v.abs() ** 4).sum((-1, -2))


@of("linalg.eig")
def eig(m: Maker) -> Iterator[Sample]:
    for shape in [(3, 3), (2, 4, 4), (0, 0)]:
        yield S(matrices(m, *shape)).but(after=turned)


def flat(a: Any) -> Any:
    """Of rank 2."""
    return a[..., :, :2] @ a[..., :, :2].mT


@of("linalg.pinv")
def pinv(m: Maker) -> Iterator[Sample]:
    for shape in [(3, 3), (4, 2), (2, 4), (2, 2, 2), (0, 2), (2, 0)]:
        yield S(matrices(m, *shape))
    yield S(m.regular(4, 4), rtol=1e-8).but(via={0: flat})
    yield S(m.regular(3, 3), hermitian=True).but(via={0: definite})
    yield S(m.regular(4, 4), hermitian=True, atol=1e-8).but(via={0: flat})


@of("pinverse")
def pinverse(m: Maker) -> Iterator[Sample]:
    yield S(matrices(m, 3, 2))
    yield S(m.regular(2, 3, 3), 1e-8).but(via={0: flat})


@of("linalg.matrix_rank", like=np.linalg.matrix_rank)
def matrix_rank(m: Maker) -> Iterator[Sample]:
    for shape in [(3, 3), (4, 2), (2, 3, 3), (2, 0), (0, 2, 2)]:
        yield S(matrices(m, *shape))
    yield S(m.regular(3, 3), 1.5)
    yield S(definite(m.regular(3, 3)), hermitian=True)


@of("linalg.cond")
def cond(m: Maker) -> Iterator[Sample]:
    for p in (None, 2, -2, 1, -1, float("inf"), float("-inf"), "fro", "nuc"):
        yield S(m.regular(2, 2), p)
    yield S(m.regular(3, 3)[:, :2])
    yield S(m.regular(2, 2, 2), "fro")
    yield S(m(0, 0))


@of("linalg.lstsq")
def lstsq(m: Maker) -> Iterator[Sample]:
    yield S(matrices(m, 3, 2), m(3))
    yield S(matrices(m, 4, 2), m(4, 3), driver="gels")
    yield S(matrices(m, 2, 4), m(2, 2), driver="gelsd")
    yield S(matrices(m, 2, 3, 2), m(2, 3), driver="gelss")
    yield S(matrices(m, 2, 2), m(3, 2, 1), rcond=1e-6)


@of("linalg.multi_dot", like=lambda tensors: np.linalg.multi_dot(tensors))
def multi_dot(m: Maker) -> Iterator[Sample]:
    yield S([m(2, 3), m(3, 4), m(4, 1)])
    yield S([m(2), m(2, 3), m(3, 2), m(2)])
    yield S([m(3), m(3)])
    yield S([m(1, 0), m(0, 2), m(2, 2)])


@of("chain_matmul", like=lambda *matrices: functools.reduce(np.matmul, matrices))
def chain_matmul(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(3, 4), m(4, 1))
    yield S(m(2, 3))
    yield S(m(1, 0), m(0, 2))


@of("linalg.matrix_power", like=np.linalg.matrix_power)
def matrix_power(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3), 5)
    yield S(m(2, 2, 2), 2)
    yield S(m.regular(2, 2), -3)
    yield S(m(2, 2), 1)
    yield S(m(2, 2), 0).but(grad=False)
    yield S(m.ints(2, 2), 3)
    yield S(m(0, 0), 2)


@of("linalg.tensorinv", like=np.linalg.tensorinv)
def tensorinv(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(6, 6).reshape(2, 3, 6))
    yield S(m.regular(4, 4).reshape(4, 2, 2), ind=1)


@of("linalg.tensorsolve")
def tensorsolve(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(6, 6).reshape(2, 3, 6), m(2, 3))
    yield S(m.regular(4, 4).reshape(2, 4, 2), m(2, 2), dims=(1,))


# ---------------------------------------------------------------- complex matrices, as pairs of real ones


def regular(x: Any) -> Any:
    return whole(x) + 4 * pb.eye(x.shape[-3], x.shape[-2], dtype=pb.complex128)


def positive(x: Any) -> Any:
    z = whole(x)
    return z @ z.mH + 2 * pb.eye(x.shape[-2], dtype=z.dtype)


def lower(x: Any) -> Any:
    return regular(x).tril()


@of("linalg.lu_factor", "linalg.lu", "linalg.pinv", "lu", "linalg.cond")
def complex_matrices(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3, 3, 2)).but(via={0: regular})


@of("linalg.lu_factor", "linalg.pinv", "geqrf")
def complex_rectangles(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2, 2)).but(via={0: regular})
    yield S(m(2, 3, 2)).but(via={0: regular})


@of("linalg.inv_ex", "geqrf", "linalg.matrix_rank")
def complex_squares(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3, 2)).but(via={0: regular})


@of("linalg.eigvals")
def complex_eigvals(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3, 2)).but(via={0: whole}, after=powers)


@of("linalg.eig")
def complex_eig(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3, 2)).but(via={0: whole}, after=turned)


@of("linalg.cholesky_ex", "cholesky")
def complex_cholesky(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3, 2)).but(via={0: positive})


@of("cholesky_inverse")
def complex_cholesky_inverse(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 2, 2)).but(via={0: lower})


@of("cholesky_solve", "triangular_solve")
def complex_triangles(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 1, 2), m(2, 2, 2)).but(via={0: whole, 1: lower})


@of("linalg.solve_ex", "linalg.lstsq")
def complex_equations(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3, 2), m(3, 2, 2)).but(via={0: regular, 1: whole})


@of("linalg.householder_product")
def complex_reflections(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2, 2), m(2, 2)).but(via={0: whole, 1: whole})


@of("ormqr")
def complex_ormqr(m: Maker) -> Iterator[Sample]:
    for left in (True, False):
        yield S(m(3, 2, 2), m(2, 2), m(3, 3, 2), left, True).but(via={0: whole, 1: whole, 2: whole})


@of("linalg.matrix_power")
def complex_power(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 2, 2), -2).but(via={0: regular})


@of("linalg.norm", "linalg.matrix_norm")
def complex_norms(m: Maker) -> Iterator[Sample]:
    for p in ("fro", "nuc"):
        yield S(m(2, 3, 2), p).but(via={0: whole})


@of("linalg.matrix_norm")
def complex_matrix_norms(m: Maker) -> Iterator[Sample]:
    for p in (1, -1, 2, -2, float("inf"), float("-inf")):
        yield S(m(2, 3, 2), p).but(via={0: whole})


@of("linalg.vector_norm", "linalg.norm", "norm")
def complex_vector_norms(m: Maker) -> Iterator[Sample]:
    for p in (0.5, 1, 2, 3, float("inf"), float("-inf")):
        yield S(m(3, 2), p).but(via={0: whole})


@of("dist")
def complex_distance(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2), m(3, 2), 3).but(via={0: whole, 1: whole})
