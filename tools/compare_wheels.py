#!/usr/bin/env python3
"""Tells whether a build is slower than another one, row by row of the benchmark.

    python tools/compare_wheels.py OLD NEW [--bound 1.03] [--starts 10] [--only PATTERN,…] [--rounds N] [--json FILE]

OLD and NEW are wheels, or folders with the package. Each turn starts a process of OLD, one of NEW and one more of OLD,
in an order that moves on by one every turn, so that a slow minute of the machine and the luck of one start (where the
system puts the code) hit all of them alike. Every process measures all rows.

The ratios NEW : OLD of a row, one per turn, give the 95 % confidence interval of their geometric mean (Student's t on
the logarithms). A row falls if the lower end of this interval is above the bound. The interval of OLD against OLD shows
what the machine can tell: where it reaches beyond the bound itself, the row is reported apart, and not judged. Exit
status 1 if a row falls. Needs NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import compileall
import json
import math
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from scipy import stats

ROOT = Path(__file__).resolve().parent.parent
ROWS = ROOT / "benches" / "rows.py"
SIDES = ("old", "new", "again")

Rows = dict[str, float]


class Interval(NamedTuple):
    """The geometric mean of ratios, and its 95 % confidence interval."""

    low: float
    mean: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"


class Row(NamedTuple):
    title: str
    old: float
    new: float
    ratio: Interval
    noise: Interval
    verdict: str


def interval(ratios: list[float]) -> Interval:
    """The interval of paired ratios by Student's t distribution of their logarithms."""
    logs = [math.log(r) for r in ratios]
    mean = sum(logs) / len(logs)
    if len(logs) < 2:
        return Interval(0.0, math.exp(mean), math.inf)
    error = math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1) / len(logs))
    reach = float(stats.t.ppf(0.975, len(logs) - 1)) * error
    return Interval(math.exp(mean - reach), math.exp(mean), math.exp(mean + reach))


def verdict(ratio: Interval, noise: Interval, bound: float) -> str:
    if noise.high > bound or noise.low < 1 / bound:
        return "apart"
    return "falls" if ratio.low > bound else "holds"


def judged(turns: list[dict[str, Rows]], bound: float) -> list[Row]:
    """The rows that every process measured. A zero has no ratio: such a row counts as unchanged if both are zero."""
    titles = [t for t in turns[0]["old"] if all(t in rows for turn in turns for rows in turn.values())]
    out = []
    for title in titles:
        values = {side: [max(turn[side][title], sys.float_info.min) for turn in turns] for side in SIDES}
        ratio = interval([n / o for n, o in zip(values["new"], values["old"], strict=True)])
        noise = interval([a / o for a, o in zip(values["again"], values["old"], strict=True)])
        middle = {side: sorted(v)[len(v) // 2] for side, v in values.items()}
        out.append(Row(title, middle["old"], middle["new"], ratio, noise, verdict(ratio, noise, bound)))
    return out


def lost(turns: list[dict[str, Rows]]) -> list[str]:
    """Rows of OLD that NEW does not measure: it fails there."""
    return [t for t in turns[0]["old"] if any(t not in turn["new"] for turn in turns)]


def unpacked(build: Path, to: Path) -> Path:
    """The folder to import from."""
    if build.is_dir():
        return build.resolve()
    with zipfile.ZipFile(build) as wheel:
        wheel.extractall(to)
    # As it is installed: with byte code.
    compileall.compile_dir(to, quiet=2)
    return to


def measure(folder: Path, only: str, rounds: int) -> Rows:
    """The rows that a fresh process measures with the package of this folder."""
    env = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, str(ROWS), "--only", only, "--rounds", str(rounds)]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    if Path(found["module"]).parent != folder.resolve():
        raise RuntimeError(f"measured {found['module']}, not the package in {folder}")
    rows: Rows = found["rows"]
    return rows


def take_turns(old: Path, new: Path, only: str, rounds: int, starts: int) -> list[dict[str, Rows]]:
    folders = {"old": old, "new": new, "again": old}
    turns = []
    for k in range(starts):
        order = SIDES[k % 3 :] + SIDES[: k % 3]
        turns.append({side: measure(folders[side], only, rounds) for side in order})
        print(f"turn {k + 1} of {starts}", file=sys.stderr, flush=True)
    return turns


def table(rows: list[Row]) -> str:
    lines = [["row", "old", "new", "new : old", "old : old", ""]]
    lines += [[r.title, f"{r.old:.4g}", f"{r.new:.4g}", str(r.ratio), str(r.noise), r.verdict] for r in rows]
    width = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, width, strict=True)).rstrip() for line in lines)


def summary(rows: list[Row], missing: list[str], bound: float) -> str:
    named = {v: [r.title for r in rows if r.verdict == v] for v in ("holds", "falls", "apart")}
    judgeable = [math.log(r.ratio.mean) for r in rows if r.verdict != "apart"]
    mean = math.exp(sum(judgeable) / len(judgeable)) if judgeable else math.nan
    text = f"{len(named['holds'])} rows hold at {bound}, {len(named['falls'])} fall, {len(named['apart'])} apart; "
    text += f"geometric mean of those judged {mean:.3f}"
    for what, titles in (("falls", named["falls"]), ("apart", named["apart"]), ("not measured by NEW", missing)):
        text += "".join(f"\n  {what}: {title}" for title in titles)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--bound", type=float, default=1.03, help="largest ratio that passes")
    parser.add_argument("--starts", type=int, default=10, help="processes of each")
    parser.add_argument("--only", default="*", help="comma-separated patterns of workloads")
    parser.add_argument("--rounds", type=int, default=5, help="rounds within a process")
    parser.add_argument("--json", type=Path, help="where to write all measurements")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        old = unpacked(args.old, Path(scratch) / "old")
        new = unpacked(args.new, Path(scratch) / "new")
        turns = take_turns(old, new, args.only, args.rounds, args.starts)
    for turn in turns:
        for side, build in (("old", args.old), ("new", args.new), ("again", args.old)):
            if build.is_file() and args.only == "*":
                turn[side]["size of the wheel"] = float(build.stat().st_size)
    if args.json:
        args.json.write_text(json.dumps(turns))
    rows, missing = judged(turns, args.bound), lost(turns)
    if not rows and not missing:
        parser.error(f"--only {args.only}: no workload of benches/ has such a name")
    print(table(rows) + "\n\n" + summary(rows, missing, args.bound))
    return 1 if missing or any(r.verdict == "falls" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
