"""Every operator with a dimension, on tensors of each low rank with every dimension: no panic, and PyTorch's shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from support import dims

RECORDED = Path(__file__).resolve().parent.parent / "reference" / "dims.json"

# What raises here, for a dimension that does not exist or for want of elements, where PyTorch does not look.
STRICTER = {"cummax", "cummin", "roll"}
# What has a sensible result here where PyTorch gives up: on 0-d tensors, on a dimension that no index follows.
WIDER = {"unflatten", "take_along_dim", "scatter", "scatter_add"}


def same(text: str, got: Any, want: Any) -> bool:
    name = text.partition("(")[0]
    failed, fails = isinstance(got, str), isinstance(want, str)
    if failed or fails:
        return (failed or name in WIDER) if fails else name in STRICTER and got == "IndexError"
    return bool(json.loads(json.dumps(got)) == want)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Any]]:
    return dims.record(pb)


def test_no_call_ends_in_an_internal_error(outcomes: dict[str, dict[str, Any]]) -> None:
    expected = {"RuntimeError", "IndexError", "ValueError", "TypeError", "NotImplementedError"}
    found = [(text, at, v) for text, row in outcomes.items() for at, v in row.items() if isinstance(v, str)]
    assert not [f for f in found if f[2] not in expected][:20]


def test_shapes_are_those_of_pytorch(outcomes: dict[str, dict[str, Any]]) -> None:
    recorded = dims.expanded(json.loads(RECORDED.read_text()))
    assert recorded.keys() == outcomes.keys()
    wrong = []
    for text, row in outcomes.items():
        assert len(row) == len(recorded[text]), text
        pairs = zip(row.items(), recorded[text], strict=True)
        wrong += [f"{text}{at}: {got}, not {want}" for (at, got), want in pairs if not same(text, got, want)]
    assert not wrong, f"{len(wrong)} differ: " + "; ".join(wrong[:10])
