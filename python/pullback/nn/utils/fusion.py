"""Norms folded into the layers before them."""

from __future__ import annotations

import copy

from ... import Tensor, no_grad, ones_like, zeros_like
from ..parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(
    weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, scale: Any, shift: Any, dim: int
) -> tuple[Parameter, Parameter]:
    with no_grad():
        first = zeros_like(mean) if bias is None else bias
        gain = ones_like(mean) if scale is None else scale
        added = zeros_like(mean) if shift is None else shift
        factor = gain * (var + eps).rsqrt()
        shape = [1] * weight.dim()
        shape[dim] = -1
        new_weight = (weight * factor.reshape(shape)).to(weight.dtype)
        new_bias = ((first - mean) * factor + added).to(first.dtype)
    grads = (weight.requires_grad, weight.requires_grad if bias is None else bias.requires_grad)
    return Parameter(new_weight, grads[0]), Parameter(new_bias, grads[1])


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that gives what the norm behind it gave."""
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that gives what the norm behind it gave."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _check_eval(first: Any, bn: Any) -> None:
    if first.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Fusion needs a norm with running statistics")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that gives what `bn` behind `conv` gives after `eval()`.

    >>> import pullback
    >>> from pullback import nn
    >>> conv, bn = nn.Conv2d(2, 3, 1).eval(), nn.BatchNorm2d(3).eval()
    >>> x = pullback.ones(1, 2, 4, 4)
    >>> pullback.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    True

    Raises AssertionError if one of them is in training.
    """
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that gives what `bn` behind `linear` gives after `eval()`.

    Raises AssertionError if one of them is in training, or the norm has neither the layer's outputs nor one channel.
    """
    _check_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
