#!/usr/bin/env python3
"""Writes tests/reference/edges.json.gz: PyTorch's answers to the cases of tests/support/edges.py.

    python tools/record_edges.py

Needs PyTorch 2.13.
"""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import edges


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    stored = {}
    for name in edges.CASES:
        for dtype in edges.DTYPES:
            probe = edges.Probe(torch, torch.func, name, dtype)
            stored[f"{name}, {dtype}"] = [probe.answer(key) for key in probe.keys()]
    text = json.dumps(stored, separators=(",", ":")).encode()
    # No time in the header: the same answers give the same file.
    edges.RECORDED.write_bytes(gzip.compress(text, mtime=0))
    print(f"{len(stored)} cases, {sum(map(len, stored.values()))} answers")


if __name__ == "__main__":
    main()
