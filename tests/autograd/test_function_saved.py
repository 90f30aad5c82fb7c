"""Saved intermediates where they are hard to follow: forward mode over reverse, and contexts that vmap did not fill."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function, forward_ad
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap

same = pb.testing.assert_close
X = pb.tensor([1.0, 2.0, 3.0])


class Cube(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(3 * inputs[0] ** 2)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class Attribute(Cube):
    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.slope = [3 * inputs[0] ** 2]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.slope[0]


class Classic(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(3 * x**2)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class WithVmap(Classic):
    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return WithVmap.apply(x), in_dims[0]


class WithBoth(WithVmap):
    """Saves an input, its output, None, an intermediate and an attribute."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x**3
        ctx.twice = 2 * x
        ctx.save_for_backward(x, y, None, x * 1)
        ctx.save_for_forward(x, y, None, x * 1)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y, nothing, again = ctx.saved_tensors
        assert nothing is None
        return g * (y / x + ctx.twice * again)

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        x, y, _, again = ctx.saved_tensors
        return t * (y / x + ctx.twice * again)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return WithBoth.apply(x), in_dims[0]


ALL = [Cube, Attribute, Classic, WithVmap, WithBoth]


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_second_derivatives(function: Any) -> None:
    f = function.apply
    of: Any = lambda x: f(x).sum()
    ones = pb.ones(3)
    same(jacfwd(jacrev(f))(X).sum((0, 1)), 6 * X)
    same(hessian(of)(X), pb.diag(6 * X))
    same(jvp(grad(of), (X,), (ones,))[1], 6 * X)
    same(vmap(grad(grad(f)))(X), 6 * X)
    same(vmap(lambda x: jvp(grad(f), (x,), (pb.tensor(1.0),))[1])(X), 6 * X)
    same(vmap(lambda x: jvp(lambda x: jvp(f, (x,), (x,))[1], (x,), (x,))[1])(X), 9 * X**3)
    same(vmap(grad(lambda x: vmap(f)(x.expand(2)).sum()))(X), 6 * X**2)
    same(grad(lambda x: vmap(grad(f))(x).sum())(X), 6 * X)


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_forward_levels_over_the_tape(function: Any) -> None:
    leaf = X.clone().requires_grad_()
    with forward_ad.dual_level():
        y = function.apply(forward_ad.make_dual(leaf, pb.ones(3))).sum()
        (g,) = pb.autograd.grad(y, leaf, create_graph=True)
        value, tangent = forward_ad.unpack_dual(g)
        same((value.detach(), tangent.detach()), (3 * X**2, 6 * X))
        (third,) = pb.autograd.grad(tangent.sum(), leaf)
        same(third, pb.full((3,), 6.0))
    double = X.double().requires_grad_()
    assert pb.autograd.gradgradcheck(function.apply, (double,), check_fwd_over_rev=True)


def test_what_saves_constants_has_no_tangent() -> None:
    class Masked(Cube):
        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward((inputs[0] > 1).float(), pb.ones(3))

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            mask, ones = ctx.saved_tensors
            return g * mask * ones

    leaf = X.clone().requires_grad_()
    with forward_ad.dual_level():
        y = Masked.apply(forward_ad.make_dual(leaf, pb.ones(3))).sum()
        (g,) = pb.autograd.grad(y, leaf)
        assert forward_ad.unpack_dual(g).tangent is None


def test_contexts_that_cannot_be_filled_afterwards() -> None:
    class Outside(WithVmap):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(3 * x**2)
            return pb.from_numpy(np.asarray(x.numpy() ** 3))

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Outside.apply(x), in_dims[0]

    class Noisy(WithVmap):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(pb.rand_like(x))
            return x**3

    same(vmap(Outside.apply)(X), X**3)
    for function, why in ((Outside, "it ended with"), (Noisy, "it draws random numbers")):
        message = rf"{function.__name__}: its derivative needs the ctx, .*{why}(?s:.*)write setup_context"
        with pytest.raises(RuntimeError, match=message):
            vmap(grad(function.apply), randomness="same")(X)


class Held:
    """What programs keep their tensors in."""

    tensor: Any
    parts: list[Any]


@pytest.mark.parametrize("leaf", [True, False])
def test_arguments_kept_in_an_object_of_the_program_are_the_callers(leaf: bool) -> None:
    """In PyTorch a forward gets the caller's own tensors, so that an object which keeps them says in `backward` that
    they require grad, and whoever differentiates what it computes of them gets their gradients."""

    class Kept(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, constant: Any) -> Any:
            held = ctx.held = Held()
            held.tensor, held.parts = x, [constant, x.expand(2, 3), x[0]]
            assert [t.requires_grad for t in (x, *held.parts)] == [True, False, True, True]
            assert not (x * 2).requires_grad
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            held = ctx.held
            assert held.tensor.requires_grad and held.parts[1].requires_grad and not held.parts[0].requires_grad
            with pb.enable_grad():
                (slope,) = pb.autograd.grad(held.tensor**2, held.tensor, g)
            return slope, None

    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    Kept.apply(x if leaf else x * 1, pb.ones(3)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0, 6.0]


def test_old_name_of_saved_tensors() -> None:
    """Older programs read `saved_variables`: what `saved_tensors` gives, with PyTorch's warning."""

    class Product(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: pb.Tensor, y: pb.Tensor) -> pb.Tensor:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: pb.Tensor) -> tuple[pb.Tensor, pb.Tensor]:
            with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
                x, y = ctx.saved_variables
            return g * y, g * x

    x, y = pb.tensor([2.0, 3.0], requires_grad=True), pb.tensor([5.0, 7.0], requires_grad=True)
    Product.apply(x, y).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [5, 7]
    assert y.grad is not None and y.grad.tolist() == [2, 3]
