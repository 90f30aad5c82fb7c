"""Every class of `nn` against PyTorch's numbers: state dicts, representations, results, gradients, first weights."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from support import modules, modules_cases

FILE = Path(__file__).parent.parent / "reference" / "modules.json.gz"
REFERENCE: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
# What no operator is there for yet, and what is not for a library that computes on the CPU.
ABSENT = {
    *("Container",),
}
# Classes that are bases, or are tested by their own files.
ELSEWHERE = {
    *("Buffer", "Module", "ModuleDict", "ModuleList", "Parameter", "ParameterDict", "ParameterList", "RNNBase"),
    *(
        "CrossMapLRN2d",
        "DataParallel",
        "LinearCrossEntropyOptions",
        "RNNCellBase",
        "SyncBatchNorm",
        "UninitializedBuffer",
        "UninitializedParameter",
    ),
}


def close(got: list[Any], expected: list[Any]) -> bool:
    return len(got) == len(expected) and all(
        a == b or (isinstance(a, float) and math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9))
        for a, b in zip(got, expected, strict=True)
    )


def test_all_cases_are_recorded() -> None:
    assert set(modules_cases.CASES) == set(REFERENCE["cases"])
    assert set(modules.DRAWN) == set(REFERENCE["drawn"])


def test_every_class_of_pytorch_is_there() -> None:
    missing = {name for name in REFERENCE["classes"] if not hasattr(nn, name)}
    assert missing == ABSENT


def test_every_class_has_a_case() -> None:
    tested = {name.split()[0] for name in modules.CASES}
    classes = {name for name in nn.__all__ if isinstance(getattr(nn, name), type)}
    assert classes - tested == ELSEWHERE


@pytest.mark.parametrize("name", sorted(modules.CASES))
@pytest.mark.filterwarnings("ignore:.*dropout:UserWarning")
def test_module(name: str) -> None:
    expected = REFERENCE["cases"][name]
    got = modules.measured(pb, name)
    assert got["state"] == expected["state"]
    assert got["repr"] == expected["repr"]
    assert [shape for shape, _ in got["out"]] == [shape for shape, _ in expected["out"]]
    for (_, mine), (_, theirs) in zip(got["out"], expected["out"], strict=True):
        assert close(mine, theirs)
    assert got["buffers"].keys() == expected["buffers"].keys()
    for key, values in expected["buffers"].items():
        assert close(got["buffers"][key], values), key
    assert close(got["slopes"], expected["slopes"])


@pytest.mark.parametrize("name", sorted(modules.DRAWN))
def test_first_weights(name: str) -> None:
    expected = REFERENCE["drawn"][name]
    got = modules.drawn(pb, name)
    assert got.keys() == expected.keys()
    for key, (mean, std, largest) in expected.items():
        mine = got[key]
        assert abs(mine[0] - mean) <= 0.5 * std + 1e-12, key
        assert math.isclose(mine[1], std, rel_tol=0.15, abs_tol=1e-12), key
        assert math.isclose(mine[2], largest, rel_tol=0.35, abs_tol=1e-12), key
