"""What runs on CUDA devices, of which there are none: classes that programs name and ask about; making one raises."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["CUDAGraph", "Event", "ExternalStream", "Stream", "StreamContext", "graph"]


class _OnDevice:
    """The base of what needs a device to be made."""

    def __init__(self, *args: Any, **options: Any) -> None:
        from . import _no_device

        _no_device(type(self).__name__)


class Stream(_OnDevice):
    """An order of kernels on a device. Raises RuntimeError: there is no device."""


class ExternalStream(Stream):
    """A stream that another library made. Raises RuntimeError: there is no device."""


class Event(_OnDevice):
    """A point in a stream, to wait for or to measure times with. Raises RuntimeError: there is no device.

    `time.perf_counter()` measures times here, since an operator has run when it returns.
    """


class CUDAGraph(_OnDevice):
    """Recorded kernels. Raises RuntimeError: there is no device."""


class graph(_OnDevice):
    """A context that records kernels. Raises RuntimeError: there is no device."""


class StreamContext:
    """A context without a stream; raises RuntimeError for one."""

    def __init__(self, stream: Any) -> None:
        if stream is not None:
            _raise()

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def _raise() -> NoReturn:
    from . import _no_device

    _no_device("stream")
