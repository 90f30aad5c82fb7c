#!/usr/bin/env python3
"""Writes tests/reference/grids.json.gz: PyTorch's answers to the calls of tests/support/grids.py.

    python tools/record_grids.py

Needs PyTorch 2.13. Every call that may end the process (integer divisions) runs in a child of its own; a child that
dies is recorded as ["crash"].
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import grids

RISKY = ("remainder", "fmod", "floor_divide", "rounding_mode", "//", "%")


def in_child(call: str, names: dict[str, Any]) -> Any:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.write(write, json.dumps(grids.outcome(call, names)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        answer = f.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else ["crash"]


def main() -> None:
    warnings.simplefilter("ignore")
    names = grids.namespace("torch")
    names["T"].set_num_threads(1)
    stored = {}
    for name, calls in grids.GRIDS.items():
        places: dict[str, int] = {}
        order = []
        for call in calls():
            risky = any(r in call for r in RISKY) and any(f", {d})" in call for d in ("i8", "i16", "i32", "i64"))
            answer = json.dumps(in_child(call, names) if risky else grids.outcome(call, names))
            order.append(places.setdefault(answer, len(places)))
        stored[name] = {"outcomes": [json.loads(a) for a in places], "order": order}
        print(f"{name}: {len(order)} calls, {len(places)} outcomes")
    text = json.dumps(stored, separators=(",", ":")).encode()
    # No time in the header: the same answers give the same file.
    grids.RECORDED.write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
