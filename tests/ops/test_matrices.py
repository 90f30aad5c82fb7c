"""Derivatives of decompositions: forward against reverse, differences, batches, levels, and programs without data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import func
from pullback.autograd import Function, gradcheck, gradgradcheck

L = pb.linalg
SQUARE = [(3, 3), (1, 1), (2, 4, 4)]
RECTANGULAR = [*SQUARE, (4, 2), (2, 4), (2, 4, 3), (2, 3, 4)]


def numbers(*shape: int, complex: bool, seed: int = 0) -> Any:
    rng = np.random.default_rng([seed, *shape])
    a = rng.standard_normal(shape)
    return pb.tensor(a + 1j * rng.standard_normal(shape) if complex else a)


def hermitian(a: Any) -> Any:
    return (a + a.mH) / 2


def positive(a: Any) -> Any:
    return a @ a.mH + a.shape[-1] * pb.eye(a.shape[-1], dtype=a.dtype)


def turned(v: Any) -> Any:
    """What does not depend on the signs or phases of columns."""
    return v.abs() ** 2


def polar(a: Any) -> list[Any]:
    u, _, vh = L.svd(a, full_matrices=False)
    return [u @ vh]


def spectral(a: Any) -> Any:
    w, v = L.eig(a)
    return v @ pb.diag_embed(w.exp()) @ L.inv(v)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], list[tuple[int, ...]]]] = {
    "cholesky": (lambda a: [L.cholesky(positive(a))], SQUARE),
    "cholesky_upper": (lambda a: [L.cholesky(positive(a), upper=True)], SQUARE),
    "inv": (lambda a: [L.inv(positive(a))], SQUARE),
    "eigh": (lambda a: [L.eigh(hermitian(a))[0], turned(L.eigh(hermitian(a))[1])], SQUARE),
    "eigvalsh": (lambda a: [L.eigvalsh(hermitian(a), "U")], SQUARE),
    "qr": (lambda a: list(L.qr(a)), RECTANGULAR),
    "q": (lambda a: [L.qr(a)[0]], RECTANGULAR),
    "r": (lambda a: [L.qr(a, mode="r")[1]], RECTANGULAR),
    "svd": (lambda a: [turned(L.svd(a, False)[0]), L.svd(a, False)[1], turned(L.svd(a, False)[2].mH)], RECTANGULAR),
    "u": (lambda a: [turned(L.svd(a, False)[0])], RECTANGULAR),
    "polar": (polar, RECTANGULAR),
    "svdvals": (lambda a: [L.svdvals(a)], RECTANGULAR),
    "det": (lambda a: [L.det(a)], SQUARE),
    "slogdet": (lambda a: list(L.slogdet(a)), SQUARE),
    "logdet": (lambda a: [pb.logdet(positive(a))], SQUARE),
    "lu": (lambda a: list(L.lu(a)[1:]), RECTANGULAR),
    "lu_solve": (lambda a: [L.lu_solve(*L.lu_factor(a), positive(a), left=False, adjoint=True)], SQUARE),
    "solve_ex": (lambda a: [L.solve_ex(positive(a), a)[0]], SQUARE),
    "pinv": (lambda a: [L.pinv(a)], RECTANGULAR),
    "pinv_hermitian": (lambda a: [L.pinv(positive(a), hermitian=True)], SQUARE),
    "geqrf": (lambda a: list(pb.geqrf(a)), RECTANGULAR),
    "reflections": (lambda a: [L.householder_product(a / 2, a[..., 0, : a.shape[-1]])], [(3, 3), (4, 2), (2, 4, 3)]),
    "eig": (lambda a: [L.eigvals(a).exp().sum(-1), (turned(L.eig(a)[1]) ** 2).sum((-1, -2))], SQUARE),
    "spectral": (lambda a: [spectral(a)], SQUARE),
    "matrix_power": (lambda a: [L.matrix_power(positive(a), -3)], SQUARE),
    "cond": (lambda a: [L.cond(positive(a), "nuc")], SQUARE),
}
CASES = [(name, shape, c) for name, (_, shapes) in FUNCTIONS.items() for shape in shapes for c in (False, True)]


def real(z: Any) -> Any:
    return pb.view_as_real(z) if z.dtype.is_complex else z


def number(f: Callable[[Any], Any], weights: list[Any]) -> Callable[[Any], Any]:
    """A real number that all outputs enter."""
    return lambda a: sum((real(y) * w).sum() for y, w in zip(f(a), weights, strict=True))


def weights_of(f: Callable[[Any], Any], a: Any) -> list[Any]:
    return [numbers(*real(y).shape, complex=False, seed=i + 1) for i, y in enumerate(f(a))]


@pytest.mark.parametrize(("name", "shape", "complex"), CASES)
def test_forward_and_reverse_agree(name: str, shape: tuple[int, ...], complex: bool) -> None:
    f, a = FUNCTIONS[name][0], numbers(*shape, complex=complex)
    t = numbers(*shape, complex=complex, seed=9)
    g = number(f, weights_of(f, a))
    along = func.jvp(g, (a,), (t,))[1]
    dot = real(func.grad(g)(a)) * real(t)
    np.testing.assert_allclose(dot.sum().item(), along.item(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "shape", "complex"), [c for c in CASES if np.prod(c[1]) <= 12])
def test_against_differences(name: str, shape: tuple[int, ...], complex: bool) -> None:
    a = numbers(*shape, complex=complex).requires_grad_()
    f = FUNCTIONS[name][0]
    g = number(f, weights_of(f, a.detach()))
    assert gradcheck(g, (a,), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(g, (a,), check_fwd_over_rev=True, atol=1e-4)


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_batches_and_programs(name: str, complex: bool) -> None:
    f = FUNCTIONS[name][0]
    a = numbers(5, 3, 3, complex=complex)
    g = number(f, weights_of(f, a[0]))
    loop = pb.stack([func.grad(g)(x) for x in a])
    np.testing.assert_allclose(func.vmap(func.grad(g))(a).numpy(), loop.numpy(), atol=1e-10)
    program = func.trace(func.grad(g))(a[0])
    np.testing.assert_allclose(program(a[1]).numpy(), loop[1].numpy(), atol=1e-10)
    assert func.eval_shape(func.grad(g))(a[0]).shape == (3, 3)
    twice = func.eval_shape(func.vmap(func.grad(lambda x: real(func.grad(g)(x)).sum())))(a)
    assert twice.shape == a.shape and twice.dtype == a.dtype


def test_a_first_derivative_that_is_traced_has_no_values_of_the_trace() -> None:
    """The reverse rule is derived at its first use, which may be anywhere."""
    n = 7
    a, b = numbers(n, n, complex=False), numbers(n, n, complex=False, seed=1)
    f = lambda a: L.cholesky(positive(a)).sum()
    program = func.trace(func.vmap(func.grad(f), in_dims=0))(pb.stack([a, b]))
    want = func.grad(f)(b).numpy()
    np.testing.assert_allclose(program(pb.stack([b, a]))[0].numpy(), want, rtol=1e-12)
    with pb.no_grad():
        np.testing.assert_allclose(func.grad(f)(b).numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("dtype", [pb.float32, pb.complex64])
def test_single_precision(dtype: Any) -> None:
    a = numbers(3, 3, complex=dtype.is_complex)
    for name, (f, _) in FUNCTIONS.items():
        double = lambda y: y.to(pb.complex128 if y.dtype.is_complex else pb.float64)
        g = number(lambda x, f=f, double=double: [double(y) for y in f(x)], weights_of(f, a))
        got = func.grad(g)(a.to(dtype))
        assert got.dtype == dtype
        np.testing.assert_allclose(got.numpy(), func.grad(g)(a).numpy(), rtol=2e-3, atol=2e-3, err_msg=name)


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("rank", [3, 2, 1, 0])
def test_determinants_of_any_rank(rank: int, complex: bool) -> None:
    a = (numbers(3, rank, complex=complex) @ numbers(rank, 3, complex=complex, seed=1)).requires_grad_()
    assert gradcheck(L.det, (a,), check_forward_ad=True)
    assert gradgradcheck(L.det, (a,), check_fwd_over_rev=True)


def test_third_derivatives_of_determinants() -> None:
    entries = np.random.default_rng(5).standard_normal((4, 3, 3))
    entries[1, 2] = entries[1, 0] - entries[1, 1]  # of rank 2
    for a in map(pb.tensor, entries):
        got = func.jacfwd(func.jacrev(func.jacrev(L.det)))(a).numpy()
        want = np.zeros((3,) * 6)
        orders = list(itertools.permutations(range(3)))
        for p, q in itertools.product(orders, orders):
            want[q[0], p[q[0]], q[1], p[q[1]], q[2], p[q[2]]] = np.linalg.det(np.eye(3)[list(p)])
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_members_of_a_batch_go_their_own_ways() -> None:
    a = numbers(6, 4, 4, complex=False).numpy().copy()
    a[1, 0] = a[1, 2]
    a[4] = 0
    f = lambda x: L.det(x) ** 2 + L.det(2 * x)
    got = func.vmap(func.hessian(f))(pb.tensor(a)).numpy()
    loop = np.stack([func.hessian(f)(pb.tensor(x)).numpy() for x in a])
    np.testing.assert_allclose(got, loop, atol=1e-9)


def test_logarithms_of_determinants_that_are_not_positive() -> None:
    a = pb.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert np.isnan(pb.logdet(a).item()) and pb.logdet(a * 0).item() == float("-inf")
    assert pb.logdet(a.to(pb.complex64)).item() == pytest.approx(1j * np.pi)


def test_phases_that_matter_raise() -> None:
    a = numbers(3, 3, complex=True)
    for f in (lambda a: L.eigh(hermitian(a))[1], lambda a: L.svd(a)[0], lambda a: L.svd(a)[2]):
        with pytest.raises(RuntimeError, match="specified up to multiplication"):
            func.grad(lambda a, f=f: real(f(a)).sum())(a)


def test_first_derivatives_in_methods_of_custom_functions() -> None:
    class Factor(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return L.cholesky(positive(x)).sum()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * func.grad(lambda x: L.cholesky(positive(x)).sum())(x)

    # Sizes that no other test has: their rules are derived here.
    for n, transform in [(11, func.grad), (12, lambda f: func.vmap(func.grad(f))), (13, lambda f: func.hessian(f))]:
        a = numbers(n, n, complex=False) if n != 12 else numbers(2, n, n, complex=False)
        want = transform(lambda x: L.cholesky(positive(x)).sum())
        np.testing.assert_allclose(transform(Factor.apply)(a).numpy(), want(a).numpy(), atol=1e-9)
