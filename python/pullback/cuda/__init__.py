"""There is no CUDA device here, and this is the place to ask: `is_available()` is False.

What programs call without asking first does nothing where there is nothing to do, and raises where a device is needed.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from .._absent import absent
from .._members import lazily
from .memory import *  # noqa: F403
from .memory import __all__ as _of_memory
from .streams import *  # noqa: F403
from .streams import __all__ as _of_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import amp as amp
    from . import nvtx as nvtx
    from . import profiler as profiler
    from . import random as random

_PARTS = ("amp", "nvtx", "profiler", "random")
__all__ = [
    *_PARTS,
    *_of_memory,
    *_of_streams,
    *("can_device_access_peer", "current_device", "current_stream", "default_stream", "device", "device_count"),
    *("get_arch_list", "get_device_capability", "get_device_name", "get_device_properties", "get_gencode_flags"),
    *("get_rng_state", "get_rng_state_all", "get_sync_debug_mode", "init", "initial_seed", "ipc_collect"),
    *("is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "is_tf32_supported"),
    *("manual_seed", "manual_seed_all", "seed", "seed_all", "set_device", "set_rng_state", "set_rng_state_all"),
    *("set_stream", "set_sync_debug_mode", "stream", "synchronize", "AcceleratorError", "OutOfMemoryError"),
]
has_magma = has_half = False
default_generators: tuple[Any, ...] = ()


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


# Functions that run a part of a program twice ask whether there are random numbers of devices to restore.
_initialized = False


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


def ipc_collect() -> None:
    """Does nothing."""


def init() -> None:
    """Raises RuntimeError: there is no device."""
    _no_device("init")


def initial_seed() -> int:
    """Raises RuntimeError: there is no device."""
    _no_device("initial_seed")


def get_rng_state(device: Any = "cuda") -> Any:
    """Raises RuntimeError: there is no device."""
    _no_device("get_rng_state")


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Raises RuntimeError: there is no device."""
    _no_device("set_rng_state")


def current_stream(device: Any = None) -> Any:
    """Raises RuntimeError: there is no device."""
    _no_device("current_stream")


def default_stream(device: Any = None) -> Any:
    """Raises RuntimeError: there is no device."""
    _no_device("default_stream")


def set_stream(stream: Any) -> None:
    """Does nothing for None. Raises RuntimeError for a stream."""
    if stream is not None:
        _no_device("set_stream")


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Raises RuntimeError: there is no device."""
    _no_device("can_device_access_peer")


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for: none."""
    return []


def get_gencode_flags() -> str:
    """The flags that kernels were compiled with: none."""
    return ""


def is_tf32_supported() -> bool:
    """False."""
    return False


def get_sync_debug_mode() -> int:
    """Raises RuntimeError: there is no device."""
    _no_device("get_sync_debug_mode")


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Raises RuntimeError: there is no device."""
    _no_device("set_sync_debug_mode")


def _sleep(cycles: int) -> None:
    """Raises RuntimeError: there is no device."""
    _no_device("_sleep")


def _lazy_init() -> None:
    """Raises RuntimeError: there is no device."""
    _no_device("init")


def _is_in_bad_fork() -> bool:
    """False."""
    return False


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
_parts = lazily(__name__, _PARTS)


def __getattr__(name: str) -> Any:
    if name.endswith(("Tensor", "Storage")):
        from ._tensor_types import CUDA_TYPES

        if name in CUDA_TYPES:
            return CUDA_TYPES[name]
    return _parts(name) if name in _PARTS else _absent(name)
