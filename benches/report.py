"""Turns results into the table on the screen, docs/benchmarks.md, and the short table of the README."""

from __future__ import annotations

import math
import os
import platform
import re
from pathlib import Path

from measure import NAMES, Goal, Result
from process import Figure

ROOT = Path(__file__).resolve().parent.parent
PEERS = ("numpy", "torch")
IN_README = {
    "add8": "an operator on 8 elements",
    "grad": "`grad` of a tiny function",
    "vmap_grad": "`vmap(grad)` of it",
    "hessian10": "`hessian`, 10 dimensions",
    "grad_functions": "`grad` through 50 custom functions",
    "expression": "`sin(x) * exp(-x * x) + x`, 10 M",
    "mm1024_float32": "matmul 1024",
    "sequential20": "20 layers of 8, forward",
    "adam_small": "`Adam.step()`, 50 parameters of 8",
    "per_sample": "per-sample gradients of an MLP",
}


def duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.1e} s"


def ratios(result: Result) -> str:
    """Against the peers of the goals; against all that ran, where there is no goal."""
    peers = [goal.peer for goal in result.workload.goals] or [p for p in PEERS if p in result.rounds]
    found = [(peer, result.ratio(peer)) for peer in peers]
    return ", ".join(f"{ratio:.2g} {NAMES[peer]}" for peer, ratio in found if ratio is not None)


def verdict(met: bool | None) -> str:
    return {True: "met", False: "**missed**", None: ""}[met]


def product_mean(results: list[Result]) -> Result | None:
    """The geometric mean over all matrix products, as a row of its own."""
    found = [r for result in results if result.workload.id.startswith(("mm", "mv", "bmm"))
             if (r := result.ratio("torch")) is not None]  # fmt: skip
    if not found:
        return None
    mean = math.exp(sum(map(math.log, found)) / len(found))
    row = Result(
        type(results[0].workload)("mean", "matrix products, geometric mean", lambda lib: None, (Goal("torch", 1.0),))
    )
    row.rounds = {"pullback": [mean], "torch": [1.0]}
    return row


def table(results: list[Result]) -> list[list[str]]:
    rows = []
    for result in results:
        times = [duration(result.seconds(name)) for name in ("pullback", *PEERS)]
        if result.workload.id == "mean":
            times = ["", "", ""]
        goals = ", ".join(map(str, result.workload.goals))
        rows.append([result.workload.title, *times, ratios(result) or result.note, goals, verdict(result.met())])
    return rows


HEAD = ["workload", "pullback", "NumPy", "PyTorch", "ratio", "goal", ""]


def markdown(rows: list[list[str]], head: list[str] = HEAD) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def plain(rows: list[list[str]], head: list[str] = HEAD) -> str:
    lines = [head, *rows]
    width = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, width, strict=True)).rstrip() for line in lines)


def machine(versions: dict[str, str]) -> str:
    model = platform.processor() or platform.machine()
    try:
        found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
        model = found[1] if found else model
        memory = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1]) / 2**20  # type: ignore[index]
        model += f", {os.cpu_count()} logical processors, {memory:.0f} GiB of memory"
    except OSError:
        pass
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
    load = f"load {os.getloadavg()[0]:.1f} at the end of the run"
    return (
        f"{model}; {platform.system()} {platform.release()}; Python {platform.python_version()}; {libraries}; {load}."
    )


TEXT = """# Measurements

Written by `make bench`; every figure of this page comes from one run. `make peers` installs PyTorch for it; without
PyTorch its column stays empty. Where JAX is installed, which `make peers` does not, its compiled functions take part in
some rows.

{machine}

One thread, in processor time. In every round each library runs once, so that a slow moment hits all of them; the rounds
of short workloads go over all of these in turn. A ratio is pullback's time over the other library's. Workloads in which
pullback takes less than a millisecond are represented by the best rounds, times and ratios, longer ones by the medians.
"best" is the faster of NumPy and PyTorch. The results are compared before anything is timed.

{rows}

## Processes and threads

{figures}

## Depth and length

![time per dense kernel call by depth, and per operator by length](img/depth.png)

Left: time per operator on plain arrays that a nest of transforms comes down to, for chains of 2,000 such calls at
least, so that entering the transforms ({entering} for one more `vmap`) counts for little and the tapes are equally long
at every depth; from depth 1 to 6 it varies by a factor of {depths}.

Right: time per operator of a chain; from 10 to 1000 operators it varies by {lengths}.
"""


def spreads(curves: dict[str, list[float]], skip: int = 0) -> str:
    return ", ".join(f"{max(c[skip:]) / min(c[skip:]):.2f} ({name})" for name, c in curves.items())


def write(
    results: list[Result], figures: list[Figure], curves: tuple[dict, dict], entering: float, versions: dict[str, str]
) -> Path:
    process_rows = [[f.title, f.value, f.goal, verdict(f.met if f.goal else None)] for f in figures]
    text = TEXT.format(
        machine=machine(versions),
        rows=markdown(table(results)),
        figures=markdown(process_rows, ["figure", "measured", "goal", ""]),
        entering=duration(entering * 1e-9),
        depths=spreads(curves[0]) or "(not measured)",
        lengths=spreads(curves[1], 1) or "(not measured)",
    )
    path = ROOT / "docs" / "benchmarks.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def write_readme(results: list[Result]) -> None:
    """Refreshes the lines between the two marks of the README."""
    path = ROOT / "README.md"
    rows = []
    for result in results:
        if result.workload.id in IN_README and "pullback" in result.rounds:
            peers = [result.ratio(peer) for peer in PEERS]
            shown = ["" if ratio is None else f"{ratio:.2g}" for ratio in peers]
            rows.append([IN_README[result.workload.id], duration(result.seconds("pullback")), *shown])
    head = ["", "pullback", "of NumPy's time", "of PyTorch's time"]
    block = f"<!-- bench -->\n{markdown(rows, head)}\n<!-- /bench -->"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        re.sub(r"<!-- bench -->.*?<!-- /bench -->", lambda _: block, text, flags=re.DOTALL), encoding="utf-8"
    )
