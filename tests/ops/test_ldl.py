"""Factors of symmetric and Hermitian matrices: LAPACK's format, what is solved with them, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import func
from support.counterparts_factors import of_ldl, packed_ldl

L = pb.linalg
DTYPES = [pb.float32, pb.float64, pb.complex64, pb.complex128]


def symmetric(n: int, dtype: Any, hermitian: bool, seed: int = 0, diagonal: float = 1.0) -> Any:
    g = pb.Generator().manual_seed(seed)
    a = pb.randn(n, n, generator=g, dtype=dtype)
    a = a + (a.mH if hermitian else a.mT)
    return a - (1 - diagonal) * pb.diag_embed(a.diagonal())


@pytest.mark.parametrize("diagonal", [1.0, 0.0])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_solve(dtype: Any, hermitian: bool, diagonal: float) -> None:
    for n in (1, 2, 3, 7, 40):
        if n == 1 and diagonal == 0:
            continue
        a = symmetric(n, dtype, hermitian, n, diagonal)
        packed, pivots = L.ldl_factor(a, hermitian=hermitian)
        assert packed.triu(1).abs().sum() == 0 and pivots.dtype is pb.int32
        rebuilt = of_ldl(packed.numpy(), pivots.numpy(), hermitian)
        eps = pb.finfo(dtype).eps
        assert np.abs(rebuilt - a.numpy()).max() < 50 * n * eps * float(a.abs().max())
        x = pb.randn(n, 3, dtype=dtype)
        b = a @ x
        found = L.ldl_solve(packed, pivots, b, hermitian=hermitian)
        assert (a @ found - b).abs().max() < 200 * n * eps * b.abs().max()


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", [pb.float64, pb.complex128])
def test_the_format_is_lapacks(dtype: Any, hermitian: bool) -> None:
    """Also of sizes that LAPACK factors in blocks."""
    for n in (5, 150):
        a = symmetric(n, dtype, hermitian, n, 0.1)
        packed, pivots = L.ldl_factor(a, hermitian=hermitian)
        want, order = packed_ldl(a.numpy(), hermitian)
        assert (pivots.numpy() == order).all() and (pivots < 0).any()
        assert np.abs(packed.numpy() - want).max() < 1e-9 * np.abs(want).max()


def test_the_upper_triangle_is_not_read() -> None:
    a = symmetric(4, pb.float64, False)
    garbled = a.tril() + pb.full((4, 4), float("nan")).triu(1)
    for x, y in zip(L.ldl_factor(a), L.ldl_factor(garbled), strict=True):
        assert x.equal(y)


def test_singular_blocks() -> None:
    out = L.ldl_factor_ex(pb.stack([pb.zeros(2, 2), pb.eye(2)]))
    assert out.info.tolist() == [1, 0] and out.pivots.tolist() == [[1, 2], [1, 2]]
    assert L.ldl_factor_ex(pb.zeros(0, 0)).info.item() == 0


def test_derivatives_of_solutions() -> None:
    """Those with respect to the factors and the right side together are those of `solve`."""
    a, b = symmetric(5, pb.float64, False, 3, 0.1), pb.randn(5, 2, dtype=pb.float64)

    def by_factors(a: Any, b: Any) -> Any:
        return L.ldl_solve(*L.ldl_factor(a), b).sin().sum()

    def directly(a: Any, b: Any) -> Any:
        return L.solve(a.tril() + a.tril(-1).mT, b).sin().sum()

    for f in (func.grad, func.hessian):
        for i in (0, 1):
            found, want = (f(g, argnums=i)(a, b) for g in (by_factors, directly))
            assert (found - want).abs().max() < 1e-9 * want.abs().max()


@pytest.mark.parametrize("hermitian", [False, True])
def test_derivatives_of_complex_solutions(hermitian: bool) -> None:
    a = symmetric(4, pb.complex128, hermitian, 5, 0.1)
    b = pb.randn(4, 2, dtype=pb.complex128)
    turned = (lambda x: x.mH) if hermitian else (lambda x: x.mT)

    def size(x: Any) -> Any:
        return pb.view_as_real(x).sin().sum()

    def by_factors(a: Any, b: Any) -> Any:
        return size(L.ldl_solve(*L.ldl_factor(a, hermitian=hermitian), b, hermitian=hermitian))

    def directly(a: Any, b: Any) -> Any:
        whole = a.tril(-1) + turned(a.tril(-1)) + pb.diag_embed(a.diagonal().real if hermitian else a.diagonal())
        return size(L.solve(whole, b))

    for found, want in zip(*(func.grad(f, (0, 1))(a, b) for f in (by_factors, directly)), strict=True):
        assert (found - want).abs().max() < 1e-9 * want.abs().max()
    along = (a, b)
    assert (func.jvp(by_factors, (a, b), along)[1] - func.jvp(directly, (a, b), along)[1]).abs() < 1e-9
    many = pb.stack([b, 2 * b])
    factors = L.ldl_factor(a, hermitian=hermitian)
    found = func.vmap(lambda b: L.ldl_solve(*factors, b, hermitian=hermitian))(many)
    assert (found[1] - 2 * found[0]).abs().max() < 1e-12


PIVOTS = pb.tensor([1, 2], dtype=pb.int32)
ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: L.ldl_factor(pb.zeros(2, 2)), L.LinAlgError, r"D\[1,1\] is zero"),
    (lambda: L.ldl_factor_ex(pb.zeros(1, 2, 2), check_errors=True), L.LinAlgError, r"\(Batch element 0\): D\[1,1\]"),
    (lambda: L.ldl_factor(pb.ones(2, 3)), RuntimeError, "batches of square matrices"),
    (lambda: L.ldl_solve(pb.eye(2), PIVOTS[:1], pb.ones(2, 1)), RuntimeError, "pivots with shape"),
    (lambda: L.ldl_solve(pb.eye(2), PIVOTS.float(), pb.ones(2, 1)), RuntimeError, "expected dtype int32 or int64"),
    (lambda: L.ldl_solve(pb.eye(2), PIVOTS, pb.ones(3, 1)), RuntimeError, "Incompatible shapes"),
    (lambda: L.ldl_solve(pb.eye(2), PIVOTS, pb.ones(2, 1).double()), RuntimeError, "expected dtype float32"),
    (lambda: pb.chain_matmul(), RuntimeError, "Expected one or more matrices; give one"),
    (lambda: pb.chain_matmul(pb.ones(2)), RuntimeError, "must be a 2D tensor"),
]
WRONG = [[0, 2], [1, 1], [3, 2], [-2, 2], [2, -2], [-1, -1], [-3, -3], [1, -2]]
ERRORS += [
    (lambda p=p: L.ldl_solve(pb.eye(2), pb.tensor(p), pb.ones(2, 1)), RuntimeError, "must be those of ldl_factor")
    for p in WRONG
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()
