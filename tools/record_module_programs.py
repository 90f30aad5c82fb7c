#!/usr/bin/env python3
"""Writes tests/reference/module_programs.json.gz: what PyTorch gives for the random programs of tests/support.

    python tools/record_module_programs.py

Needs PyTorch 2.13.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import torch
import torch.nn.utils.prune

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import programs, programs_modules, programs_training

COUNT = 80


def main() -> None:
    torch.set_num_threads(1)
    stored = programs.record(torch, programs_modules.FAMILIES | programs_training.FAMILIES, COUNT)
    text = json.dumps(stored, separators=(",", ":")).encode()
    # No time in the header: the same answers give the same file.
    programs.RECORDED.write_bytes(gzip.compress(text, mtime=0))
    print({name: len(part) for name, part in stored.items()}, f"{programs.RECORDED.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
