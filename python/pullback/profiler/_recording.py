"""How calls of operators become spans: a mode of `__torch_function__` that measures what passes by."""

from __future__ import annotations

import sys
import threading
from contextlib import ContextDecorator
from time import perf_counter_ns
from typing import Any

from .._core import Tensor
from ..overrides import TorchFunctionMode
from ._events import EventList, FunctionEvent

_thread = threading.local()
# Calls that read what a tensor is; they compute nothing.
_QUIET = ("__get__", "__set__", "__len__", "__repr__", "__format__", "size", "dim", "numel", "stride", "get_device")


def recorder() -> Recorder | None:
    """What records on this thread."""
    found: Recorder | None = getattr(_thread, "recorder", None)
    return found


def _name(function: Any) -> str | None:
    """The name of an operator's span, or None for what is none."""
    name = getattr(function, "__name__", "")
    if not name or name in _QUIET or name.startswith("is_"):
        return None
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
    return f"aten::{name}"


def _shape(x: Any) -> Any:
    if isinstance(x, Tensor):
        return list(x.shape)
    if isinstance(x, (list, tuple)) and x and all(isinstance(y, Tensor) for y in x):
        return [list(y.shape) for y in x]
    return []


class Recorder(TorchFunctionMode):
    """Records the calls of operators of one thread while it is entered."""

    def __init__(self, shapes: bool = False, stacks: bool = False) -> None:
        super().__init__()
        self.events = EventList()
        self._open: list[FunctionEvent] = []
        self._shapes, self._stacks = shapes, stacks
        self._began = perf_counter_ns()
        self._before: Recorder | None = None

    def __enter__(self) -> Recorder:
        self._before = recorder()
        _thread.recorder = self
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        _thread.recorder = self._before
        while self._open:
            self.close()

    def open(self, name: str, arguments: Any = (), annotation: bool = False) -> FunctionEvent:
        """Begins a span."""
        with _unasked():
            shapes = [_shape(x) for x in arguments] if self._shapes else []
        event = FunctionEvent(len(self.events) + 1, name, threading.get_ident(), 0.0, shapes, self._lines(), annotation)
        if self._open:
            event.cpu_parent = self._open[-1]
            self._open[-1].cpu_children.append(event)
        self.events.append(event)
        self._open.append(event)
        event.start = event.end = self._now()
        return event

    def close(self, event: FunctionEvent | None = None) -> None:
        """Ends a span, and those in it; the innermost by default."""
        now = self._now()
        if event is not None and event not in self._open:
            return
        while self._open:
            last = self._open.pop()
            last.end = now
            if event is None or last is event:
                return

    def _now(self) -> float:
        return (perf_counter_ns() - self._began) / 1000

    def _lines(self) -> list[str]:
        """The lines of the program that led here, the innermost first."""
        if not self._stacks:
            return []
        frame = sys._getframe(1)
        found = []
        here = __file__.rpartition("/")[0]
        while frame is not None:
            code = frame.f_code
            if not code.co_filename.startswith(here) and not code.co_filename.startswith("<frozen"):
                found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
            frame = frame.f_back  # type: ignore[assignment]
        return found

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = _name(func)
        if name is None:
            return func(*args, **kwargs)
        event = self.open(name, (*args, *kwargs.values()))
        try:
            return func(*args, **kwargs)
        finally:
            self.close(event)


def _unasked() -> Any:
    from ..overrides import DisableTorchFunction

    return DisableTorchFunction()


class record_function(ContextDecorator):
    """A context, or a decorator, that names a part of a program for the profiler of its thread.

    >>> import pullback
    >>> with pullback.profiler.record_function("product"):
    ...     pullback.ones(1) @ pullback.ones(1)
    tensor(1.)
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._spans: list[Any] = []

    def __enter__(self) -> record_function:
        found = recorder()
        self._spans.append((found, found.open(self.name, annotation=True)) if found is not None else None)
        return self

    def __exit__(self, *error: object) -> None:
        span = self._spans.pop()
        if span is not None:
            span[0].close(span[1])
