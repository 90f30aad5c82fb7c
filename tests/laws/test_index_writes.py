"""Writes by index change a tensor, its views and its other handles, and nothing else, wherever its memory is."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import pullback as pb


def rows(draw: st.DataObject, n: int, distinct: bool = False) -> np.ndarray:
    lists = st.lists(st.integers(0, n - 1), min_size=1, max_size=4, unique=distinct)
    return np.array(draw.draw(lists), dtype=np.int64)


def put(x: pb.Tensor, a: np.ndarray, d: st.DataObject) -> None:
    i = rows(d, len(a), distinct=True)
    v = np.full((len(i), a.shape[1]), d.draw(st.integers(-9, 9)), dtype=a.dtype)
    how = d.draw(st.sampled_from(["set", "put", "copy", "fill", "scatter"]))
    t, w = pb.tensor(i), pb.tensor(v)
    if how == "set":
        x[t] = w
    elif how == "put":
        x.index_put_((t,), w)
    elif how == "copy":
        x.index_copy_(0, t, w)
    elif how == "fill":
        x.index_fill_(0, t, v[0, 0].item())
    else:
        x.scatter_(0, t[:, None].expand(v.shape), w)
    a[i] = v


def add(x: pb.Tensor, a: np.ndarray, d: st.DataObject) -> None:
    i = rows(d, len(a))
    v = np.full((len(i), a.shape[1]), d.draw(st.integers(-9, 9)), dtype=a.dtype)
    how = d.draw(st.sampled_from(["put", "add", "scatter", "reduce"]))
    t, w = pb.tensor(i), pb.tensor(v)
    if how == "put":
        x.index_put_((t,), w, accumulate=True)
    elif how == "add":
        x.index_add_(0, t, w)
    elif how == "scatter":
        x.scatter_add_(0, t[:, None].expand(v.shape), w)
    else:
        x.scatter_reduce_(0, t[:, None].expand(v.shape), w, "sum")
    np.add.at(a, i, v)


def from_itself(x: pb.Tensor, a: np.ndarray, d: st.DataObject) -> None:
    i, j = rows(d, len(a), distinct=True), d.draw(st.integers(0, len(a) - 1))
    x[pb.tensor(i)] = x[j]
    a[i] = a[j].copy()


def row(x: pb.Tensor, a: np.ndarray, d: st.DataObject) -> None:
    j, n = d.draw(st.integers(0, len(a) - 1)), d.draw(st.integers(-9, 9))
    x[j] += n
    a[j] += n


def all_of_it(x: pb.Tensor, a: np.ndarray, d: st.DataObject) -> None:
    n = d.draw(st.integers(-3, 3))
    x += n
    x *= 2
    a += n
    a *= 2


WRITES = [put, add, from_itself, row, all_of_it]


class Handles:
    """Tensors beside arrays, which share memory where the tensors do."""

    def __init__(self, x: pb.Tensor, a: np.ndarray, shared: bool = False) -> None:
        self.shared = shared
        self.all: list[tuple[pb.Tensor, np.ndarray]] = [(x, a)]
        self.saved: list[tuple[pb.Tensor, pb.Tensor, np.ndarray]] = []

    def grow(self, d: st.DataObject) -> None:
        x, a = d.draw(st.sampled_from(self.all))
        how = d.draw(st.sampled_from(["clone", "detach", "data", "part", "gone", "saved"]))
        if how == "clone":
            self.all.append((x.clone(), a.copy()))
        elif how in ("detach", "data"):
            self.all.append((x.detach() if how == "detach" else x.data, a))
        elif how == "part" and len(a) > 2:
            self.all.append((x[1:], a[1:]))
        elif how == "gone" and len(self.all) > 1:
            self.all.pop(0)
        elif how == "saved" and not self.shared:  # What NumPy may write to raises in a derivative.
            w = pb.tensor(1.0, dtype=pb.float64, requires_grad=True)
            self.saved.append((w, (x * w).sum(), a.copy()))

    def check(self) -> None:
        for x, a in self.all:
            assert x.tolist() == a.tolist()

    def check_saved(self) -> None:
        for w, y, a in self.saved:
            y.backward()
            assert w.grad is not None and w.grad.item() == a.sum()


@given(st.data())
def test_index_writes_are_numpys(d: st.DataObject) -> None:
    shape = d.draw(st.sampled_from([(5, 3), (70, 40)]))
    a = np.arange(shape[0] * shape[1], dtype=np.float64).reshape(shape) % 17
    handles = Handles(pb.tensor(a), a)
    if d.draw(st.booleans()):
        a = a.copy()
        handles = Handles(pb.from_numpy(a), a, shared=True)
    for _ in range(d.draw(st.integers(1, 8))):
        handles.grow(d)
        x, a = d.draw(st.sampled_from(handles.all))
        d.draw(st.sampled_from(WRITES))(x, a, d)
        handles.check()
    handles.check_saved()


def one_level(function: Any) -> Any:
    return lambda x: pb.func.vmap(function)(x[None])[0]


@given(st.data())
def test_transforms_write_what_is_written_outside(d: st.DataObject) -> None:
    a = np.arange(12.0).reshape(4, 3)
    i, v = rows(d, 4, distinct=True), d.draw(st.integers(-9, 9))
    t, w = pb.tensor(i), pb.full((len(i), 3), float(v), dtype=pb.float64)

    def written(x: pb.Tensor) -> pb.Tensor:
        y = x * 1
        y[t] = w
        y.index_add_(0, t, w)
        y += 1
        return y

    want = a.copy()
    want[i] = 2 * v
    want += 1
    x = pb.tensor(a)
    for f in (written, one_level(written), lambda x: pb.func.jvp(written, (x,), (x,))[0]):
        assert f(x).tolist() == want.tolist() and x.tolist() == a.tolist()
    kept = np.ones_like(a)
    kept[i] = 0
    assert pb.func.grad(lambda x: written(x).sum())(x).tolist() == kept.tolist()
