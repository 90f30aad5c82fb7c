"""Tensors under NumPy's universal functions and operators, on both sides, plain and under transforms."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import _arrays
from pullback.func import grad, hessian, jacrev, jvp, trace, vmap

same = pb.testing.assert_close

UFUNCS = sorted({u.__name__: u for u in vars(np).values() if isinstance(u, np.ufunc)}.items())
OURS = [(n, u) for n, u in UFUNCS if _arrays._ways(u, "__call__", {}) is not None]
INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm", "invert"}
ABOVE_ONE = {"arccosh"}


def values(u: Any, k: int) -> Any:
    """Operand number `k`, in the domain of the function."""
    if u.__name__ in INTEGERS or (u.__name__ == "ldexp" and k == 1):
        return np.array([[3, 1, 4], [2, 6, 5]][k])
    base = np.array([[0.3, 0.55, 0.8], [0.45, 0.25, 0.7]][k])
    return base + 1 if u.__name__ in ABOVE_ONE else base


def arrays(u: Any) -> list[Any]:
    return [values(u, k) for k in range(u.nin)]


def members(u: Any, positions: list[int]) -> Any:
    """Batches of two: the operands at these positions have a batch in front."""
    return [np.stack([a, a[::-1]]) if k in positions else a for k, a in enumerate(arrays(u))]


def first(x: Any) -> Any:
    return x[0] if isinstance(x, tuple) else x


def test_most_functions_have_an_operator() -> None:
    assert len(OURS) >= 60, [n for n, _ in OURS]


@pytest.mark.parametrize(("name", "u"), OURS)
def test_plain(name: str, u: Any) -> None:
    expected = first(u(*arrays(u)))
    for k in range(u.nin):
        mixed = [pb.tensor(a) if i == k else a for i, a in enumerate(arrays(u))]
        out = first(u(*mixed))
        assert isinstance(out, pb.Tensor), (name, k, type(out))
        assert out.dtype == pb.tensor(expected).dtype
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "u"), OURS)
def test_under_vmap(name: str, u: Any) -> None:
    for k in range(u.nin):
        full = members(u, [k])
        dims = tuple(0 if i == k else None for i in range(u.nin))
        mixed = [pb.tensor(a) if i == k else a for i, a in enumerate(full)]
        out = vmap(lambda *xs: first(u(*xs)), in_dims=dims)(*mixed)
        loop = [first(u(*[a[b] if i == k else a for i, a in enumerate(mixed)])) for b in range(2)]
        same(out, pb.stack(loop), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "u"), [x for x in OURS if x[0] not in INTEGERS])
def test_under_grad_and_jvp(name: str, u: Any) -> None:
    step = 1e-6
    for k in range(u.nin):
        given = arrays(u)
        if given[k].dtype.kind != "f" or first(u(*given)).dtype.kind != "f":
            continue

        def f(x: Any, k: int = k, given: Any = given) -> Any:
            return first(u(*[x if i == k else a for i, a in enumerate(given)]))

        out, slope = jvp(f, (pb.tensor(given[k]),), (pb.ones(3, dtype=pb.float64),))
        assert isinstance(out, pb.Tensor)
        if name == "matmul":
            expected = grad(lambda x: f(x))(pb.tensor(given[k])).sum()
            same(slope, expected)
            continue
        numeric = (f(given[k] + step) - f(given[k] - step)) / (2 * step)
        np.testing.assert_allclose(slope.numpy(), numeric, rtol=1e-5, atol=1e-7)
        g = grad(lambda x, f=f: f(x).sum())(pb.tensor(given[k]))
        expected = numeric if name != "vecdot" else given[1 - k]
        np.testing.assert_allclose(g.numpy(), expected, rtol=1e-5, atol=1e-7)
        leaf = pb.tensor(given[k], requires_grad=True)
        total = f(leaf).sum()
        assert total.requires_grad or not g.any(), "what does not follow its argument is constant"
        if total.requires_grad:
            total.backward()
        same(pb.zeros_like(g) if leaf.grad is None else leaf.grad, g)


@pytest.mark.parametrize(("name", "u"), [x for x in UFUNCS if x not in OURS])
def test_functions_without_an_operator_raise_and_never_detach(name: str, u: Any) -> None:
    t = pb.tensor([0.5, 0.25], dtype=pb.float64, requires_grad=True)
    args = [t] * u.nin
    with pytest.raises((RuntimeError, TypeError)):
        u(*args)
    with pytest.raises((RuntimeError, TypeError)):
        jvp(lambda x: first(u(*[x] * u.nin)), (t.detach(),), (t.detach(),))


SYMBOLS: list[Callable[[Any, Any], Any]] = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]
OPERANDS = {
    "float64": np.array([3.0, 4.0]),
    "float32": np.array([[3, 4], [1, 2]], dtype="f4"),
    "int32": np.array([3, 4], dtype="i4"),
    "bool": np.array([True, False]),
    "complex": np.array([1j, 2.0]),
    "0-d": np.array(3.0),
    "0-d int": np.array(3),
    "reversed": np.array([4.0, 3.0])[::-1],
    "read-only": np.broadcast_to(np.float64(2), (2,)),
    "foreign order": np.array([3.0, 4.0], dtype=">f4"),
}


def attempt(f: Callable[[], Any]) -> Any:
    try:
        return f()
    except (TypeError, RuntimeError, NotImplementedError) as e:
        return type(e)


def arithmetic_is_numpys(symbol: Any, t: pb.Tensor, a: Any) -> None:
    """As in PyTorch, also in a batch and where a gradient follows."""
    one = np.asarray(t)
    for of, expected in [
        (lambda t: symbol(t, a), lambda: symbol(one, a)),
        (lambda t: symbol(a, t), lambda: symbol(a, one)),
    ]:
        out = attempt(expected)
        got = attempt(lambda of=of: of(t))
        if isinstance(out, type):
            assert got is out
            continue
        assert type(got) is pb.Tensor
        same(got, pb.from_numpy(np.array(out, dtype=out.dtype.newbyteorder("="))), equal_nan=True)
        member = attempt(lambda of=of: vmap(of)(t[None]))
        if not isinstance(member, type):
            same(member[0], got, equal_nan=True)
        if t.is_floating_point() and a.dtype.kind in "biuf":
            followed = attempt(lambda of=of: of(t.clone().requires_grad_()))
            assert isinstance(followed, type) or followed.dtype is got.dtype


@pytest.mark.parametrize("symbol", SYMBOLS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", OPERANDS)
@pytest.mark.parametrize("dtype", [pb.float32, pb.int64, pb.bool, pb.bfloat16])
def test_symbols_promote_as_numpy_does_or_tensors(symbol: Any, kind: str, dtype: Any) -> None:
    a = OPERANDS[kind]
    t = pb.tensor([1, 2]).to(dtype)
    if dtype is not pb.bfloat16 and symbol in SYMBOLS[:7] + SYMBOLS[8:13]:
        with np.errstate(all="ignore"):
            arithmetic_is_numpys(symbol, t, a)
        return
    of_array = pb.tensor(np.array(a, dtype=a.dtype.newbyteorder("=")))
    for x, y, u, v in [(t, a, t, of_array), (a, t, of_array, t)]:
        got, expected = attempt(lambda x=x, y=y: symbol(x, y)), attempt(lambda u=u, v=v: symbol(u, v))
        if symbol is operator.matmul and isinstance(expected, type) and isinstance(got, pb.Tensor):
            # Products of two dtypes, which are NumPy's.
            expected = pb.from_numpy(np.asarray(symbol(np.asarray(x), np.asarray(y))))
        if isinstance(expected, type):
            assert got is expected, (kind, got, expected)
            continue
        assert type(got) is pb.Tensor
        same(got, expected, equal_nan=True)


@pytest.mark.parametrize("symbol", SYMBOLS[:7] + SYMBOLS[13:], ids=lambda f: f.__name__)
def test_symbols_with_numpy_scalars_are_those_with_numbers(symbol: Any) -> None:
    t = pb.tensor([1.0, 2.0])
    for scalar in (np.float64(2), np.float32(2), np.int32(2), np.bool_(True), np.longdouble(2)):
        n = float(scalar) if isinstance(scalar, np.longdouble | np.bool_) else scalar.item()
        for x, y, u, v in [(t, scalar, t, n), (scalar, t, n, t)]:
            got, expected = attempt(lambda x=x, y=y: symbol(x, y)), attempt(lambda u=u, v=v: symbol(u, v))
            if isinstance(expected, type):
                assert got is expected
                continue
            assert type(got) is pb.Tensor
            same(got, expected)


def test_gradients_flow_on_both_sides() -> None:
    t = pb.tensor([1.0, 2.0])
    a = np.array([3.0, 5.0])
    assert grad(lambda x: (a * x).sum())(t).tolist() == [3, 5]
    assert grad(lambda x: (x * a).sum())(t).tolist() == [3, 5]
    assert grad(lambda x: (a - x).sum())(t).tolist() == [-1, -1]
    assert grad(lambda x: a @ x)(t.double()).tolist() == [3, 5]
    same(hessian(lambda x: (a * x**2).sum())(t), pb.diag(pb.tensor([6.0, 10.0])))
    same(jacrev(lambda x: np.outer(a, a) @ x)(t.double()), pb.tensor(np.outer(a, a)))
    same(vmap(grad(lambda x, y: (a * x * y).sum()), in_dims=(0, None))(pb.ones(3, 2), t), pb.tensor([[3.0, 10.0]] * 3))
    same(trace(lambda x: a * np.sin(x))(t)(t + 1), a * pb.sin(t + 1))
    leaf = pb.tensor([1.0, 2.0], requires_grad=True)
    (np.exp(leaf) * a + np.float64(2) * leaf).sum().backward()
    assert leaf.grad is not None
    same(leaf.grad, (pb.exp(pb.tensor([1.0, 2.0])) * a + 2).float())


def test_what_is_read_of_an_array_is_its_value_then() -> None:
    t = pb.tensor([1.0, 2.0], requires_grad=True)
    a = np.array([3.0, 5.0], dtype="f4")
    y = t * a
    a[:] = 0
    y.sum().backward()
    assert t.grad is not None and t.grad.tolist() == [3, 5]


def test_comparisons_are_elementwise() -> None:
    t = pb.tensor([1.0, 2.0])
    a = np.array([1.0, 3.0])
    assert (t == a).tolist() == (a == t).tolist() == [True, False]
    assert (
        (t != a).tolist() == [False, True] and (a < t).tolist() == [False, False] and (a <= t).tolist() == [True, False]
    )
    for symbol in (operator.eq, operator.ne, operator.lt):
        with pytest.raises(RuntimeError, match="size|shape|broadcast"):
            symbol(pb.ones(2, 2), np.zeros((3, 3)))
    assert (t == "a") is False and (t == None) is False  # noqa: E711
    assert vmap(lambda v: v == a)(t.expand(3, 2)).tolist() == [[True, False]] * 3


_IN_PLACE = [
    (operator.iadd, operator.add),
    (operator.isub, operator.sub),
    (operator.imul, operator.mul),
    (operator.itruediv, operator.truediv),
    (operator.ipow, operator.pow),
    (operator.ifloordiv, operator.floordiv),
    (operator.imod, operator.mod),
    (operator.imatmul, operator.matmul),
    (operator.iand, operator.and_),
    (operator.ior, operator.or_),
    (operator.ixor, operator.xor),
    (operator.ilshift, operator.lshift),
    (operator.irshift, operator.rshift),
]


@pytest.mark.parametrize(("in_place", "symbol"), _IN_PLACE)
@pytest.mark.parametrize("dtype", ["bool", "i4", "i8", "f2", "f4", "f8", "c8", "O", "U1"])
def test_in_place_with_an_array_gives_the_tensor_of_the_operator(in_place: Any, symbol: Any, dtype: str) -> None:
    array = np.array([[1, 0], [2, 1]]).astype(dtype)
    for of in (pb.bool, pb.int32, pb.int64, pb.float16, pb.bfloat16, pb.float32, pb.float64, pb.complex64):
        t = pb.tensor([[1, 2], [3, 1]]).to(of)
        before, view = t.clone(), t[:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                expected = symbol(t, array)
            except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
                with pytest.raises(type(error)):
                    in_place(t, array)
                continue
            out = in_place(t, array)
        assert out is not t and out.dtype == expected.dtype and (t == before).all() and (view == before).all()
        assert pb.allclose(out, expected, equal_nan=True)


def test_in_place_with_what_is_no_number_is_the_operator_of_the_other_operand() -> None:
    class Answers:
        def __radd__(self, other: object) -> tuple[object, str]:
            return other, "added"

        __rmul__ = __rpow__ = __rand__ = __radd__

    for symbol in (operator.iadd, operator.imul, operator.ipow, operator.iand):
        t = pb.ones(2)
        assert symbol(t, Answers()) == (t, "added")
        for other in ([1.0, 2.0], "a", None, object(), Decimal(1)):
            with pytest.raises(TypeError, match="unsupported operand"):
                symbol(t, other)
    t = pb.tensor([4.0])
    t **= Fraction(1, 2)
    same(t, pb.tensor([2.0]))


def test_in_place_with_an_array_where_derivatives_follow() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y *= np.array([3.0, 4.0], dtype="f4")
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 4]
    with pytest.raises(RuntimeError, match="leaf"):
        x += np.ones(2)
    # The step would be lost: the name means a new tensor afterwards, and the module keeps the old one.
    with pb.no_grad(), pytest.raises(RuntimeError, match=r"add_\(\).*requires grad.*from_numpy"):
        x += np.ones(2)

    def scaled(v: pb.Tensor) -> pb.Tensor:
        w = kept = v * 1
        w *= np.array([3.0, 4.0], dtype="f4")
        return kept.sum() + w.sum()

    same(grad(scaled)(pb.ones(2)), pb.tensor([4.0, 5.0]))
    same(vmap(scaled)(pb.ones(3, 2)), pb.full((3,), 9.0))


@pytest.mark.parametrize("of", [pb.bool, pb.int32, pb.float32, pb.complex64])
def test_numpys_bool_is_a_float(of: pb.dtype) -> None:
    t = pb.tensor([1, 2]).to(of)
    # There is no `bool - number`.
    others = (operator.add, operator.mul, operator.truediv, operator.pow)
    for symbol in others if of is pb.bool else (operator.sub, *others):
        for flag in (True, False):
            expected = symbol(t, float(flag))
            for out in (symbol(t, np.bool_(flag)), getattr(pb, symbol.__name__.replace("true", ""))(t, np.bool_(flag))):
                assert out.dtype == expected.dtype
                same(out, expected, equal_nan=True)
            assert symbol(np.bool_(flag), t).dtype == symbol(float(flag), t).dtype
    assert pb.tensor(np.bool_(True)).dtype == pb.bool and pb.full((2,), np.bool_(True)).dtype == pb.float32


def test_in_place_on_an_array_writes_into_it() -> None:
    a = np.ones(2)
    b = a
    a += pb.tensor([1.0, 2.0])
    a *= pb.tensor([2, 3])
    assert a is b and type(a) is np.ndarray and a.tolist() == [4, 9]
    with pytest.raises(RuntimeError, match=r"np\.add\(\).*requires grad.*arr = arr \+ t"):
        a += pb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"np\.add\(\).*requires grad"):
        grad(lambda x: np.add(a, x, out=a).sum())(pb.ones(2))
    assert a.tolist() == [4, 9]
    with pytest.raises(TypeError):
        i = np.ones(2, dtype=int)
        i += pb.tensor([0.5, 0.5])


def test_methods_of_functions() -> None:
    t = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    i = pb.tensor([3, 1, 2])
    for out, expected in [
        (np.add.reduce(t), [4, 6]),
        (np.add.reduce(t, axis=1, keepdims=True), [[3], [7]]),
        (np.add.accumulate(t), [[1, 2], [4, 6]]),
        (np.add.reduceat(i, [0, 1]), [3, 3]),
    ]:
        assert isinstance(out, pb.Tensor) and out.tolist() == expected
    assert float(np.add.reduce(t, axis=None)) == 10
    assert np.add.outer(i, i).tolist() == [[6, 4, 5], [4, 2, 3], [5, 3, 4]]
    z = np.zeros(3)
    np.add.at(z, i - 1, 1.0)
    assert z.tolist() == [1, 1, 1]
    leaf = t.clone().requires_grad_()
    same(np.add.reduce(leaf, axis=None), leaf.sum())
    same(np.multiply.reduce(leaf, axis=1, keepdims=True), leaf.prod(1, keepdim=True))
    same(np.maximum.reduce(leaf, axis=(0, 1)), leaf.amax())
    same(np.add.accumulate(leaf, axis=1), leaf.cumsum(1))
    same(np.multiply.outer(leaf[0], np.arange(3.0)), pb.outer(leaf[0], pb.arange(3.0)).double())
    assert grad(lambda x: np.add.reduce(x * x, axis=0)[0])(t).tolist() == [[2, 0], [6, 0]]
    for refused in (
        lambda: np.add.reduceat(leaf[0], [0, 1]),
        lambda: np.add.at(np.zeros(2), [0, 1], leaf[0]),
        lambda: np.subtract.reduce(leaf),
        lambda: np.add.reduce(leaf, dtype="f8"),
        lambda: np.sin(leaf, where=np.array([True, False])),
        lambda: np.cbrt(leaf),
    ):
        with pytest.raises((RuntimeError, TypeError), match="np.*grad"):
            refused()


def test_options_of_plain_calls_are_numpys() -> None:
    t = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    buffer = np.zeros((2, 2))
    assert np.sin(t, out=buffer) is buffer and buffer[0, 0] == np.sin(np.float32(1))
    out = np.add(t, 1, where=np.array([True, False]), out=np.zeros((2, 2)))
    assert type(out) is np.ndarray and out.tolist() == [[2, 0], [4, 0]]
    assert np.add(t, t, dtype="f8").dtype == pb.float64
    with pytest.raises(TypeError, match="return arrays must be"):
        np.add(buffer, buffer, out=t)
    assert np.sin(pb.tensor([1, 2])).dtype == pb.float64


# NumPy functions that are no universal functions: the class of the result, as recorded from PyTorch.
KINDS: dict[str, tuple[Callable[[Any], Any], type]] = {
    "concatenate": (lambda t: np.concatenate([t, t]), np.ndarray),
    "stack": (lambda t: np.stack([t, t]), np.ndarray),
    "vstack": (lambda t: np.vstack([t, t]), np.ndarray),
    "asarray": (np.asarray, np.ndarray),
    "array": (np.array, np.ndarray),
    "array of scalars": (lambda t: np.array([t[0, 0], t[0, 1]]), np.ndarray),
    "copy": (np.copy, np.ndarray),
    "argsort": (np.argsort, pb.Tensor),
    "cumsum": (lambda t: np.cumsum(t, axis=0), pb.Tensor),
    "where": (lambda t: np.where(t > 1, t, 0), np.ndarray),
    "unique": (np.unique, np.ndarray),
    "dot": (lambda t: np.dot(t, t), np.ndarray),
    "einsum": (lambda t: np.einsum("ij,jk", t, t), np.ndarray),
    "allclose": (lambda t: np.allclose(t, t), bool),
    "array_equal": (lambda t: np.array_equal(t, t), bool),
    "norm": (np.linalg.norm, np.floating),
    "diff": (np.diff, np.ndarray),
    "isclose": (lambda t: np.isclose(t, t), np.ndarray),
}
# Those that call our method of that name.
METHODS = {"argsort", "cumsum"}


@pytest.mark.parametrize("name", KINDS)
def test_other_functions_give_what_they_gave(name: str) -> None:
    f, kind = KINDS[name]
    t = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = f(t)
    assert isinstance(out, kind), type(out)
    np.testing.assert_allclose(np.asarray(out), np.asarray(f(t.numpy())), rtol=1e-6)


# Those that have an operator of ours, which derivatives go through.
DERIVED = {"concatenate", "stack", "vstack", "copy", "where", "dot", "einsum", "norm"}


@pytest.mark.parametrize("name", [k for k in KINDS if k not in {"array_equal", *METHODS}])
def test_other_functions_never_detach(name: str) -> None:
    f, _ = KINDS[name]
    t = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    if name in DERIVED:
        assert f(t).requires_grad
        return
    with pytest.raises(RuntimeError, match="requires grad"):
        f(t)


def test_arrays_that_do_not_go_with_tensors() -> None:
    t = pb.tensor([1.0, 2.0])
    leaf = t.clone().requires_grad_()
    assert (t * np.ones(2, dtype="u8")).tolist() == [1, 2]  # by NumPy, for no dtype here holds them
    assert (leaf * np.ones(2, dtype="u2")).requires_grad
    for bad in (np.array(["a", "b"]), np.array([1, None]), np.array(["2020-01-01"] * 2, dtype="M8[D]")):
        for x, y in [(t, bad), (bad, t), (leaf, bad), (bad, leaf)]:
            with pytest.raises((TypeError, RuntimeError)):
                x * y
    for carried in (leaf * 1, leaf):
        with pytest.raises(TypeError, match=r"np\.multiply\(\).*uint64"):
            carried * np.ones(2, dtype="u8")
    assert (t * np.longdouble(2)).tolist() == [2, 4]


def test_arguments_of_functions_stay_tensors() -> None:
    t, a = pb.ones(2), np.ones(2)
    for call in (
        lambda: pb.add(t, a),
        lambda: pb.mul(a, t),
        lambda: t.add(a),
        lambda: t.mul_(a),
        lambda: pb.maximum(t, a),
    ):
        with pytest.raises(TypeError, match="argument '(other|input)'.*must be Tensor.*not .*ndarray"):
            call()
    assert t[np.array([0, 1])].shape == (2,) and t[np.array([True, False])].tolist() == [1]
    t[np.array([0])] = np.array([5.0])
    assert t.tolist() == [5, 1]
    assert a[pb.tensor(1)] == 1 and a[pb.tensor([True, False])].tolist() == [1]
