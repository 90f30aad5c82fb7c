"""The profiler under the name that it had before `pullback.profiler`."""

from __future__ import annotations

from typing import Any

from .. import profiler as _new
from .._absent import absent
from ..profiler import record_function as record_function
from ..profiler._events import EventList as EventList
from ..profiler._events import FunctionEvent as FunctionEvent
from ..profiler._events import FunctionEventAvg as FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "profile", "record_function"]


class profile:
    """A context in which calls of operators are recorded; see `pullback.profiler.profile`.

    >>> import pullback
    >>> with pullback.autograd.profiler.profile() as seen:
    ...     y = pullback.ones(2) + 1
    >>> [event.name for event in seen.function_events]
    ['aten::ones', 'aten::add']

    Args:
        enabled: whether anything is recorded.
        record_shapes: whether the shapes of arguments are kept.
        with_stack: whether the lines of the program are kept.
        options: other options of PyTorch's, without effect.
    """

    def __init__(
        self, enabled: bool = True, *, record_shapes: bool = False, with_stack: bool = False, **options: Any
    ) -> None:
        self.enabled = enabled
        self._profile = _new.profile(record_shapes=record_shapes, with_stack=with_stack)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        self._profile.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self._profile.stop()

    @property
    def function_events(self) -> EventList:
        """The spans. Raises RuntimeError before the context has ended."""
        return self._profile.events()

    @property
    def self_cpu_time_total(self) -> float:
        """The microseconds of all spans, each counted once."""
        return self.function_events.self_cpu_time_total

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **options: Any) -> EventList:
        """The sums of spans by name."""
        return self._profile.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        return self.function_events.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The spans as a table in text."""
        return self.function_events.table(sort_by, row_limit, **options)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the spans into a file that `chrome://tracing` and Perfetto show."""
        self._profile.export_chrome_trace(path)

    def __str__(self) -> str:
        return "<unfinished profile>" if self._profile._events is None else str(self.function_events)


class emit_nvtx:
    """Marks for NVIDIA's tools: there are none; with `enabled=False` a context that changes nothing."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        if self.enabled:
            raise RuntimeError(
                f"{type(self).__name__}(): marks are written for tools that are not here; use profiler.profile, or perf"
            )

    def __exit__(self, *error: object) -> None: ...


class emit_itt(emit_nvtx):
    """Marks for Intel's tools: there are none; with `enabled=False` a context that changes nothing."""


__getattr__ = absent("torch.autograd.profiler", __all__)
