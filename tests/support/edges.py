"""Values and derivatives at the edges: zeros, infinities, NaN, tiny and huge numbers, with finite, infinite and NaN
cotangents and tangents.

The same calls run on this package and on PyTorch: `m` is either module. `tools/record_edges.py` records PyTorch's
answers, one letter for each number: `0`, `p` and `m` (positive, negative), `I` and `i` (infinite), `n` (NaN), and six
digits of values and of derivatives with a cotangent or tangent of 1.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "reference" / "edges.json.gz"
inf, nan = math.inf, math.nan
Case = tuple[Callable[..., Any], list[Any]]
CASES: dict[str, Case] = {}
PROBES = {"1": 1.0, "inf": inf, "-inf": -inf, "nan": nan, "0": 0.0}
DTYPES = ("float32", "float64")

LINE = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 1e-30, -1e-30, 1e19, -1e19, 1e30, -1e30, inf, -inf, nan]
LINE += [100.0, -100.0, 20.5, -20.5, 6.0]
SHORT = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 1e19, inf, -inf, nan]
PAIRS = [[a for a in SHORT for _ in SHORT], [b for _ in SHORT for b in SHORT]]
UNIT = [0.0, 1.0, 0.5, 0.25, 1e-30, 1e-12]
TARGETS = [0.0, 1.0, 0.5, 0.0, 1.0]
# One point each row.
ROWS = [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [0.0, 1.0, 2.0], [3.0, 0.0, -4.0], [1e19, 2e19, -1e19], [1e30, -1e30, 2e30]]
ROWS += [[1e-30, 2e-30, 1e-30], [inf, 1.0, 2.0], [-inf, 1.0, 2.0], [inf, inf, 0.0], [-inf, -inf, -inf], [nan, 1.0, 0.0]]
ROWS += [[100.0, -100.0, 0.0], [inf, -inf, 1.0], [1.0, 1.0, 3.0], [-0.0, 0.0, 1.0]]
EVEN = [[*r, 1.0] for r in ROWS]


def unary(prefix: str, names: str, points: list[float] = LINE) -> None:
    for name in names.split():
        CASES[prefix + name] = ((lambda m, x, p=prefix, n=name: resolve(m, p + n)(x)), [points])


def resolve(m: Any, path: str) -> Any:
    for part in path.split("."):
        m = getattr(m, part)
    return m


def calls(**named: tuple[Any, ...]) -> None:
    for name, (f, *inputs) in named.items():
        name = name.replace("nn_", "nn.functional.").replace("linalg_", "linalg.").replace("__", " ")
        assert name not in CASES
        CASES[name] = (f, list(inputs))


def fn(m: Any) -> Any:
    return m.nn.functional


unary(
    "",
    """sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log1p log2 log10 sqrt rsqrt
    reciprocal erf erfc erfinv sigmoid lgamma digamma abs neg square sign floor ceil trunc round frac positive relu""",
)
unary("nn.functional.", "logsigmoid softplus silu gelu leaky_relu elu softsign mish relu6 hardtanh")
calls(
    nn_gelu__tanh=(lambda m, x: fn(m).gelu(x, approximate="tanh"), LINE),
    nn_softplus__beta=(lambda m, x: fn(m).softplus(x, 2.0, 5.0), LINE),
    nn_softplus__negative=(lambda m, x: fn(m).softplus(x, -2.0, 5.0), LINE),
    nn_leaky_relu__0=(lambda m, x: fn(m).leaky_relu(x, 0.0), LINE),
    nn_leaky_relu__negative=(lambda m, x: fn(m).leaky_relu(x, -2.0), LINE),
    nn_elu__2=(lambda m, x: fn(m).elu(x, 2.0), LINE),
    nn_elu__0=(lambda m, x: fn(m).elu(x, 0.0), LINE),
    nn_elu__negative=(lambda m, x: fn(m).elu(x, -0.5), LINE),
    nn_hardtanh__2=(lambda m, x: fn(m).hardtanh(x, -2.0, 0.5), LINE),
    clamp=(lambda m, x: m.clamp(x, -1.0, 2.0), LINE),
    clamp__min=(lambda m, x: m.clamp(x, min=0.0), LINE),
    clamp__max=(lambda m, x: m.clamp(x, max=0.5), LINE),
    clamp__crossed=(lambda m, x: m.clamp(x, 1.0, -1.0), LINE),
    clamp__nan=(lambda m, x: m.clamp(x, nan, 1.0), LINE),
    clamp__infinite=(lambda m, x: m.clamp(x, -inf, inf), LINE),
    clamp__tensors=(lambda m, x, a: m.clamp(x, a, m.full_like(a, 1.0)), *PAIRS),
    clamp__max_tensor=(lambda m, x, a: m.clamp(x, max=a), *PAIRS),
    add=(lambda m, a, b: m.add(a, b), *PAIRS),
    add__alpha=(lambda m, a, b: m.add(a, b, alpha=0), *PAIRS),
    sub=(lambda m, a, b: m.sub(a, b, alpha=2), *PAIRS),
    rsub=(lambda m, a, b: m.rsub(a, b), *PAIRS),
    mul=(lambda m, a, b: m.mul(a, b), *PAIRS),
    div=(lambda m, a, b: m.div(a, b), *PAIRS),
    div__floor=(lambda m, a, b: m.div(a, b, rounding_mode="floor"), *PAIRS),
    div__trunc=(lambda m, a, b: m.div(a, b, rounding_mode="trunc"), *PAIRS),
    div__number=(lambda m, a: a / 0.0, LINE),
    div__of_number=(lambda m, a: 0.0 / a, LINE),
    atan2=(lambda m, a, b: m.atan2(a, b), *PAIRS),
    hypot=(lambda m, a, b: m.hypot(a, b), *PAIRS),
    fmod=(lambda m, a, b: m.fmod(a, b), *PAIRS),
    fmod__number=(lambda m, a: m.fmod(a, 1.5), LINE),
    remainder=(lambda m, a, b: m.remainder(a, b), *PAIRS),
    remainder__number=(lambda m, a: m.remainder(a, -1.5), LINE),
    maximum=(lambda m, a, b: m.maximum(a, b), *PAIRS),
    minimum=(lambda m, a, b: m.minimum(a, b), *PAIRS),
    logaddexp=(lambda m, a, b: m.logaddexp(a, b), *PAIRS),
    pow=(lambda m, a, b: m.pow(a, b), *PAIRS),
    lerp=(lambda m, a, b: m.lerp(a, b, 0.25), *PAIRS),
    lerp__far=(lambda m, a, b: m.lerp(a, b, 0.75), *PAIRS),
    lerp__0=(lambda m, a, b: m.lerp(a, b, 0.0), *PAIRS),
    lerp__1=(lambda m, a, b: m.lerp(a, b, 1.0), *PAIRS),
    lerp__weight=(lambda m, a, w: m.lerp(a, m.full_like(a, 2.0), w), *PAIRS),
    lerp__weight_end=(lambda m, b, w: m.lerp(m.full_like(b, 2.0), b, w), *PAIRS),
    where=(lambda m, a, b: m.where(a > b, a, b), *PAIRS),
    round__decimals=(lambda m, a: m.round(a, decimals=2), LINE),
    nn_huber_loss=(lambda m, a, b: fn(m).huber_loss(a, b, reduction="none"), *PAIRS),
    nn_mse_loss=(lambda m, a, b: fn(m).mse_loss(a, b, reduction="none"), *PAIRS),
    nn_l1_loss=(lambda m, a, b: fn(m).l1_loss(a, b, reduction="none"), *PAIRS),
    nn_kl_div=(lambda m, a, b: fn(m).kl_div(a, b, reduction="none"), *PAIRS),
    nn_kl_div__log=(lambda m, a, b: fn(m).kl_div(a, b, reduction="none", log_target=True), *PAIRS),
    nn_binary_cross_entropy=(
        lambda m, x, t: fn(m).binary_cross_entropy(x, t, reduction="none"),
        [x for x in UNIT for _ in TARGETS],
        [t for _ in UNIT for t in TARGETS],
    ),
    nn_binary_cross_entropy__weight=(
        lambda m, x: fn(m).binary_cross_entropy(x, m.zeros_like(x), m.zeros_like(x), reduction="none"),
        UNIT,
    ),
    nn_binary_cross_entropy_with_logits=(
        lambda m, x, t: fn(m).binary_cross_entropy_with_logits(x, t, reduction="none"),
        [x for x in LINE for _ in TARGETS],
        [t for _ in LINE for t in TARGETS],
    ),
    nn_binary_cross_entropy_with_logits__pos=(
        lambda m, x: fn(m).binary_cross_entropy_with_logits(
            x, m.full_like(x, 0.25), reduction="none", pos_weight=m.full_like(x, 3.0)
        ),
        LINE,
    ),
    xlogx=(lambda m, x: x * m.log(x), LINE),
    square__of_sqrt=(lambda m, x: m.sqrt(x) ** 2, LINE),
)
for exponent in ("0", "1", "2", "3", "-1", "-2", "0.5", "-0.5", "1.5", "2.5", "inf", "-inf", "nan", "0.0", "4"):
    number = int(exponent) if exponent.lstrip("-").isdigit() else float(exponent)
    CASES[f"pow {exponent}"] = ((lambda m, x, e=number: x**e), [LINE])
    CASES[f"rpow {exponent}"] = ((lambda m, x, e=number: e**x), [LINE])
    CASES[f"pow tensor {exponent}"] = ((lambda m, x, e=number: m.pow(x, m.full_like(x, e))), [LINE])

for c in ("0", "1", "2", "0.5", "3", "4"):
    for op in ("std", "var"):
        CASES[f"{op} {c}"] = ((lambda m, x, op=op, c=float(c): getattr(m, op)(x, 1, correction=c)), [ROWS])
for p in ("inf", "-inf", "0", "0.5", "1", "2", "3", "-1", "-2", "1.5"):
    CASES[f"linalg.vector_norm {p}"] = ((lambda m, x, p=float(p): m.linalg.vector_norm(x, p, 1)), [ROWS])
    CASES[f"norm {p}"] = ((lambda m, x, p=float(p): m.norm(x, p, 1)), [ROWS])
calls(
    norm__single=(lambda m, x: m.norm(x[:, :1], 2, 1), ROWS),
    vector_norm__single=(lambda m, x: m.linalg.vector_norm(x[:, :1], 3, 1), ROWS),
    linalg_matrix_norm=(lambda m, x: m.linalg.matrix_norm(x[:, None]), ROWS),
    linalg_matrix_norm__1=(lambda m, x: m.linalg.matrix_norm(x[:, None], 1), ROWS),
    linalg_matrix_norm__inf=(lambda m, x: m.linalg.matrix_norm(x[:, None], inf), ROWS),
    sum=(lambda m, x: m.sum(x, 1), ROWS),
    mean=(lambda m, x: m.mean(x, 1), ROWS),
    prod=(lambda m, x: m.prod(x, 1), ROWS),
    amax=(lambda m, x: m.amax(x, 1), ROWS),
    amin=(lambda m, x: m.amin(x, 1), ROWS),
    max__dim=(lambda m, x: m.max(x, 1).values, ROWS),
    min__dim=(lambda m, x: m.min(x, 1).values, ROWS),
    max__all=(lambda m, x: m.stack([m.max(r) for r in x]), ROWS),
    logsumexp=(lambda m, x: m.logsumexp(x, 1), ROWS),
    softmax=(lambda m, x: m.softmax(x, 1)[:, 0], ROWS),
    softmax__last=(lambda m, x: m.softmax(x, 1)[:, 2], ROWS),
    log_softmax=(lambda m, x: m.log_softmax(x, 1)[:, 0], ROWS),
    log_softmax__last=(lambda m, x: m.log_softmax(x, 1)[:, 2], ROWS),
    cumsum=(lambda m, x: m.cumsum(x, 1)[:, 1], ROWS),
    cummax=(lambda m, x: m.cummax(x, 1).values, ROWS),
    cummin=(lambda m, x: m.cummin(x, 1).values, ROWS),
    sort=(lambda m, x: m.sort(x, dim=1, stable=True).values, ROWS),
    topk=(lambda m, x: m.topk(x[[2, 3, 4, 6, 7, 12, 13]], 2).values, ROWS),
    kthvalue=(lambda m, x: m.kthvalue(x[[2, 3, 4, 5, 7, 12, 13]], 2).values, ROWS),
    nn_layer_norm=(lambda m, x: fn(m).layer_norm(x, (3,))[:, 0], ROWS),
    nn_layer_norm__affine=(
        lambda m, x, w, b: fn(m).layer_norm(x, (3,), w, b)[:, 2],
        ROWS,
        [1.0, 0.0, 2.0],
        [0.0, 1.0, 0.0],
    ),
    nn_layer_norm__0=(lambda m, x: fn(m).layer_norm(x, (3,), eps=0.0)[:, 0], ROWS),
    nn_rms_norm=(lambda m, x: fn(m).rms_norm(x, (3,))[:, 0], ROWS),
    nn_group_norm=(lambda m, x: fn(m).group_norm(x, 1)[:, 0], ROWS),
    nn_group_norm__2=(lambda m, x: fn(m).group_norm(x, 2)[:, 0], EVEN),
    nn_batch_norm=(lambda m, x: fn(m).batch_norm(x.T, None, None, training=True)[0], ROWS),
    nn_batch_norm__running=(
        lambda m, x: fn(m).batch_norm(x, m.zeros(3, dtype=x.dtype), m.full((3,), 0.0, dtype=x.dtype))[:, 0],
        ROWS,
    ),
    nn_glu=(lambda m, x: fn(m).glu(x)[:, 0], EVEN),
    nn_glu__gate=(lambda m, x: fn(m).glu(x, 0)[0], LINE[:22]),
    nn_glu__pairs=(lambda m, a, b: fn(m).glu(m.stack([a, b]), 0)[0], *PAIRS),
    nn_cross_entropy=(lambda m, x: fn(m).cross_entropy(x, at(m, x, 0), reduction="none"), ROWS),
    nn_cross_entropy__smoothing=(
        lambda m, x: fn(m).cross_entropy(x, at(m, x, 0), reduction="none", label_smoothing=0.25),
        ROWS,
    ),
    nn_cross_entropy__soft=(
        lambda m, x: fn(m).cross_entropy(
            x, m.tensor([[0.0, 0.5, 0.5]], dtype=x.dtype).expand(len(x), 3), reduction="none"
        ),
        ROWS,
    ),
    nn_cross_entropy__weight=(
        lambda m, x: fn(m).cross_entropy(x, at(m, x, 0), m.tensor([0.0, 1.0, 2.0], dtype=x.dtype), reduction="none"),
        ROWS,
    ),
    nn_nll_loss=(lambda m, x: fn(m).nll_loss(x, at(m, x, 1), reduction="none"), ROWS),
    nn_nll_loss__weight=(
        lambda m, x: fn(m).nll_loss(x, at(m, x, 1), m.tensor([1.0, 0.0, 2.0], dtype=x.dtype), reduction="none"),
        ROWS,
    ),
    nn_max_pool1d=(lambda m, x: fn(m).max_pool1d(x[:, None], 3)[:, 0, 0], ROWS),
    nn_avg_pool1d=(lambda m, x: fn(m).avg_pool1d(x[:, None], 3)[:, 0, 0], ROWS),
    nn_adaptive_max_pool1d=(lambda m, x: fn(m).adaptive_max_pool1d(x[:, None], 1)[:, 0, 0], ROWS),
    dist=(lambda m, x: m.stack([m.dist(r, m.zeros_like(r), 2) for r in x]), ROWS),
    dot=(lambda m, x: m.stack([m.dot(r, r) for r in x]), ROWS),
    mm=(lambda m, x: (x[:, None] @ x[:, :, None])[:, 0, 0], ROWS),
    addcmul=(lambda m, x: m.addmv(x[2], x[2:5], x[2], beta=0, alpha=0), ROWS),
    tril=(lambda m, x: m.tril(x)[:, 1], ROWS),
    trace=(lambda m, x: m.trace(x[2:5]), ROWS),
)


def at(m: Any, x: Any, index: int) -> Any:
    return m.full((len(x),), index, dtype=m.int64)


def flat(values: Any) -> list[float]:
    # Adding nothing turns PyTorch's symbolic zeros into ordinary ones.
    return (values.detach() + 0.0).reshape(-1).tolist()


def letters(values: Any) -> str:
    """The class of each number."""
    out = ""
    for v in flat(values):
        if v != v:
            out += "n"
        elif abs(v) == inf:
            out += "I" if v > 0 else "i"
        else:
            out += "0" if v == 0 else "p" if v > 0 else "m"
    return out


def numbers(values: Any) -> list[float]:
    """Six digits of each number, 0 for those that are none."""
    return [float(f"{v:.6g}") if math.isfinite(v) else 0.0 for v in flat(values)]


def is_measured(key: str) -> bool:
    """Whether numbers are compared, rather than their classes alone."""
    return key == "value" or key.endswith(" 1")


class Probe:
    """The derivatives of one case on one of the two packages."""

    def __init__(self, m: Any, func: Any, name: str, dtype: str):
        self.m, self.func = m, func
        self.f, inputs = CASES[name]
        self.inputs = [m.tensor(x, dtype=getattr(m, dtype)) for x in inputs]

    def alone(self, i: int) -> Callable[[Any], Any]:
        """The call as a function of one input."""
        return lambda x: self.f(self.m, *(x if j == i else self.inputs[j] for j in range(len(self.inputs))))

    def value(self) -> Any:
        return self.f(self.m, *self.inputs)

    def reverse(self, i: int, c: float) -> Any:
        y, pull = self.func.vjp(self.alone(i), self.inputs[i])
        return pull(self.m.full_like(y, c))[0]

    def forward(self, i: int, c: float) -> Any:
        return self.func.jvp(self.alone(i), (self.inputs[i],), (self.m.full_like(self.inputs[i], c),))[1]

    def gradient(self, i: int) -> Callable[[Any], Any]:
        """Reverse mode as a function of the point."""
        f = self.alone(i)

        def g(x: Any) -> Any:
            y, pull = self.func.vjp(f, x)
            return pull(self.m.ones_like(y))[0]

        return g

    def reverse_of_reverse(self, i: int, c: float) -> Any:
        y, pull = self.func.vjp(self.gradient(i), self.inputs[i])
        return pull(self.m.full_like(y, c))[0]

    MODES = ("reverse", "forward", "reverse_of_reverse")

    def keys(self) -> list[str]:
        """What is asked: the value, or the mode of a derivative, the number of the input, and the probe."""
        count = range(len(self.inputs))
        return ["value", *(f"{mode} {i} {label}" for mode in self.MODES for i in count for label in PROBES)]

    def answer(self, key: str) -> Any:
        """The letters of an answer, and its numbers where these are compared; the class of an exception otherwise."""
        try:
            if key == "value":
                out = self.value()
            else:
                mode, i, label = key.split()
                out = getattr(self, mode)(int(i), PROBES[label])
        except Exception as error:
            return "!" + type(error).__name__.lstrip("_")
        return [letters(out), numbers(out)] if is_measured(key) else letters(out)


def load() -> dict[str, list[Any]]:
    """PyTorch's answers by case and dtype, in the order of the keys."""
    with gzip.open(RECORDED, "rt") as f:
        return json.load(f)
