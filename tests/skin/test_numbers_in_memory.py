"""Views of complex numbers and of their parts, three deep, beside NumPy's views of the same memory.

A tensor is an array, which says where its elements are, and whether they are conjugated or negated on the way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import pullback as pb


class Shown(NamedTuple):
    array: np.ndarray
    conjugated: bool = False
    negated: bool = False

    def numbers(self) -> np.ndarray:
        out = self.array.conj() if self.conjugated else self.array
        return -out if self.negated else out


def real(a: Shown) -> Shown | None:
    return Shown(a.array.real, negated=a.negated)


def imag(a: Shown) -> Shown | None:
    if not np.iscomplexobj(a.array):
        return None
    return Shown(a.array.imag, negated=a.negated != a.conjugated)


def conj(a: Shown) -> Shown | None:
    return a._replace(conjugated=np.iscomplexobj(a.array) and not a.conjugated)


def turned(a: Shown) -> Shown | None:
    return a._replace(array=a.array.swapaxes(-1, -2)) if a.array.ndim > 1 else None


def adjoint(a: Shown) -> Shown | None:
    b = turned(a)
    return b and conj(b)


def as_real(a: Shown) -> Shown | None:
    if not np.iscomplexobj(a.array) or a.conjugated:
        return None
    return Shown(parts(a.array), negated=a.negated)


def parts(array: np.ndarray) -> np.ndarray:
    strides = (*array.strides, array.itemsize // 2)
    return np.lib.stride_tricks.as_strided(array.real, (*array.shape, 2), strides)


def as_complex(a: Shown) -> Shown | None:
    x = a.array
    if np.iscomplexobj(x) or not x.ndim or x.shape[-1] != 2 or x.strides[-1] != x.itemsize:
        return None
    if any(s % (2 * x.itemsize) for s in x.strides[:-1]):
        return None
    return Shown(x.view(np.complex128)[..., 0], negated=a.negated)


def row(a: Shown) -> Shown | None:
    return a._replace(array=a.array[1]) if a.array.ndim > 1 else None


VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Shown], Shown | None]]] = {
    "real": (lambda t: t.real, real),
    "imag": (lambda t: t.imag, imag),
    "conj()": (lambda t: t.conj(), conj),
    "mH": (lambda t: t.mH, adjoint),
    "mT": (lambda t: t.mT, turned),
    "view_as_real": (pb.view_as_real, as_real),
    "view_as_complex": (pb.view_as_complex, as_complex),
    "_neg_view()": (lambda t: t._neg_view(), lambda a: a._replace(negated=not a.negated)),
    "[1]": (lambda t: t[1], row),
    "detach()": (lambda t: t.detach(), lambda a: a),
}
BASES = {"complex": np.array([[1 + 2j, 3 - 4j], [5 + 6j, -7 + 8j]]), "real": np.arange(1.0, 9.0).reshape(2, 2, 2)}
PATHS = [p for n in (1, 2, 3) for p in itertools.product(VIEWS, repeat=n)]


def follow(kind: str, path: tuple[str, ...]) -> tuple[Any, Any, np.ndarray, Shown] | None:
    """A base and its view, as tensors and as arrays; None if there is no such view."""
    array = BASES[kind].copy()
    shown: Shown | None = Shown(array)
    for name in path:
        shown = shown and VIEWS[name][1](shown)
    if shown is None:
        return None
    base = pb.tensor(BASES[kind])
    t = base
    for name in path:
        t = VIEWS[name][0](t)
    return base, t, array, shown


@pytest.mark.parametrize("kind", sorted(BASES))
@pytest.mark.parametrize("shared", [False, True])
def test_places_and_flags(kind: str, shared: bool) -> None:
    for path in PATHS:
        found = follow(kind, path)
        if found is None:
            continue
        base, t, array, shown = found
        where = f"{kind}.{'.'.join(path)}"
        if shared:
            base.data_ptr()
        assert (t.is_conj(), t.is_neg()) == (shown.conjugated, shown.negated), where
        assert t.shape == shown.array.shape, where
        assert t.stride() == tuple(s // shown.array.itemsize for s in shown.array.strides), where
        start = shown.array.ctypes.data - array.ctypes.data
        assert t.storage_offset() * t.element_size() == start, where
        assert t.data_ptr() - base.data_ptr() == start, where
        assert t.untyped_storage().data_ptr() == base.untyped_storage().data_ptr(), where
        np.testing.assert_array_equal(t.numpy(force=True), shown.numbers(), where)
        delayed = shown.conjugated or shown.negated
        if delayed:
            bit = "conjugate" if shown.conjugated else "negative"
            with pytest.raises(RuntimeError, match=rf"Can't call numpy\(\) on Tensor that has {bit}"):
                t.numpy()
        else:
            seen = t.numpy()
            np.testing.assert_array_equal(seen, shown.array, where)
            assert np.shares_memory(seen, base.numpy()), where
        assert (t.resolve_conj() is t) == (not shown.conjugated), where
        assert (t.resolve_neg() is t) == (not shown.negated), where
        plain = t.resolve_conj().resolve_neg()
        assert not plain.is_conj() and not plain.is_neg(), where
        np.testing.assert_array_equal(plain.numpy(), shown.numbers(), where)
        assert t.clone().is_conj() is False and (t * 1).is_neg() is False, where


@pytest.mark.parametrize("kind", sorted(BASES))
@pytest.mark.parametrize("outside", [False, True])
def test_writes_reach_the_base(kind: str, outside: bool) -> None:
    for path in PATHS:
        found = follow(kind, path)
        if found is None:
            continue
        base, t, array, shown = found
        where = f"{kind}.{'.'.join(path)}"
        if outside:
            seen = base.numpy()
            seen *= 3
            array *= 3
        t.mul_(2)
        shown.array[...] *= 2
        np.testing.assert_array_equal(t.resolve_conj().resolve_neg().numpy(), shown.numbers(), where)
        np.testing.assert_array_equal(base.numpy(), array, where)
        assert t._version == base._version == 1, where
        base += 1
        array += 1
        np.testing.assert_array_equal(t.numpy(force=True), shown.numbers(), where)


def test_derivatives_go_through_every_view() -> None:
    z = pb.tensor(BASES["complex"]).requires_grad_()
    c = z.conj()
    c.retain_grad()
    y = c.conj()
    assert not y.is_conj() and y._base is z and y.requires_grad
    (y * pb.tensor(1 + 1j)).real.sum().backward()
    pb.testing.assert_close(c.grad, pb.full((2, 2), 1 + 1j, dtype=pb.complex128))
    pb.testing.assert_close(z.grad, pb.full((2, 2), 1 - 1j, dtype=pb.complex128))
    (g,) = pb.autograd.grad(c.imag.sum(), c)
    pb.testing.assert_close(g, pb.full((2, 2), 1j, dtype=pb.complex128))
    with pb.no_grad():
        quiet = z.conj()
    assert not quiet.conj().requires_grad or quiet.requires_grad


def test_delayed_numbers_in_a_loop() -> None:
    z = pb.tensor([1 + 2j])
    t = z
    for _ in range(5001):
        t = t.conj()
    assert t.is_conj() and t.data_ptr() == z.data_ptr()
    t.add_(1j)
    assert z.tolist() == [1 + 1j]
    x = pb.tensor([[1.0, 2.0]])
    y = x
    for _ in range(2000):
        y = pb.view_as_real(pb.view_as_complex(y))
    assert y.data_ptr() == x.data_ptr()


def test_what_cannot_be_negated() -> None:
    with pytest.raises((RuntimeError, NotImplementedError), match="bool"):
        pb._neg_view(pb.tensor([True]))
    assert pb._neg_view(pb.tensor([1, -2])).tolist() == [-1, 2]
