#!/usr/bin/env python3
"""Measures pullback beside NumPy, PyTorch and, where it is installed, JAX.

    python benches/run.py [--only PATTERN,…] [--rounds N] [--no-write]

Prints one table. Without --only it also writes docs/benchmarks.md, docs/img/depth.png and the table of the README.
"""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import depth
import functions
import large
import libraries
import loading
import measure
import modules
import optimisers
import process
import recurrent
import report
import small
import subclasses

FILES = (small, functions, subclasses, large, modules, recurrent, optimisers, loading)
WORKLOADS = [workload for file in FILES for workload in file.WORKLOADS]


def measure_chosen(patterns: list[str], rounds: int, found: dict[str, libraries.Library]) -> list[measure.Result]:
    chosen = [w for w in WORKLOADS if any(fnmatchcase(w.id, pattern) for pattern in patterns)]
    return measure.run(chosen, found, rounds)


def measure_all(patterns: list[str], rounds: int, found: dict[str, libraries.Library]) -> list[measure.Result]:
    results = measure_chosen(patterns, rounds, found)
    if mean := report.product_mean(results):
        results.append(mean)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="comma-separated patterns of workloads")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-write", action="store_true", help="print only")
    args = parser.parse_args()
    found = libraries.load(with_jax=True)
    results = measure_all(args.only.split(","), args.rounds, found)
    print("\n" + report.plain(report.table(results)))
    if args.only == "*":
        figures = process.figures()
        print(
            "\n" + report.plain([[f.title, f.value, f.goal, report.verdict(f.met)] for f in figures], ["", "", "", ""])
        )
        ours = found["pullback"]
        curves: tuple[dict[str, list[float]], dict[str, list[float]]] = ({}, {})
        entering = 0.0
        if isinstance(ours, libraries.Tensors):
            curves, entering = (depth.by_depth(ours), depth.by_length(ours)), depth.entering(ours)
        print(f"\nby depth: {report.spreads(curves[0])}\nby length: {report.spreads(curves[1], 1)}")
        print(f"entering one more vmap: {entering:.0f} ns")
        if not args.no_write:
            depth.draw(*curves, report.ROOT / "docs" / "img" / "depth.png")
            versions = {name: library.version for name, library in found.items()}
            print("wrote", report.write(results, figures, curves, entering, versions))
            report.write_readme(results)
    missed = [result.workload.title for result in results if result.met() is False or result.note]
    print(f"{len(results) - len(missed)} of {len(results)} rows meet their goals" + "".join(f"\n  {m}" for m in missed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
