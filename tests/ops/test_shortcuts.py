"""Calls of products and sums of plain tensors, which take a shortcut past the general call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import vmap

F = pb.nn.functional

CALLS: dict[str, tuple[Callable[..., pb.Tensor], list[tuple[int, ...]]]] = {
    "matmul": (pb.matmul, [(3, 4), (4, 5)]),
    "matmul of vectors": (pb.matmul, [(4,), (4,)]),
    "mm": (pb.mm, [(3, 4), (4, 5)]),
    "bmm": (pb.bmm, [(2, 3, 4), (2, 4, 5)]),
    "Tensor.mm": (pb.Tensor.mm, [(3, 4), (4, 5)]),
    "linear": (F.linear, [(3, 4), (5, 4)]),
    "linear with a bias": (F.linear, [(3, 4), (5, 4), (5,)]),
    "linear of a vector": (F.linear, [(4,), (5, 4), (5,)]),
    "add": (pb.add, [(3, 4), (4,)]),
    "sub": (pb.sub, [(3, 4), (4,)]),
}


class Plain(pb.Tensor):
    """Takes the general call."""


def given(shapes: list[tuple[int, ...]]) -> list[pb.Tensor]:
    pb.manual_seed(0)
    return [pb.randn(shape, dtype=pb.float64) for shape in shapes]


@pytest.mark.parametrize("name", CALLS)
def test_the_same_as_the_general_call(name: str) -> None:
    f, shapes = CALLS[name]
    args = given(shapes)
    assert type(f(*args)) is pb.Tensor and type(f(*(a.as_subclass(Plain) for a in args))) is Plain
    assert pb.equal(f(*args), f(*(a.as_subclass(Plain) for a in args)).as_subclass(pb.Tensor))
    apart = [a.expand(2, *a.shape).contiguous()[1] for a in args]
    turned = [a.mT.contiguous().mT if a.ndim > 1 else a for a in args]
    for others in (apart, turned):
        pb.testing.assert_close(f(*others), f(*args), atol=1e-13, rtol=0)
    assert pb.autograd.gradcheck(f, tuple(a.requires_grad_() for a in args))
    stacks = [pb.stack([a.detach(), a.detach() * 2]) for a in args]
    each = [f(*(s[i] for s in stacks)) for i in range(2)]
    pb.testing.assert_close(vmap(f)(*stacks), pb.stack(each), atol=1e-13, rtol=0)


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("add", "sub")])
def test_products_under_autocast(name: str) -> None:
    f, shapes = CALLS[name]
    args = [a.float() for a in given(shapes)]
    with pb.autocast("cpu", dtype=pb.bfloat16):
        lowered = f(*args)
    assert lowered.dtype is pb.bfloat16 and f(*args).dtype is pb.float32
    pb.testing.assert_close(lowered.float(), f(*args), atol=0.1, rtol=0.1)


@pytest.mark.parametrize("dtype", [pb.float32, pb.float64])
def test_tiny_products_of_all_sizes(dtype: pb.dtype) -> None:
    """Up to 16 rows and columns, where the second matrix is turned before the product or lies right already."""
    rng = np.random.default_rng(0)
    for k in range(1, 18):
        for n in range(1, 18):
            m = int(rng.integers(1, 18))
            x, w, b = rng.normal(size=(m, k)), rng.normal(size=(n, 2 * k)), rng.normal(size=n)
            parts = [pb.tensor(v, dtype=dtype) for v in (x, w, b)]
            close: Any = {"atol": 1e-5 if dtype is pb.float32 else 1e-13, "rtol": 0}
            for weight, values in ((parts[1][:, :k], w[:, :k]), (parts[1][:, ::2], w[:, ::2])):
                got = F.linear(parts[0], weight, parts[2]), parts[0] @ weight.T, parts[0] @ weight.T.contiguous()
                expected = x @ values.T + b, x @ values.T, x @ values.T
                for ours, theirs in zip(got, expected, strict=True):
                    pb.testing.assert_close(ours, pb.tensor(theirs, dtype=dtype), **close)


def test_other_arguments_take_the_general_call() -> None:
    x, w = given([(3, 4), (5, 4)])
    assert pb.equal(pb.add(x, x, alpha=2), x + 2 * x) and pb.equal(pb.sub(x, x, alpha=3), x - 3 * x)
    assert pb.equal(F.linear(x, w, None), F.linear(x, w)) and pb.equal(F.linear(x, w, bias=None), x @ w.T)
    out = pb.empty(0, dtype=pb.float64)
    assert pb.mm(x, w.T, out=out) is out and pb.equal(out, x @ w.T)
    linear: Any = F.linear
    mm: Any = pb.mm
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: linear(x, w, 3.0), r"linear\(\): argument 'bias' \(position 3\) must be Tensor, not float"),
        (lambda: linear(x, w, x), r"linear\(\): argument 'bias' must have the shape \[5\]"),
        (lambda: linear(x, w.float()), r"linear\(\): expected all arguments to have the same dtype"),
        (lambda: mm(x, w), r"mm\(\): mat1 and mat2 shapes cannot be multiplied \(3x4 and 5x4\)"),
        (lambda: mm(x, w, w), r"mm\(\): takes 2 positional arguments but 3 were given"),
    ]
    for call, message in calls:
        with pytest.raises((RuntimeError, TypeError), match=message):
            call()
