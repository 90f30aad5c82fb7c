"""Conditions that programs check, and `cond`."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

KINDS = [
    ("_check", RuntimeError),
    ("_check_index", IndexError),
    ("_check_value", ValueError),
    ("_check_type", TypeError),
    ("_check_not_implemented", NotImplementedError),
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_checks(name: str, kind: type[Exception]) -> None:
    check: Any = getattr(pb, name)
    check(True)
    check(True, lambda: 1 / 0)
    with pytest.raises(kind, match="Expected cond to be True, but got False"):
        check(False)
    with pytest.raises(kind, match="^7 is odd$"):
        check(False, lambda: "7 is odd")
    with pytest.raises(TypeError, match="cond must be a bool, but got <class 'int'>"):
        check(1)
    with pytest.raises(TypeError, match="message must be a callable"):
        check(False, "text")


def test_checks_of_sizes_and_tensors() -> None:
    pb._check_is_size(3, max=3)
    for i in (-1, 4):
        with pytest.raises(RuntimeError, match="Expected cond"):
            pb._check_is_size(i, max=3)
    pb._check_tensor_all(pb.tensor([True, True]))
    with pytest.raises(RuntimeError, match="not all"):
        pb._check_tensor_all(pb.tensor([True, False]), lambda: "not all")
    with pytest.raises(TypeError, match=r"must have dtype torch\.bool, but got pullback\.float32"):
        pb._check_tensor_all(pb.ones(1))
    pb._assert(pb.tensor(1), "")
    with pytest.raises(AssertionError, match="what"):
        pb._assert(pb.tensor(0), "what")
    pb._assert_async(pb.tensor([2.0]))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value, but got zero"):
        pb._assert_async(pb.tensor(0))


def test_cond() -> None:
    x = pb.tensor([2.0])
    for pred, want in ((True, 3.0), (pb.tensor([False]), 1.0), (0, 1.0), (pb.tensor(0.5), 3.0)):
        assert pb.cond(pred, lambda x: x + 1, lambda x: x - 1, (x,)).item() == want
    assert pb.cond(False, lambda: 1, lambda: 2) == 2
    d = pb.func.grad(lambda x: pb.cond(x > 1, lambda x: x**2, lambda x: x, (x,)))
    assert d(pb.tensor(3.0)) == 6 and d(pb.tensor(0.5)) == 1
    for args, match in (
        (("yes", abs, abs), "pred to be bool or tensor, but got str"),
        ((pb.ones(2), abs, abs), r"single-element tensor, but got one of 2 elements; use where\(\)"),
        ((True, abs, 3), "both branches to be callable"),
        ((True, abs, abs, x), "operands to be a tuple or a list, got Tensor"),
    ):
        with pytest.raises(RuntimeError, match=match):
            pb.cond(*args)


def test_members_of_a_batch_choose() -> None:
    x = pb.tensor([[1.0, 2.0], [-1.0, -3.0]])
    double, negate = (lambda a: {"out": a * 2, "sum": [a.sum()]}), (lambda a: {"out": -a, "sum": [a.sum() * 10]})
    f: Any = lambda a: pb.cond(a.sum() > 0, double, negate, (a,))
    out = pb.func.vmap(f)(x)
    assert out["out"].tolist() == [[2.0, 4.0], [1.0, 3.0]] and out["sum"][0].tolist() == [3.0, -40.0]
    slope = pb.func.vmap(pb.func.grad(lambda a: f(a)["out"].sum()))(x)
    assert slope.tolist() == [[2.0, 2.0], [-1.0, -1.0]]
    nested = pb.func.vmap(pb.func.vmap(lambda a: pb.cond(a > 0, pb.sin, pb.cos, (a,))))(x)
    assert nested.tolist() == pb.where(x > 0, x.sin(), x.cos()).tolist()
    with pytest.raises(RuntimeError, match="both functions must give the same structure under vmap"):
        pb.func.vmap(lambda a: pb.cond(a > 0, lambda b: (b,), lambda b: b, (a,)))(x[0])
