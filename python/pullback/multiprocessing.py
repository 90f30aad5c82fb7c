"""The standard module of this name; tensors are sent to other processes by their values, or by `share_memory_()` once.

>>> import pullback
>>> pullback.multiprocessing.get_all_sharing_strategies()
set()
"""

import multiprocessing as _standard
from multiprocessing import *  # noqa: F403
from typing import Any

from ._absent import explained

__all__ = [
    *_standard.__all__,
    *("ProcessContext", "ProcessExitedException", "ProcessRaisedException", "SpawnContext"),
    *("get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"),
]
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """Ways to share memory of tensors that are no matter of choice: an empty set."""
    return set()


def get_sharing_strategy() -> str:
    """The name that was set."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepts PyTorch's names; `Tensor.share_memory_()` has one way."""
    global _strategy
    if new_strategy not in ("file_descriptor", "file_system"):
        raise ValueError(
            f"set_sharing_strategy(): 'file_descriptor' or 'file_system' is expected, got {new_strategy!r}"
        )
    _strategy = new_strategy


class ProcessException(Exception):
    """What `spawn` raises where a process failed: `error_index` and `error_pid` say which one."""

    def __init__(self, msg: str, error_index: int, pid: int | None) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """A process ended by an exception, whose text is in the message."""


class ProcessExitedException(ProcessException):
    """A process was ended by a signal, or by `sys.exit`.

    `exit_code` and `signal_name` say how.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int | None, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(fn: Any, index: int, args: Any, errors: Any) -> None:
    """What a process does: errors are sent as text."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        import traceback

        errors.send(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that `start_processes` began."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors

    def pids(self) -> list[int]:
        """The numbers that the system knows them by."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until all have ended, and returns True; or until one failed or the time is over, and returns False.

        Where one failed, the others are ended.

        Raises:
            ProcessRaisedException: if a process ended by an exception.
            ProcessExitedException: if it was ended otherwise.
        """
        from multiprocessing.connection import wait

        waiting = [process.sentinel for process in self.processes if process.exitcode is None]
        if waiting:
            wait(waiting, timeout)
        failed = [k for k, process in enumerate(self.processes) if process.exitcode]
        if not failed:
            return all(process.exitcode == 0 for process in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.join(grace_period or 0)
                process.terminate()
        for process in self.processes:
            process.join()
        self._raise(failed[0])
        return False

    def _raise(self, k: int) -> None:
        process = self.processes[k]
        try:
            text = self._errors[k].recv()
        except EOFError:
            # It closed its end without a word.
            text = None
        if text is not None:
            message = f"\n\n-- Process {k} terminated with the following error:\n{text}"
            raise ProcessRaisedException(message, k, process.pid)
        code = int(process.exitcode)
        if code < 0:
            import signal

            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {k} terminated with signal {name}", k, process.pid, code, name)
        raise ProcessExitedException(f"process {k} terminated with exit code {code}", k, process.pid, code)


SpawnContext = ProcessContext


def start_processes(
    fn: Any, args: Any = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> Any:
    """Runs `fn(k, *args)` in so many new processes and waits for them, or gives a `ProcessContext` with `join=False`.

    Raises:
        ProcessRaisedException: if a process ended by an exception.
        ProcessExitedException: if it was ended otherwise.
    """
    method: Any = _standard.get_context(start_method)
    processes, errors = [], []
    for k in range(nprocs):
        here, there = method.Pipe(duplex=False)
        process = method.Process(target=_run, args=(fn, k, args, there), daemon=daemon)
        process.start()
        there.close()
        processes.append(process)
        errors.append(here)
    context = ProcessContext(processes, errors)
    if not join:
        return context
    while not context.join():
        pass
    return None


def spawn(
    fn: Any, args: Any = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> Any:
    """As `start_processes`."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def __getattr__(name: str) -> Any:
    found = getattr(_standard, name, None)
    if found is None or name.startswith("__"):
        raise AttributeError(explained("torch.multiprocessing", name, __all__))
    return found
