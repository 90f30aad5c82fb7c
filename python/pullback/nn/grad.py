"""Gradients of convolutions as functions: by their argument, given its shape, and by their weight, given its."""

from __future__ import annotations

from .. import Tensor, func, zeros
from . import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _by(shape: Sequence[int], like: Tensor, grad_output: Tensor, call: Any) -> Tensor:
    # A convolution is linear in each of its arguments, so that any value of it will do.
    _, pullback = func.vjp(call, zeros(*shape, dtype=like.dtype))
    (out,) = pullback(grad_output)
    return out


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by its argument of shape `input_size`."""
    options = (None, stride, padding, dilation, groups)
    return _by(input_size, weight, grad_output, lambda x: F.conv1d(x, weight, *options))


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by its weight of shape `weight_size`."""
    options = (None, stride, padding, dilation, groups)
    return _by(weight_size, input, grad_output, lambda w: F.conv1d(input, w, *options))


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by its argument of shape `input_size`.

    >>> import pullback
    >>> pullback.nn.grad.conv2d_input((1, 1, 2, 2), pullback.ones(1, 1, 1, 1), pullback.ones(1, 1, 2, 2))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    options = (None, stride, padding, dilation, groups)
    return _by(input_size, weight, grad_output, lambda x: F.conv2d(x, weight, *options))


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by its weight of shape `weight_size`."""
    options = (None, stride, padding, dilation, groups)
    return _by(weight_size, input, grad_output, lambda w: F.conv2d(input, w, *options))


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by its argument of shape `input_size`."""
    options = (None, stride, padding, dilation, groups)
    return _by(input_size, weight, grad_output, lambda x: F.conv3d(x, weight, *options))


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by its weight of shape `weight_size`."""
    options = (None, stride, padding, dilation, groups)
    return _by(weight_size, input, grad_output, lambda w: F.conv3d(input, w, *options))
