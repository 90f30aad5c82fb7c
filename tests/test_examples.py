"""Every example runs, checks itself and warns about nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PICTURES = {f"{name}.py": f"{name}.png" for name in ("digits", "ensemble", "implicit_layer", "maml", "pinn")}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_example(name: str, tmp_path: Path) -> None:
    picture = ["--picture", PICTURES[name]] if name in PICTURES else []
    command = [sys.executable, "-W", "error:::__main__", str(EXAMPLES / name), *picture]
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    if name in PICTURES:
        assert (tmp_path / PICTURES[name]).stat().st_size > 10_000
