"""Programs written for PyTorch, run as they are: what they print is what they print with PyTorch.

`tools/record_programs.py` records PyTorch's numbers.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pullback

FOLDER = Path(__file__).parent
RECORDED: dict[str, Any] = json.loads((FOLDER / "recorded.json").read_text())


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two results differ, numbers by more than steps of training in float64 round."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and ours.keys() == theirs.keys():
        return [d for k in theirs for d in differences(ours[k], theirs[k], f"{path}.{k}")]
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        return [d for i, (x, y) in enumerate(zip(ours, theirs, strict=True)) for d in differences(x, y, f"{path}[{i}]")]
    if (
        isinstance(theirs, float)
        and isinstance(ours, (float, int))
        and math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-9)
    ):
        return []
    return [] if ours == theirs else [f"{path}: {ours!r} here, {theirs!r} in PyTorch"]


def test_every_program_is_recorded() -> None:
    programs = {file.stem for file in FOLDER.glob("*.py")} - {"formulas", "test_programs"}
    assert programs == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_program(name: str) -> None:
    package = str(Path(pullback.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "pullback.as_torch", str(FOLDER / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    found = differences(json.loads(done.stdout), RECORDED[name])
    assert not found, "\n".join(found[:10])
