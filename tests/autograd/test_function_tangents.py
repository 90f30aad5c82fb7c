"""What the chapter on forward mode promises of a Function's `jvp`: what it is given, when, and what it may change."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.func import jvp


def weighted(materialize: bool, separate: bool) -> tuple[Any, list[Any]]:
    """x · y · k, whose `jvp` notes what it is given."""
    given: list[Any] = []

    def save(ctx: Any, x: Any, y: Any, k: float) -> None:
        ctx.save_for_forward(x, y)
        ctx.set_materialize_grads(materialize)
        ctx.k = k

    class Weighted(Function):
        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            given.append(tangents)
            x, y = ctx.saved_tensors
            tx, ty, _ = tangents
            parts = ([] if tx is None else [tx * y * ctx.k]) + ([] if ty is None else [x * ty * ctx.k])
            return sum(parts[1:], parts[0])

    if separate:
        Weighted.forward = staticmethod(lambda x, y, k: x * y * k)
        Weighted.setup_context = staticmethod(lambda ctx, inputs, output: save(ctx, *inputs))
    else:
        Weighted.forward = staticmethod(lambda ctx, x, y, k: (save(ctx, x, y, k), x * y * k)[1])
    return Weighted.apply, given


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("by", ["dual", "jvp"])
@pytest.mark.parametrize("materialize", [False, True])
def test_arguments_without_a_tangent(materialize: bool, by: str, separate: bool) -> None:
    """Zeros, or None where `set_materialize_grads(False)` asked for that; always None for what is no tensor."""
    f, given = weighted(materialize, separate)
    x, y, t = pb.ones(2), 3 * pb.ones(2), pb.tensor([1.0, 2.0])
    if by == "jvp":
        tangent = jvp(lambda x: f(x, y, 2.0), (x,), (t,))[1]
    else:
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(x, t), y, 2.0)).tangent
    assert tangent.tolist() == [6.0, 12.0]
    ((tx, ty, tk),) = given
    assert tx.tolist() == [1.0, 2.0] and tk is None
    assert ty is None if not materialize else ty.tolist() == [0.0, 0.0]


def test_jvp_runs_before_apply_returns() -> None:
    order = []

    class Noted(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            order.append("forward")
            return x * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            order.append("jvp")
            return t * 2

    with forward_ad.dual_level():
        Noted.apply(forward_ad.make_dual(pb.ones(1), pb.ones(1)))
        order.append("applied")
    Noted.apply(pb.ones(1))
    assert order == ["forward", "jvp", "applied", "forward"]


@pytest.mark.parametrize("in_place", [False, True])
def test_an_argument_that_forward_changes(in_place: bool) -> None:
    """Its tangent changes with it; PyTorch wants the `jvp` to do so in place, which is not needed here."""

    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t.mul_(2) if in_place else t * 2

    primal, tangent = pb.ones(2), pb.tensor([1.0, 3.0])
    with forward_ad.dual_level():
        x = forward_ad.make_dual(primal, tangent)
        assert Doubled.apply(x) is x
        assert forward_ad.unpack_dual(x).tangent.tolist() == [2.0, 6.0]
        assert forward_ad.unpack_dual(x).primal.tolist() == [2.0, 2.0]
    assert primal.tolist() == [2.0, 2.0] and tangent.tolist() == [2.0, 6.0]


def test_a_jvp_is_differentiated_in_turn() -> None:
    """Its operators are recorded, so reverse mode over forward mode is right; a rule may refuse that."""

    class Cubed(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            if t.requires_grad:
                raise NotImplementedError("no derivative by the tangent")
            return 3 * ctx.saved_tensors[0] ** 2 * t

    x, t = pb.tensor([1.0, 2.0], requires_grad=True), pb.ones(2)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(Cubed.apply(forward_ad.make_dual(x, t))).tangent
        assert pb.autograd.grad(tangent.sum(), x)[0].tolist() == [6.0, 12.0]
        with pytest.raises(NotImplementedError, match="by the tangent"):
            Cubed.apply(forward_ad.make_dual(x, t.clone().requires_grad_()))
