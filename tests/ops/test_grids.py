"""Grids of calls against PyTorch's recorded answers: numbers that do not fit, factors, ranges, special points.

Where we differ on purpose, `ACCEPTED` says what and why; whatever it does not name must agree, and each line of it must
be needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from support import grids


class Accepted(NamedTuple):
    """A difference: `works` where PyTorch raises, `raises` where it answers, `nan` where its answer is not a number,
    `noise` where both round a value that is 0, `value` where its answer is wrong or a matter of convention."""

    grid: str
    pattern: str
    kind: str
    reason: str


ACCEPTED = [
    Accepted(
        "values",
        r"\(2\.0\*\*63\)",
        "raises",
        "2**63 as a float passes PyTorch's check and wraps, which C leaves undefined",
    ),
    Accepted(
        "values", r"\(2\*\*64\)|\(-2\*\*70\)", "works", "integers beyond 64 bits are refused there; a float is near"
    ),
    Accepted(
        "values", r"^x = .* = \(2\*\*63\)", "works", "assigned integers must fit into int64 there, whatever the dtype"
    ),
    Accepted("values", r"\) (==|<|>=) ", "value", "integers are compared after wrapping there"),
    Accepted("values", r"\) (==|<|>=) ", "works", "integers of any size can be compared"),
    Accepted("values", r"\) (//|%) ", "value", "a divisor wraps there before it divides"),
    Accepted("values", r"\) (//|%) ", "works", "a divisor that wraps to 0 there is none"),
    Accepted("values", r"\) (//|%) \(2\*\*63\)", "raises", "int64 does not have the divisor"),
    Accepted("values", r"\) \*\* ", "works", "exponents need not fit: results wrap"),
    Accepted("values", r"\) << ", "value", "a count wraps there before it shifts"),
    Accepted("values", r"\) << \(2\*\*63\)", "raises", "no integer dtype has the count"),
    Accepted("values", r"where.*f16\), \((1j|300\+0j)\)", "value", "there is no complex32"),
    Accepted("values", r"f16.*\((1j|300\+0j)\)|\((1j|300\+0j)\).*f16", "noise", "there is no complex32"),
    Accepted("values", r"clamp\(.*\(300\+0j\)", "raises", "complex numbers have no order"),
    Accepted("values", r"u8\)\.clamp\((min|max)=\(-", "raises", "a negative bound of unsigned integers wraps there"),
    Accepted("values", r"F\.pad.*i64.*\(2\*\*(53\+1|63-1)\)", "value", "the value is rounded to a float there"),
    Accepted("values", r"F\.pad.*i64.*\(2\*\*63\)", "raises", "int64 does not have the value"),
    Accepted("values", r"F\.pad.*b\).*\((2\*\*64|-2\*\*70)\)", "raises", "more than 64 bits, as everywhere else"),
    Accepted(
        "values", r"(beta|alpha)=\((-?0\.5|255\.9|-128\.5)\)", "raises", "fractions of integers are cut off there"
    ),
    Accepted("values", r"addmv.*f16", "works", "half precision is computed in single, as in PyTorch's addmm"),
    Accepted("values", r", b\).*\(2\*\*63\)|\(2\*\*63\).*, b\)", "works", "PyTorch has no promotion of uint64"),
    Accepted("values", r"T\.sub.*alpha=\(-2\*\*63\)", "value", "the factor's sign overflows there"),
    Accepted("values", r"T\.sub.*i64.*alpha=\(2\*\*63\)", "raises", "int64 does not have the factor"),
    Accepted("factors", r"(beta|alpha)=0\.5\)?", "raises", "fractions of integers are cut off there"),
    Accepted(
        "ranges",
        r"arange\(.*(0\.[1-9]|-0\.[1-9]), dtype=[ui]",
        "raises",
        "a step that is 0 as an integer repeats the start there",
    ),
    Accepted("ranges", r"arange\(-?2\*\*(53|62|63)", "value", "the length is counted in float64 there, or overflows"),
    Accepted("ranges", r"arange\((0,1e19|2\*\*63,)", "raises", "no int64 counts to the end"),
    Accepted("ranges", r"linspace\(.*, 1, dtype=f16", "raises", "a start that half precision does not have"),
    Accepted(
        "pointwise",
        r"T\.(lgamma|digamma)",
        "value",
        "PyTorch's trigamma has some 10 digits, and large numbers at the poles",
    ),
    Accepted(
        "pointwise",
        r"F\.(gelu|mish)|T\.(logaddexp|atan2|pow|div|hypot)|(0|0\.) \*\* x|x \*\* 0\.?,|t\(0\.?, ",
        "nan",
        "second order",
    ),
    Accepted("pointwise", r"F\.elu", "value", "the second derivative at 0 is that of the left side here, as the first"),
    Accepted(
        "pointwise", r"x \*\* 1\.5|T\.pow\(x, t\(1\.5", "value", "PyTorch takes square roots for exponents of 0.5"
    ),
    Accepted("pointwise", r"T\.pow, ", "value", "the mixed derivative is 1 / x at an exponent of 0, PyTorch says 0"),
    Accepted("reductions", r"T\.(std|var)\(", "noise", "constants deviate by 0 here; sums of second derivatives are 0"),
    Accepted(
        "reductions",
        r"T\.std\(.*(0\.1|1e-|1\.\+1e-7)",
        "value",
        "second derivatives that are 0 but for rounding, divided by tiny numbers",
    ),
    Accepted(
        "reductions",
        r"T\.var\(.*(correction=2|\[5|inf|nan)",
        "value",
        "at most as many elements as the correction: ±inf or NaN here",
    ),
    Accepted("reductions", r"vector_norm|T\.norm|linalg\.norm|matrix_norm|T\.dist", "nan", "second order at 0"),
    Accepted(
        "reductions",
        r"vector_norm|T\.norm|linalg\.norm|matrix_norm|T\.dist",
        "noise",
        "second derivatives along the point are 0",
    ),
    Accepted("reductions", r"softmax|cross_entropy|logsumexp|rms_norm", "noise", "sums of second derivatives are 0"),
    Accepted("reductions", r"T\.logsumexp", "nan", "the derivative at -inf"),
    Accepted(
        "reductions", r"T\.prod", "nan", "products are trees of products here, so that infinite factors are left out"
    ),
    Accepted("reductions", r"T\.prod.*1e-?[23]", "value", "what overflows or vanishes of products of three"),
    Accepted("reductions", r"T\.(amax|amin)", "nan", "the derivative at NaN"),
    Accepted("reductions", r"vector_norm\(x, 1\.5\).*1e-23.*f32", "value", "powers of 1.5 near the least float32"),
    Accepted("reductions", r"fn\.grad\(fn\.grad\(fn\.grad|T\.atan2", "nan", "third order and forward mode at 0"),
    Accepted("pointwise", r"with_logits", "nan", "limits at infinity"),
    Accepted(
        "arithmetic", r"u8\).* -2|-2 .*u8\)|_\(-2\)", "value", "numbers wrap there before they divide or are compared"
    ),
    Accepted("arithmetic", r"T\.(hypot|logaddexp)", "works", "integers and mixed dtypes are promoted as everywhere"),
    Accepted("choices", r"b\) ;; T\.(topk|kthvalue|trace)", "works", "bools have an order, and sums"),
    Accepted("choices", r"T\.dist|F\.logsigmoid|u8\) ;; F\.hardtanh", "works", "integers are promoted"),
    Accepted("choices", r";; F\.gelu", "nan", "gelu of infinity"),
    Accepted("choices", r"T\.zeros.*softmax|b\) ;; x.* @ ", "raises", "no softmax of integers, no products of bools"),
    Accepted("layers", r"batch_norm.*eps=0\.", "works", "a variance may be enough without eps"),
    Accepted("layers", r"label_smoothing=-0\.1", "raises", "PyTorch looks at it only for probabilities"),
    Accepted("layers", r"F\.(hardtanh|l1_loss)", "works", "integers are promoted"),
    Accepted("layers", r"F\.pad", "works", "a dimension of four is padded as one of three"),
    Accepted("layers", r"F\.elu.*(inf|nan)\)$", "value", "the factor at 0"),
    Accepted("layers", r"(group|layer)_norm", "value", "constants are normalised to 0 here"),
    Accepted("layers", r"with_logits|F\.gelu", "nan", "limits at infinity"),
    Accepted("halves", r"autograd|/ x|alpha=|batch_norm|softmax|F\.gelu", "value", "rounded once here"),
    Accepted(
        "specials", r"F\.dropout\(x, 1|layer_norm|x\*\*0\.5|addmm", "nan", "what is dropped or not asked for is 0"
    ),
    Accepted("specials", r"F\.dropout\(x, 1|b\) ;; F\.fold", "raises", "no dropout of integers, no sums of bools"),
    Accepted("specials", r"u8\) ;; T\.remainder", "value", "a divisor wraps there before it divides"),
    Accepted("specials", r"cross_entropy|log_softmax", "value", "rounded once here"),
    Accepted(
        "specials",
        r"pool|fold|nll_loss|hypot|logaddexp|trace|frac|kthvalue|topk",
        "works",
        "exact on integers, or they are promoted",
    ),
    Accepted("integers", r"u8\), -1, rounding_mode", "value", "a divisor wraps there before it divides"),
    Accepted("integers", r"rounding_mode", "crash", "the least integer divided by -1 ends PyTorch's process"),
]

# Exceptions of other classes: (PyTorch's, ours).
CLASSES = {
    ("OverflowError", "NotImplementedError"): "the dtype is looked at before the number",
    ("OverflowError", "RuntimeError"): "the dtype is looked at before the number",
    ("ValueError", "OverflowError"): "integers that no float is near",
    ("RuntimeError", "OverflowError"): "integers beyond 64 bits",
    ("RuntimeError", "NotImplementedError"): "what does not exist for a dtype",
    ("NotImplementedError", "RuntimeError"): "what does not exist for a dtype",
    ("ValueError", "RuntimeError"): "arange() with a step of 0",
}


def leaves(x: Any, y: Any) -> Iterator[tuple[float, float, str]]:
    """Pairs of numbers of two outcomes of one shape, with their dtypes; a missing derivative counts as zeros."""
    if x is None and y is None:
        return
    one = x if x is not None else y
    if one[0] == "list":
        for i in range(1, len(one)):
            yield from leaves(x and x[i], y and y[i])
        return
    zeros = [0.0] * len(one[3])
    for p, q in zip(x[3] if x else zeros, y[3] if y else zeros, strict=True):
        yield (math.nan, math.nan, one[1]) if isinstance(p, list) else (float(p), float(q), one[1])


def kind(want: Any, got: Any) -> str:
    """How two outcomes that differ do so."""
    if want[0] == "crash":
        return "crash"
    if want[0] == "error" or got[0] == "error":
        return "works" if want[0] == "error" else "raises"
    try:
        differing = [p for p in leaves(want, got) if not grids.close(p[0], p[1], grids.TOLERANCES.get(p[2], 0.0))]
    except (TypeError, ValueError, IndexError):
        return "value"
    eps = {"float64": 1e-12, "float32": 1e-3}
    differing = [(p, q) for p, q, d in differing if not abs(p - q) < eps.get(d, 0.0)]
    if not differing:
        return "noise"
    return "nan" if all(math.isnan(p) for p, _ in differing) else "value"


def judged(grid: str, call: str, want: Any, got: Any, used: set[Accepted]) -> str | None:
    """What is wrong with an outcome, if anything is."""
    if grids.same(want, got):
        if want is not None and want[0] == "error" and want != got and (want[1], got[1]) not in CLASSES:
            return f"{call}: {want[1]} in PyTorch, {got[1]} here"
        return None
    how = kind(want, got)
    allowed = [a for a in ACCEPTED if a.grid == grid and a.kind in (how, "value") and re.search(a.pattern, call)]
    if how in ("works", "raises"):
        allowed = [a for a in allowed if a.kind == how]
    if not allowed:
        return f"{call}: {str(want)[:120]} in PyTorch, {str(got)[:120]} here ({how})"
    used.add(allowed[0])
    return None


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[Any]]:
    return grids.load()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("grid", sorted(grids.GRIDS))
def test_grid(grid: str, recorded: dict[str, list[Any]]) -> None:
    names, used = grids.namespace("pullback"), set[Accepted]()
    calls = list(grids.GRIDS[grid]())
    assert len(calls) == len(recorded[grid])
    wrong = [
        judged(grid, c, want, grids.outcome(c, names), used) for c, want in zip(calls, recorded[grid], strict=True)
    ]
    failures = [text for text in wrong if text]
    assert not failures, f"{len(failures)} of {len(calls)} calls:\n" + "\n".join(failures[:25])
    stale = [a for a in ACCEPTED if a.grid == grid and a not in used]
    assert not stale, "differences that are gone:\n" + "\n".join(map(str, stale))
