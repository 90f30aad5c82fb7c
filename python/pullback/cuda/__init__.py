"""There is no CUDA device here, and this is the place to ask: `is_available()` is False.

What programs call without asking first does nothing where there is nothing to do, and raises where a device is needed.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from .._absent import absent
from .._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import amp as amp

__all__ = [
    *("amp", "current_device", "device", "device_count", "empty_cache", "get_device_capability", "get_device_name"),
    *("get_device_properties", "get_rng_state_all", "ipc_collect", "is_available", "is_bf16_supported"),
    *("is_current_stream_capturing", "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated"),
    *("max_memory_reserved", "memory_allocated", "memory_reserved", "reset_peak_memory_stats", "seed", "seed_all"),
    *("set_device", "set_rng_state_all", "stream", "synchronize", "AcceleratorError", "OutOfMemoryError"),
]


class AcceleratorError(RuntimeError):
    """What an accelerator would raise; nothing raises it here, and programs may catch it."""


class OutOfMemoryError(RuntimeError):
    """What is raised where the memory of a device is full. That of the CPU raises RuntimeError."""


def is_available() -> bool:
    """Whether there is a device: False.

    >>> import pullback
    >>> pullback.cuda.is_available(), pullback.cuda.device_count()
    (False, 0)
    """
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a CUDA device knows bfloat16: False. The CPU does."""
    return False


def is_current_stream_capturing() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def _no_device(name: str) -> NoReturn:
    raise RuntimeError(
        f"cuda.{name}(): there is no CUDA device: tensors are on the CPU. Ask cuda.is_available() first, or write "
        "device='cpu'"
    )


def current_device() -> int:
    """Raises RuntimeError: there is no device."""
    _no_device("current_device")


def get_device_name(device: Any = None) -> str:
    """Raises RuntimeError: there is no device."""
    _no_device("get_device_name")


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Raises RuntimeError: there is no device."""
    _no_device("get_device_capability")


def get_device_properties(device: Any = None) -> Any:
    """Raises RuntimeError: there is no device."""
    _no_device("get_device_properties")


def set_device(device: Any) -> None:
    """Raises RuntimeError, unless the device is a negative number, which means none."""
    if not isinstance(device, int) or device >= 0:
        _no_device("set_device")


def synchronize(device: Any = None) -> None:
    """Raises RuntimeError: there is no device."""
    _no_device("synchronize")


def manual_seed(seed: int) -> None:
    """Does nothing: there is no device with a generator."""


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no device with a generator."""


def seed() -> None:
    """Does nothing: there is no device with a generator."""


def seed_all() -> None:
    """Does nothing: there is no device with a generator."""


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all devices: none."""
    return []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Takes the states of all devices: none. Raises RuntimeError for others."""
    if list(new_states):
        _no_device("set_rng_state_all")


def empty_cache() -> None:
    """Does nothing: there is no memory of a device. `pullback.empty_cache` frees what the CPU's allocator keeps."""


def ipc_collect() -> None:
    """Does nothing."""


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


def reset_peak_memory_stats(device: Any = None) -> None:
    """Does nothing."""


class device:
    """A context in which a device is the current one; a negative number or None means none.

    Raises RuntimeError on entry for any other.
    """

    def __init__(self, device: Any) -> None:
        self.device = device

    def __enter__(self) -> None:
        if self.device is not None:
            set_device(self.device)

    def __exit__(self, *error: object) -> None: ...


def stream(stream: Any) -> AbstractContextManager[None]:
    """A context without a stream; raises RuntimeError for one."""
    if stream is not None:
        _no_device("stream")
    return nullcontext()


_absent = absent(__name__.replace("pullback", "torch", 1), __all__)
_amp = lazily(__name__, ("amp",))


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor"):
        from ._tensor_types import CUDA_TYPES

        if name in CUDA_TYPES:
            return CUDA_TYPES[name]
    return _amp(name) if name == "amp" else _absent(name)
