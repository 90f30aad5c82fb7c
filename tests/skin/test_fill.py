"""One value may be written where several elements are one place in memory; no other write may."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

same = pb.testing.assert_close


@pytest.mark.parametrize("fill", [lambda t: t.fill_(5), lambda t: t.fill_(pb.tensor(5.0)), lambda t: t.zero_()])
@pytest.mark.parametrize("shape", [(2, 1), (1, 3), (1, 1), (1,), ()])
def test_expanded_tensors_are_filled(fill: Any, shape: tuple[int, ...]) -> None:
    base = pb.arange(6.0).reshape(2, 3)[tuple(slice(0, n) for n in (1,) * (2 - len(shape)) + shape)].reshape(shape)
    x = base.clone()
    wide = x.expand(4, 2, 3)
    assert fill(wide) is wide
    value = float(fill(pb.ones(())))
    same(x, pb.full(shape, value))
    same(wide, pb.full((4, 2, 3), value))


def test_the_derivative_of_what_was_filled_is_zero() -> None:
    x = pb.tensor([[1.0], [2.0]], requires_grad=True)
    y = x * 3
    y[1:].expand(4, 1, 3).fill_(2.0)
    (y * y).sum().backward()
    same(x.grad, pb.tensor([[18.0], [0.0]]))
    (g,) = pb.func.vjp(lambda v: (v.clone()[:1].expand(2, 3).zero_(), v * 2)[1], pb.ones(2, 1))[1](pb.ones(2, 1))
    same(g, pb.full((2, 1), 2.0))


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.add_(1),
        lambda t: t.copy_(pb.arange(6.0).reshape(2, 3)),
        lambda t: t.uniform_(),
        lambda t: t.clamp_(0, 1),
    ],
)
def test_other_writes_are_refused(write: Any) -> None:
    x = pb.tensor([[1.0], [2.0]])
    with pytest.raises(RuntimeError, match=r"unsupported operation: more than one element .* clone\(\) the tensor"):
        write(x.expand(2, 3))
    same(x, pb.tensor([[1.0], [2.0]]))


@pytest.mark.parametrize("size", [6, 40])
def test_places_that_elements_share_are_filled(size: int) -> None:
    for show in (
        lambda t: t.unfold(0, 3, 2),
        lambda t: t[1:].unfold(0, 2, 1).unfold(0, 2, 1),
        lambda t: t.as_strided((2, 2, 2), (1, 2, 1)),
        lambda t: t.expand(3, size).detach(),
        lambda t: t.view(2, -1)[:, 1:].expand(2, 2, size // 2 - 1),
        lambda t: t.view(2, -1).t().unfold(0, 2, 1),
    ):
        x = pb.arange(float(size))
        at = show(pb.arange(size)).flatten()
        want = pb.arange(float(size)).index_fill(0, at, -1.0)
        view = show(x)
        assert view.fill_(-1) is view and (view == -1).all()
        same(x, want)
