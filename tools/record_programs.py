#!/usr/bin/env python3
"""Writes tests/programs/recorded.json: what the programs of that folder print with PyTorch.

    python tools/record_programs.py

Needs PyTorch 2.13.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "programs"


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return {k: rounded(v) for k, v in value.items()} if isinstance(value, dict) else value


def main() -> None:
    found = {}
    for file in sorted(FOLDER.glob("*.py")):
        if file.stem not in ("formulas", "test_programs"):
            done = subprocess.run(
                [sys.executable, "-W", "ignore", str(file)], capture_output=True, text=True, check=True
            )
            found[file.stem] = rounded(json.loads(done.stdout))
    text = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    (FOLDER / "recorded.json").write_text("{\n" + text + "\n}\n")
    print(", ".join(found))


if __name__ == "__main__":
    main()
