"""The steps of recurrent layers, and how a layer runs over a sequence."""

from __future__ import annotations

from ... import Tensor, cat, relu, stack, tanh
from .. import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

# A state is a tuple of tensors: that which the layer gives out comes first.
State = tuple[Tensor, ...]


def _plain(function: Callable[[Tensor], Tensor]) -> Callable[..., State]:
    def step(projected: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> State:
        return (function(projected + F.linear(state[0], w_hh, b_hh)),)

    return step


def _gru(projected: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> State:
    (h,) = state
    xr, xz, xn = projected.chunk(3, -1)
    hr, hz, hn = F.linear(h, w_hh, b_hh).chunk(3, -1)
    z = (xz + hz).sigmoid()
    n = (xn + (xr + hr).sigmoid() * hn).tanh()
    return (n + z * (h - n),)


def _lstm(projected: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> State:
    h, c = state
    i, f, g, o = (projected + F.linear(h, w_hh, b_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w_hr is None else F.linear(h, w_hr)), c


STEPS: dict[str, Callable[..., State]] = {
    "RNN_TANH": _plain(tanh),
    "RNN_RELU": _plain(relu),
    "GRU": _gru,
    "LSTM": _lstm,
}
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def run_layer(
    mode: str, x: Tensor, sizes: Sequence[int] | None, state: State, weights: Sequence[Any], reverse: bool
) -> tuple[Tensor, State]:
    """One layer in one direction over (T, N, features), or over packed (sum of `sizes`, features)."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    if mode != "GRU" and b_ih is not None:
        b_ih, b_hh = b_ih + b_hh, None  # the product of the state alone has no other use for its bias
    projected = F.linear(x, w_ih, b_ih)  # of all steps at once
    step = STEPS[mode]
    if sizes is None:
        outs = []
        steps = projected.unbind(0)
        for p in reversed(steps) if reverse else steps:
            state = step(p, state, w_hh, b_hh, w_hr)
            outs.append(state[0])
        return stack(outs[::-1] if reverse else outs), state
    return _run_packed(step, projected, list(sizes), state, (w_hh, b_hh, w_hr), reverse)


def _run_packed(
    step: Callable[..., State], projected: Tensor, sizes: list[int], state: State, weights: Any, reverse: bool
) -> tuple[Tensor, State]:
    """Sequences of falling length: step t has the first `sizes[t]` of them."""
    parts = list(projected.split(sizes))
    outs: list[Tensor] = []
    if reverse:
        # From the end, where only the longest are: the others join with their first state.
        begin, live = state, tuple(s[: sizes[-1]] for s in state)
        for p, size in zip(reversed(parts), reversed(sizes), strict=True):
            have = live[0].size(0)
            if size > have:
                live = tuple(cat([s, b[have:size]]) for s, b in zip(live, begin, strict=True))
            live = step(p, live, *weights)
            outs.append(live[0])
        return cat(outs[::-1]), live
    # From the front: those that have ended leave with their last state.
    done: list[State] = []
    live = tuple(s[: sizes[0]] for s in state)
    for p, size in zip(parts, sizes, strict=True):
        if size < live[0].size(0):
            done.append(tuple(s[size:] for s in live))
            live = tuple(s[:size] for s in live)
        live = step(p, live, *weights)
        outs.append(live[0])
    done.append(live)
    ended = tuple(cat([d[i] for d in reversed(done)]) for i in range(len(state)))
    return cat(outs), ended


def run(
    mode: str,
    x: Tensor,
    sizes: Sequence[int] | None,
    states: State,
    weights: Sequence[Sequence[Any]],
    directions: int,
    dropout: float,
) -> tuple[Tensor, State]:
    """All layers. `states` are (layers * directions, N, …); `weights` has five of each layer and direction."""
    ends: list[State] = []
    layers = len(weights) // directions
    for layer in range(layers):
        outs = []
        for d in range(directions):
            k = layer * directions + d
            out, end = run_layer(mode, x, sizes, tuple(s[k] for s in states), weights[k], d == 1)
            outs.append(out)
            ends.append(end)
        x = outs[0] if directions == 1 else cat(outs, -1)
        if dropout > 0 and layer < layers - 1:
            x = F.dropout(x, dropout, True)
    return x, tuple(stack([end[i] for end in ends]) for i in range(len(states)))
