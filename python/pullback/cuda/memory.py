"""The memory of CUDA devices, of which there are none: nothing is in use, and what needs a device raises."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

__all__ = [
    *("caching_allocator_alloc", "caching_allocator_delete", "empty_cache", "get_allocator_backend"),
    *("list_gpu_processes", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info"),
    *("memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats", "memory_summary"),
    *("reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached"),
    *("reset_peak_memory_stats", "set_per_process_memory_fraction"),
]


def _no_device(name: str) -> Any:
    from . import _no_device

    _no_device(name)


def empty_cache() -> None:
    """Does nothing: there is no memory of a device. `pullback.empty_cache` frees what the CPU's allocator keeps."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def memory_cached(device: Any = None) -> int:
    """0: the name that `memory_reserved` had once."""
    return 0


def max_memory_cached(device: Any = None) -> int:
    """0: the name that `max_memory_reserved` had once."""
    return 0


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Counts of the allocator of a device: none.

    >>> import pullback
    >>> dict(pullback.cuda.memory_stats())
    {}
    """
    return OrderedDict()


def memory_snapshot(mempool_id: Any = None) -> list[Any]:
    """The blocks of the allocator of a device: none."""
    return []


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Says that there is no device."""
    return "There is no CUDA device, so there is no memory of one.\n"


def reset_peak_memory_stats(device: Any = None) -> None:
    """Does nothing."""


def reset_max_memory_allocated(device: Any = None) -> None:
    """Does nothing."""


def reset_max_memory_cached(device: Any = None) -> None:
    """Does nothing."""


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Does nothing."""


def get_allocator_backend() -> str:
    """What PyTorch says if nothing was chosen."""
    return "native"


def list_gpu_processes(device: Any = None) -> str:
    """Says that there is no device."""
    return "There is no CUDA device.\n"


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Raises RuntimeError: there is no device."""
    raise _no_device("mem_get_info")


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Raises RuntimeError: there is no device."""
    _no_device("set_per_process_memory_fraction")


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Raises RuntimeError: there is no device."""
    raise _no_device("caching_allocator_alloc")


def caching_allocator_delete(mem_ptr: int) -> None:
    """Raises RuntimeError: there is no device."""
    _no_device("caching_allocator_delete")


def _record_memory_history(*args: Any, **options: Any) -> None:
    """Does nothing: there is nothing to record."""


def _snapshot(device: Any = None) -> dict[str, Any]:
    """What was recorded: nothing."""
    return {"segments": [], "device_traces": []}
