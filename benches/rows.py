#!/usr/bin/env python3
"""Measures pullback alone, in this process, and prints the rows of the benchmark as one JSON object.

    python benches/rows.py [--only PATTERN,…] [--rounds N]

A row is a title and a number, of which less is better: seconds for workloads; for figures of processes what they count.
Patterns are those of workloads; the figures of processes come with `*` only. `tools/compare_wheels.py` starts this.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import libraries
import process
import pullback
import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="comma-separated patterns of workloads")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    found: dict[str, libraries.Library] = {"pullback": libraries.Tensors("pullback", pullback)}
    results = run.measure_chosen(args.only.split(","), args.rounds, found)
    rows = {r.workload.title: seconds for r in results if (seconds := r.seconds("pullback")) is not None}
    if args.only == "*":
        figures = process.figures(process.OF_THE_MODULE)
        rows |= {f.title: f.amount for f in figures if math.isfinite(f.amount)}
    print(json.dumps({"module": str(Path(pullback.__file__).resolve().parent), "rows": rows}))


if __name__ == "__main__":
    main()
