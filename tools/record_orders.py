"""Records how PyTorch's results lie in memory: tests/reference/orders.json.

python tools/record_orders.py
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    import torch

    from support.orders import orders, strides

    warnings.simplefilter("ignore")
    found = orders(torch)
    # Most programs are like others.
    kinds = sorted({tuple(v) for v in found.values()})
    lines = [
        f'"orders": {json.dumps(kinds, separators=(",", ":"))}',
        '"programs": ' + json.dumps({k: kinds.index(tuple(v)) for k, v in found.items()}, separators=(",", ":")),
        '"strides": ' + json.dumps(strides(torch), separators=(",", ":")),
    ]
    (ROOT / "tests/reference/orders.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
