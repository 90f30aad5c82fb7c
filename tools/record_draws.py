"""Records the random numbers that PyTorch draws from a seed: tests/reference/draws.json.

python tools/record_draws.py
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DIGITS = 6


def short(x: float) -> Any:
    return int(x) if x == int(x) else float(f"{x:.{DIGITS}g}")


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    import torch

    from support.draws import numbers, programs

    warnings.simplefilter("ignore")
    found = {name: [short(x) for x in numbers(torch, f)] for name, f in programs(torch).items()}
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in found.items())
    (ROOT / "tests/reference/draws.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
