"""Random calls of every operator, and calls with extreme integers: no panic, no crash, no hang, no changed argument.

`PULLBACK_FUZZ_PATH` names a folder with another build of the package to test: `make test` uses it for a build that
guards its buffers and checks its arithmetic. `PULLBACK_FUZZ_CALLS` sets the number of random calls;
`PULLBACK_FUZZ_EXTREMES` says that each n-th call with extreme integers is made, 1 for all of them.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pullback import _core
from support import extremes
from support.fuzz import callables

SEED = 20261123
CALLS = int(os.environ.get("PULLBACK_FUZZ_CALLS", "25000"))
SECONDS = 20.0  # for one call
ENOUGH = 30  # calls of each entry, so that some succeed
EVERY = int(os.environ.get("PULLBACK_FUZZ_EXTREMES", "1"))
SUPPORT = Path(__file__).resolve().parent / "support"
PROGRAM, EXTREMES = SUPPORT / "fuzz.py", SUPPORT / "extremes.py"


def environment() -> dict[str, str]:
    env = dict(os.environ, PYTHONFAULTHANDLER="1")
    if path := os.environ.get("PULLBACK_FUZZ_PATH"):
        env["PYTHONPATH"] = str(Path(path).resolve())
    return env


def run_part(program: list[Any], first: int, last: int, every: int = 1) -> tuple[list[dict[str, Any]], set[str]]:
    """The faults of the calls first, first + every, … below last, and the entries that gave a result. A worker that
    dies or hangs is replaced behind the call that ended it."""
    faults: list[dict[str, Any]] = []
    succeeded: set[str] = set()
    while first < last:
        command = [sys.executable, *map(str, program), str(first), str(last), *([str(every)] if every > 1 else [])]
        with subprocess.Popen(
            command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as w:
            at, hung = follow(w, faults, succeeded)
            if hung:
                w.kill()
            _, trouble = w.communicate()
        if w.returncode == 0:
            break
        why = "hangs" if hung else f"ended the process with status {w.returncode}"
        faults.append({"call": at, "outcome": f"{why}: {trouble[-600:]}"})
        if at is None or len(faults) > 20:
            break
        first = at + every
    return faults, succeeded


def follow(worker: subprocess.Popen[str], faults: list[dict[str, Any]], succeeded: set[str]) -> tuple[int | None, bool]:
    """Reads a worker's lines to their end: (the last call that it began, whether it hangs there)."""
    lines: queue.Queue[str | None] = queue.Queue()
    assert worker.stdout is not None

    def read(stream: Any) -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, args=(worker.stdout,), daemon=True).start()
    at: int | None = None
    while True:
        try:
            line = lines.get(timeout=SECONDS + (20 if at is None else 0))
        except queue.Empty:
            return at, True
        if line is None:
            return at, False
        if line.startswith("!"):
            faults.append(json.loads(line[1:]))
        elif line.startswith("+"):
            succeeded.add(line[1:].strip())
        elif line[:1].isdigit():
            at = int(line.split()[0])


def test_random_calls() -> None:
    parts = max(2, os.cpu_count() or 1)
    bounds = [CALLS * k // parts for k in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        results = list(pool.map(lambda a, b: run_part([PROGRAM, SEED], a, b), bounds[:-1], bounds[1:]))
    faults = [fault for part, _ in results for fault in part]
    assert not faults, f"{len(faults)} faults; repeat one with {PROGRAM.name} {SEED} CALL CALL+1:\n{shown(faults)}"
    names = {entry["name"] for entry, _ in callables()}
    if CALLS >= ENOUGH * len(names):
        assert not names - set().union(*(part for _, part in results)), "entries of which no call gave a result"


def shown(faults: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(fault, ensure_ascii=False) for fault in faults[:20])


def test_extreme_integers() -> None:
    """Which of the calls are made changes with the number of entries, but not from run to run."""
    total = sum(1 for _ in extremes.cases())
    parts = max(2, os.cpu_count() or 1)
    with ThreadPoolExecutor(parts) as pool:
        results = list(pool.map(lambda k: run_part([EXTREMES], k * EVERY, total, parts * EVERY), range(parts)))
    faults = [fault for part, _ in results for fault in part]
    assert not faults, f"{len(faults)} faults; repeat one with {EXTREMES.name} CALL CALL+1:\n{shown(faults)}"


def test_table_can_be_called() -> None:
    """The fuzz test reaches the operators: nearly every entry of the table has a Python name."""
    assert len(callables()) >= 0.95 * len(_core.operator_table())
