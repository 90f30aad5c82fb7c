"""What `save` and `load` do unless a call says otherwise, and the small names around them."""

from __future__ import annotations

import os
from enum import Enum
from types import TracebackType
from typing import Any

from .. import _core
from .._warnings import warn

DEFAULT_PROTOCOL = 2
_TRUE = ("1", "y", "yes", "true")


class SourceChangeWarning(Warning):
    """The category of PyTorch's warnings of classes whose source differs from that in a file; nothing warns so here."""


class LoadEndianness(Enum):
    """The order of bytes of files that do not say it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Chosen:
    """What was chosen for the process."""

    endianness: LoadEndianness | None = None
    crc32 = True
    # Of `mmap.MAP_PRIVATE` and `mmap.MAP_SHARED`, with which this module need not be loaded.
    shared = False
    skipped = False


CHOSEN = _Chosen()


def get_default_load_endianness() -> LoadEndianness | None:
    """What was set; None at first, which means the machine's order.

    >>> import pullback
    >>> pullback.serialization.get_default_load_endianness() is None
    True
    """
    return CHOSEN.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the order of bytes of files that have no record of it.

    Raises TypeError for what is neither None nor a member of `LoadEndianness`.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            "set_default_load_endianness(): Invalid argument type, expected a LoadEndianness or None, got "
            f"{type(endianness).__name__}"
        )
    CHOSEN.endianness = endianness


def get_crc32_options() -> bool:
    """What was set by `set_crc32_options`; True at first."""
    return CHOSEN.crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Remembered: the sums of an archive are computed in any case, as programs that unpack it want them."""
    CHOSEN.crc32 = compute_crc32


def get_default_mmap_options() -> int:
    """What was set by `set_default_mmap_options`; `mmap.MAP_PRIVATE` at first."""
    import mmap

    return mmap.MAP_SHARED if CHOSEN.shared else mmap.MAP_PRIVATE


class set_default_mmap_options:
    """Sets how `load(mmap=True)` maps files; as a context manager, for a while.

    With `mmap.MAP_SHARED`, what is written to the tensors is written to the file. Raises ValueError for flags that are
    neither that nor `mmap.MAP_PRIVATE`.

    >>> import mmap, pullback
    >>> with pullback.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     pullback.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        import mmap

        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags!r}"
            )
        self.before, CHOSEN.shared = CHOSEN.shared, flags == mmap.MAP_SHARED

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        CHOSEN.shared = self.before


class skip_data:
    """Inside of it `save` writes zeros in the place of elements, and `load` reads none: tensors are zeros.

    >>> import io, pullback
    >>> file = io.BytesIO()
    >>> with pullback.serialization.skip_data():
    ...     pullback.save(pullback.ones(2), file)
    >>> _ = file.seek(0)
    >>> pullback.load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self.before, CHOSEN.skipped = CHOSEN.skipped, True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        CHOSEN.skipped = self.before


def is_safe(weights_only: bool | None, pickle_module: Any) -> bool:
    """Whether `load` runs nothing, by what a call and the environment say."""
    force, unsafe = (
        os.environ.get(f"TORCH_FORCE_{name}WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE for name in ("", "NO_")
    )
    if force and unsafe:
        raise RuntimeError(
            "load(): Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, "
            "but both were set."
        )
    if unsafe and not force and weights_only is None:
        warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` argument was not "
            "explicitly passed to load(), forcing weights_only=False."
        )
        return False
    if weights_only is None:
        weights_only = pickle_module is None
    return force or bool(weights_only)


def location_tag(storage: Any) -> str:
    """The name that files have for the place of a storage: `cpu` or `meta`.

    >>> import pullback
    >>> pullback.serialization.location_tag(pullback.ones(1).untyped_storage())
    'cpu'
    """
    device = getattr(storage, "device", None)
    if type(device) is not _core.device:
        raise RuntimeError(f"location_tag(): don't know how to determine data location of {type(storage).__name__}")
    return str(device.type)


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage itself, for places that exist here. Raises RuntimeError for others."""
    if location not in ("cpu", "meta"):
        raise RuntimeError(
            "default_restore_location(): don't know how to restore data location of "
            f"{type(storage).__name__} (tagged with {location}); the only device is the CPU"
        )
    return storage
