"""Activations that cut off or bend."""

from __future__ import annotations

from ... import Tensor, sigmoid, tanh
from ..._warnings import warn
from .. import functional as F
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "Mish",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softshrink",
    "Tanh",
    "Tanhshrink",
]


class _InPlace(Module):
    """An activation that may write its result over its argument."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """max(0, x).

    >>> import pullback
    >>> pullback.nn.ReLU()(pullback.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    >>> import pullback
    >>> pullback.nn.Sigmoid()(pullback.tensor([0.0]))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return sigmoid(input)


class Tanh(Module):
    """tanh(x).

    >>> import pullback
    >>> pullback.nn.Tanh()(pullback.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return tanh(input)


class SiLU(_InPlace):
    """x * sigmoid(x), also called swish.

    >>> import pullback
    >>> pullback.nn.SiLU()(pullback.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """x * tanh(softplus(x)).

    >>> import pullback
    >>> pullback.nn.Mish()(pullback.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class GELU(Module):
    """x times the normal distribution function of x, or with `approximate='tanh'` its approximation.

    >>> import pullback
    >>> pullback.nn.GELU()(pullback.tensor([0.0]))
    tensor([0.])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class ELU(Module):
    """x where it is positive, alpha * (exp(x) - 1) elsewhere.

    >>> import pullback
    >>> pullback.nn.ELU()(pullback.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Module):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    >>> import pullback
    >>> pullback.nn.CELU()(pullback.tensor([0.0, 2.0]))
    tensor([0., 2.])

    Raises RuntimeError if `alpha` is 0.
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class SELU(_InPlace):
    """scale * elu(x) with the constants of self-normalizing networks.

    >>> import pullback
    >>> pullback.nn.SELU()(pullback.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(Module):
    """a * sigmoid(b), a and b being the halves of the input along `dim`.

    >>> import pullback
    >>> pullback.nn.GLU()(pullback.tensor([4.0, 0.0]))
    tensor([2.])

    Raises RuntimeError for an odd size.
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


def _renamed(which: str, value: float, old: float | None) -> float:
    """A bound by its name, or by the name that it had once."""
    if old is None:
        return value
    warn(f"keyword argument `{which}_value` is deprecated and renamed to `{which}_val`", FutureWarning)
    return old


class Hardtanh(Module):
    """x cut off at `min_val` and `max_val`.

    >>> import pullback
    >>> pullback.nn.Hardtanh()(pullback.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        min_val = _renamed("min", min_val, min_value)
        max_val = _renamed("max", max_val, max_value)
        if not max_val > min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """min(max(0, x), 6).

    >>> import pullback
    >>> pullback.nn.ReLU6()(pullback.tensor([-1.0, 8.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Hardsigmoid(Module):
    """relu6(x + 3) / 6.

    >>> import pullback
    >>> pullback.nn.Hardsigmoid()(pullback.tensor([-3.0, 3.0]))
    tensor([0., 1.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module):
    """x * relu6(x + 3) / 6.

    >>> import pullback
    >>> pullback.nn.Hardswish()(pullback.tensor([-3.0, 3.0]))
    tensor([-0., 3.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Hardshrink(Module):
    """x where its magnitude is above `lambd`, 0 elsewhere.

    >>> import pullback
    >>> pullback.nn.Hardshrink()(pullback.tensor([0.2, 2.0]))
    tensor([0., 2.])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """x moved by `lambd` towards 0, and 0 where its magnitude is not above it.

    >>> import pullback
    >>> pullback.nn.Softshrink()(pullback.tensor([0.2, 2.0]))
    tensor([0.0000, 1.5000])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> import pullback
    >>> pullback.nn.Tanhshrink()(pullback.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)
