"""Random expressions of operators as functions of tensors, with the shapes that they need.

An expression is a list of steps on all values so far. Operators are wrapped so that numbers stay near one and away from
the edges of domains; ties and kinks are met by no derivative but on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import pullback as pb
from pullback import linalg
from pullback.nn import functional as F

LARGEST = 48  # elements of a value

SMOOTH: dict[str, Callable[[Any], Any]] = {
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos() + x,
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "exp": lambda x: (x * 0.4).sin().exp(),
    "log1p": lambda x: (x * x).log1p(),
    "sqrt": lambda x: (x * x + 0.5).sqrt(),
    "rsqrt": lambda x: (x * x + 0.5).rsqrt(),
    "atan": lambda x: x.atan(),
    "softplus": lambda x: F.softplus(x),
    "gelu": lambda x: F.gelu(x),
    "silu": lambda x: F.silu(x),
    "erf": lambda x: x.erf(),
    "reciprocal": lambda x: (x.sin() + 2).reciprocal(),
    "power": lambda x: (x * x + 0.3) ** 1.5,
    "lgamma": lambda x: (x.sigmoid() + 1).lgamma(),
    "double": lambda x: x.mul(2.0).sub(0.3, alpha=2),
}
BENT: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: x.relu(),
    "abs": lambda x: x.abs(),
    "clamp": lambda x: x.clamp(-0.61, 0.73),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "elu": lambda x: F.elu(x),
    "hardtanh": lambda x: F.hardtanh(x, -0.47, 0.83),
    "where": lambda x: pb.where(x > 0.1, x.sin(), x * 0.3),
    "masked_fill": lambda x: x.masked_fill(x < -0.31, 0.7),
    "floor": lambda x: x - x.floor(),
    "written": lambda x: x.clone().mul_(x).add_(0.2),
}
PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y * 0.5,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y * y + 0.7),
    "atan2": lambda x, y: pb.atan2(x, y * y + 0.5),
    "logaddexp": lambda x, y: pb.logaddexp(x, y),
    "lerp": lambda x, y: pb.lerp(*pb.broadcast_tensors(x, y), 0.3),
    "hypot": lambda x, y: pb.hypot(x, y.abs() + 0.5),
    "addcmul": lambda x, y: pb.addcmul(x, x, y, value=0.5),
}
BENT_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": lambda x, y: pb.maximum(x, y * 0.9 + 0.013),
    "minimum": lambda x, y: pb.minimum(x, y * 0.9 + 0.013),
    "where": lambda x, y: pb.where(x > y * 0.7, x.sin(), y),
}
FOLDS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, d, k: x.sum(d, keepdim=k),
    "mean": lambda x, d, k: x.mean(d, keepdim=k),
    "logsumexp": lambda x, d, k: x.logsumexp(d, keepdim=k),
    "prod": lambda x, d, k: x.sin().prod(d, keepdim=k),
    "var": lambda x, d, k: x.var(d, correction=0, keepdim=k),
    "norm": lambda x, d, k: linalg.vector_norm(x.sin() + 1.5, dim=d, keepdim=k),
}
BENT_FOLDS: dict[str, Callable[..., Any]] = {
    "amax": lambda x, d, k: x.amax(d, keepdim=k),
    "max": lambda x, d, k: x.max(d, keepdim=k).values,
    "median": lambda x, d, k: x.median(d, keepdim=k).values,
    "kthvalue": lambda x, d, k: x.kthvalue(1, d, keepdim=k).values,
}
SCANS: dict[str, Callable[[Any, int], Any]] = {
    "cumsum": lambda x, d: x.cumsum(d),
    "cumprod": lambda x, d: x.sin().cumprod(d),
    "logcumsumexp": lambda x, d: x.logcumsumexp(d),
    "softmax": lambda x, d: x.softmax(d),
    "log_softmax": lambda x, d: x.log_softmax(d),
    "flip": lambda x, d: x.flip(d),
    "roll": lambda x, d: x.roll(1, d),
    "doubled": lambda x, d: pb.cat([x, x.sin()], d),
    "stacked": lambda x, d: pb.stack([x.cos(), x], d),
    "half": lambda x, d: x.narrow(d, 0, (x.size(d) + 1) // 2),
    "last": lambda x, d: x.select(d, -1),
    "every second": lambda x, d: x.movedim(d, 0)[::2],
    "turned": lambda x, d: x.movedim(d, -1),
    "repeated": lambda x, d: x.repeat_interleave(2, d),
    "chosen": lambda x, d: x.index_select(d, pb.tensor([0, -1]) % x.size(d)),
    "column written": lambda x, d: written_column(x, d),
    "added at": lambda x, d: x.index_add(d, pb.tensor([0]), x.narrow(d, x.size(d) - 1, 1).sin()),
    "layer_norm": lambda x, d: F.layer_norm(x.movedim(d, -1), (x.size(d),), eps=0.1),
    "unfolded": lambda x, d: x.unfold(d, min(2, x.size(d)), 1),
    "padded": lambda x, d: F.pad(x.movedim(d, -1), (1, 0), value=0.4),
}
BENT_SCANS: dict[str, Callable[[Any, int], Any]] = {
    "sort": lambda x, d: x.sort(d).values,
    "gather": lambda x, d: x.gather(d, x.argsort(d, descending=True)),
    "cummax": lambda x, d: x.cummax(d).values,
    "topk": lambda x, d: x.topk((x.size(d) + 1) // 2, d).values,
}
MATRICES: dict[str, Callable[[Any], Any]] = {
    "gram": lambda x: x @ x.mT,
    "transposed": lambda x: x.mT,
    "tril": lambda x: x.tril(),
    "diagonal": lambda x: x.diagonal(0, -2, -1),
    "trace": lambda x: pb.einsum("...ij,...ij->...", x, x),
    "inverse": lambda x: linalg.inv(definite(x)),
    "solve": lambda x: linalg.solve(definite(x), x),
    "cholesky": lambda x: linalg.cholesky(definite(x)),
    "logdet": lambda x: linalg.slogdet(definite(x))[1],
    "flat": lambda x: x.flatten(-2),
}


def definite(x: Any) -> Any:
    x = x.tanh()
    return x @ x.mT + 2 * pb.eye(x.size(-2), dtype=x.dtype)


def written_column(x: Any, dim: int) -> Any:
    y = x * 1.5
    y.select(dim, 0).mul_(x.select(dim, -1))
    y.select(dim, -1)[...] = 0.5
    return y


class Step(NamedTuple):
    says: str
    run: Callable[..., Any]
    operands: tuple[int, ...]


class Expression:
    """A function of tensors: its steps, and which value is the result."""

    def __init__(self, inputs: int, steps: list[Step]):
        self.inputs, self.steps = inputs, steps

    def __call__(self, *xs: Any) -> Any:
        values = list(xs)
        for step in self.steps:
            values.append(step.run(*(values[i] for i in step.operands)))
        return values[-1]

    def __repr__(self) -> str:
        names = [f"x{i}" for i in range(self.inputs + len(self.steps))]
        lines = [
            f"{n} = {p.says}({', '.join(names[i] for i in p.operands)})"
            for n, p in zip(names[self.inputs :], self.steps, strict=True)
        ]
        return "<" + "; ".join(lines) + ">"


def broadcast(a: Any, b: Any) -> bool:
    try:
        return int(np.prod(np.broadcast_shapes(a, b))) <= LARGEST
    except ValueError:
        return False


@st.composite
def steps(draw: st.DrawFn, values: list[Any], smooth: bool) -> Step:
    """One more step on values whose shapes are known."""
    i = len(values) - 1 if draw(st.integers(0, 3)) else draw(st.integers(0, len(values) - 1))
    x = values[i]
    kinds = ["one", "two", "two"] + (["fold", "scan", "scan"] if x.dim() else []) + (["matrix"] if x.dim() > 1 else [])
    kind = draw(st.sampled_from(kinds))

    def named(table: dict[str, Any], bent: dict[str, Any]) -> tuple[str, Any]:
        table = table if smooth else {**table, **bent}
        name = draw(st.sampled_from(sorted(table)))
        return name, table[name]

    if kind == "two":
        fitting = [j for j, y in enumerate(values) if broadcast(x.shape, y.shape)]
        name, f = named(PAIRS, BENT_PAIRS)
        return Step(name, f, (i, draw(st.sampled_from(fitting))) if fitting else (i, i))
    if kind in ("fold", "scan"):
        d = draw(st.integers(-x.dim(), x.dim() - 1))
        if kind == "fold":
            k = draw(st.booleans())
            name, f = named(FOLDS, BENT_FOLDS)
            return Step(f"{name}[{d}, {k}]", lambda x: f(x, d, k), (i,))
        name, f = named(SCANS, BENT_SCANS)
        return Step(f"{name}[{d}]", lambda x: f(x, d), (i,))
    name, f = named(MATRICES, {}) if kind == "matrix" else named(SMOOTH, BENT)
    return Step(name, f, (i,))


@st.composite
def expressions(
    draw: st.DrawFn, inputs: list[np.ndarray], smooth: bool = False, most: int = 5, extra: Step | None = None
) -> Expression:
    """A random function of such inputs; `extra` is a step on one value that is put in somewhere."""
    values = [pb.tensor(x) for x in inputs]
    chosen: list[Step] = []
    count = draw(st.integers(1, most))
    at = draw(st.integers(0, count)) if extra else -1
    for k in range(count + 1):
        if k == at and extra is not None:
            chosen.append(extra._replace(operands=(len(values) - 1,) * len(extra.operands)))
        elif k < count:
            chosen.append(draw(steps(values, smooth)))
        else:
            continue
        value = chosen[-1].run(*(values[i] for i in chosen[-1].operands))
        if value.numel() > LARGEST or value.dim() > 4:
            chosen.pop()
            continue
        values.append(value)
    return Expression(len(inputs), chosen) if chosen else Expression(len(inputs), [Step("sin", SMOOTH["sin"], (0,))])
