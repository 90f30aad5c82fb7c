"""Figures of whole processes: import time, resident memory, peak memory, threads. Each runs in a fresh interpreter."""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import libraries
import small
from libraries import normal

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Figure:
    """A figure as people read it, and as a number, of which less is better."""

    title: str
    value: str
    goal: str
    met: bool
    amount: float = math.nan


def run(code: str, threads: int = 1, argument: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    environment["OMP_NUM_THREADS"] = str(threads)
    done = subprocess.run(
        [sys.executable, "-c", code, argument], check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def elapsed(code: str) -> float:
    """Seconds of processor time, which other programs on the machine do not lengthen much."""
    start = processor_time()
    run(code)
    return processor_time() - start


def import_time() -> Figure:
    run("import pullback")
    pairs = [(elapsed("pass"), elapsed("import pullback")) for _ in range(20)]
    extra = (min(b for _, b in pairs) - min(a for a, _ in pairs)) * 1000
    return Figure("`import pullback`, beyond `python -c pass`", f"{extra:.1f} ms", "≤ 8 ms", extra <= 8, extra)


def resident() -> Figure:
    code = "import pullback; print(open('/proc/self/statm').read().split()[1])"
    megabytes = int(run(code)) * os.sysconf("SC_PAGESIZE") / 2**20
    return Figure("resident after import", f"{megabytes:.1f} MB", "≤ 25 MB", megabytes <= 25, megabytes)


PEAK = """
import json, gc
from pathlib import Path
import libraries, large
lib = libraries.load()["pullback"]
large.per_sample(lib, 2)()
f = large.per_sample(lib)
gc.collect()
def status(key):
    line = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith(key))
    return int(line.split()[1]) * 1024
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
result = f()
peak = status("VmHWM") - before
size = sum(g.numel() * g.element_size() for g in result.values())
print(json.dumps([peak, size]))
"""


def peak() -> Figure:
    used, size = json.loads(run(PEAK))
    value = f"{used / size:.2f} of {size / 2**20:.0f} MB"
    title = "peak of the per-sample gradients, of their size"
    return Figure(title, value, "≤ 1.15", used / size <= 1.15, used / size)


TAPE = """
from pathlib import Path
import pullback as pb
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
x = pb.ones(2_500_000, requires_grad=True)
(x + 1).sum().backward()
before = resident()
y = x
for _ in range(50):
    y = y + 1
print(resident() - before)
"""


def tape() -> Figure:
    """Additions need no residuals, so a tape of them keeps no array but the last."""
    megabytes = int(run(TAPE)) / 1e6
    title = "what a tape of 50 additions of 10 MB arrays keeps"
    return Figure(title, f"{megabytes:.0f} MB", "≤ 30 MB", megabytes <= 30, megabytes)


MILLION = """
import json, sys, time
from pathlib import Path
import libraries
lib = libraries.load()[sys.argv[1]]
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
def run(nodes):
    x = lib.T.ones(1, requires_grad=True)
    y = x
    for _ in range(nodes):
        y = y * 1.000001
    return x, y
x, y = run(1000)
y.sum().backward()
times = []
for _ in range(2):
    before = resident()
    x, y = run(1_000_000)
    held = resident() - before
    start = time.process_time()
    y.backward()
    times.append(time.process_time() - start)
    if not times[1:]:
        size = held
    del x, y
print(json.dumps([min(times), size]))
"""


def million() -> list[Figure]:
    """A backward through a million nodes, and what they keep."""
    took, size = json.loads(run(MILLION, argument="pullback"))
    title, value, goal, met = "`.backward()` through 1,000,000 nodes", f"{took:.2f} s", "≤ 0.15 PyTorch", True
    if "torch" in libraries.load():
        other = json.loads(run(MILLION, argument="torch"))[0]
        value, met = f"{value}, {took / other:.2g} PyTorch ({other:.2f} s)", took / other <= 0.15
    kilobytes = size / 1e6 / 1024
    return [
        Figure(title, value, goal, met, took),
        Figure("memory of a node of that tape", f"{kilobytes:.2f} KB", "≤ 1 KB", kilobytes <= 1, kilobytes),
    ]


def linear() -> Figure:
    """Filling twice as many rows of a buffer under `grad` takes twice as long."""
    lib = libraries.load()["pullback"]
    gradient = lib.T.func.grad(lambda row, rows: small.fill(lib, row, rows).sum())
    row = lib.tensor(normal("row", 100))
    times = {1000: float("inf"), 2000: float("inf")}
    for _ in range(40):
        for rows in times:
            times[rows] = min(times[rows], timeit.timeit(lambda rows=rows: gradient(row, rows), number=1))
    ratio = times[2000] / times[1000]
    value = f"{times[1000] * 1e3:.1f} ms, {times[2000] * 1e3:.1f} ms"
    title = "filling 1,000 and 2,000 rows of a buffer in a loop under `grad`"
    return Figure(title, value, "linear", ratio <= 2.5, times[2000])


# Half of the product that two threads share; beside another one it shows what the machine gives two processors.
HALF = """
import time
import pullback as pb
from libraries import normal
pb.set_num_threads(1)
a, b = (pb.from_numpy(normal(n, 1024, 1024)) for n in "ab")
a = a[:512]
a @ b
while True:
    input()
    start = time.perf_counter()
    a @ b
    print(time.perf_counter() - start, flush=True)
"""
THREADS = """
import hashlib, json, subprocess, sys, time
import numpy as np
import pullback as pb
from libraries import normal
pipe = subprocess.PIPE
halves = [subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
def two_processes():
    for half in halves:
        print(file=half.stdin, flush=True)
    return max(float(half.stdout.readline()) for half in halves)
erf = pb.from_numpy(normal("big", 10_000_000, dtype=np.float64))
a, b = (pb.from_numpy(normal(n, 1024, 1024)) for n in "ab")
def stolen():
    "What other machines took of this one, in clock ticks; 0 where the system does not say."
    try:
        with open("/proc/stat") as stat:
            return int(stat.readline().split()[8])
    except (OSError, IndexError, ValueError):
        return 0
out = {}
for name, f in (("erf", lambda: pb.erf(erf)), ("matmul", lambda: a @ b)):
    times, idle, digests, apart = {1: [], 2: []}, {1: [], 2: []}, set(), []
    for k in range(60):
        for n in times:
            pb.set_num_threads(n)
            before, start = stolen(), time.perf_counter()
            value = f()
            times[n].append(time.perf_counter() - start)
            if stolen() == before:
                idle[n].append(times[n][-1])
            digests.add(hashlib.sha256(value.numpy().tobytes()).hexdigest())
        if name == "matmul":
            apart.append(two_processes())
        if k >= 8 and min(len(idle[1]), len(idle[2])) >= 7:
            break
    # What else runs on the processors takes more from two threads than from one.
    out[name] = [idle[n] or times[n] for n in times] + [len(digests), apart]
for half in halves:
    half.kill()
print(json.dumps(out))
"""


def threads() -> list[Figure]:
    results: dict[str, Any] = json.loads(run(THREADS, threads=2, argument=HALF))
    titles = {"erf": "erf of 10 M float64", "matmul": "matmul 1024, float32"}
    out = []
    for name, (one, two, different, apart) in results.items():
        gain = median(one) / median(two)
        # Where two processes that share nothing gain no more, it is the machine that has not two whole processors now.
        machine = f" (two processes: {median(one) / median(apart):.2f})" if apart else ""
        bits = "same bits" if different == 1 else "DIFFERENT BITS"
        met = gain >= 1.6 and different == 1
        title = f"two threads against one, {titles[name]}"
        out.append(Figure(title, f"{gain:.2f}{machine}, {bits}", "≥ 1.6, same bits", met, 1 / gain))
    return out


def wheel() -> list[Figure]:
    wheels = list((HERE.parent / "target" / "wheels").glob("*.whl"))
    sizes = [file.stat().st_size / 1e6 for file in wheels]
    return [Figure("the wheel", f"{size:.1f} MB", "≤ 8 MB", size <= 8, size) for size in sizes[:1]]


OF_THE_MODULE = (import_time, resident, peak, tape, million, linear, threads)


def figures(measures: Sequence[Callable[[], Figure | list[Figure]]] = (*OF_THE_MODULE, wheel)) -> list[Figure]:
    out = []
    for measure in measures:
        try:
            value = measure()
        except Exception as error:
            trouble = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
            value = Figure(measure.__name__, f"failed: {' '.join(trouble)[:100]}", "", False)
        out += value if isinstance(value, list) else [value]
    return out
