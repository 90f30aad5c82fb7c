"""A profiler of operators: which were called, how often, and how long they took.

It sees the calls that a program makes of functions, methods and operators of tensors, on the thread that entered it,
and what `record_function` names; `backward()` is one call. Operators inside of operators and of transforms' rules are
part of what was called. `cProfile` measures Python, and `perf` what is below.

>>> import pullback
>>> from pullback.profiler import ProfilerActivity, profile
>>> with profile(activities=[ProfilerActivity.CPU]) as seen:
...     y = pullback.ones(2, 2) @ pullback.ones(2, 2)
>>> sorted(event.key for event in seen.key_averages())
['aten::matmul', 'aten::ones']
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from enum import Enum
from time import time_ns
from typing import Any

from .._absent import absent
from ._events import EventList, write_trace
from ._recording import Recorder
from ._recording import record_function as record_function

__all__ = [
    *("ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule"),
    *("supported_activities", "tensorboard_trace_handler"),
]


class ProfilerActivity(Enum):
    """What computes: only the CPU does here, and the others may be named."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a profiler does in a step of a schedule."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled: the CPU."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether the library is there with which PyTorch profiles: False."""
    return False


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What a profiler does in step k: after `skip_first` steps, cycles of `wait` steps without it, `warmup` steps, and
    `active` steps that are recorded; as many cycles as `repeat` says, without end for 0.

    >>> from pullback.profiler import schedule
    >>> [schedule(wait=1, warmup=1, active=2, repeat=1)(k).name for k in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']

    Raises ValueError for negative numbers, or if no step is active.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ValueError("schedule(): wait, warmup, repeat and skip_first must not be negative, and active must be > 0")

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        # The first cycle may begin at once.
        if skip_first_wait != 0:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """A function for `on_trace_ready` that writes each trace into a file of this folder."""

    def write(seen: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        import socket

        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        seen.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time_ns()}{ending}"))

    return write


class profile:
    """A context in which calls of operators are recorded.

    Args:
        activities: what to profile; the CPU is, whatever is named.
        schedule: a function of the step's number that says what to do in it; see `schedule`. The program calls `step()`
            behind each.
        on_trace_ready: called with the profiler when a cycle of the schedule has ended, or the whole.
        record_shapes: whether the shapes of arguments are kept.
        with_stack: whether the lines of the program are kept.
        profile_memory, with_flops, with_modules, experimental_config, execution_trace_observer, acc_events, use_cuda,
            custom_trace_id_callback, post_processing_timeout_s: accepted, and without effect.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = set(activities) if activities is not None else supported_activities()
        if not self.activities or not all(isinstance(a, ProfilerActivity) for a in self.activities):
            raise ValueError("profile(): argument 'activities' must be ProfilerActivity members, at least one")
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes, self.with_stack = record_shapes, with_stack
        self.step_num = 0
        self.current_action = self._action(0)
        self._recorder: Recorder | None = None
        self._events: EventList | None = None
        self._metadata: dict[str, Any] = {}
        self._step: AbstractContextManager[Any] | None = None

    def _action(self, step: int) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(step)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begins to record, or does what the schedule says for the first step."""
        self._begin_step()

    def stop(self) -> None:
        """Ends; what was recorded since then is ready."""
        self._end_step()
        if self._recorder is not None:
            self._finish()

    def step(self) -> None:
        """Says that a step of the program has ended and the next one begins."""
        self._end_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self._action(self.step_num)
        if self._recorder is not None and (
            before == ProfilerAction.RECORD_AND_SAVE or self.current_action not in _RECORDS
        ):
            self._finish()
        self._begin_step()

    def _begin_step(self) -> None:
        if self.current_action in _RECORDS and self._recorder is None:
            self._recorder = Recorder(self.record_shapes, self.with_stack)
            self._recorder.__enter__()
        if self._recorder is not None and self.schedule is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _finish(self) -> None:
        if self._recorder is None:
            return
        self._recorder.__exit__(None, None, None)
        self._events, self._recorder = self._recorder.events, None
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def events(self) -> EventList:
        """The spans, in the order in which they began.

        Raises RuntimeError before there are any.
        """
        if self._events is None:
            raise RuntimeError("profile: nothing was recorded yet; ask after the context has ended, or a cycle has")
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums of spans by name; with `group_by_input_shape` by shapes too, which `record_shapes` keeps."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the spans into a file that `chrome://tracing` and Perfetto show."""
        write_trace(path, self.events(), self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes the lines of the program and times, which tools for flame graphs read; see `with_stack`."""
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Puts a text into the trace's file."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Puts an object, given as JSON, into the trace's file."""
        import json

        self._metadata[key] = json.loads(value)


__getattr__ = absent("torch.profiler", (*__all__, "itt"))
