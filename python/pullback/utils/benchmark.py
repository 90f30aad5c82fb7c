"""How long a statement takes: `Timer`, its `Measurement`s, and tables of them.

The clock and the loop are those of `timeit`; statements run with `num_threads` threads, one unless told.

>>> from pullback.utils.benchmark import Timer
>>> m = Timer("x.sum()", setup="x = pullback.ones(8)").timeit(100)
>>> m.number_per_run, len(m.times), m.median > 0
(100, 1, True)
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pullback as pb

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "timer"]

timer = timeit.default_timer
_UNITS = (
    ("ns", "nanoseconds", 1e-9),
    ("us", "microseconds", 1e-6),
    ("ms", "milliseconds", 1e-3),
    ("s", "seconds", 1.0),
)


@dataclass(frozen=True)
class TaskSpec:
    """What was measured, and the names that it has in tables."""

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        return self.label or self.stmt.strip()


@dataclass
class Measurement:
    """Seconds of several runs of a statement, each of `number_per_run` repetitions.

    >>> from pullback.utils.benchmark import Measurement, TaskSpec
    >>> m = Measurement(2, [0.5, 0.25, 1.0], TaskSpec("f(x)"))
    >>> m.times, m.median
    ([0.25, 0.125, 0.5], 0.25)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[str, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds of one repetition, by run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """Seconds of one repetition, the median of the runs."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """Seconds of one repetition, the mean of the runs."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance of the quartiles, in seconds."""
        if len(self.raw_times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def has_warnings(self) -> bool:
        """Whether the quartiles lie further apart than a tenth of the median."""
        return self.iqr > 0.1 * self.median

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether there are at least four runs, whose quartiles are closer than this part of the median."""
        return len(self.raw_times) > 3 and self.iqr < threshold * self.median

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of one statement become one, in the order in which they come first."""
        by_task: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            by_task.setdefault(m.task_spec, []).append(m)
        return [Measurement(1, [t for m in several for t in m.times], task) for task, several in by_task.items()]

    def __getattr__(self, name: str) -> Any:
        if name in ("title", "label", "sub_label", "description", "env", "num_threads", "stmt", "setup"):
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    def __repr__(self) -> str:
        task = self.task_spec
        name, scale = _unit(self.median)
        lines = [f"{type(self).__name__} of {task.title}"]
        lines += [text for text in (task.sub_label, task.description) if text]
        if task.setup != "pass":
            lines.append(f"setup: {task.setup.strip()}")
        runs = len(self.raw_times)
        spread = f"  quartiles {self.iqr / scale:.2f} {name} apart" if runs > 1 else ""
        lines.append(f"  {self.median / scale:.2f} {name}{spread}")
        threads = f"{task.num_threads} thread{'s' * (task.num_threads > 1)}"
        lines.append(f"  {runs} run{'s' * (runs > 1)} of {self.number_per_run}, {threads}")
        return "\n".join(lines)


def _unit(seconds: float) -> tuple[str, float]:
    fitting = [unit for unit in _UNITS if seconds >= unit[2]] or [_UNITS[0]]
    return fitting[-1][0], fitting[-1][2]


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = pb.get_num_threads()
    pb.set_num_threads(count)
    try:
        yield
    finally:
        pb.set_num_threads(before)


class Timer:
    """Runs a statement of Python again and again, and says how long it takes.

    `setup` runs before each run, and `globals` are the names that both see; `pullback` and `torch` are among them.
    `label`, `sub_label` and `description` are the table, the row and the column that `Compare` puts a measurement into.
    Raises NotImplementedError for statements of C++, and what the statement raises.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(getattr(language, "value", language)).lower() not in ("0", "py", "python"):
            raise NotImplementedError("Timer(): statements are Python here; give language='python'")
        if not isinstance(stmt, str):
            raise TypeError("Timer(): stmt must be a string of code, such as 'f(x)' with globals={'f': f, 'x': x}")
        names = {"pullback": pb, "torch": pb, **(globals or {})}
        if global_setup:
            exec(global_setup, names)
        self._timer = timeit.Timer(_dedented(stmt), _dedented(setup), timer, names)
        self._task_spec = TaskSpec(
            _dedented(stmt), _dedented(setup), global_setup, label, sub_label, description, env, num_threads
        )

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One run of `number` repetitions, after a hundredth of them to warm up."""
        with _threads(self._task_spec.num_threads):
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        raise NotImplementedError("Timer.repeat(): blocked_autorange repeats, and its result says how far runs differ")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> Measurement:
        """A run whose length `timeit` finds."""
        with _threads(self._task_spec.num_threads):
            number, seconds = self._timer.autorange(callback)
        return Measurement(number, [seconds], self._task_spec)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Runs of 1/1000 of `min_run_time` (seconds) or more each, until they take that long together."""
        with _threads(self._task_spec.num_threads):
            number = self._block(min_run_time)
            return Measurement(number, list(self._runs(number, min_run_time, callback)), self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Runs until their quartiles are closer than `threshold` times the median, or for `max_run_time` (seconds)."""
        with _threads(self._task_spec.num_threads):
            number, times = self._block(0.05), list[float]()
            while sum(times) < max_run_time:
                times += self._runs(number, min_run_time, callback)
                found = Measurement(number, times, self._task_spec)
                if found.meets_confidence(threshold):
                    break
        return found

    def _block(self, min_run_time: float) -> int:
        """How many repetitions take 1/1000 of the time, so that reading the clock costs nothing beside them."""
        number = 1
        while True:
            seconds = self._timer.timeit(number)
            if seconds >= min(min_run_time / 1000, 0.1) or number >= 10**9:
                return number
            number *= 10

    def _runs(self, number: int, least: float, callback: Callable[[int, float], Any] | None) -> Iterator[float]:
        spent = 0.0
        while spent < least:
            seconds = self._timer.timeit(number)
            spent += seconds
            if callback is not None:
                callback(number, seconds)
            yield seconds


def _dedented(code: str) -> str:
    from textwrap import dedent

    lines = code.rstrip().split("\n")
    if lines and not lines[0].strip():
        lines = lines[1:]
    return dedent("\n".join(lines))


class Compare:
    """Tables of measurements: one for each label, with a row for each sub-label and a column for each description.

    >>> from pullback.utils.benchmark import Compare, Measurement, TaskSpec
    >>> task = TaskSpec("f(x)", label="f", sub_label="8 elements", description="eager")
    >>> print(Compare([Measurement(1, [2e-6], task)]))
    f             eager
    1 thread
      8 elements    2.0
    Times are in microseconds (us).
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)
        self._digits = 1
        self._warns = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Times are shown without decimals."""
        self._digits = 0

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted: tables have no colours."""

    def highlight_warnings(self) -> None:
        """Marks times whose runs differ by more than a tenth."""
        self._warns = True

    def print(self) -> None:
        print(self)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys(m.task_spec.title for m in merged)
        return "\n\n".join(self._table(label, [m for m in merged if m.task_spec.title == label]) for label in labels)

    def _table(self, label: str, found: list[Measurement]) -> str:
        name, words, scale = next(u for u in _UNITS if u[0] == _unit(min(m.median for m in found))[0])
        columns = list(dict.fromkeys(m.task_spec.description or "" for m in found))
        lines = [[label, *columns]]
        for threads in dict.fromkeys(m.task_spec.num_threads for m in found):
            here = [m for m in found if m.task_spec.num_threads == threads]
            lines.append([f"{threads} thread{'s' * (threads > 1)}"])
            for row in dict.fromkeys(m.task_spec.sub_label or m.task_spec.stmt for m in here):
                cells = {
                    m.task_spec.description or "": self._cell(m, scale)
                    for m in here
                    if row == (m.task_spec.sub_label or m.task_spec.stmt)
                }
                lines.append([f"  {row}", *(cells.get(column, "") for column in columns)])
        widths = [max(len(line[k]) for line in lines if k < len(line)) for k in range(len(columns) + 1)]
        rows = ("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines)
        return "\n".join([*rows, f"Times are in {words} ({name})."])

    def _cell(self, m: Measurement, scale: float) -> str:
        mark = "!" if self._warns and m.has_warnings else ""
        return f"{mark}{m.median / scale:.{self._digits}f}"
