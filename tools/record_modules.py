#!/usr/bin/env python3
"""Records what PyTorch's modules give, for tests/nn/test_modules_reference.py.

    python tools/record_modules.py

needs an environment with PyTorch 2.13. The modules stand in tests/support/modules_cases.py. Keys and shapes of the
state dict, representation, results, buffers and gradients of each go to tests/reference/modules.json.gz, and with them
the distributions that weights are drawn from.
"""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support import modules, modules_cases  # noqa: E402, F401


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, list):
        return [rounded(v) for v in value]
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return value


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {
        "cases": {name: rounded(modules.measured(torch, name)) for name in sorted(modules.CASES)},
        "drawn": {name: rounded(modules.drawn(torch, name)) for name in sorted(modules.DRAWN)},
        "classes": sorted(n for n in dir(torch.nn) if isinstance(getattr(torch.nn, n), type)),
    }
    text = json.dumps(found, separators=(",", ":")).encode()
    target = ROOT / "tests" / "reference" / "modules.json.gz"
    with target.open("wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as packed:
        packed.write(text)
    print(f"{len(found['cases'])} modules, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
