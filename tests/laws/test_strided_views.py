"""`as_strided` under transforms shows what it shows outside, and lies in memory as there, whatever it repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import pullback as pb
from pullback.func import grad, jvp, vmap
from support import strategies as s

N = 24
Strided = tuple[tuple[int, ...], tuple[int, ...], int]


@st.composite
def strided(draw: st.DrawFn) -> Strided:
    """Sizes, strides and an offset within 24 elements, of which some may be there several times."""
    sizes, strides, left = [], [], N - 1
    for _ in range(draw(st.integers(0, 3))):
        stride = draw(st.integers(0, 7))
        n = draw(st.integers(1, min(4, left // stride + 1) if stride else 4))
        left -= stride * (n - 1)
        sizes.append(n)
        strides.append(stride)
    return tuple(sizes), tuple(strides), draw(st.integers(0, left))


@given(strided(), strided(), s.seeds, st.booleans())
@example(((2, 2, 1), (1, 0, 2), 0), ((), (), 1), 0, False)
def test_values_strides_and_derivatives(view: Strided, again: Strided, seed: int, reverses: bool) -> None:
    x, v = (pb.tensor(s.numbers(seed + i, (4, 6))) for i in range(2))
    last = min(again[2], int(np.prod(view[0])) - 1)
    seen: list[list[int]] = []

    def f(x: Any) -> Any:
        y = x * 1.0
        shown = y.as_strided(*view)
        made = shown * 3.0 + shown.sin()
        seen.append([step for t in (shown, made) for step, n in zip(t.stride(), t.shape, strict=True) if n > 1])
        if reverses:
            y.cumsum_(0)
        return made.as_strided((), (), last).square() + y.as_strided(*again).cos().sum()

    def slope(x: Any) -> Any:
        return jvp(f, (x,), (v,))[1]

    along = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
    s.close(slope(x), along, "jvp", 1e-6, 1e-6)
    s.close((grad(f)(x) * v).sum(), along, "grad", 1e-6, 1e-6)
    leaf = x.clone().requires_grad_()
    s.close((pb.autograd.grad(f(leaf), leaf)[0] * v).sum(), along, "backward", 1e-6, 1e-6)
    s.close(vmap(f)(pb.stack([x, x])), pb.stack([f(x)] * 2), "vmap", 1e-12, 1e-12)
    s.close((grad(slope)(x) * v).sum(), jvp(slope, (x,), (v,))[1], "second derivatives", 1e-9, 1e-9)
    assert all(strides == seen[0] for strides in seen), seen


def test_members_whose_places_were_written_lie_as_outside() -> None:
    """The stride of a dimension of size 1 does not put the batch inside of the members."""
    x = pb.tensor(s.numbers(0, (2, 2)))

    def f(x: Any) -> Any:
        x[(slice(None), pb.tensor(True))] = pb.tensor([[1.0], [2.0]], dtype=pb.float64)
        doubled = x.as_strided((2, 1), (0, 3), 0) * 2
        first = doubled.as_strided((), (), 0)
        first += 5
        return pb.tensor(doubled.stride()), doubled.as_strided((), (), 1), first

    for dim in (0, 1, -1):
        strides, second, first = vmap(f, in_dims=dim)(x.clone())
        assert strides.tolist() == [[1, 1]] * 2 and second.tolist() == [2, 2] and first.tolist() == [7, 7]


@given(strided(), s.seeds)
def test_writes_where_no_element_is_shown_twice(view: Strided, seed: int) -> None:
    """Also where dimensions interleave: which elements are shown is counted, not guessed by the strides."""
    sizes, strides, offset = view
    places = np.full(sizes, offset)
    for d, (n, step) in enumerate(zip(sizes, strides, strict=True)):
        places = places + (np.arange(n) * step).reshape([-1 if k == d else 1 for k in range(len(sizes))])
    x, v = pb.tensor(s.numbers(seed, (24,))), pb.tensor(s.numbers(seed + 1, sizes))
    if len(np.unique(places)) < places.size:
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            x.as_strided(*view).mul_(v)
        return
    want = x.numpy().copy()
    want[places.reshape(-1)] *= v.numpy().reshape(-1)

    def f(x: Any) -> Any:
        y = x * 1.0
        y.as_strided(*view).mul_(v)
        return y

    s.close(f(x), want, "written", 1e-12, 1e-12)
    s.close(vmap(f)(pb.stack([x, x])), np.stack([want] * 2), "written under vmap", 1e-12, 1e-12)
    slope = np.ones(24)
    slope[places.reshape(-1)] = v.numpy().reshape(-1)
    s.close(grad(lambda x: f(x).sum())(x), slope, "gradient", 1e-12, 1e-12)
    s.close(jvp(f, (x,), (pb.ones_like(x),))[1], slope, "tangent", 1e-12, 1e-12)


AT = pb.tensor([1, 0, 1])
MATRIX = pb.tensor([[0, 1, 0], [1, 1, 0]])
MADE: dict[str, Callable[[Any], Any]] = {
    "x[at]": lambda y: y[AT],
    "x[:, at]": lambda y: y[:, AT],
    "x[at, ..., at]": lambda y: y[AT, ..., AT],
    "x[..., at]": lambda y: y[..., AT],
    "x[matrix.t()]": lambda y: y[MATRIX.t()],
    "x[:, matrix.t()]": lambda y: y[:, MATRIX.t()],
    "x[at, :, 1:]": lambda y: y[AT, :, 1:],
    "cat": lambda y: pb.cat([y, y], 1),
    "cat of the last": lambda y: pb.cat([y, y * 2], -1),
    "stack": lambda y: pb.stack([y, y], 1),
    "stack of the last": lambda y: pb.stack([y, y], -1),
    "roll": lambda y: y.roll(1, 1),
    "unsqueeze": lambda y: y.unsqueeze(1) * 2,
    "select": lambda y: y[1] + y[0],
    "clone": lambda y: y.clone(),
    "sum": lambda y: y * y.sum(1, keepdim=True),
}


@given(st.permutations(range(4)), st.booleans(), st.sampled_from(sorted(MADE)), s.seeds)
@example([0, 2, 3, 1], False, "x[at]", 0)
@example([0, 2, 3, 1], False, "cat", 0)
@example([0, 2, 3, 1], False, "stack", 0)
@example([3, 2, 1, 0], True, "x[matrix.t()]", 0)
def test_results_lie_alike_under_all_transforms(order: list[int], gaps: bool, name: str, seed: int) -> None:
    """What takes and joins members lies as its argument does, and places in its memory are the same ones everywhere."""
    sizes = (2, 3, 4, 5)
    back = [order.index(d) for d in range(4)]
    x, v = (pb.tensor(s.numbers(seed + i, tuple(sizes[d] for d in order))) for i in range(2))
    seen: list[tuple[int, ...]] = []

    def f(x: Any) -> Any:
        y = (x * 1.0).permute(back)
        made = MADE[name](y[..., ::2] if gaps else y)
        seen.append(made.stride())
        twice = made.sin()
        seen.append(twice.stride())
        return twice.as_strided((twice.numel(),), (1,), 0).cumsum(0).cos().sum()

    plain = f(x)
    _, along = jvp(f, (x,), (v,))
    s.close((grad(f)(x) * v).sum(), along, "grad", 1e-9, 1e-9)
    s.close((f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6, along, "differences", 1e-4, 1e-4)
    s.close(vmap(f)(pb.stack([x, x])), pb.stack([plain] * 2), "vmap", 1e-12, 1e-12)
    assert all(strides == seen[i % 2] for i, strides in enumerate(seen)), seen
