"""Single steps of recurrent layers."""

from __future__ import annotations

import math

from ... import Tensor, empty, gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell
from .. import init
from ..parameter import Parameter
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


STEPS: dict[str, Callable[..., Any]] = {
    "RNN_TANH": rnn_tanh_cell,
    "RNN_RELU": rnn_relu_cell,
    "GRU": gru_cell,
}


def _step(layer: Any, mode: str, input: Tensor, hx: Any) -> tuple[Tensor, ...]:
    name = type(layer).__name__
    if input.dim() not in (1, 2):
        raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
    states = () if hx is None else hx if isinstance(hx, tuple) else (hx,)
    for i, state in enumerate(states):
        if state.dim() not in (1, 2):
            which = f"hx[{i}]" if isinstance(hx, tuple) else "hidden"
            raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.dim()}D instead")
    batched = input.dim() == 2
    x = input if batched else input.unsqueeze(0)
    if x.size(1) != layer.input_size:
        raise RuntimeError(f"input has inconsistent input_size: got {x.size(1)} expected {layer.input_size}")
    count = 2 if mode == "LSTM" else 1
    if hx is None:
        states = (x.new_zeros((x.size(0), layer.hidden_size)),) * count
    else:
        states = tuple(s if batched else s.unsqueeze(0) for s in states)
    for i, state in enumerate(states):
        if state.size(0) != x.size(0):
            raise RuntimeError(f"Input batch size {x.size(0)} doesn't match hidden{i} batch size {state.size(0)}")
        if state.size(1) != layer.hidden_size:
            raise RuntimeError(
                f"hidden{i} has inconsistent hidden_size: got {state.size(1)}, expected {layer.hidden_size}"
            )
    weights = (layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)
    if mode == "LSTM":
        h, c = lstm_cell(x, states, *weights)
        out: tuple[Tensor, ...] = (h, c)
    else:
        out = (STEPS[mode](x, states[0], *weights),)
    return out if batched else tuple(t.squeeze(0) for t in out)


class RNNCellBase(Module):
    """What cells have in common: two matrices, two biases, and checks.

    >>> import pullback
    >>> [name for name, _ in pullback.nn.RNNCellBase(2, 3, True, num_chunks=1).named_parameters()]
    ['weight_ih', 'weight_hh', 'bias_ih', 'bias_hh']
    """

    __constants__ = ["input_size", "hidden_size", "bias"]
    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_ih = Parameter(empty((num_chunks * hidden_size, input_size), **options))
        self.weight_hh = Parameter(empty((num_chunks * hidden_size, hidden_size), **options))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(num_chunks * hidden_size, **options)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights anew: uniform on (-1/sqrt(hidden_size), 1/sqrt(hidden_size))."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        bias = f", bias={self.bias}" if self.bias is not True else ""
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return f"{self.input_size}, {self.hidden_size}{bias}" + (
            f", nonlinearity={nonlinearity}" if nonlinearity != "tanh" else ""
        )


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh): (N, input_size) and (N, hidden_size), or without the batch.

    >>> import pullback
    >>> pullback.nn.RNNCell(10, 20)(pullback.ones(3, 10)).shape
    pullback.Size([3, 20])

    Raises RuntimeError for sizes that do not fit, or another nonlinearity than "tanh" and "relu".
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return _step(self, f"RNN_{self.nonlinearity.upper()}", input, hx)[0]


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: (N, input_size) and (h, c) to (h', c').

    >>> import pullback
    >>> h, c = pullback.nn.LSTMCell(10, 20)(pullback.ones(3, 10))
    >>> h.shape, c.shape
    (pullback.Size([3, 20]), pullback.Size([3, 20]))

    Raises RuntimeError for sizes that do not fit.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = _step(self, "LSTM", input, None if hx is None else tuple(hx))
        return h, c


class GRUCell(RNNCellBase):
    """One step of `GRU`: (N, input_size) and (N, hidden_size) to (N, hidden_size).

    >>> import pullback
    >>> pullback.nn.GRUCell(10, 20)(pullback.ones(3, 10)).shape
    pullback.Size([3, 20])

    Raises RuntimeError for sizes that do not fit.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return _step(self, "GRU", input, hx)[0]
