"""Operators over lists of tensors: each tensor's result is that of the operator alone."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback import _foreach

XS = [pb.tensor([0.25, 0.5, 0.75]), pb.tensor([[0.1, 0.9], [0.3, 0.6]])]
YS = [pb.tensor([2.0, 3.0, 0.5]), pb.tensor([[0.2, 1.5], [4.0, 0.25]])]
ZS = [pb.tensor([1.0, 0.5, 4.0]), pb.tensor([[3.0, 2.0], [1.0, 5.0]])]
THREE = ("addcdiv", "addcmul", "lerp")
TWO = ("add", "sub", "mul", "div", "pow", "clamp_max", "clamp_min", "maximum", "minimum", "copy_")


def one(name: str, x: pb.Tensor, *args: Any) -> pb.Tensor:
    found: pb.Tensor
    if name == "norm":
        found = pb.linalg.vector_norm(x, *args)
    elif name == "powsum":
        found = x.abs().pow(*(args or (2,))).sum()
    elif name in ("maximum_", "minimum_"):
        found = getattr(pb, name.rstrip("_"))(x, *args)
    else:
        found = getattr(x.clone(), name)(*args)
    return found


@pytest.mark.parametrize("name", _foreach.NAMES)
def test_each_is_the_operator_alone(name: str) -> None:
    function = getattr(pb, f"_foreach_{name}")
    assert function.__name__ == f"_foreach_{name}"
    bare = name if name.endswith("copy_") else name.rstrip("_")
    others: list[list[pb.Tensor]] = [YS, ZS][: 2 if bare in THREE else 1 if bare in TWO else 0]
    if bare == "mm":
        xs, others = [XS[1], XS[1]], [[YS[1], ZS[1]]]
    else:
        xs = [x.clone() for x in XS]
    want = [one(name, x, *(other[i] for other in others)) for i, x in enumerate(xs)]
    got = function(xs, *others)
    assert type(got) is (list if name.endswith("_") else tuple) and (got is xs) is name.endswith("_")
    assert all(a.equal(b) for a, b in zip(got, want, strict=True))


def test_numbers_lists_of_numbers_and_tensors() -> None:
    for given in (2.0, pb.tensor(2.0), [2.0, 2.0]):
        for a, x in zip(pb._foreach_mul(XS, given), XS, strict=True):
            assert a.equal(x * 2)
    assert [a.tolist() for a in pb._foreach_pow(2, [pb.tensor([1.0, 3.0])])] == [[2.0, 8.0]]
    for values in ([0.5, 0.25], pb.tensor([0.5, 0.25])):
        got = pb._foreach_addcmul(XS, YS, ZS, values)
        for k, a in enumerate(got):
            assert a.equal(XS[k].addcmul(YS[k], ZS[k], value=[0.5, 0.25][k]))
    assert pb._foreach_addcdiv(XS, YS, ZS, value=3)[0].equal(XS[0].addcdiv(YS[0], ZS[0], value=3))
    assert pb._foreach_add(XS, YS, alpha=-0.5)[1].equal(XS[1] - 0.5 * YS[1])
    assert pb._foreach_lerp(XS, YS, 0.25)[0].equal(XS[0].lerp(YS[0], 0.25))


def test_derivatives_and_batches() -> None:
    def f(x: pb.Tensor) -> pb.Tensor:
        return sum((y.sum() for y in pb._foreach_mul([x, x.sin()], [x, 3.0])), pb.tensor(0.0))

    x = pb.tensor([0.5, 2.0])
    assert pb.allclose(pb.func.grad(f)(x), 2 * x + 3 * x.cos())
    assert pb.allclose(pb.func.vmap(pb.func.grad(f))(pb.stack([x, -x]))[1], -2 * x + 3 * x.cos())
    p = [pb.ones(2, requires_grad=True)]
    with pb.no_grad():
        pb._foreach_add_(p, [pb.ones(2)], alpha=-0.5)
    assert p[0].tolist() == [0.5, 0.5]


def test_refusals() -> None:
    add: Any = pb._foreach_add
    for args, kind, match in (
        ((XS, [1.0]), RuntimeError, "same number of elements as scalar list, got 2 and 1"),
        ((XS, YS[:1]), RuntimeError, "same number of tensors, got 2 and 1"),
        (([], 1), RuntimeError, "must have at least one tensor"),
        (
            (XS[0], 1),
            TypeError,
            r"'self' \(position 1\) must be tuple of Tensors, not Tensor",
        ),
        ((XS, YS, 2, 3), TypeError, "at most 2 positional arguments, 4 were given"),
    ):
        with pytest.raises(kind, match=match):
            add(*args)
    with pytest.raises(TypeError, match="multiple values for argument 'value'"):
        pb._foreach_addcmul(XS, YS, ZS, 2, value=3)
    with pytest.raises(RuntimeError, match="1-D tensor, got one of 2 dimensions"):
        pb._foreach_addcmul(XS, YS, ZS, pb.ones(1, 2))
    with pytest.raises(AttributeError, match="_foreach_no_such"):
        pb._foreach_no_such(XS)
