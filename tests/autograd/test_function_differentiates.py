"""Forwards that differentiate themselves: under `enable_grad`, their arguments are the caller's tensors."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.autograd import Function, grad
from pullback.func import vmap

same = pb.testing.assert_close


class Slopes(Function):
    """x * x * w, whose slopes are taken in the forward."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        with pb.enable_grad():
            y = (x * x * w).sum()
            slopes = grad(y, (x, w))
        ctx.save_for_backward(*slopes)
        return y.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return tuple(g * s for s in ctx.saved_tensors)


def leaf(*numbers: float) -> Any:
    return pb.tensor(numbers, dtype=pb.float64).requires_grad_()


def test_slopes_of_arguments() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    y = Slopes.apply(x * 2, w)
    assert y.grad_fn.name() == "SlopesBackward"
    y.backward()
    assert x.grad.tolist() == [24, 64] and w.grad.tolist() == [4, 16]
    with pytest.raises(RuntimeError, match="does not require grad"):
        Slopes.apply(x.detach(), w)
    assert Slopes.apply(leaf(1, 2), leaf(3, 4)).item() == 19


class Penalty(Function):
    """A network's outputs, whose gradients of first and second order are taken in the forward."""

    @staticmethod
    def forward(ctx: Any, net: Any, x: Any, *params: Any) -> Any:
        with pb.enable_grad():
            y = net(x)
            slopes = grad(y.sum(), (x, *params), create_graph=True)
            second = grad(slopes[0].pow(2).sum(), params, allow_unused=True)
        ctx.save_for_backward(
            slopes[0].detach(), *(pb.zeros_like(p) if s is None else s for p, s in zip(params, second, strict=True))
        )
        ctx.asked = (x.requires_grad, x.is_leaf)
        return y.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        slope, *second = ctx.saved_tensors
        return (None, g * slope, *(g.sum() * s for s in second))


def test_parameters_of_a_captured_module() -> None:
    pb.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    params = list(net.parameters())
    x = leaf(1, 2).detach()[None].requires_grad_()
    y = Penalty.apply(net, x, *params)
    y.sum().backward()
    (slope,) = grad(net(x).sum(), x, create_graph=True)
    second = grad(slope.pow(2).sum(), params, allow_unused=True)
    same(y.detach(), net(x).detach())
    same(x.grad, slope.detach())
    for p, s in zip(params, second, strict=True):
        same(p.grad, pb.zeros_like(p) if s is None else s)


class Returned(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        with pb.enable_grad():
            return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 10


def test_what_is_returned_has_the_rule() -> None:
    x = leaf(1, 2)
    y = Returned.apply(x)
    y.sum().backward()
    assert y.grad_fn.name() == "ReturnedBackward" and x.grad.tolist() == [10, 10]


class Unrecorded(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return grad((x * x).sum(), x)[0]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def test_without_grad_mode_there_is_no_graph() -> None:
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        Unrecorded.apply(leaf(1, 2))


class Inner(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        with pb.enable_grad():
            (x * x).sum().backward()
        ctx.save_for_backward(x)
        ctx.kept = x
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x


def test_backward_in_a_forward_reaches_the_leaf() -> None:
    x = leaf(1, 2)
    y = Inner.apply(x)
    assert x.grad.tolist() == [2, 4]
    y.sum().backward()
    assert x.grad.tolist() == [3, 6]


class Doubled(Function):
    """Changes its argument after it has differentiated by it."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        with pb.enable_grad():
            (slope,) = grad((x**3).sum(), x)
        ctx.save_for_backward(slope)
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


def test_arguments_that_are_changed() -> None:
    x = leaf(1, 2)
    y = x * 1
    z = Doubled.apply(y)
    assert z is y and z.tolist() == [2, 4]
    z.sum().backward()
    assert x.grad.tolist() == [3, 12]


class Separate(Function):
    @staticmethod
    def forward(x: Any, w: Any) -> Any:
        with pb.enable_grad():
            return grad((x**3 * w).sum(), x)[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * 6 * x * w, g * 3 * x * x


def test_forwards_without_a_ctx() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    y = Separate.apply(x, w)
    assert y.tolist() == [9, 48]
    (g,) = grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [18, 48]
    gx, gw = grad(g.sum(), (x, w))
    assert gx.tolist() == [18, 24] and gw.tolist() == [6, 12]


def test_transforms_have_no_tape_there() -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        vmap(Separate.apply)(pb.ones(2, 3), pb.ones(2, 3))
    with pytest.raises(RuntimeError, match="does not require grad"):
        pb.func.grad(lambda x: Separate.apply(x, pb.ones(3)).sum())(pb.ones(3))


class Nested(Function):
    """Differentiates through another function that differentiates in its forward."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        with pb.enable_grad():
            y = Slopes.apply(x, w) ** 2
            ctx.slopes = grad(y, (x, w))
        return y.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return tuple(g * s for s in ctx.slopes)


def test_nested() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    Nested.apply(x, w).backward()
    y = (x * x * w).sum() ** 2
    for t, g in zip((x, w), grad(y, (x, w)), strict=True):
        same(t.grad, g)


class Asked(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.asked = (x.requires_grad, w.requires_grad, (x * 2).requires_grad)
        with pb.enable_grad():
            inside = (x * 2).requires_grad
        ctx.asked += (inside, (x * 2).requires_grad)
        Asked.seen = ctx.asked  # type: ignore[attr-defined]
        return x * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


def test_what_arguments_say() -> None:
    Asked.apply(leaf(1.0), pb.ones(1, dtype=pb.float64)).sum().backward()
    assert Asked.seen == (True, False, False, True, False)  # type: ignore[attr-defined]
