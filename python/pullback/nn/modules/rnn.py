"""Recurrent layers and their cells."""

from __future__ import annotations

import math

from ... import Tensor, _core, empty, gru, lstm, rnn_relu, rnn_tanh
from ..._members import adopt
from ..._warnings import warn
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from ._rnn_cells import GRUCell as GRUCell
from ._rnn_cells import LSTMCell as LSTMCell
from ._rnn_cells import RNNCell as RNNCell
from ._rnn_cells import RNNCellBase as RNNCellBase
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


# How many rows of weights a unit has.
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}
LAYERS: dict[str, Callable[..., Any]] = {"RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu, "GRU": gru, "LSTM": lstm}


def _state_shapes(layer: Any, batch: int) -> list[tuple[int, int, int]]:
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    first = (rows, batch, layer.proj_size or layer.hidden_size)
    return [first, (rows, batch, layer.hidden_size)] if layer.mode == "LSTM" else [first]


def _states(layer: Any, x: Tensor, hx: Any, batch: int, batched: bool, order: Tensor | None) -> tuple[Tensor, ...]:
    """The first states, zeros if none are given, each with a batch in the order of the sequences."""
    if hx is None:
        return tuple(x.new_zeros(shape) for shape in _state_shapes(layer, batch))
    states = tuple(hx) if layer.mode == "LSTM" else (hx,)
    dims = tuple(s.dim() for s in states)
    expected = 3 if batched else 2
    if any(d != expected for d in dims):
        kind = f"{'batched 3-D' if batched else 'unbatched 2-D'} input"
        if layer.mode == "LSTM":
            raise RuntimeError(
                f"For {kind}, hx and cx should also be {expected}-D but got ({dims[0]}-D, {dims[1]}-D) tensors"
            )
        raise RuntimeError(f"For {kind}, hx should also be {expected}-D but got {dims[0]}-D tensor")
    if not batched:
        return tuple(s.unsqueeze(1) for s in states)
    return tuple(layer.permute_hidden(s, order) for s in states)


class RNNBase(Module):
    """What recurrent layers have in common: weights by layer and direction, checks, packed sequences.

    `mode` is "RNN_TANH", "RNN_RELU", "GRU" or "LSTM".

    >>> import pullback
    >>> m = pullback.nn.RNNBase("GRU", 3, 4, num_layers=2)
    >>> [name for name, _ in m.named_parameters()][:4]
    ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']

    Raises ValueError for sizes that are not positive, and TypeError for sizes that are no integers and flags
    that are no bools.
    """

    __constants__ = [
        *("mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional"),
        "proj_size",
    ]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_flags(type(self).__name__, bias=bias, batch_first=batch_first)
        _check_sizes(mode, input_size, hidden_size, num_layers, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        self._make_weights({"device": device, "dtype": dtype})
        self.reset_parameters()

    def _make_weights(self, options: dict[str, Any]) -> None:
        directions = 2 if self.bidirectional else 1
        out = self.proj_size or self.hidden_size
        gates = GATES[self.mode] * self.hidden_size
        for layer in range(self.num_layers):
            for direction in range(directions):
                suffix = f"_l{layer}" + ("_reverse" if direction else "")
                width = self.input_size if layer == 0 else out * directions
                made = {"weight_ih": (gates, width), "weight_hh": (gates, out)}
                if self.bias:
                    made.update({"bias_ih": (gates,), "bias_hh": (gates,)})  # type: ignore[dict-item]
                if self.proj_size:
                    made["weight_hr"] = (self.proj_size, self.hidden_size)
                for name, shape in made.items():
                    setattr(self, name + suffix, Parameter(empty(shape, **options)))
                self._all_weights.append([name + suffix for name in made])
                self._flat_weights_names += self._all_weights[-1]

    def reset_parameters(self) -> None:
        """Draws the weights anew: uniform on (-1/sqrt(hidden_size), 1/sqrt(hidden_size))."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Accepted: weights lie where they are."""

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor]) -> None:
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            if getattr(self, name) is not weight:
                setattr(self, name, weight)

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raises RuntimeError for an input whose dimensions do not fit, and ValueError for one of another dtype."""
        dtype = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype != dtype and _core._autocast() is None:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(
                f"{type(self).__name__}: input must have {expected} dimensions, got {input.dim()}; reshape() it"
            )
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"{type(self).__name__}: input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}; make the module with input_size={input.size(-1)}, or change the last dimension"
            )

    def check_hidden_size(self, hx: Tensor, expected: Any, msg: str = "Expected hidden size {}, got {}") -> None:
        """Raises RuntimeError for a state of another shape."""
        if tuple(hx.size()) != tuple(expected):
            raise RuntimeError(msg.format(tuple(expected), list(hx.size())))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states in another order of the batch."""
        if permutation is None:
            return hx
        if isinstance(hx, tuple):
            return tuple(t.index_select(1, permutation) for t in hx)
        return hx.index_select(1, permutation)

    def forward(self, input: Any, hx: Any = None) -> Any:
        packed = isinstance(input, PackedSequence)
        if packed:
            x, batch_sizes, order, back = input
            batch, batched = int(batch_sizes[0]), True
        else:
            x, batch_sizes, order, back = input, None, None, None
            if x.dim() not in (2, 3):
                raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {x.dim()}D instead")
            batched = x.dim() == 3
            if not batched:
                x = x.unsqueeze(0 if self.batch_first else 1)
            batch = x.size(0 if self.batch_first else 1)
        states = _states(self, x, hx, batch, batched, order)
        self.check_input(x, batch_sizes)
        for i, (state, shape) in enumerate(zip(states, _state_shapes(self, batch), strict=True)):
            which = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
            self.check_hidden_size(state, shape, f"Expected {which} size {{}}, got {{}}")
        weights = self._flat_weights
        out, *ends = LAYERS[self.mode](
            *(x, states if self.mode == "LSTM" else states[0], weights, self.bias, self.num_layers, self.dropout),
            *(self.training, self.bidirectional, self.batch_first),
            batch_sizes=batch_sizes.tolist() if packed else None,
        )
        if packed:
            shown: Any = PackedSequence(out, batch_sizes, order, back)
        else:
            shown = out if batched else out.squeeze(0 if self.batch_first else 1)
        ends = [self.permute_hidden(end, back) for end in ends]
        if not batched:
            ends = [end.squeeze(1) for end in ends]
        return shown, tuple(ends) if self.mode == "LSTM" else ends[0]

    def extra_repr(self) -> str:
        parts = [
            f"{self.input_size}, {self.hidden_size}",
            f"proj_size={self.proj_size}" if self.proj_size else "",
            f"num_layers={self.num_layers}" if self.num_layers != 1 else "",
            "bias=False" if not self.bias else "",
            "batch_first=True" if self.batch_first else "",
            f"dropout={self.dropout}" if self.dropout else "",
            "bidirectional=True" if self.bidirectional else "",
        ]
        return ", ".join(part for part in parts if part)

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch, which may load it, keeps this list.
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.pop("_flat_weights", None)
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)
        if "all_weights" in state:
            self.__dict__["_all_weights"] = self.__dict__.pop("all_weights")
        if "_flat_weights_names" not in self.__dict__:
            self._flat_weights_names = [name for names in self._all_weights for name in names]


