"""Calls at points where a derivative is 0 because the function is constant there, and the class of every number that
comes out when cotangents and tangents are infinite or NaN.

The same calls run on this package and on PyTorch: `m` is either module. `tools/record_constant_points.py` records what
PyTorch gives, as one letter for each number: `0`, `x` (finite), `i` (infinite) or `n` (NaN).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

inf, nan = math.inf, math.nan
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {}
PROBES = {"inf": inf, "nan": nan}
MATRIX = [[1.0, 2.0], [3.0, 4.0]]


def case(name: str, *inputs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a call. The part of the name before a space is the entry of the operator table."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        assert name not in CASES
        CASES[name] = (f, list(inputs))
        return f

    return register


def calls(**named: tuple[Any, ...]) -> None:
    for name, (f, *inputs) in named.items():
        case(name.replace("__", " ").replace("nn_", "nn.functional."), *inputs)(f)


def mask(m: Any) -> Any:
    return m.tensor([True, False, True])


def at(m: Any, *indices: int) -> Any:
    return m.tensor(list(indices))


def grid(m: Any) -> Any:
    return m.tensor([[0, 0, 1], [1, 0, 0]])


def written(x: Any, key: Any, value: Any) -> Any:
    y = x.clone()
    y[key] = value
    return y


def fn(m: Any) -> Any:
    return m.nn.functional


# Elementwise with a flat part.
LINE = [-inf, -7.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 7.0, inf]
FINITE = LINE[1:-1]
calls(
    relu=(lambda m, x: m.relu(x), LINE),
    nn_relu=(lambda m, x: fn(m).relu(x), LINE),
    nn_relu6=(lambda m, x: fn(m).relu6(x), LINE),
    nn_hardtanh=(lambda m, x: fn(m).hardtanh(x, -0.5, 3.0), LINE),
    nn_hardtanh__flat=(lambda m, x: fn(m).hardtanh(x, 1.0, 1.0), LINE),
    nn_leaky_relu=(lambda m, x: fn(m).leaky_relu(x, 0.2), LINE),
    nn_leaky_relu__0=(lambda m, x: fn(m).leaky_relu(x, 0.0), LINE),
    nn_elu=(lambda m, x: fn(m).elu(x, 1.5), FINITE),
    nn_elu__0=(lambda m, x: fn(m).elu(x, 0.0), LINE),
    nn_softplus=(lambda m, x: fn(m).softplus(x, 1.0, 2.0), LINE),
    nn_softplus__sharp=(lambda m, x: fn(m).softplus(x, 40.0, 20.0), FINITE),
    nn_logsigmoid=(lambda m, x: fn(m).logsigmoid(x), FINITE),
    nn_softsign=(lambda m, x: fn(m).softsign(x), FINITE),
    nn_silu=(lambda m, x: fn(m).silu(x), FINITE),
    clamp=(lambda m, x: x.clamp(-1, 3), LINE),
    clamp__min=(lambda m, x: m.clamp(x, min=-1), LINE),
    clamp__max=(lambda m, x: m.clip(x, max=3), LINE),
    clamp__crossed=(lambda m, x: m.clamp(x, 3, -1), LINE),
    clamp__tensors=(lambda m, x, a, b: m.clamp(x, a, b), [-2.0, 0.5, 2.0, 5.0], [-1.0, 0.0, 1.0, 1.0], [1.0, 1, 3, 2]),
    floor=(lambda m, x: m.floor(x), FINITE),
    ceil=(lambda m, x: m.ceil(x), FINITE),
    trunc=(lambda m, x: m.trunc(x), FINITE),
    round=(lambda m, x: m.round(x), FINITE),
    round__decimals=(lambda m, x: m.round(x, decimals=1), FINITE),
    sign=(lambda m, x: m.sign(x), FINITE),
    frac=(lambda m, x: m.frac(x), FINITE),
    abs=(lambda m, x: m.abs(x), FINITE),
    maximum=(lambda m, a, b: m.maximum(a, b), [1.0, 2.0, 3.0, inf, 0.0], [2.0, 2.0, 1.0, 0.0, inf]),
    minimum=(lambda m, a, b: m.minimum(a, b), [1.0, 2.0, 3.0, -inf, 0.0], [2.0, 2.0, 1.0, 0.0, -inf]),
    max__other=(lambda m, a, b: m.max(a, b), [1.0, 2.0, 3.0], [2.0, 2.0, 1.0]),
    remainder=(lambda m, a, b: m.remainder(a, b), [0.5, 0.0, 3.0, -0.5, 5.0], [1.0, 1.0, 2.0, 1.0, inf]),
    fmod=(lambda m, a, b: m.fmod(a, b), [0.5, 0.0, 3.0, -0.5, 5.0], [1.0, 1.0, 2.0, 1.0, inf]),
    floor_divide=(lambda m, a, b: m.floor_divide(a, b), [0.5, 0.0, 3.0], [1.0, 1.0, 2.0]),
    div__floor=(lambda m, a, b: m.div(a, b, rounding_mode="floor"), [0.5, 0.0, 3.0], [1.0, 1.0, 2.0]),
    pow__numbers=(lambda m, x: x**0 + x**1 + x**2 + x**3, [0.0, 2.0, -2.0]),
    pow__0=(lambda m, x: m.pow(x, 0), [0.0, 2.0, -2.0]),
    pow__exponents=(lambda m, x: x ** m.tensor([0.0, 0.0, 1.0, 2.0], dtype=x.dtype), [0.0, 2.0, 0.0, 0.0]),
    pow=(lambda m, x, p: x**p, [0.0, 2.0, 2.0, 3.0], [1.5, 0.0, 1.0, 2.0]),
    where=(lambda m, a, b: m.where(mask(m), a, b), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]),
    where__number=(lambda m, a: m.where(mask(m), a, 0.0), [1.0, 2.0, 3.0]),
    where__broadcast=(lambda m, a, b: m.where(mask(m), a, b), 1.0, [[4.0], [5.0]]),
    masked_fill=(lambda m, x: x.masked_fill(mask(m), 7.0), [1.0, 2.0, 3.0]),
    masked_fill__tensor=(lambda m, x, v: x.masked_fill(mask(m), v), [1.0, 2.0, 3.0], 2.0),
    nn_huber_loss=(lambda m, a, b: fn(m).huber_loss(a, b, reduction="none"), [-3.0, 0.5, 3.0, inf, -inf], [0.0] * 5),
    nn_kl_div=(lambda m, a: fn(m).kl_div(a, m.tensor([0.0, 1.0, 0.5], dtype=a.dtype), reduction="none"), [0.0, 1, 2]),
    mul__0=(lambda m, x: x * 0, [1.0, 2.0]),
    sqrt__squared=(lambda m, x: m.sqrt(x) ** 2, [0.0, 4.0]),
    detach=(lambda m, x: x.detach() * x, [0.0, 4.0]),
)
# The same with an infinite slope behind or in front.
calls(
    relu__sqrt=(lambda m, x: m.sqrt(m.relu(x)), [-2.0, 0.0, 4.0]),
    relu__log=(lambda m, x: m.relu(m.log(x)), [0.0, 0.5, 1.0, 2.0]),
    clamp__acos=(lambda m, x: m.acos(x.clamp(-1, 1)), [-2.0, 0.5, 2.0]),
    clamp__inverse=(lambda m, x: (1 / x).clamp(-1, 1), [0.0, 0.5, 2.0]),
    maximum__sqrt=(lambda m, x: m.sqrt(m.maximum(x, m.zeros_like(x))), [-2.0, 4.0]),
    where__log=(lambda m, x: m.log(m.where(x > 0, x, 0.0)), [-2.0, 0.0, 4.0]),
    masked_fill__log=(lambda m, x: m.log(x.masked_fill(x <= 0, 0.0)), [-2.0, 0.0, 4.0]),
    nn_relu6__sqrt=(lambda m, x: m.sqrt(6 - fn(m).relu6(x)), [-1.0, 3.0, 8.0]),
    nn_hardtanh__log=(lambda m, x: m.log(1 - fn(m).hardtanh(x)), [-2.0, 0.5, 2.0]),
)
# Reductions and choices.
calls(
    amax=(lambda m, x: m.amax(x, 0), MATRIX),
    amin=(lambda m, x: m.amin(x, (0, 1)), [[1.0, 2.0], [1.0, 4.0]]),
    amax__all=(lambda m, x: m.amax(x), [1.0, 3.0, 3.0]),
    max=(lambda m, x: m.max(x), [1.0, 3.0, 3.0]),
    min=(lambda m, x: m.min(x), [1.0, 1.0, 3.0]),
    max__dim=(lambda m, x: m.max(x, 1).values, MATRIX),
    min__dim=(lambda m, x: m.min(x, 0).values, MATRIX),
    sort=(lambda m, x: m.sort(x, 0).values, [3.0, 1.0, 2.0]),
    topk=(lambda m, x: m.topk(x, 2).values, [3.0, 1.0, 2.0]),
    kthvalue=(lambda m, x: m.kthvalue(x, 2).values, [3.0, 1.0, 2.0]),
    cummax=(lambda m, x: m.cummax(x, 0).values, [1.0, 3.0, 2.0]),
    cummin=(lambda m, x: m.cummin(x, 0).values, [3.0, 1.0, 2.0]),
    nn_max_pool1d=(lambda m, x: fn(m).max_pool1d(x, 2), [[1.0, 3.0, 2.0, 0.0]]),
    nn_max_pool2d=(lambda m, x: fn(m).max_pool2d(x, 2), [MATRIX]),
    nn_adaptive_max_pool1d=(lambda m, x: fn(m).adaptive_max_pool1d(x, 1), [[1.0, 3.0, 2.0, 0.0]]),
    norm=(lambda m, x: m.norm(x), [0.0, 0.0]),
    linalg_vector_norm=(lambda m, x: m.linalg.vector_norm(x, 3), [0.0, 0.0]),
    linalg_vector_norm__inf=(lambda m, x: m.linalg.vector_norm(x, inf), [1.0, -2.0]),
)
# Parts put together.
calls(
    gather=(lambda m, x: m.gather(x, 1, m.tensor([[0], [1]])), MATRIX),
    take_along_dim=(lambda m, x: m.take_along_dim(x, m.tensor([[0], [1]]), 1), MATRIX),
    index_select=(lambda m, x: m.index_select(x, 0, at(m, 1)), MATRIX),
    masked_select=(lambda m, x: m.masked_select(x, mask(m)), [1.0, 2.0, 3.0]),
    masked_scatter=(lambda m, x, s: x.masked_scatter(mask(m), s), [1.0, 2.0, 3.0], [4.0, 5.0]),
    scatter=(lambda m, x, s: x.scatter(0, at(m, 1), s), [1.0, 2.0, 3.0], [4.0]),
    scatter__number=(lambda m, x: x.scatter(0, at(m, 1), 5.0), [1.0, 2.0, 3.0]),
    index_put=(lambda m, x, s: m.index_put(x, (at(m, 2, 0),), s), [1.0, 2.0, 3.0], [4.0, 5.0]),
    index_fill=(lambda m, x: x.index_fill(0, at(m, 1), 5.0), [1.0, 2.0, 3.0]),
    index_copy=(lambda m, x, s: x.index_copy(0, at(m, 1), s), [1.0, 2.0, 3.0], [4.0]),
    index_put__mask=(lambda m, x: written(x, mask(m), 5.0), [1.0, 2.0, 3.0]),
    index_put__mask_tensor=(lambda m, x, s: written(x, mask(m), s), [1.0, 2.0, 3.0], 2.0),
    index_put__mask_vector=(lambda m, x, s: written(x, mask(m), s), [1.0, 2.0, 3.0], [4.0, 5.0]),
    slice_scatter=(lambda m, x, s: m.slice_scatter(x, s, 0, 1, 3), [1.0, 2.0, 3.0], [4.0, 5.0]),
    select_scatter=(lambda m, x, s: m.select_scatter(x, s, 0, 1), [1.0, 2.0, 3.0], 4.0),
    diagonal_scatter=(lambda m, x, s: m.diagonal_scatter(x, s), MATRIX, [4.0, 5.0]),
    tril=(lambda m, x: m.tril(x), MATRIX),
    triu=(lambda m, x: m.triu(x, 1), MATRIX),
    diagonal=(lambda m, x: m.diagonal(x), MATRIX),
    diag_embed=(lambda m, x: m.diag_embed(x), [1.0, 2.0]),
    narrow=(lambda m, x: m.narrow(x, 0, 1, 1), [1.0, 2.0, 3.0]),
    constant_pad_nd=(lambda m, x: m.constant_pad_nd(x, (1, -1), 3.0), [1.0, 2.0, 3.0]),
    nn_embedding=(lambda m, w: fn(m).embedding(at(m, 0, 1), w, padding_idx=0), MATRIX),
    nn_nll_loss=(lambda m, x: fn(m).nll_loss(x, at(m, 1, 0), ignore_index=0, reduction="none"), MATRIX),
    nn_cross_entropy=(lambda m, x: fn(m).cross_entropy(x, at(m, 1, 0), ignore_index=0, reduction="none"), MATRIX),
    nn_max_unpool1d=(lambda m, x: fn(m).max_unpool1d(x, m.tensor([[1, 2]]), 2), [[4.0, 5.0]]),
)
calls(
    nn_dropout__all=(lambda m, x: fn(m).dropout(x, 1.0), [1.0, 2.0]),
)


def letters(values: Any) -> str:
    """The class of each number."""
    flat = values.detach().reshape(-1).tolist()
    return "".join("n" if v != v else "i" if abs(v) == inf else "0" if v == 0 else "x" for v in flat)


class Probe:
    """The derivatives of one case on one of the two packages, as letters."""

    def __init__(self, m: Any, func: Any, name: str, dtype: Any = None):
        self.m, self.func = m, func
        self.f, inputs = CASES[name]
        self.inputs = [m.tensor(x, dtype=dtype or m.float64) for x in inputs]

    def alone(self, i: int) -> Callable[[Any], Any]:
        """The call as a function of one input."""
        return lambda x: self.f(self.m, *(x if j == i else self.inputs[j] for j in range(len(self.inputs))))

    def full(self, x: Any, c: float) -> Any:
        return self.m.full_like(x, c)

    def reverse(self, i: int, c: float) -> Any:
        y, pull = self.func.vjp(self.alone(i), self.inputs[i])
        return pull(self.full(y, c))[0]

    def forward(self, i: int, c: float) -> Any:
        return self.func.jvp(self.alone(i), (self.inputs[i],), (self.full(self.inputs[i], c),))[1]

    def gradient(self, i: int, c: float) -> Callable[[Any], Any]:
        """Reverse mode as a function of the point."""
        f = self.alone(i)

        def g(x: Any) -> Any:
            y, pull = self.func.vjp(f, x)
            return pull(self.full(y, c))[0]

        return g

    def reverse_of_reverse(self, i: int, c: float) -> Any:
        y, pull = self.func.vjp(self.gradient(i, 1.0), self.inputs[i])
        return pull(self.full(y, c))[0]

    def forward_of_reverse(self, i: int, c: float) -> Any:
        return self.func.jvp(self.gradient(i, 1.0), (self.inputs[i],), (self.full(self.inputs[i], c),))[1]

    def reverse_of_infinite(self, i: int, c: float) -> Any:
        """A finite cotangent for a gradient that had an infinite one."""
        y, pull = self.func.vjp(self.gradient(i, c), self.inputs[i])
        return pull(self.full(y, 1.0))[0]

    MODES = ("reverse", "forward", "reverse_of_reverse", "forward_of_reverse", "reverse_of_infinite")

    def keys(self) -> list[str]:
        """A derivative each: the mode, the number of the input, and the probe."""
        return [f"{mode} {i} {label}" for mode in self.MODES for i in range(len(self.inputs)) for label in PROBES]

    def letters(self, key: str) -> str:
        mode, i, label = key.split()
        return letters(getattr(self, mode)(int(i), PROBES[label]))
