"""Result dtypes of mixed operands, of numbers beside tensors, of unary operators and reductions, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from support import vectors

TABLE = vectors.read_json("promotion.json")
NUMBERS: dict[str, Any] = {"bool": True, "int": 2, "float": 1.5, "complex": 1j}


SPECIAL: dict[str, Callable[..., Any]] = {
    "where": lambda a, b: pb.where(pb.tensor([True, False]), a, b),
    "cumsum": lambda a: pb.cumsum(a, 0),
    "logsumexp": lambda a: pb.logsumexp(a, 0),
}
REQUIRED = set(vectors.cases_by_operator("cases.jsonl"))


def operator(name: str) -> Callable[..., Any]:
    if name not in REQUIRED and not hasattr(pb, name):
        pytest.skip("no such operator yet")
    f: Callable[..., Any] = SPECIAL.get(name) or getattr(pb, name)
    return f


def ones(dtype: str, shape: tuple[int, ...] = (2,)) -> Any:
    return pb.ones(shape, dtype=getattr(pb, dtype))


def name_of(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def outcome(f: Callable[[], Any]) -> str:
    """The dtype of a result, or `!` and the class of the exception."""
    try:
        result = f()
    except Exception as error:
        return "!" + type(error).__name__
    result = result[0] if isinstance(result, tuple) else result
    return name_of(result.dtype)


def acceptable(got: str, want: str, dtypes: tuple[str, ...]) -> bool:
    """Complex operators may be unimplemented, here or there; another exception of the same family is fine."""
    if want == "!NotImplementedError" and "float16" in dtypes and got == "complex64":
        return True  # what complex32 would not do
    if want == "complex32":  # a dtype that pullback does not have
        return got.startswith("complex") or got == "!NotImplementedError"
    if got == want or (want.startswith("!") and got.startswith("!")):
        return True
    return got == "!NotImplementedError" and any("complex" in d for d in (*dtypes, want))


@pytest.mark.parametrize("kind", TABLE["result_type"])
def test_result_type(kind: str) -> None:
    wrong = []
    for a, row in TABLE["result_type"][kind].items():
        for b, want in row.items():
            left = ones(a)
            right = NUMBERS[b] if b in NUMBERS and kind.endswith("scalar") else ones(b, () if "0d" in kind else (2,))
            got = name_of(pb.result_type(left, right))
            if got != want and want != "complex32":  # a dtype that pullback does not have
                wrong.append((a, b, got, want))
    assert not wrong


@pytest.mark.parametrize("op", TABLE["binary"])
def test_binary(op: str) -> None:
    f = operator(op)
    wrong = []
    for a, row in TABLE["binary"][op].items():
        for b, want in row.items():
            got = outcome(lambda a=a, b=b: f(ones(a), ones(b)))  # type: ignore[misc]
            if not acceptable(got, want, (a, b)):
                wrong.append((a, b, got, want))
    assert not wrong


@pytest.mark.parametrize("op", TABLE["binary_scalar"])
def test_binary_with_a_number(op: str) -> None:
    f = operator(op)
    wrong = []
    for a, row in TABLE["binary_scalar"][op].items():
        for b, want in row.items():
            got = outcome(lambda a=a, b=b: f(ones(a), NUMBERS[b]))  # type: ignore[misc]
            if not acceptable(got, want, (a, b)):
                wrong.append((a, b, got, want))
    assert not wrong


@pytest.mark.parametrize("op", TABLE["unary"])
def test_unary(op: str) -> None:
    f = operator(op)
    wrong = []
    for a, want in TABLE["unary"][op].items():
        got = outcome(lambda a=a: f(ones(a)))  # type: ignore[misc]
        if not acceptable(got, want, (a,)):
            wrong.append((a, got, want))
    assert not wrong
