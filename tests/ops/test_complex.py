"""Complex numbers: derivatives in PyTorch's convention, views, conversions, and what raises."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import func
from pullback.autograd import forward_ad, gradcheck, gradgradcheck

same = pb.testing.assert_close
SEED = 11


def complex_numbers(*shape: int, seed: int = SEED, dtype: Any = pb.complex128) -> Any:
    rng = np.random.default_rng(seed)
    return pb.tensor(rng.standard_normal(shape) + 1j * rng.standard_normal(shape), dtype=dtype)


def real_numbers(*shape: int, seed: int = SEED) -> Any:
    return complex_numbers(*shape, seed=seed).real.clone()


def well(n: int) -> Any:
    return complex_numbers(n, n) + 3 * pb.eye(n, dtype=pb.complex128)


def positive(z: Any) -> Any:
    return z @ z.mH + 2 * pb.eye(z.shape[-1], dtype=z.dtype)


def rebuilt(z: Any) -> Any:
    """A function of the eigenvectors that does not depend on their phases."""
    values, vectors = pb.linalg.eigh(positive(z))
    return (vectors * values.log()) @ vectors.mH


def singular(z: Any) -> Any:
    u, s, vh = pb.linalg.svd(z, full_matrices=False)
    return (u * s.exp()) @ vh


MASK = pb.tensor([[True, False, True], [False, True, True]])
z, w = (complex_numbers(2, 3, seed=s) for s in (1, 2))
x = real_numbers(2, 3, seed=3)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "complex": (pb.complex, (x, x[0])),
    "polar": (pb.polar, (x.abs(), x)),
    "real": (pb.real, (z,)),
    "imag": (pb.imag, (z,)),
    "view_as_real": (pb.view_as_real, (z,)),
    "view_as_complex": (pb.view_as_complex, (real_numbers(3, 2),)),
    "conj": (lambda a: a.conj() * a * a, (z,)),
    "abs": (pb.abs, (z,)),
    "angle": (pb.angle, (z,)),
    "sgn": (pb.sgn, (z,)),
    "add": (lambda a, b: a + b, (z, x)),
    "sub": (lambda a, b: a - b, (x, z[0])),
    "mul": (lambda a, b: a * b, (z, w)),
    "mul_mixed": (lambda a, b: a * b, (z, x)),
    "mul_number": (lambda a: a * (1 - 2j), (x,)),
    "div": (lambda a, b: a / b, (z, w)),
    "div_mixed": (lambda a, b: a / b, (x, w)),
    "neg": (pb.neg, (z,)),
    "exp": (pb.exp, (z,)),
    "log": (pb.log, (z,)),
    "sin": (pb.sin, (z,)),
    "cos": (pb.cos, (z,)),
    "tan": (pb.tan, (z,)),
    "sinh": (pb.sinh, (z,)),
    "cosh": (pb.cosh, (z,)),
    "tanh": (pb.tanh, (z,)),
    **{
        name: (getattr(pb, name), (z,))
        for name in "acos asin atan acosh asinh atanh exp2 expm1 log1p log2 log10 sigmoid".split()
    },
    "silu": (pb.nn.functional.silu, (z,)),
    "logaddexp": (pb.logaddexp, (z, w)),
    "sqrt": (pb.sqrt, (z,)),
    "rsqrt": (pb.rsqrt, (z,)),
    "pow": (lambda a, b: a**b, (z, w)),
    "pow_number": (lambda a: a ** (1.5 + 1j), (z,)),
    "pow_square": (lambda a: a**2, (z,)),
    "pow_mixed": (lambda a, b: a**b, (x.abs(), w)),
    "sum": (lambda a: a.sum(0), (z,)),
    "mean": (lambda a: a.mean(1), (z,)),
    "prod": (lambda a: a.prod(), (z[0],)),
    "cube": (lambda a: a**3, (z,)),
    "rms_norm": (lambda a, w: pb.nn.functional.rms_norm(a, (3,), w), (z, w[0])),
    "matmul": (lambda a, b: a @ b, (z, complex_numbers(3, 2))),
    "matmul_vector": (lambda a, b: a @ b, (z, w[0])),
    "where": (lambda a, b: pb.where(MASK, a, b), (z, x)),
    "index": (lambda a: a[pb.tensor([1, 0, 1])][:, ::2], (z,)),
    "solve": (pb.linalg.solve, (well(3), complex_numbers(3, 2))),
    "solve_right": (lambda a, b: pb.linalg.solve(a, b, left=False), (well(3), z)),
    "solve_triangular": (lambda a, b: pb.linalg.solve_triangular(a, b, upper=True), (well(3), complex_numbers(3, 2))),
    "inv": (pb.linalg.inv, (well(3),)),
    "cholesky": (lambda a: pb.linalg.cholesky(positive(a)), (complex_numbers(3, 3),)),
    "cholesky_upper": (lambda a: pb.linalg.cholesky(positive(a), upper=True), (complex_numbers(3, 3),)),
    "eigh": (rebuilt, (complex_numbers(3, 3),)),
    "eigvalsh": (lambda a: pb.linalg.eigvalsh(positive(a)), (complex_numbers(3, 3),)),
    "svd": (singular, (complex_numbers(3, 2),)),
    "svdvals": (pb.linalg.svdvals, (complex_numbers(2, 3),)),
    "qr": (lambda a: tuple(pb.linalg.qr(a)), (complex_numbers(3, 2),)),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    f, points = CASES[name]
    points = tuple(p.clone().requires_grad_() for p in points)
    gradcheck(f, points, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
    gradgradcheck(f, points, check_fwd_over_rev=True, fast_mode=True)


def as_tuple(y: Any) -> tuple[Any, ...]:
    return y if isinstance(y, tuple) else (y,)


@pytest.mark.parametrize("name", CASES)
def test_real_and_imaginary_parts_are_the_same_function(name: str) -> None:
    """Every mode against the function of twice as many real numbers."""
    f, points = CASES[name]
    parts = tuple(pb.view_as_real(p).clone() if p.dtype.is_complex else p for p in points)

    def embedded(*real: Any) -> tuple[Any, ...]:
        made = [pb.view_as_complex(r) if p.dtype.is_complex else r for p, r in zip(points, real, strict=True)]
        return tuple(pb.view_as_real(y) if y.dtype.is_complex else y for y in as_tuple(f(*made)))

    def real(t: Any) -> Any:
        return pb.view_as_real(t.resolve_conj()) if t.dtype.is_complex else t

    rng = np.random.default_rng(SEED)
    tangents = tuple(pb.tensor(rng.standard_normal(tuple(p.shape))) for p in parts)
    whole = tuple(pb.view_as_complex(t) if p.dtype.is_complex else t for p, t in zip(points, tangents, strict=True))
    got = func.jvp(lambda *a: as_tuple(f(*a)), points, whole)
    want = func.jvp(embedded, parts, tangents)
    for g, e in zip(got, want, strict=True):
        same(tuple(map(real, g)), tuple(e), rtol=1e-9, atol=1e-9)
    cotangents = tuple(pb.tensor(rng.standard_normal(tuple(y.shape))) for y in want[0])
    outputs, pull = func.vjp(lambda *a: as_tuple(f(*a)), *points)
    pulled = pull(
        tuple(pb.view_as_complex(c) if y.dtype.is_complex else c for y, c in zip(outputs, cotangents, strict=True))
    )
    same(tuple(map(real, pulled)), tuple(func.vjp(embedded, *parts)[1](cotangents)), rtol=1e-9, atol=1e-9)
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(p, t) for p, t in zip(points, whole, strict=True)]
        for y, t in zip(as_tuple(f(*duals)), as_tuple(got[1]), strict=True):
            same(forward_ad.unpack_dual(y).tangent, t)


@pytest.mark.parametrize("name", CASES)
def test_single_precision(name: str) -> None:
    f, points = CASES[name]
    narrow = [p.to(pb.complex64 if p.dtype.is_complex else pb.float32).requires_grad_() for p in points]
    wide = [p.clone().requires_grad_() for p in points]
    for y, t in zip(as_tuple(f(*narrow)), as_tuple(f(*wide)), strict=True):
        assert y.dtype in (pb.complex64, pb.float32)
        (y.abs() ** 2).sum().backward(retain_graph=True)
        (t.abs() ** 2).sum().backward(retain_graph=True)
    for a, b in zip(narrow, wide, strict=True):
        assert a.grad.dtype == a.dtype
        same(a.grad.to(b.dtype), b.grad, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("name", CASES)
def test_batches_and_programs(name: str) -> None:
    f, points = CASES[name]
    batch = [pb.stack([p, 2 * p, p.flip(0)]) for p in points]
    loop = [as_tuple(f(*(b[k] for b in batch))) for k in range(3)]
    want = tuple(pb.stack(list(column)) for column in zip(*loop, strict=True))
    same(as_tuple(func.vmap(f)(*batch)), want, rtol=1e-9, atol=1e-9)
    same(as_tuple(func.trace(f)(*points)(*points)), as_tuple(f(*points)))


# ---------------------------------------------------------------- values
POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3e-5, 1e30, -1e30, 100.0, -800.0, float("inf"), -float("inf"), float("nan")]
GRID = np.array([complex(a, b) for a in POINTS for b in POINTS])
# NumPy's names of the functions, which have the values of C99's annex G.
OF_NUMPY = {
    **{name: name for name in "exp sin cos tan sinh cosh tanh log sqrt exp2 expm1 log2 log10".split()},
    **{name: name.replace("a", "arc", 1) for name in "acos asin atan acosh asinh atanh".split()},
}


def parts_agree(got: Any, want: Any) -> Any:
    """Whether parts are the same up to rounding, infinities and NaN included."""
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= 1e-9 * np.maximum(np.abs(want), 1e-4)
    return near | (got == want) | (np.isnan(got) & np.isnan(want))


@pytest.mark.parametrize("name", OF_NUMPY)
def test_values_at_zeros_infinities_and_nan(name: str) -> None:
    with np.errstate(all="ignore"):
        want = getattr(np, OF_NUMPY[name])(GRID)
    got = getattr(pb, name)(pb.tensor(GRID)).numpy()
    if name in ("exp2", "log2", "log10", "expm1"):
        # Of these the annex does not speak, and NumPy multiplies infinities by zeros.
        kept = ~(np.isnan(want.real) ^ np.isnan(got.real)) & ~(np.isnan(want.imag) ^ np.isnan(got.imag))
        want, got = want[kept], got[kept]
    wrong = ~(parts_agree(got.real, want.real) & parts_agree(got.imag, want.imag))
    assert not wrong.any(), list(zip(GRID[wrong], got[wrong], want[wrong], strict=True))[:5]


@pytest.mark.parametrize("name", OF_NUMPY)
def test_values_of_all_sizes(name: str) -> None:
    rng = np.random.default_rng(SEED)
    sizes = 10.0 ** rng.uniform(-8, 2, (2, 4000)) * rng.choice([-1, 1], (2, 4000))
    points = sizes[0] + 1j * sizes[1]
    want = getattr(np, OF_NUMPY[name])(points)
    got = getattr(pb, name)(pb.tensor(points)).numpy()
    assert (np.abs(got - want) <= 2e-14 * np.maximum(np.abs(want), 1e-6)).all()
    single = getattr(pb, name)(pb.tensor(points, dtype=pb.complex64)).numpy()
    bounded = np.abs(want) < 1e30
    assert (np.abs(single - want)[bounded] <= 1e-4 * np.maximum(np.abs(want), 1e-6)[bounded]).mean() > 0.99


def test_logarithms_next_to_one() -> None:
    """Where the square of the distance is all that the real part has, and where it vanishes."""
    z = pb.tensor([1e-8 + 1e-4j, -1e-5 - 1e-9j, 1e-200 + 1e-200j, 0.3 - 0.2j], dtype=pb.complex128)
    same(pb.log1p(z.expm1()), z, rtol=1e-14, atol=0.0)
    assert pb.log1p(pb.tensor([1e-6j], dtype=pb.complex128)).real.item() == pytest.approx(0.5e-12, rel=1e-9)


def test_quotients_at_zeros_and_infinities() -> None:
    inf, nan = float("inf"), float("nan")
    z = pb.tensor([1 + 2j, -1 - 3j, 1j, 0j])
    got = (z / 0).numpy()
    want = np.array([complex(inf, inf), complex(-inf, -inf), complex(nan, inf), complex(nan, nan)])
    assert (parts_agree(got.real, want.real) & parts_agree(got.imag, want.imag)).all()
    for infinite in (complex(inf, 1), complex(2, -inf), complex(inf, inf)):
        assert (z / infinite).tolist() == [0] * 4
    assert pb.sigmoid(pb.tensor([-1e4 + 1j, 1e4 - 2j])).tolist() == [0, 1]


# ---------------------------------------------------------------- the convention
def test_gradients_are_conjugate() -> None:
    a = pb.tensor([3 + 4j], requires_grad=True)
    (g,) = pb.autograd.grad((a * a.conj()).real.sum(), a)
    same(g, 2 * a.detach())
    (g,) = pb.autograd.grad(a.exp(), a, pb.tensor([1j]))
    same(g, (1j * a.detach().exp().conj()).resolve_conj())
    assert g.dtype == pb.complex64 and a.requires_grad
    r = pb.tensor([2.0], requires_grad=True)
    (g,) = pb.autograd.grad((r * (1 + 2j)).imag.sum(), r)
    same(g, pb.tensor([2.0]))
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        (a * a).sum().backward()


def test_where_functions_are_constant() -> None:
    origin = pb.zeros(2, dtype=pb.complex128, requires_grad=True)
    for f in (pb.abs, pb.angle, pb.sgn):
        (g,) = pb.autograd.grad(f(origin), origin, pb.ones_like(f(origin)))
        same(g, pb.zeros(2, dtype=pb.complex128))


def test_phases_of_vectors_must_not_matter() -> None:
    a = positive(complex_numbers(3, 3)).requires_grad_()
    for loss in (lambda v: v.real.sum(), lambda v: (v * (1 + 2j)).imag.sum()):
        with pytest.raises(RuntimeError, match=r"multiplication by e\^\{i phi\}"):
            loss(pb.linalg.eigh(a)[1]).backward()
        with pytest.raises(RuntimeError, match=r"multiplication by e\^\{i phi\}"):
            loss(pb.linalg.svd(a, full_matrices=False)[0]).backward()
        with pytest.raises(RuntimeError, match=r"multiplication by e\^\{i phi\}"):
            func.vmap(func.grad(lambda m, loss=loss: loss(pb.linalg.eigh(m)[1])))(pb.stack([a.detach()] * 2))
    pb.linalg.eigh(a)[1].abs().sum().backward()
    assert a.grad.isfinite().all()


# ---------------------------------------------------------------- views
def test_parts_are_views() -> None:
    a = pb.tensor([1 + 2j, 3 - 4j, 5j, 6, 7 + 1j])
    a.real[0], a.imag[1:] = 10.0, 0.0
    same(a, pb.tensor([10 + 2j, 3, 0, 6, 7], dtype=pb.complex64))
    a.imag = pb.arange(5.0)
    a.real.mul_(2)
    same(a, pb.tensor([20 + 0j, 6 + 1j, 2j, 12 + 3j, 14 + 4j]))
    pb.view_as_real(a)[0] = pb.tensor([1.0, -1.0])
    assert a[0].item() == 1 - 1j
    conjugate = a.conj()
    assert conjugate.is_conj() and not a.is_conj() and not conjugate.resolve_conj().is_conj()
    conjugate[1] = 5 + 5j
    assert a[1].item() == 5 - 5j
    a[1] = 2j
    assert conjugate[1].item() == -2j and conjugate.tolist()[1] == -2j
    pairs = pb.zeros(2, 2)
    pb.view_as_complex(pairs)[1] = 3 - 1j
    same(pairs, pb.tensor([[0.0, 0.0], [3.0, -1.0]]))
    m = pb.zeros(2, 3, dtype=pb.complex64)
    m.mH[2, 1] = 1j
    m.H[0, 0] = 2 + 1j
    m.adjoint()[0, 1] = 4j
    same(m, pb.tensor([[2 - 1j, 0, 0], [-4j, 0, -1j]]))
    real = pb.ones(3)
    assert real.conj() is real and real.real is real and pb.conj(real) is real and not real.is_conj()


def test_parts_follow_recorded_writes() -> None:
    a = pb.tensor([1 + 2j, 3 - 4j], dtype=pb.complex128, requires_grad=True)
    b = a * 1
    part, conjugate = b.real, b.conj()
    b.mul_(2j)
    same(part.detach(), pb.tensor([-4.0, 8.0], dtype=pb.float64))
    (g,) = pb.autograd.grad(part.sum() + conjugate.imag.sum(), a)
    same(g, pb.full((2,), -2 - 2j, dtype=pb.complex128))
    c = a * 1
    c.imag.mul_(3)
    (g,) = pb.autograd.grad(c.imag.sum(), a)
    same(g, pb.full((2,), 3j, dtype=pb.complex128))
    with pb.no_grad():
        a.real.zero_()
    same(a.detach(), pb.tensor([2j, -4j], dtype=pb.complex128))
    assert a.is_leaf and a.requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        a.real.zero_()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pb.ones(2).imag, "only supports complex tensors, but got float32"),
        (lambda: pb.view_as_real(pb.ones(2)), "complex tensors"),
        (lambda: pb.view_as_complex(pb.ones(3)), "size 2"),
        (lambda: pb.view_as_complex(pb.ones(2, 30).mT), "stride 1"),
        (lambda: pb.view_as_complex(pb.ones(30, 3)[:, :2]), "divisible by 2"),
        (
            lambda: pb.view_as_complex(pb.ones(2, dtype=pb.int64)),
            "expected dtype float32 or float64 for argument 'input'",
        ),
        (lambda: pb.complex(pb.ones(2), pb.ones(2, dtype=pb.float64)), "expected dtype float32 for argument 'imag'"),
        (
            lambda: pb.complex(pb.ones(2, dtype=pb.int64), pb.ones(2)),
            "expected dtype float32 or float64 for argument 'real'",
        ),
        (lambda: pb.ones(2, dtype=pb.complex64).conj().numpy(), "resolve_conj"),
        (lambda: pb.ones(2, 2, 2, dtype=pb.complex64).H, "matrices"),
    ],
)
def test_what_raises(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


# ---------------------------------------------------------------- conversions
def test_conversions() -> None:
    a = pb.tensor(1 + 2j)
    assert a.dtype == pb.complex64 and a.item() == 1 + 2j and complex(a) == 1 + 2j and a.is_complex()
    assert pb.tensor([[1j, 2]]).tolist() == [[1j, 2 + 0j]]
    assert repr(pb.tensor([1 + 2j])) == "tensor([1.+2.j])"
    for code, dtype in (("c8", pb.complex64), ("c16", pb.complex128)):
        array = np.array([1 + 2j, 3j], dtype=code)
        t = pb.from_numpy(array)
        assert t.dtype == dtype
        array[0] = 7
        assert t[0].item() == 7
        t.numpy()[1] = 1
        assert array[1] == 1
        t.real[0] = -1
        assert array[0] == -1
        for back in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t), t.clone()):
            assert back.dtype == dtype
            same(back, t)
        np.testing.assert_array_equal(np.from_dlpack(t), array)
        same(pb.from_dlpack(array), t)
    for d, other, want in [
        (pb.float32, 1j, pb.complex64),
        (pb.float64, 1j, pb.complex128),
        (pb.int64, 1j, pb.complex64),
        (pb.complex64, 2.5, pb.complex64),
    ]:
        assert (pb.ones(2, dtype=d) * other).dtype == want
    assert (pb.ones(2, dtype=pb.complex64) + pb.ones(2, dtype=pb.float64)).dtype == pb.complex128
    assert pb.promote_types(pb.complex64, pb.int64) == pb.complex64
    leaf = pb.tensor([1j], requires_grad=True)
    assert leaf.requires_grad and leaf.dtype.is_complex
    assert bool(pb.tensor(1j)) and not bool(pb.tensor(0j))
    assert (pb.tensor([1j, 1.0]) == pb.tensor([1j, 2.0])).tolist() == [True, False]
    assert pb.allclose(pb.tensor([1j]), pb.tensor([1j + 1e-9]))
    with pytest.raises(RuntimeError, match="complex"):
        float(a)
    with pytest.raises((RuntimeError, NotImplementedError)):
        pb.lt(pb.tensor([1j]), pb.tensor([1j]))
    assert (pb.tensor([2.0]) ** (2 + 1j)).dtype == pb.complex64
    np.testing.assert_allclose((pb.tensor([2.0]) ** (2 + 1j)).numpy(), np.array([2.0]) ** (2 + 1j), rtol=1e-6)


def test_small_powers_are_exact() -> None:
    x = pb.arange(100.0).to(pb.complex64) - 3j
    assert pb.equal(x**1, x) and pb.equal(pb.pow(x, 1.0), x) and (x**1) is not x
    assert pb.equal(x**3, x * x * x)
    assert (pb.ones(2, dtype=pb.complex64) ** 1).dtype is pb.complex64
    y = x.clone()
    y.pow_(1).mul_(0)
    assert (x != 0).all()
