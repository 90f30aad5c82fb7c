#!/usr/bin/env python3
"""Records what PyTorch's derivatives are where functions are constant, for tests/ops/test_constant_points.py.

    python tools/record_constant_points.py

needs an environment with PyTorch 2.13. The calls stand in tests/support/constant_points.py. The letters of
each call's derivatives, in the order of `Probe.keys`, go to tests/reference/constant_points.json; `!` where PyTorch
raises.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
import constant_points as points  # noqa: E402


def recorded(name: str) -> str:
    probe, found = points.Probe(torch, torch.func, name), []
    for key in probe.keys():
        try:
            found.append(probe.letters(key))
        except (RuntimeError, NotImplementedError):
            found.append("!")
    return " ".join(found)


def main() -> None:
    warnings.simplefilter("ignore")
    lines = (f"{json.dumps(name)}: {json.dumps(recorded(name))}" for name in sorted(points.CASES))
    target = ROOT / "tests" / "reference" / "constant_points.json"
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
