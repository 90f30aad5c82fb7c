"""What a profiler saw: spans of time with a name, and their sums."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, SupportsIndex

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]


def shown_time(us: float) -> str:
    """Microseconds as text with a unit."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.3f}{unit}"
    return f"{us:.3f}us"


class _Times:
    """The names of times that both kinds of events have. There are no devices beside the CPU, so theirs are 0."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    input_shapes: Any
    stack: list[str]
    is_user_annotation: bool
    device_time_total = self_device_time_total = cuda_time_total = self_cuda_time_total = 0
    device_time = cuda_time = 0.0
    cpu_memory_usage = self_cpu_memory_usage = device_memory_usage = self_device_memory_usage = 0
    cuda_memory_usage = self_cuda_memory_usage = 0
    is_async = is_remote = is_legacy = False
    node_id = -1
    overload_name = ""
    use_device = None
    flops = 0

    @property
    def cpu_time(self) -> float:
        """Microseconds of one call on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """The same as text."""
        return shown_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """The time of all calls, as text."""
        return shown_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """The time of all calls without the spans in them, as text."""
        return shown_time(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One span: a call of an operator, or a part of the program that `record_function` named; in microseconds."""

    count = 1

    def __init__(
        self, id: int, name: str, thread: int, start: float, shapes: Any, stack: list[str], annotation: bool
    ) -> None:
        self.id, self.name, self.key, self.thread = id, name, name, thread
        self.start = self.end = start
        self.input_shapes, self.stack, self.is_user_annotation = shapes, stack, annotation
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it took."""
        return self.end - self.start

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The same without the spans in it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} start_us={self.start:.3f} "
            f"end_us={self.end:.3f} cpu_children={[c.id for c in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg(_Times):
    """The sum of spans of the same name, and of the same shapes if asked for."""

    def __init__(self, key: str = "", shapes: Any = "", stack: list[str] | None = None) -> None:
        self.key, self.input_shapes, self.stack = key, shapes, stack or []
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.is_user_annotation = False

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds spans."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.is_user_annotation = other.is_user_annotation
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} count={self.count}>"
        )


# Columns of tables after the name: title, and what is in them.
_COLUMNS = ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")
_ABSENT_ORDERS = ("cuda", "device", "xpu")


class EventList(list[Any]):
    """A list of spans or of their sums."""

    @property
    def self_cpu_time_total(self) -> float:
        """The microseconds of all spans, each counted once."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums of spans of the same name; of the same shapes, and the same innermost lines of the program."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else ""
            stack = event.stack[:group_by_stack_n] if group_by_stack_n > 0 else []
            key = (event.key, str(shapes), tuple(stack))
            found.setdefault(key, FunctionEventAvg(event.key, shapes, stack)).add(event)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The list as a table in text.

        Args:
            sort_by: an attribute to sort by, the largest first, such as "cpu_time_total", "self_cpu_time_total",
                "count"; what is sorted by times of devices keeps its order.
            row_limit: how many rows are shown; -1 is for all.
            header: a line above the table.
            top_level_events_only: whether spans inside of others are left out.
            time_unit: "s", "ms" or "us", to show all times in; by default each has its own.

        Raises:
            AttributeError: if events have no attribute `sort_by`.
        """
        if not self:
            return ""
        rows = list(self)
        if sort_by is not None and not any(word in sort_by for word in _ABSENT_ORDERS):
            rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        if top_level_events_only:
            rows = [event for event in rows if getattr(event, "cpu_parent", None) is None]
        show = shown_time if time_unit is None else _in_unit(time_unit)
        total = self.self_cpu_time_total
        with_shapes = any(event.input_shapes for event in rows)
        with_stack = any(event.stack for event in rows)
        titles = ["Name", *_COLUMNS]
        if with_shapes:
            titles.append("Input Shapes")
        if with_stack:
            titles.append("Source Location")
        cells = []
        for event in rows[: row_limit if row_limit >= 0 else None]:
            line = [_cut(event.key, max_name_column_width), *_numbers(event, total, show)]
            if with_shapes:
                line.append(_cut(str(event.input_shapes), max_shapes_column_width))
            if with_stack:
                line.append(_cut(event.stack[0] if event.stack else "", max_src_column_width))
            cells.append(line)
        text = _laid_out(titles, cells)
        head = f"{header}\n" if header is not None else ""
        return f"{head}{text}Self CPU time total: {show(total)}\n"

    def __str__(self) -> str:
        return self.table()

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        found = super().__getitem__(index)
        return EventList(found) if isinstance(index, slice) else found

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the spans into a file that `chrome://tracing` and Perfetto show."""
        write_trace(path, self, {})

    @property
    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can write."""
        return ["self_cpu_time_total"]

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each span: the lines of the program that led to it, and its microseconds.

        Raises ValueError for another metric.
        """
        if metric not in self.supported_export_stacks_metrics:
            raise ValueError(f"export_stacks(): metric should be one of: {self.supported_export_stacks_metrics}")
        with open(path, "w") as file:
            for event in self:
                if event.stack and event.self_cpu_time_total >= 1:
                    places = ";".join(line.replace(" ", "_").replace(";", ",") for line in reversed(event.stack))
                    file.write(f"{places} {int(event.self_cpu_time_total)}\n")


def _in_unit(unit: str) -> Any:
    sizes = {"s": 1e6, "ms": 1e3, "us": 1.0}
    if unit not in sizes:
        raise ValueError(f"table(): time_unit is one of {', '.join(sizes)}, got {unit!r}")
    return lambda us: f"{us / sizes[unit]:.3f}{unit}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width or width < 4 else text[: width - 3] + "..."


def _numbers(event: Any, total: float, show: Any) -> list[str]:
    share = 100 / total if total else 0.0
    return [
        f"{event.self_cpu_time_total * share:.2f}%",
        show(event.self_cpu_time_total),
        f"{event.cpu_time_total * share:.2f}%",
        show(event.cpu_time_total),
        show(event.cpu_time),
        str(event.count),
    ]


def _laid_out(titles: list[str], rows: Iterable[list[str]]) -> str:
    rows = list(rows)
    widths = [max(12, *(len(line[i]) for line in [titles, *rows])) for i in range(len(titles))]
    rule = "  ".join("-" * width for width in widths) + "  \n"

    def line(cells: list[str]) -> str:
        return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)) + "  \n"

    return rule + line(titles) + rule + "".join(line(cells) for cells in rows) + rule


def write_trace(path: str | os.PathLike[str], events: Iterable[Any], metadata: dict[str, Any]) -> None:
    """Writes spans in the format of Chrome's traces, compressed if the name ends with `.gz`."""
    process = os.getpid()
    spans = [
        {
            "ph": "X",
            "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
            "name": event.name,
            "pid": process,
            "tid": event.thread,
            "ts": event.start,
            "dur": event.cpu_time_total,
            "args": {"Input Dims": event.input_shapes} if event.input_shapes else {},
        }
        for event in events
    ]
    text = json.dumps({"schemaVersion": 1, "displayTimeUnit": "ms", **metadata, "traceEvents": spans})
    if str(path).endswith(".gz"):
        import gzip

        Path(path).write_bytes(gzip.compress(text.encode()))
    else:
        Path(path).write_text(text)
