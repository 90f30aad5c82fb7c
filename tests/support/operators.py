"""Operators that leave the library, for the tests of `pullback.library`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback import Tensor
from pullback.library import custom_op

X = pb.tensor([0.3, 0.7, -1.1], dtype=pb.float64)
Y = pb.tensor([1.3, -0.7, 0.4], dtype=pb.float64)


def numpy(x: Any) -> Any:
    """Only plain tensors have an array."""
    return x.detach().numpy()


@custom_op("tests::numpy_sin", mutates_args=())
def numpy_sin(x: Tensor) -> Tensor:
    return pb.from_numpy(np.sin(numpy(x)))


@custom_op("tests::numpy_cos", mutates_args=())
def numpy_cos(x: Tensor) -> Tensor:
    return pb.from_numpy(np.cos(numpy(x)))


def save_input(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


numpy_sin.register_autograd(lambda ctx, g: g * numpy_cos(ctx.saved_tensors[0]), setup_context=save_input)
numpy_cos.register_autograd(lambda ctx, g: -g * numpy_sin(ctx.saved_tensors[0]), setup_context=save_input)
for _op in (numpy_sin, numpy_cos):
    _op.register_vmap(lambda info, in_dims, x, _op=_op: (_op(x), in_dims[0]))
    _op.register_fake(lambda x: pb.empty_like(x))

# The same without a rule for vmap: the loop must give the same.
looped = custom_op("tests::looped_sin", mutates_args=())(numpy_sin._fallback)
looped.register_autograd(lambda ctx, g: g * numpy_cos(ctx.saved_tensors[0]), setup_context=save_input)
looped.register_fake(lambda x: pb.empty_like(x))
looped._warned = True


@custom_op("tests::mixed", mutates_args=())
def mixed(
    xs: Sequence[Tensor], n: int, w: Tensor | None = None, *, scale: float = 2.0, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    out = sum(numpy(x) for x in xs) * n * scale
    out = out if w is None else out * numpy(w)
    return pb.from_numpy(out), pb.from_numpy(numpy(xs[0]) * 3 + (0 if bias is None else numpy(bias)))


def mixed_setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    xs, ctx.n, w = inputs
    ctx.scale = keyword_only_inputs["scale"]
    ctx.count = len(xs)
    assert isinstance(output, tuple) and len(ctx.needs_input_grad) == 3
    assert len(ctx.needs_input_grad[0]) == len(xs) and ctx.needs_input_grad[1] is False
    ctx.save_for_backward(*xs, w)


def mixed_backward(ctx: Any, g: Any, h: Any) -> Any:
    *xs, w = ctx.saved_tensors
    along = g * ctx.n * ctx.scale if w is None else g * ctx.n * ctx.scale * w
    across = None if w is None else g * sum(xs) * ctx.n * ctx.scale
    return [along + 3 * h if i == 0 else along for i in range(ctx.count)], None, across


mixed.register_autograd(mixed_backward, setup_context=mixed_setup)
mixed._warned = True
