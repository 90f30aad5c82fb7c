"""Indexing in every form: reading, writing, accumulating, with gradients, tangents and batches, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import pullback as pb
from pullback.func import jvp, vjp, vmap
from support import strategies as s

hows = st.integers(0, 2**12)


@st.composite
def indexed(draw: st.DrawFn, arrays_too: bool = True) -> tuple[np.ndarray, tuple[Any, ...], Any]:
    """An array, an index of it that NumPy takes, and the index for tensors."""
    array = draw(s.arrays(s.shapes()))
    index = draw(s.indices(array.shape, arrays_too))
    try:
        view, rest = s.in_two_steps(array, index)
        view[rest]
    except IndexError:
        assume(False)
    return array, index, s.as_index(index, draw(hows))


def read(array: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
    view, rest = s.in_two_steps(array, index)
    return np.asarray(view[rest])


def accumulated(array: np.ndarray, index: tuple[Any, ...], values: Any) -> np.ndarray:
    out = array.copy()
    view, rest = s.in_two_steps(out, index)
    np.add.at(view, rest, values)
    return out


def written(array: np.ndarray, index: tuple[Any, ...], values: Any) -> np.ndarray:
    out = array.copy()
    view, rest = s.in_two_steps(out, index)
    view[rest] = values
    return out


def unique(array: np.ndarray, index: tuple[Any, ...]) -> bool:
    """Whether the index names no element twice."""
    places = read(np.arange(array.size).reshape(array.shape), index)
    return np.unique(places).size == places.size


@given(indexed(), s.arrangements, s.seeds)
def test_reading(case: Any, how: str, seed: int) -> None:
    array, index, ours = case
    want = read(array, index)
    x = s.arranged(array, how).requires_grad_()
    y = x[ours]
    s.close(y, want, "value")
    w = s.numbers(seed, want.shape)
    y.backward(pb.tensor(w))
    s.close(x.grad, accumulated(np.zeros_like(array), index, w), "gradient")
    v = s.numbers(seed + 1, array.shape)
    s.close(jvp(lambda x: x[ours], (pb.tensor(array),), (pb.tensor(v),))[1], read(v, index), "tangent")


@given(indexed(arrays_too=False))
def test_plain_indices_are_views(case: Any) -> None:
    array, index, ours = case
    x = pb.tensor(array)
    y = x[ours]
    entries = ours if isinstance(ours, tuple) else (ours,)
    assume(not any(isinstance(e, pb.Tensor) for e in entries))
    y.fill_(7.0)
    s.close(x, written(array, index, 7.0), "base")
    assert y._version == x._version == 1


@given(indexed(), s.arrangements, s.seeds, st.integers(0, 2**4), st.booleans())
def test_writing(case: Any, how: str, seed: int, ones: int, reuse: bool) -> None:
    """`x[index] = v` for values that broadcast, and both gradients."""
    array, index, ours = case
    assume(unique(array, index))
    target = read(array, index).shape
    shape = tuple(1 if ones >> i & 1 else n for i, n in enumerate(target))[ones % 2 if 0 not in target else 0 :]
    values = s.numbers(seed, shape)
    want = written(array, index, values)
    x, v = s.arranged(array, how).requires_grad_(), pb.tensor(values).requires_grad_()
    y = x * 1.0
    before = y._version
    y[ours] = v
    assert y._version == before + 1
    s.close(y, want, "value")
    w = s.numbers(seed + 1, array.shape)
    y.backward(pb.tensor(w))
    s.close(x.grad, written(w, index, 0.0), "gradient of the base")
    at = read(w, index)
    lead = tuple(range(at.ndim - len(shape)))
    summed = at.sum(axis=lead)
    summed = summed.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)
    s.close(v.grad, summed.reshape(shape), "gradient of the values")


@given(indexed(), s.seeds)
def test_numbers_are_written_wherever_the_index_points(case: Any, seed: int) -> None:
    array, index, ours = case
    x = pb.tensor(array)
    x[ours] = 0.5
    s.close(x, written(array, index, 0.5), "number")
    x[ours] += 0.25
    s.close(x, written(array, index, 0.75), "in place")
    x[ours] *= pb.tensor(2.0)
    s.close(x, written(array, index, 1.5), "in place by a tensor")


@given(indexed(), s.seeds)
def test_accumulating(case: Any, seed: int) -> None:
    """`index_put` with `accumulate`: values of repeated places add up, and each gets the gradient of its place."""
    array, index, _ = case
    view, rest = s.in_two_steps(array, index)
    # index_put takes arrays of positions and masks only, None for a dimension that is kept
    assume(view.ndim == array.ndim and view.shape == array.shape and any(isinstance(e, np.ndarray) for e in rest))
    assume(all(isinstance(e, np.ndarray) or e == slice(None) for e in rest))
    entries = [pb.tensor(e) if isinstance(e, np.ndarray) else None for e in rest]
    while entries[-1] is None:
        entries.pop()
    values = s.numbers(seed, read(array, tuple(rest)).shape)
    want = accumulated(array, tuple(rest), values)
    x, v = pb.tensor(array).requires_grad_(), pb.tensor(values).requires_grad_()
    y = x.index_put(tuple(entries), v, accumulate=True)
    s.close(y, want, "value")
    w = s.numbers(seed + 1, array.shape)
    y.backward(pb.tensor(w))
    s.close(x.grad, w, "gradient of the base")
    s.close(v.grad, read(w, tuple(rest)), "gradient of the values")
    z = (x * 1.0).index_put_(tuple(entries), v, accumulate=True)
    s.close(z, want, "in place")


@given(indexed(), s.seeds, st.booleans(), st.integers(0, 4))
def test_batches(case: Any, seed: int, at_end: bool, which: int) -> None:
    """Under vmap, with batches of the tensor, of one array of positions, or of both: what a loop gives."""
    array, index, _ = case
    dim = array.ndim if at_end else 0
    x = np.stack([array, array + 1, array * 2], dim)
    places = [i for i, e in enumerate(index) if isinstance(e, np.ndarray) and e.dtype != bool and e.size]
    own = s.as_index(index, 0)
    own = own if isinstance(own, tuple) else (own,)
    xs, w = pb.tensor(x), pb.tensor(s.numbers(seed, read(array, index).shape))
    members = [pb.tensor(np.take(x, i, dim)) for i in range(3)]
    has_mask = any(isinstance(e, np.ndarray) and e.dtype == bool for e in index)
    if not places or which == 0 or has_mask:
        if has_mask:
            return
        got = vmap(lambda x: x[own], in_dims=dim)(xs)
        s.close(got, [m[own] for m in members], "batch of the tensor")
        pull = vmap(lambda x: vjp(lambda x: x[own], x)[1](w)[0], in_dims=dim)(xs)
        s.close(pull, [vjp(lambda x: x[own], m)[1](w)[0] for m in members], "gradients")
        return
    at = places[which % len(places)]
    moved = [
        pb.tensor(np.random.default_rng(seed + i).permuted(index[at].reshape(-1)).reshape(index[at].shape))
        for i in range(3)
    ]

    def f(x: Any, i: Any) -> Any:
        return x[(*own[:at], i, *own[at + 1 :])]

    def changed(x: Any, i: Any) -> Any:
        y = x * 1.0
        y[(*own[:at], i, *own[at + 1 :])] = 0.5
        return y

    for g, what in ((f, "read"), (changed, "written")):
        want = [g(m, i) for m, i in zip(members, moved, strict=True)]
        s.close(vmap(g, in_dims=(dim, 0))(xs, pb.stack(moved)), want, f"{what}: batch of both")
        alone = [g(members[0], i) for i in moved]
        s.close(vmap(g, in_dims=(None, 0))(members[0], pb.stack(moved)), alone, f"{what}: batch of the positions")
        same = [g(m, moved[0]) for m in members]
        s.close(vmap(g, in_dims=(dim, None))(xs, moved[0]), same, f"{what}: batch of the tensor")
