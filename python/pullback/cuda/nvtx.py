"""Marks for NVIDIA's tools: they are not here, so marks raise as they do in a PyTorch without CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _no_marks() -> NoReturn:
    raise RuntimeError(
        "NVTX functions not installed: there is no CUDA device. profiler.record_function names parts of a program"
    )


def range_push(msg: str) -> int:
    """Raises RuntimeError."""
    _no_marks()


def range_pop() -> int:
    """Raises RuntimeError."""
    _no_marks()


def range_start(msg: str) -> int:
    """Raises RuntimeError."""
    _no_marks()


def range_end(range_id: int) -> None:
    """Raises RuntimeError."""
    _no_marks()


def mark(msg: str) -> int:
    """Raises RuntimeError."""
    _no_marks()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Raises RuntimeError on entry."""
    _no_marks()
    yield
