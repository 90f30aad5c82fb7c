"""The standard module of this name; tensors are sent to other processes by their values, or by `share_memory_()` once.

>>> import pullback
>>> pullback.multiprocessing.get_all_sharing_strategies()
set()
"""

import multiprocessing as _standard
from multiprocessing import *  # noqa: F403
from typing import Any

from ._absent import explained

__all__ = [*_standard.__all__, "get_all_sharing_strategies", "set_sharing_strategy", "spawn"]


def get_all_sharing_strategies() -> set[str]:
    """Ways to share memory of tensors that are no matter of choice: an empty set."""
    return set()


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepts PyTorch's names; `Tensor.share_memory_()` has one way."""
    if new_strategy not in ("file_descriptor", "file_system"):
        raise ValueError(
            f"set_sharing_strategy(): 'file_descriptor' or 'file_system' is expected, got {new_strategy!r}"
        )


def spawn(
    fn: Any, args: Any = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> Any:
    """Runs `fn(k, *args)` in so many new processes and waits for them, or gives them.

    Raises RuntimeError if one of them fails.
    """
    context: Any = _standard.get_context(start_method)
    processes = [context.Process(target=fn, args=(k, *args), daemon=daemon) for k in range(nprocs)]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    failed = [k for k, process in enumerate(processes) if process.exitcode]
    if failed:
        raise RuntimeError(f"spawn(): process {failed[0]} ended with exit code {processes[failed[0]].exitcode}")
    return None


def __getattr__(name: str) -> Any:
    found = getattr(_standard, name, None)
    if found is None or name.startswith("__"):
        raise AttributeError(explained("torch.multiprocessing", name, __all__))
    return found
