"""Functions that fill tensors with the values that layers start from. All work in place, without recording.

>>> import pullback
>>> w = pullback.empty(3, 5)
>>> pullback.nn.init.xavier_uniform_(w).abs().max().item() <= (6 / 8) ** 0.5
True
"""

from __future__ import annotations

import math

from .. import Tensor, empty_like, linalg, no_grad, where
from .._warnings import warn
from ._overriding import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .. import Generator

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_PLAIN_GAINS = {
    "linear": 1.0,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1.0),
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor by which weights before this nonlinearity are larger, so that variances stay as they are.

    `param` is the slope of `leaky_relu`, 0.01 by default.

    >>> import pullback
    >>> pullback.nn.init.calculate_gain("leaky_relu", 1.0)
    1.0

    Raises ValueError for a name that is not known, or a slope that is no number.
    """
    if nonlinearity in _PLAIN_GAINS:
        return _PLAIN_GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        param = 0.01
    if isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + param**2))


@shown
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills `tensor` with numbers drawn uniformly from [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


@shown
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills `tensor` with numbers drawn from a normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fills `tensor` with numbers drawn from a normal distribution that is cut off outside of [a, b]."""

    def below(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )
    kept = below((b - mean) / std) - below((a - mean) / std)
    with no_grad():
        if kept > _OFTEN:
            return _until_inside(tensor, mean, std, a, b, generator)
        return _until_accepted(tensor, mean, std, a, b, generator)


_OFTEN = 0.3
"""A share of normal numbers in the interval from which on they are tried themselves."""


def _until_inside(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Normal numbers, those outside of [a, b] drawn anew."""
    low, high = (tensor.new_tensor(end).item() for end in (a, b))
    drawn = tensor.normal_(mean, std, generator=generator)
    while not tensor.is_meta and (outside := (drawn < low) | (drawn > high)).any():
        drawn = where(outside, empty_like(tensor).normal_(mean, std, generator=generator), drawn)
    return tensor if drawn is tensor else tensor.copy_(drawn)


def _until_accepted(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Uniform numbers in [a, b], each drawn anew until it is accepted with its share of the greatest density there."""

    def height(x: Any) -> Any:
        return -0.5 * ((x - mean) / std) ** 2

    greatest = height(max(a, min(mean, b)))

    def refused(x: Tensor) -> Any:
        return empty_like(tensor).uniform_(generator=generator).log() > height(x) - greatest

    drawn = tensor.uniform_(a, b, generator=generator)
    open_ = refused(drawn)
    while not tensor.is_meta and open_.any():
        fresh = empty_like(tensor).uniform_(a, b, generator=generator)
        drawn, open_ = where(open_, fresh, drawn), where(open_, refused(fresh), open_)
    return tensor if drawn is tensor else tensor.copy_(drawn)


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Generator | None = None) -> Tensor:
    """`uniform_`, by a name that programs import."""
    return uniform_(tensor, a, b, generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Generator | None = None) -> Tensor:
    """`normal_`, by a name that programs import."""
    return normal_(tensor, mean, std, generator)


# The same without gradients, under the name that programs import.
_no_grad_trunc_normal_ = trunc_normal_


@shown
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills `tensor` with one number."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fills `tensor` with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills `tensor` with zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Makes a matrix the identity, as far as it is square.

    Raises ValueError if `tensor` does not have two dimensions.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1.0)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Makes weights of a convolution pass on their input: channel i to channel i, of each group.

    `tensor` is (out, in, *kernel) with one to three dimensions of the kernel.

    Raises ValueError for another number of dimensions, or output channels that `groups` does not divide.
    """
    sizes = tensor.size()
    if len(sizes) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    center = tuple(k // 2 for k in sizes[2:])
    with no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(per_group, sizes[1])):
                place = (g * per_group + d, d, *center)
                tensor[place] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode.lower() == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform on (-a, a) with a = gain * sqrt(6 / (fan_in + fan_out)), after Glorot and Bengio.

    Raises ValueError for a tensor of fewer than two dimensions.
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)), after Glorot and Bengio.

    Raises ValueError for a tensor of fewer than two dimensions.
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """None for a tensor without elements, which there is nothing to draw for."""
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@shown
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform on (-b, b) with b = gain * sqrt(3 / fan), after He et al.; `mode` says which fan, `a` is the slope.

    Raises ValueError for a tensor of fewer than two dimensions, another mode or nonlinearity.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with standard deviation gain / sqrt(fan), after He et al.; `mode` says which fan, `a` is the slope.

    Raises ValueError for a tensor of fewer than two dimensions, another mode or nonlinearity.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Makes rows orthonormal, or columns where there are fewer of them, times `gain`; further dimensions are flattened.

    The matrix is uniform among those. Raises ValueError for a tensor of fewer than two dimensions.
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    with no_grad():
        flat = tensor.new_empty((tensor.size(0), tensor.numel() // tensor.size(0))).normal_(generator=generator)
        tall = flat.size(0) >= flat.size(1)
        q, r = linalg.qr(flat if tall else flat.mT)
        q = q * r.diagonal().sign()
        tensor.copy_((q if tall else q.mT).reshape(tensor.shape)).mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal with standard deviation `std`, and in each column this fraction of elements zero.

    Raises ValueError if `tensor` does not have two dimensions.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    from .. import randperm

    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor


def _deprecated(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def old(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"The old name of `{name}_`."
    return old


uniform = _deprecated("uniform", uniform_)
normal = _deprecated("normal", normal_)
constant = _deprecated("constant", constant_)
eye = _deprecated("eye", eye_)
dirac = _deprecated("dirac", dirac_)
xavier_uniform = _deprecated("xavier_uniform", xavier_uniform_)
xavier_normal = _deprecated("xavier_normal", xavier_normal_)
kaiming_uniform = _deprecated("kaiming_uniform", kaiming_uniform_)
kaiming_normal = _deprecated("kaiming_normal", kaiming_normal_)
orthogonal = _deprecated("orthogonal", orthogonal_)
sparse = _deprecated("sparse", sparse_)
