"""Custom functions in each style that there is, beside the same formula in operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pullback as pb
from pullback.autograd import Function
from pullback.func import custom_jvp, custom_vjp


class Pair(NamedTuple):
    """A function of one tensor by a custom function, and the same by operators."""

    custom: Callable[[Any], Any]
    formula: Callable[[Any], Any]


class Sine(Function):
    """One input, all rules generated but the derivative."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


class Gaussian(Function):
    """Saves its output and its input; both derivatives written."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return (-x * x).exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return -2 * g * x * y

    @staticmethod
    def jvp(ctx, t):
        x, y = ctx.saved_tensors
        return -2 * t * x * y


class Forward(Function):
    """Only the forward derivative; the reverse is its transpose."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y.tanh()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs)

    @staticmethod
    def jvp(ctx, tx, ty):
        x, y = ctx.saved_tensors
        return tx * y.tanh() + x * (1 - y.tanh() ** 2) * ty


class ByHand(Function):
    """A batching rule written by hand, that moves the batch to the end."""

    @staticmethod
    def forward(x, y, scale):
        return x * y * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.scale = inputs
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * ctx.scale, g * x * ctx.scale, None

    @staticmethod
    def jvp(ctx, tx, ty, _):
        x, y = ctx.saved_tensors
        return (tx * y + x * ty) * ctx.scale

    @staticmethod
    def vmap(info, in_dims, x, y, scale):
        x, y = (
            t.unsqueeze(-1).expand(*t.shape, info.batch_size) if d is None else t.movedim(d, -1)
            for t, d in zip((x, y), in_dims, strict=False)
        )
        return ByHand.apply(x, y, scale), x.dim() - 1


class Two(Function):
    """Two outputs of different shapes, and an intermediate that is saved as one of them."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        e = (x * 0.3).exp()
        return e, (x * e).sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[0])

    @staticmethod
    def backward(ctx, ge, gs):
        x, e = ctx.saved_tensors
        return 0.3 * e * ge + gs * (e + 0.3 * x * e)


class Sorted(Function):
    """An output that has no derivative, and is saved."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        order = x.reshape(-1).argsort()
        return x.reshape(-1)[order], order

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, g, _):
        (order,) = ctx.saved_tensors
        return pb.zeros_like(g).scatter(0, order, g).reshape(ctx.shape)


class Nested(Function):
    """A custom function in the forward and in the backward of another one."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return Sine.apply(x) * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (Sine.apply(x) + x * x.cos())


class Classic(Function):
    """The older form: forward fills the ctx, with a value that is no input or output."""

    @staticmethod
    def forward(ctx, x, power):
        slope = power * x.abs() ** (power - 1) * x.sign()
        ctx.save_for_backward(slope)
        return x.abs() ** power

    @staticmethod
    def backward(ctx, g):
        (slope,) = ctx.saved_tensors
        return g * slope, None


class Written(Function):
    """Changes its argument in place."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.mul_(2.5)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g * 2.5


class Partial(Function):
    """Some gradients are None, and those of unused outputs arrive as None."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y, z):
        return x * y, y + z

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs[0], inputs[1])

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        gy = None if g is None else g * x
        if h is not None:
            gy = h if gy is None else gy + h
        needs = ctx.needs_input_grad
        return (g * y if g is not None and needs[0] else None), gy, h


@custom_vjp
def by_vjp(x):
    return x.tanh() * 2


by_vjp.defvjp(lambda x: (by_vjp(x), x), lambda x, g: (2 * g * (1 - x.tanh() ** 2),))


@custom_jvp
def by_jvp(x):
    return x.atan()


by_jvp.defjvp(lambda primals, tangents: (by_jvp(*primals), tangents[0] / (1 + primals[0] ** 2)))

PAIRS = {
    "generated": Pair(lambda x: Sine.apply(x), lambda x: x.sin()),
    "both derivatives": Pair(lambda x: Gaussian.apply(x), lambda x: (-x * x).exp()),
    "forward only": Pair(lambda x: Forward.apply(x, x * 0.5), lambda x: x * (x * 0.5).tanh()),
    "vmap by hand": Pair(lambda x: ByHand.apply(x, x.cos(), 1.5), lambda x: x * x.cos() * 1.5),
    "vmap by hand, a constant": Pair(
        lambda x: ByHand.apply(pb.ones_like(x.detach()), x.sin(), 0.5), lambda x: x.sin() * 0.5
    ),
    "two outputs": Pair(lambda x: two(*Two.apply(x)), lambda x: two((x * 0.3).exp(), (x * (x * 0.3).exp()).sum())),
    "one of two": Pair(lambda x: Two.apply(x)[1] + x, lambda x: (x * (x * 0.3).exp()).sum() + x),
    "no derivative": Pair(lambda x: Sorted.apply(x)[0].sin(), lambda x: x.reshape(-1).sort().values.sin()),
    "nested": Pair(lambda x: Nested.apply(x), lambda x: x.sin() * x),
    "classic": Pair(lambda x: Classic.apply(x, 3), lambda x: x.abs() ** 3),
    "written": Pair(lambda x: Written.apply(x * 1.0), lambda x: x * 2.5),
    "partial": Pair(lambda x: two(*Partial.apply(x, x.sin(), x)), lambda x: two(x * x.sin(), x.sin() + x)),
    "partial, one output": Pair(lambda x: Partial.apply(x, x.sin(), x)[1] * x, lambda x: (x.sin() + x) * x),
    "partial, a constant": Pair(
        lambda x: Partial.apply(pb.ones_like(x.detach()), x, x.detach().cos() * 0 + 1)[0], lambda x: x * 1.0
    ),
    "closure": Pair(
        lambda x: Sine.apply(x) * (lambda u: Gaussian.apply(u + x))(x), lambda x: x.sin() * (-4 * x * x).exp()
    ),
    "custom_vjp": Pair(by_vjp, lambda x: x.tanh() * 2),
    "custom_jvp": Pair(by_jvp, lambda x: x.atan()),
}


def two(a: Any, b: Any) -> Any:
    return a * b.sin()
