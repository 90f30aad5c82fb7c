"""The numbers of PyTorch: runs of all optimisers with all options, of schedules, and from saved states."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from support import optimisers

RECORDED = optimisers.recorded()
#: Relative and absolute. In half precision PyTorch rounds after each operator, the kernels once.
TOLERANCE = {"float64": (1e-9, 1e-11), "complex128": (1e-9, 1e-11), "float32": (2e-5, 1e-6), "bfloat16": (0.06, 0.02)}


def agree(ours: Any, theirs: Any, dtype: str, what: str) -> None:
    rtol, atol = TOLERANCE[dtype]
    ours, theirs = flat(ours), flat(theirs)
    assert len(ours) == len(theirs), what
    largest = max(abs(y) for y in theirs) if dtype == "bfloat16" else 0.0
    for x, y in zip(ours, theirs, strict=True):
        assert abs(x - y) <= atol + rtol * max(abs(y), largest), f"{what}: {x} here, {y} in PyTorch"


def flat(x: Any) -> list[float]:
    return [y for part in x for y in flat(part)] if isinstance(x, list) else [x]


RUNS = [
    (name, i, dtype)
    for name, o in optimisers.OPTIONS.items()
    for i in range(len(o))
    for dtype in optimisers.dtypes(name)
]


@pytest.mark.parametrize(("name", "i", "dtype"), RUNS)
def test_optimiser(name: str, i: int, dtype: str) -> None:
    theirs = RECORDED["runs"][f"{name} {i} {dtype}"]
    ours = optimisers.run(pb, name, optimisers.OPTIONS[name][i], dtype)
    assert ours["group"] == theirs["group"]
    for at, x, y in zip(optimisers.LOOKS, ours["params"], theirs["params"], strict=True):
        agree(x, y, dtype, f"parameters after step {at}")
    for x, y in zip(ours["state"], theirs["state"], strict=True):
        assert set(x) == set(y)
        for key in x:
            agree(x[key], y[key], dtype, key)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("i", range(len(optimisers.LBFGS)))
def test_lbfgs(i: int, dtype: str) -> None:
    theirs = RECORDED["lbfgs"][f"{i} {dtype}"]
    ours = optimisers.run_lbfgs(pb, optimisers.LBFGS[i], dtype)
    assert ours["keys"] == theirs["keys"]
    for x, y in zip(ours["steps"], theirs["steps"], strict=True):
        assert x[1:3] == y[1:3], "calls and iterations"
        for a, b in zip(flat(x), flat(y), strict=True):
            assert abs(a - b) <= 1e-7 * (1 + abs(b))


@pytest.mark.parametrize("name", optimisers.SCHEDULES)
def test_schedule(name: str) -> None:
    theirs = RECORDED["schedules"][name]
    ours = optimisers.run_schedule(pb, name)
    for epoch, (x, y) in enumerate(zip(ours["rows"], theirs["rows"], strict=True)):
        for a, b in zip(flat(x), flat(y), strict=True):
            assert abs(a - b) <= 1e-12 * (1 + abs(b)), f"epoch {epoch}: {x} here, {y} in PyTorch"
    assert ours["keys"] == [key for key in theirs["keys"] if key != "anneal_func"]


@pytest.mark.parametrize("name", optimisers.OPTIONS)
def test_saved_state(name: str) -> None:
    """A state that PyTorch saved is continued as there, and ours has the same keys, dtypes and shapes."""
    theirs, options = RECORDED["saved"][name], optimisers.OPTIONS[name][-1]
    continued = optimisers.run_saved(pb, name, options, theirs)
    agree(continued["after"], theirs["after"], "float32", "parameters after the saved state")
    ours = optimisers.run_saved(pb, name, options)
    agree(ours["after"], theirs["after"], "float32", "parameters")
    mine, other = (optimisers.unpacked(pb, x["dict"]) for x in (ours, theirs))
    assert mine["param_groups"] == other["param_groups"]
    assert mine["state"].keys() == other["state"].keys()
    for number, entry in other["state"].items():
        for key, value in entry.items():
            found = mine["state"][number][key]
            assert (found.dtype, found.shape) == (value.dtype, value.shape), key
        assert list(mine["state"][number]) == list(entry)
