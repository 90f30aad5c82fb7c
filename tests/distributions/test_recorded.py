"""Distributions, transforms and divergences against what PyTorch gives."""

from __future__ import annotations

import gzip
import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from support import distributions_cases as cases

FILE = Path(__file__).parents[1] / "reference/distributions.json.gz"
RECORDED = json.loads(gzip.decompress(FILE.read_bytes()))
NAMES = [(dtype, name) for dtype in ("float32", "float64") for name in RECORDED[dtype]]


def differs(got: Any, want: Any, tolerance: float) -> bool:
    if isinstance(want, list):
        return len(got) != len(want) or any(differs(g, w, tolerance) for g, w in zip(got, want, strict=True))
    if isinstance(want, float) and isinstance(got, float | int) and math.isfinite(want):
        return not abs(got - want) <= tolerance * max(1, abs(want))
    return bool(got != want) and not (got != got and want != want)


@pytest.mark.parametrize(("dtype", "name"), NAMES)
def test_distribution(dtype: str, name: str) -> None:
    want = RECORDED[dtype][name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        make = cases.distributions(pb, getattr(pb, dtype))[name]
        got = cases.facts(pb, make, name, want["values"])
    # PyTorch's Bessel functions, and its lgamma of a count, have single precision.
    tolerance = 2e-4 if dtype == "float32" else 1e-6 if name in ("VonMises", "Multinomial") else 2e-9
    drawn_otherwise = name.split()[0] in cases.OTHER_NUMBERS
    for key, value in want.items():
        if key.startswith("sample") and drawn_otherwise:
            assert got[key][0] == value[0], key
        elif not (name == "GeneralizedPareto" and value == "RuntimeError"):
            # float64 raises there in PyTorch.
            assert not differs(got[key], value, tolerance), f"{key}: {got[key]}, expected {value}"


def test_divergences() -> None:
    want, got = RECORDED["divergences"], cases.divergences(pb)
    assert got.keys() == want.keys() and len(want) > 90
    for pair, value in want.items():
        assert not differs(got[pair], value, 1e-8), f"{pair}: {got[pair]}, expected {value}"


def test_transforms() -> None:
    want, got = RECORDED["transforms"], cases.transforms(pb)
    assert got.keys() == want.keys()
    for name, value in want.items():
        assert not differs(got[name], value, 1e-9), f"{name}: {got[name]}, expected {value}"
