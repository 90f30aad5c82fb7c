"""Activations."""

from __future__ import annotations

from ... import Tensor, _rrelu_slopes, bfloat16, clone, empty_like, finfo, float16, float32, where
from ..._casting import lowers
from ..._warnings import warn
from .. import functional as F
from ._flags import check_flags
from ._nodes import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def wide(input: Tensor) -> Tensor:
    """The argument of steps that are rounded once, at their end: numbers of 16 bits as float32."""
    return input.to(float32) if input.dtype is bfloat16 or input.dtype is float16 else input


def _inplace(input: Tensor, out: Tensor, inplace: bool, node: str) -> Tensor:
    """What was computed of `wide(input)`, in the dtype of the argument, and in its place if wanted."""
    if out.dtype is not input.dtype and wide(input) is not input:
        out = out.to(input.dtype)
    return named(input.copy_(out) if inplace else out, node)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    >>> import pullback
    >>> pullback.nn.functional.celu(pullback.tensor([0.0, 2.0]))
    tensor([0., 2.])

    Raises RuntimeError if `alpha` is 0.
    """
    if alpha == 0:
        raise RuntimeError("alpha cannot be 0 for CELU, which divides by it; give another number, such as 1.0")
    x = wide(input)
    low = x.clamp(max=0.0) / alpha
    # The slope of `elu` is exact far below 0; above, where a negative `alpha` leads, it has none.
    return _inplace(
        input, where(x > 0, x, alpha * (F.elu(low) if alpha > 0 else low.expm1())), inplace, "CeluBackward0"
    )


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale * (max(0, x) + min(0, alpha * (exp(x) - 1))) with the constants of self-normalizing networks."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return _inplace(input, scale * F.elu(wide(input), alpha), inplace, "EluBackward0")


@lowers
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, `weight` * x elsewhere; `weight` has one element, or one for each channel of dimension 1.

    Raises RuntimeError for another number of weights.
    """
    if weight.dim() > 1:
        raise RuntimeError(
            f"Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}; flatten() it"
        )
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError(
                f"argument 'input' must not be zero-dim, since weight has {weight.numel()} numbers; give one, or "
                "channels in dimension 1"
            )
        channels = input.size(1) if input.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}. Give weight a number for each channel, or one."
            )
        weight = weight.reshape((1, -1) + (1,) * (input.dim() - 2)) if input.dim() > 1 else weight
    elif input.dim() == 0:
        weight = weight.reshape(())
    x = wide(input)
    return _inplace(input, where(x > 0, x, wide(weight) * x), False, "PreluKernelBackward0")


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """x where it is positive, a * x elsewhere: a is drawn uniformly from [lower, upper) in training, else the mean."""
    check_flags("rrelu", training=training)
    if not lower <= upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}; swap them"
        )
    if training:
        out = input * _rrelu_slopes(input, lower, upper)
    else:
        x = wide(input)
        out = where(x >= 0, x, (lower + upper) / 2 * x)
    return _inplace(input, out.contiguous(), inplace, "RreluWithNoiseBackward0")


def _into(target: Tensor | None, result: Tensor) -> Tensor:
    """The result, in the tensor that was given for it, if one was."""
    return result if target is None else clone(result, out=target)


def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x where its magnitude is above `lambd`, 0 elsewhere; NaN stays."""
    return _into(out, named(where((input >= -lambd) & (input <= lambd), 0.0, input), "HardshrinkBackward0"))


def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x moved by `lambd` towards 0, and 0 where its magnitude is not above it.

    Raises RuntimeError if `lambd` is negative, or larger than numbers of the dtype are.
    """
    if not (input.is_floating_point() or input.is_complex()):
        name = str(input.dtype).rpartition(".")[2]
        raise NotImplementedError(f"softshrink(): not implemented for {name} tensors; convert them with .float()")
    most = finfo(input.dtype).max
    if not 0 <= lambd <= most:
        raise RuntimeError(
            f"softshrink(): lambda must be in range [0, {most:g}] for input dtype {input.dtype}, but found {lambd:g}"
        )
    x = wide(input)
    if x is not input:
        # The derivative asks on which side of the bound x is as numbers of 16 bits say.
        x = where(input.abs() <= lambd, x.detach(), x)
    moved = where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0.0))
    return _into(out, _inplace(input, moved, False, "SoftshrinkBackward0"))


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    x = wide(input)
    return _inplace(input, x - x.tanh(), False, "SubBackward0")


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6."""
    return _inplace(input, F.relu6(wide(input) + 3.0) / 6.0, inplace, "HardsigmoidBackward0")


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * relu6(x + 3) / 6."""
    x = wide(input)
    middle = where(x < 3, x * ((x + 3.0) / 6.0), x)
    return _inplace(input, where(x <= -3, x * 0.0, middle), inplace, "HardswishBackward0")


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above `threshold`, `value` elsewhere."""
    if not inplace:
        if not input.is_floating_point():
            value = int(value)
        return named(where(_is_at_most(input, threshold), value, input), "ThresholdBackward0")
    one = input
    for d, (size, stride) in enumerate(zip(input.shape, input.stride(), strict=True)):
        # Elements that lie at one place become the same.
        one = one.narrow(d, 0, 1) if stride == 0 and size > 1 else one
    one.copy_(where(_is_at_most(one, threshold), value, one))
    return input


def _is_at_most(x: Tensor, bound: float) -> Tensor:
    """Compares with the bound as it is, which half precision would round."""
    return wide(x) <= bound


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-x)."""
    return F.softmax(-input, dim, _stacklevel, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; with `hard` one-hot, with the gradient of the soft sample."""
    if eps != 1e-10:
        warn("gumbel_softmax(): `eps` parameter is deprecated and has no effect; leave it out")
    waited = empty_like(logits).exponential_().clamp(min=finfo(logits.dtype).tiny)
    soft = ((logits - waited.log()) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one = empty_like(logits).zero_().scatter(dim, index, 1.0)
    return one - soft.detach() + soft


def relu_(input: Tensor) -> Tensor:
    """`relu` in place."""
    return F.relu(input, True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place."""
    return F.elu(input, alpha, True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
    return F.celu(input, alpha, True)


def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
    return F.selu(input, True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place."""
    return F.hardtanh(input, min_val, max_val, True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place."""
    return F.leaky_relu(input, negative_slope, True)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place."""
    return F.rrelu(input, lower, upper, training, True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place."""
    return F.threshold(input, threshold, value, True)
