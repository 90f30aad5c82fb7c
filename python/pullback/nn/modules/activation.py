"""Activations."""

from __future__ import annotations

from ... import Tensor, empty
from ..._members import adopt
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._activations import CELU as CELU
from ._activations import ELU as ELU
from ._activations import GELU as GELU
from ._activations import GLU as GLU
from ._activations import SELU as SELU
from ._activations import Hardshrink as Hardshrink
from ._activations import Hardsigmoid as Hardsigmoid
from ._activations import Hardswish as Hardswish
from ._activations import Hardtanh as Hardtanh
from ._activations import Mish as Mish
from ._activations import ReLU as ReLU
from ._activations import ReLU6 as ReLU6
from ._activations import Sigmoid as Sigmoid
from ._activations import SiLU as SiLU
from ._activations import Softshrink as Softshrink
from ._activations import Tanh as Tanh
from ._activations import Tanhshrink as Tanhshrink
from ._attention import MultiheadAttention as MultiheadAttention
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class LeakyReLU(Module):
    """x where it is positive, negative_slope * x elsewhere.

    >>> import pullback
    >>> pullback.nn.LeakyReLU(0.1)(pullback.tensor([-10.0, 2.0]))
    tensor([-1.,  2.])
    """

    __constants__ = ["negative_slope", "inplace"]

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))).

    >>> import pullback
    >>> pullback.nn.LogSigmoid()(pullback.tensor([0.0]))
    tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above `threshold`.

    >>> import pullback
    >>> pullback.nn.Softplus()(pullback.tensor([0.0]))
    tensor([0.6931])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Module):
    """x / (1 + |x|).

    >>> import pullback
    >>> pullback.nn.Softsign()(pullback.tensor([1.0]))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Softmax(Module):
    """exp(x) over its sum along `dim`.

    >>> import pullback
    >>> pullback.nn.Softmax(dim=0)(pullback.tensor([1.0, 1.0]))
    tensor([0.5000, 0.5000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(Module):
    """softmax(-x) along `dim`.

    >>> import pullback
    >>> pullback.nn.Softmin(dim=0)(pullback.tensor([1.0, 1.0]))
    tensor([0.5000, 0.5000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """log(softmax(x)) along `dim`.

    >>> import pullback
    >>> pullback.nn.LogSoftmax(dim=0)(pullback.tensor([1.0, 1.0]))
    tensor([-0.6931, -0.6931])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W).

    >>> import pullback
    >>> pullback.nn.Softmax2d()(pullback.ones(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])

    Raises ValueError for another number of dimensions.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class Threshold(Module):
    """x where it is above `threshold`, `value` elsewhere.

    >>> import pullback
    >>> pullback.nn.Threshold(0.5, 20.0)(pullback.tensor([0.2, 2.0]))
    tensor([20.,  2.])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """x where it is positive, a * x elsewhere: a is drawn uniformly from [lower, upper) in training, else the mean.

    >>> import pullback
    >>> pullback.nn.RReLU(0.1, 0.3).eval()(pullback.tensor([-10.0, 2.0]))
    tensor([-2.,  2.])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """x where it is positive, `weight` * x elsewhere: one learned slope, or one for each channel.

    >>> import pullback
    >>> pullback.nn.PReLU()(pullback.tensor([-4.0, 2.0])).tolist()
    [-1.0, 2.0]
    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the slopes to their first value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


adopt(globals())
