#!/usr/bin/env python3
"""Writes tests/reference/optimisers.json.gz: what PyTorch's optimisers and schedules do in the runs of
tests/support/optimisers.py.

    python tools/record_optimisers.py

Needs PyTorch 2.13.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import optimisers


def main() -> None:
    torch.set_num_threads(1)
    stored = optimisers.record(torch)
    text = json.dumps(stored, separators=(",", ":")).encode()
    # No time in the header: the same answers give the same file.
    optimisers.RECORDED.write_bytes(gzip.compress(text, mtime=0))
    print({name: len(part) for name, part in stored.items()}, f"{optimisers.RECORDED.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
