"""`pullback.profiler`: spans of operators, their sums, schedules and files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def work() -> pb.Tensor:
    with record_function("mine"):
        x = pb.ones(3, 3, requires_grad=True)
        y = (x @ x).relu()
        y = y + y.shape[0]
        y.sum().backward()
    return y


NAMES = ["mine", "aten::ones", "aten::matmul", "aten::relu", "aten::add", "aten::sum", "aten::backward"]


def test_spans_and_sums() -> None:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as seen:
        for _ in range(2):
            work()
    events = seen.events()
    assert [e.name for e in events] == NAMES * 2
    mine, product = events[0], events[2]
    assert product.cpu_parent is mine and mine.cpu_children == events[1:7] and product.input_shapes == [[3, 3], [3, 3]]
    assert mine.start <= product.start <= product.end <= mine.end and mine.is_user_annotation
    assert mine.self_cpu_time_total == pytest.approx(mine.cpu_time_total - sum(e.cpu_time_total for e in events[1:7]))
    sums = {e.key: e for e in seen.key_averages()}
    assert list(sums) == NAMES and all(e.count == 2 for e in sums.values())
    assert sums["mine"].cpu_time_total == pytest.approx(events[0].cpu_time_total + events[7].cpu_time_total)
    assert sums["mine"].cpu_time == pytest.approx(sums["mine"].cpu_time_total / 2)
    total = seen.key_averages().total_average()
    assert total.count == 14 and total.self_cpu_time_total == pytest.approx(events.self_cpu_time_total)
    assert events.self_cpu_time_total == pytest.approx(sums["mine"].cpu_time_total)


def test_groups_by_shape_and_stack() -> None:
    with profile(record_shapes=True, with_stack=True) as seen:
        a = pb.ones(2)
        b = a + a
        c = pb.ones(3) + 1
    assert b.shape == (2,) and c.shape == (3,)
    groups = [e for e in seen.key_averages(group_by_input_shape=True) if e.key == "aten::add"]
    assert [e.input_shapes for e in groups] == [[[2], [2]], [[3], []]]
    assert seen.events()[0].stack[0].startswith(f"{__file__}(") and "test_groups" in seen.events()[0].stack[0]
    assert len({e.stack[0] for e in seen.key_averages(group_by_stack_n=1)}) == 3


def test_tables() -> None:
    with profile(record_shapes=True) as seen:
        work()
    sums = seen.key_averages()
    lines = sums.table(sort_by="cpu_time_total", row_limit=2, header="Here").splitlines()
    assert lines[0] == "Here" and lines[4].split()[0] == "mine" and len(lines) == 8
    assert "Input Shapes" not in lines[2]
    assert "Input Shapes" in seen.key_averages(group_by_input_shape=True).table()
    assert "100.00%" in lines[4] and lines[-1].startswith("Self CPU time total: ")
    by_count = sums.table(sort_by="count", time_unit="ms", top_level_events_only=True)
    assert "us" not in by_count.replace("user", "") and str(sums) == sums.table()
    assert len(sums.table(sort_by="self_cuda_time_total").splitlines()) == len(NAMES) + 5
    assert type(sums[:2]).__name__ == "EventList" and repr(sums[0]).startswith("<FunctionEventAvg key=mine")
    assert repr(seen.events()[1]).startswith("<FunctionEvent id=2 name=aten::ones")
    with pytest.raises(AttributeError, match="no_such_time"):
        sums.table(sort_by="no_such_time")
    with pytest.raises(ValueError, match="time_unit is one of s, ms, us"):
        sums.table(time_unit="h")


def test_schedules(tmp_path: Path) -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    actions = [plan(k) for k in range(10)]
    none, warm, record, save = list(ProfilerAction)
    assert actions == [none, none, warm, record, save, none, warm, record, save, none]
    ready: list[list[str]] = []
    with profile(schedule=plan, on_trace_ready=lambda p: ready.append([e.key for e in p.events()])) as seen:
        for _ in range(10):
            pb.ones(1)
            seen.step()
    one = ["ProfilerStep#{}", "aten::ones"]
    assert ready == [[s.format(k + i) for i in (0, 1) for s in one] for k in (3, 7)]
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path / "logs"), "worker", use_gzip=True)):
        pb.ones(1)
    (file,) = (tmp_path / "logs").iterdir()
    assert file.name.startswith("worker.") and file.name.endswith(".pt.trace.json.gz")
    assert json.loads(gzip.decompress(file.read_bytes()))["traceEvents"][0]["name"] == "aten::ones"
    with pytest.raises(ValueError, match="active must be > 0"):
        schedule(wait=0, warmup=0, active=0)


def test_files(tmp_path: Path) -> None:
    with profile(record_shapes=True, with_stack=True) as seen:
        work()
    seen.add_metadata("who", "me")
    seen.add_metadata_json("how", '{"a": 1}')
    seen.export_chrome_trace(str(tmp_path / "trace.json"))
    trace: Any = json.loads((tmp_path / "trace.json").read_text())
    assert trace["who"] == "me" and trace["how"] == {"a": 1}
    spans = trace["traceEvents"]
    assert [s["name"] for s in spans] == NAMES and {s["ph"] for s in spans} == {"X"}
    assert spans[0]["cat"] == "user_annotation" and spans[2]["args"] == {"Input Dims": [[3, 3], [3, 3]]}
    assert spans[2]["ts"] >= spans[0]["ts"] and spans[0]["dur"] >= spans[2]["dur"] > 0
    seen.export_stacks(str(tmp_path / "stacks"))
    assert ";" in (tmp_path / "stacks").read_text() and "_work" in (tmp_path / "stacks").read_text()
    with pytest.raises(ValueError, match="metric should be one of"):
        seen.export_stacks(str(tmp_path / "stacks"), "self_cuda_time_total")


def test_what_is_not_recorded() -> None:
    assert work().shape == (3, 3), "marks alone change nothing"
    seen = profile()
    with pytest.raises(RuntimeError, match="nothing was recorded yet"):
        seen.events()
    with pytest.raises(ValueError, match="must be ProfilerActivity members"):
        profile(activities=["cpu"])  # type: ignore[list-item]
    with profile() as outer:
        with profile() as inner:
            pb.ones(1)
        pb.zeros(1)
    assert [e.name for e in inner.events()] == ["aten::ones"] and outer.events()[-1].name == "aten::zeros"


def test_an_error_ends_the_spans() -> None:
    with profile() as seen, pytest.raises(RuntimeError), record_function("outside"):
        pb.ones(2) @ pb.ones(3)
    assert [e.name for e in seen.events()] == ["outside", "aten::ones", "aten::ones", "aten::matmul"]
    assert seen.events()[0].end >= seen.events()[-1].end > 0


def test_transforms_run_under_it() -> None:
    with profile() as seen:
        got = pb.func.vmap(pb.func.grad(lambda x: x.sin().sum()))(pb.zeros(2, 3))
    assert got.equal(pb.ones(2, 3)) and "aten::sin" in [e.name for e in seen.events()]


def test_the_older_names() -> None:
    from pullback.autograd import profiler

    with profiler.profile(record_shapes=True, use_cuda=False) as seen:
        work()
    assert seen is not None and [e.name for e in seen.function_events] == NAMES
    assert "aten::matmul" in str(seen) and seen.total_average().count == len(NAMES)
    assert seen.key_averages().table(sort_by="self_cpu_time_total") and seen.table() == str(seen)
    assert seen.self_cpu_time_total > 0
    with profiler.profile(enabled=False) as nothing:
        pb.ones(1)
    assert nothing is None
    with profiler.emit_nvtx(enabled=False), profiler.emit_itt(enabled=False):
        pb.ones(1)
    with pytest.raises(RuntimeError, match=r"emit_nvtx\(\): marks are written for tools"), profiler.emit_nvtx():
        pass
