"""Custom functions: the contract of their methods, under the tape and under every transform."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

same = pb.testing.assert_close
X = pb.tensor([0.4, -1.2, 0.9], dtype=pb.float64)
ONES = pb.ones_like(X)


class Sine(Function):
    """Separate forward and setup_context, all methods made of operators."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x.sin()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.cos()

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        (x,) = ctx.saved_tensors
        return t * x.cos()


class ClassicSine(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.cos()


class NumpySine(Function):
    """No operator in forward: NumPy computes, and the batch is handled by hand."""

    @staticmethod
    def forward(x: Any) -> Any:
        return pb.from_numpy(np.sin(x.detach().numpy()))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * NumpySine.apply(x + np.pi / 2)

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        (x,) = ctx.saved_tensors
        return t * NumpySine.apply(x + np.pi / 2)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        assert x.shape[in_dims[0]] == info.batch_size
        return NumpySine.apply(x), in_dims[0]


@pytest.mark.parametrize("f", [Sine.apply, NumpySine.apply])
def test_under_every_transform(f: Any) -> None:
    total: Any = lambda v: f(v).sum()
    plain: Any = lambda v: v.sin().sum()
    rows = pb.stack([X, 2 * X])
    same(f(X), X.sin())
    same(grad(total)(X), X.cos())
    same(vjp(f, X)[1](2 * ONES)[0], 2 * X.cos())
    same(jvp(f, (X,), (ONES,)), (X.sin(), X.cos()))
    same(vmap(f)(rows), rows.sin())
    same(vmap(f, in_dims=1, out_dims=1)(rows), rows.sin())
    same(vmap(grad(total))(rows), rows.cos())
    same(grad(lambda r: vmap(f)(r).sum())(rows), rows.cos())
    same(jvp(vmap(f), (rows,), (rows,))[1], rows.cos() * rows)
    same(vmap(lambda v: jvp(f, (v,), (v,))[1])(rows), rows.cos() * rows)
    same(jacrev(f)(X), pb.diag(X.cos()))
    same(jacfwd(f)(X), pb.diag(X.cos()))
    same(hessian(total)(X), hessian(plain)(X))
    same(jacrev(jacrev(total))(X), hessian(plain)(X))
    same(vmap(hessian(total))(rows), vmap(hessian(plain))(rows))
    same(jvp(lambda v: jvp(f, (v,), (ONES,))[1], (X,), (ONES,))[1], -X.sin())
    same(vmap(vmap(f))(rows.reshape(1, 2, 3)), rows.sin().reshape(1, 2, 3))


@pytest.mark.parametrize("f", [Sine.apply, NumpySine.apply, ClassicSine.apply])
def test_under_the_tape(f: Any) -> None:
    x = X.clone().requires_grad_()
    y = f(x)
    assert y.requires_grad and not y.is_leaf
    y.sum().backward()
    same(x.grad, X.cos())
    (first,) = pb.autograd.grad(f(x).sum(), x, create_graph=True)
    same(pb.autograd.grad(first.sum(), x)[0], -X.sin())
    with pb.no_grad():
        assert not f(x).requires_grad
    assert not f(X).requires_grad


def test_grad_mode_is_off_inside_forward() -> None:
    seen: list[bool] = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(pb.is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(pb.is_grad_enabled())
            return g * 2

    Look.apply(X.clone().requires_grad_()).sum().backward()
    assert seen == [False, False]


def test_attributes_other_values_and_needs_input_grad() -> None:
    class Scale(Function):
        @staticmethod
        def forward(x: Any, factor: float, y: Any) -> Any:
            return x * factor * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, ctx.factor, y = inputs
            ctx.save_for_backward(x, y)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            needs.append(ctx.needs_input_grad)
            return g * ctx.factor * y, None, g * ctx.factor * x

    needs: list[Any] = []
    y = X.clone().requires_grad_()
    Scale.apply(X, 3.0, y).sum().backward()
    assert needs == [(False, False, True)]
    same(y.grad, 3 * X)
    same(grad(lambda v: Scale.apply(v, 3.0, X).sum())(X), 3 * X)


def test_several_outputs_and_materialized_zeros() -> None:
    seen: list[Any] = []

    def make(materialize: bool) -> Any:
        class Two(Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return x * 2, x * 3

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.set_materialize_grads(materialize)

            @staticmethod
            def backward(ctx: Any, a: Any, b: Any) -> Any:
                seen.append(b)
                return a * 2 if b is None else a * 2 + b * 3

        return Two.apply

    for materialize in (True, False):
        x = X.clone().requires_grad_()
        make(materialize)(x)[0].sum().backward()
        same(x.grad, 2 * ONES)
    same(seen[0], pb.zeros_like(X))
    assert seen[1] is None


def test_non_differentiable_outputs() -> None:
    class Order(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2, x.argsort()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any) -> Any:
            return g * 2

    y, order = Order.apply(X.clone().requires_grad_())
    assert y.requires_grad and not order.requires_grad
    same(grad(lambda v: Order.apply(v)[0].sum())(X), 2 * ONES)


def test_dirty_arguments() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    leaf = X.clone().requires_grad_()
    y = leaf * 1
    out = Double.apply(y)
    assert out is y
    same(out.detach(), 2 * X)
    (out * out).sum().backward()
    same(leaf.grad, 8 * X)


def test_none_means_zero() -> None:
    class Drop(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    x, y = X.clone().requires_grad_(), X.clone().requires_grad_()
    Drop.apply(x, y).sum().backward()
    same(x.grad, ONES)
    assert y.grad is None or not y.grad.any()


def test_once_differentiable() -> None:
    from pullback.autograd.function import once_differentiable

    class Once(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * g * x

    x = X.clone().requires_grad_()
    (first,) = pb.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    same(first.detach(), 2 * X)
    with pytest.raises(RuntimeError, match="once_differentiable|does not require grad"):
        first.sum().backward()


def test_missing_methods_say_what_to_write() -> None:
    class Bare(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return pb.from_numpy(x.detach().numpy() * 2)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    with pytest.raises((NotImplementedError, RuntimeError), match="backward|vjp"):
        grad(lambda v: Bare.apply(v).sum())(X)
    with pytest.raises((NotImplementedError, RuntimeError), match="jvp"):
        jvp(Bare.apply, (X,), (ONES,))
    with pytest.raises(RuntimeError, match="vmap"):
        vmap(Bare.apply)(pb.stack([X, X]))
    same(Bare.apply(X), 2 * X)


@pytest.mark.parametrize(
    ("result", "terms"),
    [
        (lambda g: (g, g), "gradient|return|2"),
        (lambda g: g[:2], "shape|size"),
        (lambda g: "g", "Tensor|str"),
    ],
)
def test_wrong_results_of_backward(result: Any, terms: str) -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return result(g)

    with pytest.raises((RuntimeError, TypeError), match=terms):
        Wrong.apply(X.clone().requires_grad_()).sum().backward()


def test_exceptions_pass_through_unchanged() -> None:
    class Mine(Exception):
        pass

    error = Mine("stop")

    class Failing(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise error

    for call in (
        lambda: grad(lambda v: Failing.apply(v).sum())(X),
        lambda: Failing.apply(X.clone().requires_grad_()).sum().backward(),
    ):
        with pytest.raises(Mine) as caught:
            call()
        assert caught.value is error
    same(grad(lambda v: v.sum())(X), ONES)


def test_context_is_freed_with_its_results() -> None:
    class Token:
        pass

    alive: list[Any] = []

    class Keep(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.token = Token()
            alive.append(weakref.ref(ctx.token))
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    y = Keep.apply(X.clone().requires_grad_())
    assert alive[0]() is not None
    del y
    gc.collect()
    assert alive[0]() is None


def test_generated_rule_sums_over_the_batch_of_what_was_not_batched() -> None:
    class Product(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a: Any, b: Any) -> Any:
            return a * b

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            return g * b, g * a

    rows = pb.stack([X, 2 * X])
    same(grad(lambda w: vmap(lambda r: Product.apply(r, w))(rows).sum())(X), 3 * X)
    same(vmap(grad(lambda w, r: Product.apply(r, w).sum()), in_dims=(None, 0))(X, rows), rows)


def test_vmap_rule_sees_true_dims_and_info() -> None:
    seen: list[Any] = []

    class See(Function):
        @staticmethod
        def forward(x: Any, y: Any, n: int) -> Any:
            return x + y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any, n: int) -> Any:
            seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape), tuple(y.shape), n))
            return See.apply(x.movedim(in_dims[0], 0), y, n), 0

    out = vmap(lambda x: See.apply(x, X, 7), in_dims=1, randomness="same")(pb.zeros(3, 5, dtype=pb.float64))
    assert out.shape == (5, 3)
    assert seen == [(5, "same", (1, None, None), (3, 5), (3,), 7)]
