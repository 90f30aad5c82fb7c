"""NVIDIA's profiler, which is not here; `pullback.profiler` measures operators."""

from contextlib import AbstractContextManager
from typing import Any

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Raises RuntimeError: there is no device."""
    from . import _no_device

    _no_device("profiler.start")


def stop() -> None:
    """Raises RuntimeError: there is no device."""
    from . import _no_device

    _no_device("profiler.stop")


def profile() -> AbstractContextManager[Any]:
    """Raises RuntimeError: there is no device."""
    from . import _no_device

    _no_device("profiler.profile")
