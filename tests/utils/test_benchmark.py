"""Timers of statements."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import pullback as pb
from pullback.utils import benchmark
from pullback.utils.benchmark import Compare, Measurement, TaskSpec, Timer


def clock(step: float) -> Any:
    """A clock that goes on by `step` seconds whenever it is read."""
    count = itertools.count()
    return lambda: next(count) * step


def test_a_run_says_what_the_clock_says() -> None:
    seen: list[int] = []
    m = Timer("seen.append(1)", timer=clock(0.5), globals={"seen": seen}).timeit(10)
    assert m.raw_times == [0.5] and m.times == [0.05] == [m.median] == [m.mean] and m.iqr == 0.0
    assert len(seen) == 12, "ten, and two to warm up"


def test_runs_go_on_until_the_time_is_spent() -> None:
    heard: list[tuple[int, float]] = []
    timer = Timer("pass", timer=clock(0.25))
    m = timer.blocked_autorange(lambda n, t: heard.append((n, t)), min_run_time=1.0)
    assert m.raw_times == [0.25] * 4 and m.number_per_run == 1 and heard == [(1, 0.25)] * 4
    assert not m.has_warnings and m.meets_confidence()
    assert len(timer.adaptive_autorange(min_run_time=0.25).times) == 4
    assert timer.autorange().raw_times == [0.25]


def test_statements_see_their_globals_and_threads() -> None:
    before, seen = pb.get_num_threads(), list[int]()
    Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=2).timeit(1)
    assert set(seen) == {2} and pb.get_num_threads() == before
    assert Timer("\n    y = x + 1\n    y + 1\n", setup="x = pullback.ones(2)").timeit(3).number_per_run == 3
    with pytest.raises(ZeroDivisionError):
        Timer("1 / 0").timeit(1)
    assert pb.get_num_threads() == before


def test_what_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="give language='python'"):
        Timer("x", language="cpp")
    with pytest.raises(TypeError, match="stmt must be a string of code"):
        Timer(print)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match=r"blocked_autorange repeats"):
        Timer().repeat()


def test_spread_and_text() -> None:
    m = Measurement(2, [2e-3, 4e-3, 6e-3, 8e-3, 10e-3], TaskSpec("f(x)", setup="x = 1", sub_label="row"))
    assert m.median == 3e-3 and m.iqr == pytest.approx(2e-3) and m.has_warnings and not m.meets_confidence()
    assert m.sub_label == "row" and m.stmt == "f(x)" and m.num_threads == 1
    want = "Measurement of f(x)\nrow\nsetup: x = 1\n  3.00 ms  quartiles 2.00 ms apart\n  5 runs of 2, 1 thread"
    assert repr(m) == want
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = m.nothing


def test_tables() -> None:
    def measured(row: str, column: str, seconds: float, threads: int = 1) -> Measurement:
        task = TaskSpec("f(x)", label="f", sub_label=row, description=column, num_threads=threads)
        return Measurement(1, [seconds], task)

    table = Compare([measured("8", "eager", 2e-6), measured("8", "vmap", 1.5e-3), measured("64", "vmap", 3e-6)])
    table.extend_results([measured("8", "eager", 4e-6), measured("8", "eager", 1e-6, 4)])
    table.highlight_warnings()
    rows = ["f          eager    vmap", "1 thread", "  8         !3.0  1500.0", "  64                 3.0"]
    rows += ["4 threads", "  8          1.0", "Times are in microseconds (us)."]
    assert str(table).split("\n") == rows
    table.trim_significant_figures()
    assert "1500\n" in str(table)
    assert benchmark.timer() <= benchmark.timer()