def _check_flags(module: str, **flags: Any) -> None:
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(
                f"{module}(): {name} should be of type bool, got: {type(value).__name__} {value!r:.40}; give True "
                "or False, and other options by name"
            )


def _check_sizes(mode: str, input_size: Any, hidden_size: Any, num_layers: int, dropout: Any, proj_size: int) -> None:
    if mode not in GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, got "
            f"{dropout!r}"
        )
    if dropout > 0 and num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            "greater "
            f"than 1, but got dropout={dropout} and num_layers={num_layers}"
        )
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero, got {size}")
    if num_layers <= 0:
        raise ValueError(f"num_layers must be greater than zero, got {num_layers}")
    if proj_size < 0:
        raise ValueError(f"proj_size should be a positive integer or zero to disable projections, got {proj_size}")
    if proj_size >= hidden_size:
        raise ValueError(f"proj_size has to be smaller than hidden_size, got {proj_size} and {hidden_size}")


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) along a sequence (L, N, input_size), in `num_layers` layers.

    With `batch_first` the batch comes first; it may be missing; packed sequences give packed ones. Gives the states
    of the
    last layer at all steps, (L, N, directions * hidden_size), and the last state of each layer and direction.

    >>> import pullback
    >>> m = pullback.nn.RNN(10, 20, 2)
    >>> out, h = m(pullback.ones(5, 3, 10))
    >>> out.shape, h.shape
    (pullback.Size([5, 3, 20]), pullback.Size([2, 3, 20]))

    Raises:
        ValueError: for another `nonlinearity` than "tanh" and "relu".
        RuntimeError: for inputs and states whose shapes do not fit.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.__dict__["nonlinearity"] = args[3]
            args = args[:3] + args[4:]
        else:
            self.__dict__["nonlinearity"] = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory along a sequence (L, N, input_size); the state is (h, c). See `RNN` for shapes.

    With `proj_size` a further matrix takes h to that size.

    >>> import pullback
    >>> m = pullback.nn.LSTM(10, 20, bidirectional=True, batch_first=True)
    >>> out, (h, c) = m(pullback.ones(3, 5, 10))
    >>> out.shape, h.shape
    (pullback.Size([3, 5, 40]), pullback.Size([2, 3, 20]))

    Raises RuntimeError for inputs and states whose shapes do not fit.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of h."""
        return _state_shapes(self, _batch(self, input, batch_sizes))[0]

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of c."""
        return _state_shapes(self, _batch(self, input, batch_sizes))[1]


def _batch(rnn: RNNBase, input: Tensor, batch_sizes: Tensor | None) -> int:
    return int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if rnn.batch_first else 1)


class GRU(RNNBase):
    """Gated recurrent units along a sequence (L, N, input_size). See `RNN` for shapes.

    >>> import pullback
    >>> out, h = pullback.nn.GRU(10, 20)(pullback.ones(5, 3, 10))
    >>> out.shape, h.shape
    (pullback.Size([5, 3, 20]), pullback.Size([1, 3, 20]))

    Raises RuntimeError for inputs and states whose shapes do not fit.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


adopt(globals())
