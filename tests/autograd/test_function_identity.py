"""What a forward gets are the caller's own tensors, where no transform follows them."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function

same = pb.testing.assert_close
VALUES = [1.0, 2.0, 3.0]


def leaf() -> Any:
    return pb.tensor(VALUES, requires_grad=True)


def parameter() -> Any:
    return pb.nn.Parameter(pb.tensor(VALUES))


def result() -> Any:
    return leaf() * 1


def plain() -> Any:
    return pb.tensor(VALUES)


def applied(forward: Callable[[Any], Any], x: Any, separate: bool) -> Any:
    """`forward` with the derivative of the square, in either form."""

    class Square(Function):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

    def classic(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return forward(x)

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    if separate:
        Square.forward, Square.setup_context = staticmethod(forward), staticmethod(setup)  # type: ignore[assignment]
    else:
        Square.forward = staticmethod(classic)  # type: ignore[assignment]
    return Square.apply(x)


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("make", [leaf, parameter, result, plain])
def test_the_argument_is_the_callers(make: Any, separate: bool) -> None:
    x = make()
    table, seen = {x: "known"}, []

    def forward(a: Any) -> Any:
        seen.append((a is x, table.get(a), type(a), a.requires_grad, a.is_leaf))
        return a * a

    y = applied(forward, x, separate)
    assert seen == [(True, "known", type(x), x.requires_grad, x.is_leaf)]
    assert y.requires_grad is x.requires_grad and y is not x
    if x.is_leaf and x.requires_grad:
        y.sum().backward()
        same(x.grad, 2 * pb.tensor(VALUES))


@pytest.mark.parametrize("separate", [False, True])
def test_nothing_is_recorded_of_what_a_forward_does(separate: bool) -> None:
    x, seen = leaf(), []

    def forward(a: Any) -> Any:
        parts = [
            a * a,
            a.view(3),
            a[1:],
            pb.stack([a, a]),
            a.sum(),
            a.clone(),
            pb.nn.functional.relu(a),
            a + a.detach(),
        ]
        seen.extend(p.grad_fn is None for p in parts)
        assert np.array_equal(a.numpy(), VALUES) and np.asarray(a)[2] == 3 and a.tolist() == VALUES
        return parts[0]

    y = applied(forward, x, separate)
    assert all(seen)
    (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    same(pb.autograd.grad(g.sum(), x)[0], pb.full((3,), 2.0))


def test_a_forward_may_differentiate_by_its_arguments() -> None:
    x = leaf()

    def forward(a: Any) -> Any:
        with pb.enable_grad():
            (g,) = pb.autograd.grad((a**3).sum(), a)
            with pytest.raises(RuntimeError, match=r"Can't call numpy\(\)"):
                a.numpy()
        return g / 3

    same(applied(forward, x, False), pb.tensor(VALUES) ** 2)
    assert x.grad is None


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("make", [leaf, result])
def test_an_error_leaves_the_argument_as_it_was(make: Any, separate: bool) -> None:
    x = make()
    node = x.grad_fn

    def forward(a: Any) -> Any:
        raise KeyError(a is x)

    with pytest.raises(KeyError, match="True"):
        applied(forward, x, separate)
    assert x.requires_grad and x.grad_fn is node
    assert (x * 2).requires_grad


def test_other_threads_see_a_tensor_that_requires_grad_meanwhile() -> None:
    x, found = leaf(), []

    def forward(a: Any) -> Any:
        thread = threading.Thread(target=lambda: found.append((x.requires_grad, (x * 2).requires_grad)))
        thread.start()
        thread.join()
        return a * a

    assert applied(forward, x, False).requires_grad and found == [(True, True)]


def test_a_recorded_backward_may_apply_a_function_whose_forward_differentiates() -> None:
    """What an inner forward computes is its function's business, but not gradients by what nobody passed to it."""

    class Slope(Function):
        """The derivative of x³, and its own derivative."""

        @staticmethod
        def forward(ctx: Any, g: Any, by: Any, *passed: Any) -> Any:
            x = passed[0] if passed else by
            ctx.save_for_backward(g, *passed)
            with pb.enable_grad():
                y = by.x**3
            return pb.autograd.grad(y, by.x, g, create_graph=pb.is_grad_enabled())[0] if x is not None else None

        @staticmethod
        def backward(ctx: Any, h: Any) -> Any:
            g, *passed = ctx.saved_tensors
            slope = 3 * passed[0] ** 2 if passed else 0 * g
            return h * slope, None, *(6 * h * g * x for x in passed)

    class Holder:
        x: Any

    def cube(told: bool) -> type[Function]:
        class Cube(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                holder = Holder()
                (holder.x,) = ctx.saved_tensors
                return Slope.apply(g, holder, *([holder.x] if told else []))

        return Cube

    x = pb.tensor([1.0, 2.0], dtype=pb.float64, requires_grad=True)
    assert pb.autograd.gradgradcheck(cube(True).apply, x)
    (g,) = pb.autograd.grad(cube(True).apply(x).sum(), x, create_graph=True)
    same(pb.autograd.grad(g.sum(), x)[0], 6 * x.detach())
    with pytest.raises(RuntimeError, match="computed gradients without recording how.*create_graph=True"):
        (g,) = pb.autograd.grad(cube(False).apply(x).sum(), x, create_graph=True)
        pb.autograd.grad(g.sum(), x)


class Marked(pb.Tensor):
    """A class of tensors."""


def saving(make: Any, classic: bool) -> Any:
    """x·y, whose backward shows what `make` gave and save_for_backward kept."""

    class Product(Function):
        kept: Any = None
        shown: Any = None

        @staticmethod
        def keep(ctx: Any, x: Any) -> None:
            Product.kept = make(x)
            Product.kept.note = 5
            ctx.save_for_backward(Product.kept)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (Product.shown,) = ctx.saved_tensors
            return g * Product.shown.sum(), g

    def forward(ctx: Any, x: Any, y: Any) -> Any:
        Product.keep(ctx, x)
        return x * y

    if classic:
        Product.forward = staticmethod(forward)
    else:
        Product.forward = staticmethod(lambda x, y: x * y)
        Product.setup_context = staticmethod(lambda ctx, inputs, output: Product.keep(ctx, inputs[0]))
    return Product


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("classic", [True, False])
def test_saved_tensors_keep_their_class(classic: bool, graph: bool) -> None:
    constant = pb.ones(2).as_subclass(Marked)
    for make, slope in ((lambda x: x * 2, 2.0), (lambda x: constant, 0.0), (lambda x: x[:1].clone(), None)):
        product = saving(make, classic)
        x = pb.ones(2).as_subclass(Marked).requires_grad_()
        (grad,) = pb.autograd.grad(product.apply(x, pb.ones(2)).sum(), x, create_graph=graph)
        assert type(product.shown) is Marked
        if not graph and classic:
            assert product.shown is product.kept and product.shown.note == 5
        if graph and slope is not None:
            (second,) = pb.autograd.grad(grad.sum() + 0 * x.sum(), x)
            assert second.tolist() == [2 * slope] * 2


def test_saved_objects_do_not_leak() -> None:
    product = saving(lambda x: x * 2, True)
    x = pb.ones(2).as_subclass(Marked).requires_grad_()
    out = product.apply(x, pb.ones(2))
    product.kept.note = out
    gone = weakref.ref(product.kept)
    product.kept = out = None
    gc.collect()
    assert gone() is None
