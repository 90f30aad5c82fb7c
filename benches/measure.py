"""Interleaved timing: every library once in each round, so that a slow minute of the machine hits all of them."""

from __future__ import annotations

import gc
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from libraries import Library, to_numpy

NAMES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "jax.jit", "best": "best"}


@dataclass(frozen=True)
class Goal:
    """pullback's time may be at most `limit` times that of the peer; `best`: of the fastest peer."""

    peer: str
    limit: float

    def __str__(self) -> str:
        return f"≤ {self.limit:.3g} {NAMES[self.peer]}"


@dataclass(frozen=True)
class Workload:
    """One row of the table. `build(library)` gives what is timed: a function, or (expression, names)."""

    id: str
    title: str
    build: Callable[[Any], Any]
    goals: tuple[Goal, ...] = ()
    numpy: Callable[[], Any] | None = None
    tolerance: float = 1e-4
    jax: Callable[[], Any] | None = None


@dataclass
class Result:
    workload: Workload
    rounds: dict[str, list[float]] = field(default_factory=dict)
    note: str = ""

    def is_short(self) -> bool:
        """Whether best rounds count: those of a program below a millisecond."""
        return min(self.rounds.get("pullback", [1.0])) < 1e-3

    def seconds(self, name: str) -> float | None:
        times = self.rounds.get(name)
        if not times:
            return None
        return min(times) if self.is_short() else median(times)

    def ratio(self, peer: str) -> float | None:
        """Short workloads by their best rounds, long ones by the median of the ratios within a round."""
        ours = self.rounds.get("pullback")
        if peer == "best":
            ratios = [r for p in ("numpy", "torch") if (r := self.ratio(p)) is not None]
            return max(ratios, default=None)
        theirs = self.rounds.get(peer)
        if not ours or not theirs:
            return None
        if self.is_short():
            return min(ours) / min(theirs)
        return median(a / b for a, b in zip(ours, theirs, strict=True))

    def met(self) -> bool | None:
        """Whether every goal that could be measured is met; None if there was none."""
        pairs = [(self.ratio(goal.peer), goal.limit) for goal in self.workload.goals]
        known = [(ratio, limit) for ratio, limit in pairs if ratio is not None]
        return all(ratio <= limit for ratio, limit in known) if known else None


def timer(program: Any) -> timeit.Timer:
    """Of processor time over all threads, which other programs on the machine do not lengthen much."""
    if isinstance(program, tuple):
        expression, names = program
        return timeit.Timer(expression, globals=names, timer=time.process_time)
    return timeit.Timer(program, timer=time.process_time)


def wall(t: timeit.Timer) -> float:
    """Seconds of one run. The processor's clock may miss a run now and then, this one never does."""
    begin = time.perf_counter()
    t.timeit(1)
    return time.perf_counter() - begin


def value_of(program: Any) -> Any:
    if isinstance(program, tuple):
        expression, names = program
        return eval(expression, dict(names))
    return program()


def agree(values: dict[str, list[np.ndarray]], tolerance: float) -> None:
    """Raises unless the libraries computed the same thing: a wrong answer has no speed."""
    (first, want), *others = values.items()
    for name, got in others:
        for a, b in zip(want, got, strict=True):
            scale = np.abs(b).max(initial=0.0) + 1e-30
            if a.shape != b.shape or not np.allclose(a / scale, b / scale, rtol=0, atol=tolerance):
                raise AssertionError(f"{first} and {name} differ")


def prepare(workload: Workload, libraries: dict[str, Library]) -> dict[str, Any]:
    programs = {}
    for name, library in libraries.items():
        if name not in ("numpy", "jax"):
            programs[name] = workload.build(library)
        elif build := getattr(workload, name):
            programs[name] = build()
    return programs


@dataclass
class Running:
    """A workload that is being timed."""

    result: Result
    timers: dict[str, timeit.Timer]
    repeats: dict[str, int]
    short: bool

    def round(self, k: int) -> None:
        names = list(self.timers)
        for name in names[k % len(names) :] + names[: k % len(names)]:
            took = self.timers[name].timeit(self.repeats[name]) / self.repeats[name]
            self.result.rounds.setdefault(name, []).append(took)


def start(workload: Workload, libraries: dict[str, Library]) -> Running | Result:
    """Compares the libraries' answers and finds out how often each runs in a round; a note if one fails."""
    result = Result(workload)
    try:
        programs = prepare(workload, libraries)
        agree({name: to_numpy(value_of(p)) for name, p in programs.items()}, workload.tolerance)
    except Exception as error:
        result.note = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:120]
        return result
    timers = {name: timer(p) for name, p in programs.items()}
    once = {name: min(wall(t), wall(t)) for name, t in timers.items()}
    short = once["pullback"] < 1e-3
    seconds = 0.01 if short else 0.02
    return Running(result, timers, {name: max(1, int(seconds / max(took, 1e-8))) for name, took in once.items()}, short)


def run(workloads: list[Workload], libraries: dict[str, Library], rounds: int = 7) -> list[Result]:
    """Times workloads in so many rounds. Those below a millisecond get six times as many, which go over all of them in
    turn: a machine that others use too is in its fast state only now and then, and so each of them meets it.
    """
    results, short = [], []
    gc.disable()
    try:
        for workload in workloads:
            running = start(workload, libraries)
            gc.collect()
            if isinstance(running, Result):
                results.append(running)
                continue
            results.append(running.result)
            if running.short:
                short.append(running)
                continue
            for k in range(rounds):
                running.round(k)
        for k in range(6 * rounds):
            for running in short:
                running.round(k)
    finally:
        gc.enable()
    return results
