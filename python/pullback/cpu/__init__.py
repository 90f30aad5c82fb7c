"""The CPU as a device: there is one, and it has one stream, on which everything runs at once."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import amp as amp

__all__ = [
    *("Stream", "amp", "current_device", "current_stream", "device_count", "is_available", "is_initialized"),
    *("set_device", "stream", "synchronize"),
]


class Stream:
    """The order in which operators run on a device; on the CPU there is one, and nothing to wait for."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: "Stream") -> None:
        """Does nothing."""

    def record_event(self) -> None:
        """Does nothing."""

    def wait_event(self, event: Any) -> None:
        """Does nothing."""


_stream = Stream()


def is_available() -> bool:
    """True.

    >>> import pullback
    >>> pullback.cpu.is_available(), pullback.cpu.device_count(), pullback.cpu.current_device()
    (True, 1, 'cpu')
    """
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """'cpu'."""
    return "cpu"


def set_device(device: Any) -> None:
    """Does nothing: there is one device."""


def synchronize(device: Any = None) -> None:
    """Does nothing: an operator has run when it returns."""


def current_stream(device: Any = None) -> Stream:
    """The only stream."""
    return _stream


def stream(stream: Stream | None) -> AbstractContextManager[None]:
    """A context that changes nothing."""
    return nullcontext()


if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, ("amp",))
