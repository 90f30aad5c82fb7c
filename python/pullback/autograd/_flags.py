"""Switches of PyTorch's engine that change nothing here."""

from __future__ import annotations

__all__ = ["is_multithreading_enabled", "is_view_replay_enabled", "kineto_available", "set_multithreading_enabled"]


def _is_checkpoint_valid() -> bool:
    """True: a backward that computes gradients of its own may do so in every sweep, also in one of `grad`."""
    return True


class _State:
    multithreading = True


def is_multithreading_enabled() -> bool:
    """Whether `set_multithreading_enabled` allows the engine to use threads: True unless it was called.

    >>> import pullback
    >>> with pullback.autograd.set_multithreading_enabled(False):
    ...     pullback.autograd.is_multithreading_enabled()
    False
    """
    return _State.multithreading


class set_multithreading_enabled:
    """Remembers a flag, at once and as a context manager: a sweep runs on the thread that asked for it."""

    def __init__(self, mode: bool) -> None:
        self.prev, self.mode = _State.multithreading, mode
        _State.multithreading = mode

    def __enter__(self) -> None: ...

    def __exit__(self, *args: object) -> None:
        _State.multithreading = self.prev

    def clone(self) -> set_multithreading_enabled:
        """Another manager of the same kind."""
        return type(self)(self.mode)


def is_view_replay_enabled() -> bool:
    """False: views are always made again from their base."""
    return False


def kineto_available() -> bool:
    """Whether a profiler is there: False."""
    return False
