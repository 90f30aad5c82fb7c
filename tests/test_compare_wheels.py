"""The comparison of two builds calls slow what is slow, and nothing else."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from scipy import stats

import pullback

PROGRAM = Path(__file__).resolve().parent.parent / "tools" / "compare_wheels.py"
SEED = 20260102


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_wheels", PROGRAM)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["compare_wheels"] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["compare_wheels"]
    return module


def turns(slower: float, spread: float, starts: int = 10, seed: int = SEED) -> list[dict[str, dict[str, float]]]:
    """Measurements of one row; the machine's speed drifts by a factor of two over the turns."""
    rng = random.Random(seed)

    def one(k: int, factor: float) -> dict[str, float]:
        return {"row": 1e-6 * (1 + k / starts) * factor * rng.lognormvariate(0.0, spread)}

    return [{"old": one(k, 1.0), "new": one(k, slower), "again": one(k, 1.0)} for k in range(starts)]


@pytest.mark.parametrize(
    ("slower", "spread", "verdict"),
    [
        (1.0, 0.005, "holds"),
        (1.02, 0.002, "holds"),
        (0.5, 0.005, "holds"),
        (1.06, 0.005, "falls"),
        (1.06, 0.2, "apart"),
    ],
)
def test_verdicts(compare: ModuleType, slower: float, spread: float, verdict: str) -> None:
    (row,) = compare.judged(turns(slower, spread), 1.03)
    assert row.verdict == verdict, row


def test_interval_is_student_s(compare: ModuleType) -> None:
    import numpy as np

    ratios = [1.01, 0.99, 1.05, 1.02, 1.0]
    logs = np.log(ratios)
    low, high = stats.t.interval(0.95, 4, loc=logs.mean(), scale=stats.sem(logs))
    found = compare.interval(ratios)
    assert np.allclose(found, np.exp([low, logs.mean(), high]), rtol=1e-12)


def test_an_unchanged_build_seldom_falls(compare: ModuleType) -> None:
    """The interval of 95 % lies above 1 in about 2.5 % of runs, above the bound in fewer."""
    fallen = sum(compare.judged(turns(1.0, 0.01, seed=k), 1.0001)[0].verdict == "falls" for k in range(400))
    assert fallen <= 0.05 * 400


def test_rows_that_new_cannot_run_are_named(compare: ModuleType) -> None:
    measured = turns(1.0, 0.001)
    del measured[3]["new"]["row"]
    assert compare.lost(measured) == ["row"] and compare.judged(measured, 1.03) == []


def test_two_builds_from_end_to_end(tmp_path: Path) -> None:
    """A wheel against the folder that it was made of: the same speed, both sides measured from where they lie."""
    package = Path(pullback.__file__).parent
    wheel = tmp_path / "pullback-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in package.rglob("*"):
            if "__pycache__" not in file.parts and file.is_file():
                archive.write(file, file.relative_to(package.parent))
    options = ["--only", "add8,grad", "--starts", "2", "--rounds", "1", "--bound", "1e9"]
    command = [sys.executable, str(PROGRAM), str(wheel), str(package.parent), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 rows hold at 1000000000.0, 0 fall, 0 apart" in done.stdout, done.stdout
