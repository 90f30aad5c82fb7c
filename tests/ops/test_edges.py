"""Values and derivatives at the edges of domains and of the range of numbers, against PyTorch's recorded answers.

The cases are described in tests/support/edges.py. Where we differ on purpose, `ACCEPTED` says what and why; whatever it
does not name must agree, and each line of it must be needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import pullback as pb
from pullback import func
from support import edges


class Accepted(NamedTuple):
    """A difference of cases whose name matches, in derivatives whose key matches.

    The kind is `nan` where PyTorch has NaN and we have a number, `error` where one of the two raises, `value` for every
    other one, and `value|nan` for both.
    """

    case: str
    key: str
    kind: str
    reason: str


ACCEPTED = [
    # Where the function is constant its derivative is 0, whatever comes in.
    Accepted(r".*(leaky_relu|elu) 0|fmod|remainder|r?pow.*|.*norm.*|dist|a(max|min)|max all", "", "nan", "constant"),
    Accepted(r"maximum|minimum", "forward", "nan", "PyTorch multiplies with a mask in forward mode"),
    Accepted(r"maximum|minimum", "forward", "value", "NaN has the derivative that it has in reverse mode"),
    Accepted(r"clamp (tensors|max_tensor)", "forward", "value|nan", "at its bounds it is the reverse mode that counts"),
    Accepted(r"clamp tensors", "reverse", "value", "bounds that meet lose their derivative there"),
    Accepted(
        r".*elu( 2| negative)?", "reverse_of_reverse", "value|nan", "the second derivative at 0 is that of the left"
    ),
    Accepted(r".*huber_loss", "reverse_of_reverse", "value|nan", "linear parts, and NaN"),
    Accepted(r"addcmul", "reverse|forward", "nan", "a factor of 0 leaves the product out"),
    # Formulas that have no limit there.
    Accepted(r"lgamma", "reverse_of_reverse", "value", "PyTorch's trigamma has large numbers at the poles"),
    Accepted(r"digamma", "", "value|nan", "PyTorch's trigamma has large numbers at the poles"),
    Accepted(r"sigmoid|.*silu|.*softplus|.*logsigmoid", "reverse|forward", "nan", "saturated"),
    Accepted(r".*logsigmoid", "reverse_of_reverse", "value", "saturated"),
    Accepted(r".*(gelu|mish).*", "", "value|nan", "saturated"),
    Accepted(r".*with_logits.*", "", "value|nan", "saturated, or infinite"),
    Accepted(r"div of_number|atan2|logaddexp", "forward|reverse", "nan", "0 times infinity on the way"),
    Accepted(r".*mse_loss|lerp.*|.*glu.*", "forward", "nan", "infinite terms that cancel on the way"),
    Accepted(
        r".*kl_div", "reverse|forward", "value|nan", "targets at 0 have the slope of t log(t), targets below 0 none"
    ),
    Accepted(
        r".*binary_cross_entropy", "reverse 1|forward 1", "value|nan", "logarithms are limited, and so are slopes"
    ),
    Accepted(r"pow -?(0.5|1.5)", "", "value", "PyTorch takes square roots, which know the sign of zero"),
    # The range of numbers.
    Accepted(r"rsqrt", "", "value", "a cube below the least float32"),
    Accepted(r"(std|var) .*", "", "value|nan", "a correction of as many elements as there are, or rounding"),
    Accepted(r".*norm (-1|1.5|3)", "forward|reverse_of_reverse", "value", "powers that overflow or vanish"),
    Accepted(r"prod|logsumexp", "", "nan", "products that overflow; the derivative at -inf"),
    Accepted(r".*(layer|group)_norm.*", "", "value|nan", "squares that overflow or vanish"),
    Accepted(r".*batch_norm", "", "value", "squares that overflow; sums of infinities"),
]

# Digits that float32 and float64 agree to.
TOLERANCES = {"float32": 2e-4, "float64": 2e-5}


def size(inputs: list[Any], j: int, count: int) -> float:
    """How large the numbers are that the j-th of so many results was computed from, in rows; 0 elsewhere, where results
    are exact to their last digits."""
    rows = inputs[0]
    if not isinstance(rows, list) or not isinstance(rows[0], list):
        return 0.0
    row = rows[j * len(rows) // count] if count % len(rows) == 0 or len(rows) % count == 0 else [1.0]
    return max(1.0, *(abs(x) for x in row if abs(x) < edges.inf), 0.0)


def differences(name: str, dtype: str, want: list[Any]) -> Iterator[tuple[str, str, str]]:
    """Key, kind and text of each difference."""
    probe = edges.Probe(pb, func, name, dtype)
    for key, there in zip(probe.keys(), want, strict=True):
        here = probe.answer(key)
        if isinstance(there, str) and isinstance(here, str) and there[:1] != "!" and here[:1] != "!":
            here, there = [here, None], [there, None]
        if isinstance(here, str) or isinstance(there, str):
            if here != there:
                yield key, "error", f"{str(there)[:60]} in PyTorch, {str(here)[:60]} here"
            continue
        if len(here[0]) != len(there[0]):
            yield key, "value", "another number of elements"
            continue
        for j, (a, b) in enumerate(zip(there[0], here[0], strict=True)):
            finite = a in "0pm" and b in "0pm"
            if finite and there[1] is None:
                continue
            if finite:
                x, y = there[1][j], here[1][j]
                rounding = TOLERANCES[dtype] * max(abs(x), abs(y))
                if key != "value":
                    rounding += size(edges.CASES[name][1], j, len(there[0])) * (1e-6 if dtype == "float32" else 1e-14)
                if abs(x - y) > rounding + 1e-37:
                    yield key, "value", f"element {j} is {x} in PyTorch, {y} here"
            elif a != b:
                yield key, "nan" if a == "n" else "value", f"element {j} is {a} in PyTorch, {b} here"


def test_every_case_was_recorded() -> None:
    names = {f"{name}, {dtype}" for name in edges.CASES for dtype in edges.DTYPES}
    assert set(edges.load()) == names


@pytest.mark.filterwarnings("ignore")
def test_edges() -> None:
    used, wrong = set[Accepted](), []
    for full, want in edges.load().items():
        name, dtype = full.rsplit(", ", 1)
        for key, kind, text in differences(name, dtype, want):
            allowed = [
                a for a in ACCEPTED if kind in a.kind.split("|") and re.fullmatch(a.case, name) and re.match(a.key, key)
            ]
            used.update(allowed[:1])
            if not allowed:
                wrong.append(f"{full}: {key}: {text} ({kind})")
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:40])
    stale = [a for a in ACCEPTED if a not in used]
    assert not stale, "differences that are gone:\n" + "\n".join(map(str, stale))
