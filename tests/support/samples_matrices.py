"""Samples of products and decompositions of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scipy.linalg

import pullback as pb
from support.samples import Maker, S, Sample, of


def definite(a: Any) -> Any:
    return a @ a.mT + pb.eye(a.shape[-1], dtype=a.dtype)


def symmetric(a: Any) -> Any:
    return a + a.mT


@of("matmul")
def matmul(m: Maker) -> Iterator[Sample]:
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 2)),
        ((2, 2, 3), (3, 1)),
        ((2, 1, 1, 3), (2, 3, 2)),
    ]
    yield from (S(m(*a), m(*b)) for a, b in shapes)
    yield S(m(2, 0), m(0, 3))
    yield S(m(0, 2), m(2, 3))
    yield S(m(3, 2).t(), m(2, 3).t())
    yield S(m(2, 2, 3), m(3, 2))
    yield S(m(3), m(2, 3, 2))


@of("mm")
def mm(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(3, 2))
    yield S(m(1, 0), m(0, 2))
    yield S(m(3, 2).t(), m(2, 3).t())


@of("bmm")
def bmm(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 2, 3), m(2, 3, 1))
    yield S(m(0, 2, 3), m(0, 3, 1))


@of("mv")
def mv(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(3))
    yield S(m(2, 0), m(0))


@of("dot")
def dot(m: Maker) -> Iterator[Sample]:
    yield from (S(m(n), m(n)) for n in (3, 1, 0))


@of("outer")
def outer(m: Maker) -> Iterator[Sample]:
    yield S(m(2), m(3))
    yield S(m(0), m(3))


@of("einsum")
def einsum(m: Maker) -> Iterator[Sample]:
    yield S("ij,jk->ik", m(2, 3), m(3, 2))
    yield S("bij,bj->b", m(2, 2, 3), m(2, 3))
    yield S("ii->i", m(3, 3))
    yield S("i,j,k->kj", m(2), m(2), m(3))
    yield S("...i,i->...", m(2, 2, 3), m(3))
    yield S("ij->", m(2, 3))


@of("tensordot")
def tensordot(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(3, 2), 1)
    yield S(m(2, 3), m(2, 3), dims=([0, 1], [0, 1]))
    yield S(m(2), m(3), dims=0)


@of("addmm")
def addmm(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 2), m(2, 3), m(3, 2))
    yield S(m(2), m(2, 3), m(3, 2), beta=0.5, alpha=-2)


@of("addmv")
def addmv(m: Maker) -> Iterator[Sample]:
    yield S(m(2), m(2, 3), m(3))
    yield S(m(1), m(2, 3), m(3), beta=0.5, alpha=-2)


@of("baddbmm")
def baddbmm(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 2, 2), m(2, 2, 3), m(2, 3, 2))
    yield S(m(2, 1), m(2, 2, 3), m(2, 3, 2), beta=0.5, alpha=-2)


@of("nn.functional.linear")
def linear(m: Maker) -> Iterator[Sample]:
    yield S(m(3), m(2, 3))
    yield S(m(2, 3), m(2, 3), m(2))
    yield S(m(3), m(2, 3), m(2))
    yield S(m(2, 1, 3), m(2, 3), m(2))
    yield S(m(0, 3), m(2, 3), m(2))
    yield S(m(2, 3), m(2, 3), m(1))
    yield S(m(2, 3), m(2, 3), m())
    yield S(m(2, 3), m(2, 3), m(2, 2))
    yield S(m(2, 20), m(3, 20), m(3))


@of("linalg.cholesky")
def cholesky(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3)).but(via={0: definite})
    yield S(m(2, 2, 2), upper=True).but(via={0: definite})
    yield S(m(0, 0)).but(via={0: definite})


@of("linalg.solve")
def solve(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(3, 3), m(3))
    yield S(m.regular(2, 2), m(2, 3))
    yield S(m.regular(2, 2, 2), m(2, 1))
    yield S(m.regular(2, 2), m(3, 2), left=False)
    yield S(m.regular(3, 2, 2), m(3, 2))


@of("linalg.inv", "linalg.det", "linalg.slogdet")
def square(m: Maker) -> Iterator[Sample]:
    for shape in [(3, 3), (1, 1), (2, 2, 2), (0, 0)]:
        yield S(m.regular(*shape) if shape[-1] else m(*shape))


@of("logdet")
def positive(m: Maker) -> Iterator[Sample]:
    for shape in [(3, 3), (1, 1), (2, 2, 2), (0, 0)]:
        yield S(m(*shape)).but(via={0: definite})


@of("linalg.det")
def singular(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 3) * pb.tensor([[0.0], [1.0], [1.0]]))
    yield S(m(3, 3) * pb.tensor([[0.0], [1.0], [0.0]]))
    yield S(pb.stack([m.regular(2, 2), m(2, 2) * 0]))


@of("linalg.solve_triangular")
def solve_triangular(m: Maker) -> Iterator[Sample]:
    def lower(a: Any) -> Any:
        return a.tril() + 3 * pb.eye(a.shape[-1], dtype=a.dtype)

    yield S(m(3, 3), m(3, 2), upper=False).but(via={0: lower})
    yield S(m(2, 2, 2), m(2, 3), upper=False, unitriangular=True).but(via={0: lower})
    yield S(m(2, 2), m(3, 2), upper=True, left=False).but(via={0: lambda a: lower(a).mT})


@of("linalg.qr")
def qr(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(3, 3))
    yield S(m.regular(3, 3)[:, :2])
    yield S(m.regular(2, 3, 3)[:, :2])


@of("linalg.eigh", "linalg.eigvalsh")
def eigh(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(3, 3)).but(via={0: symmetric})
    yield S(m.regular(2, 2, 2), "U").but(via={0: symmetric})


@of("linalg.svd", "linalg.svdvals")
def svd(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(3, 3))
    yield S(m.regular(2, 2, 2))


@of("linalg.svd")
def reduced_svd(m: Maker) -> Iterator[Sample]:
    yield S(m.regular(3, 3)[:2], full_matrices=False)
    yield S(m.regular(3, 3)[:, :2], full_matrices=False)


@of("linalg.matrix_exp", like=scipy.linalg.expm)
def matrix_exp(m: Maker) -> Iterator[Sample]:
    for shape in [(1, 1), (2, 2), (2, 3, 3), (2, 1, 2, 2)]:
        yield S(m(*shape))
    # Norms that each degree is for, and one that is scaled.
    for size in (1e-4, 1e-2, 0.3, 4.0):
        yield S(m(3, 3) * size)
    yield S(m(0, 0))
    yield S(m(0, 2, 2))
    yield S(m(3, 3).t())
