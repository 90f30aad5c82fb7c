"""Records what PyTorch's distributions give: tests/reference/distributions.json.gz.

python tools/record_distributions.py
"""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def short(x: Any) -> Any:
    """Numbers with ten digits, in lists of any depth, but for the values that densities are taken of."""
    if isinstance(x, list | dict):
        return (
            [short(v) for v in x]
            if isinstance(x, list)
            else {k: v if k == "values" else short(v) for k, v in x.items()}
        )
    return float(f"{x:.10g}") if isinstance(x, float) else x


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    import torch

    from support import distributions_cases as cases

    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"divergences": cases.divergences(torch), "transforms": cases.transforms(torch)}
    for dtype in ("float32", "float64"):
        makers = cases.distributions(torch, getattr(torch, dtype))
        found[dtype] = {name: cases.facts(torch, make, name) for name, make in makers.items()}
    text = json.dumps(short(found), separators=(",", ":"))
    target = ROOT / "tests/reference/distributions.json.gz"
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
