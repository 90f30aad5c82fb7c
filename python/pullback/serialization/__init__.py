"""Files of tensors in PyTorch's format: what `torch.save` writes `load` reads, and the other way round.

>>> import io, pullback
>>> file = io.BytesIO()
>>> pullback.save({"weight": pullback.ones(2), "step": 3}, file)
>>> _ = file.seek(0)
>>> pullback.load(file)
{'weight': tensor([1., 1.]), 'step': 3}
"""

import os
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any

from .. import _core
from . import _names
from ._options import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from ._options import LoadEndianness as LoadEndianness
from ._options import SourceChangeWarning as SourceChangeWarning
from ._options import default_restore_location as default_restore_location
from ._options import get_crc32_options as get_crc32_options
from ._options import get_default_load_endianness as get_default_load_endianness
from ._options import get_default_mmap_options as get_default_mmap_options
from ._options import is_safe
from ._options import location_tag as location_tag
from ._options import set_crc32_options as set_crc32_options
from ._options import set_default_load_endianness as set_default_load_endianness
from ._options import set_default_mmap_options as set_default_mmap_options
from ._options import skip_data as skip_data

__all__ = [
    *("LoadEndianness", "SourceChangeWarning", "add_safe_globals", "clear_safe_globals", "default_restore_location"),
    *("get_crc32_options", "get_default_load_endianness", "get_default_mmap_options", "get_safe_globals"),
    *("get_unsafe_globals_in_checkpoint", "load", "location_tag", "safe_globals", "save", "set_crc32_options"),
    *("set_default_load_endianness", "set_default_mmap_options", "skip_data"),
]

# What `map_location` takes, for annotations.
MAP_LOCATION = Callable[[Any, str], Any] | _core.device | str | dict[str, str] | None


def save(
    obj: Any,
    f: "str | os.PathLike[str] | IO[bytes]",
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object with the tensors in it to a file, which PyTorch's `torch.load` reads too.

    Tensors that share memory share it again when they are loaded; each memory is written once, and as a whole, so
    `clone()` a small view of a large tensor first. Classes and functions of this package are named as PyTorch's.

    Args:
        obj: tensors, numbers, strings, containers of them, state dicts; other objects are pickled.
        f: a path, or a file object with `write`.
        pickle_module: None for `pickle`, or a module with a `Pickler`, such as `cloudpickle`, whose files this library
            alone reads, by `load(pickle_module=…)`.
        pickle_protocol: the protocol of the pickle that describes the object; PyTorch reads 2 without a warning.
        _use_new_zipfile_serialization: False writes the format of PyTorch before 1.6.

    Raises:
        TypeError: if something in the object cannot be pickled.
        ValueError: for a protocol that does not exist.
        AttributeError: if `f` is neither a path nor has `write`.
        RuntimeError: for values of a transform, and for views of the same memory as different dtypes.

    >>> import io, pullback
    >>> x = pullback.arange(4.0)
    >>> file = io.BytesIO()
    >>> pullback.save([x, x[1:]], file)
    >>> _ = file.seek(0)
    >>> a, b = pullback.load(file)
    >>> a.zero_(), b
    (tensor([0., 0., 0., 0.]), tensor([0., 0., 0.]))
    """
    import pickle

    from ._saving import folder_of, save_legacy
    from ._saving import save as write

    if pickle_module is not None and not hasattr(pickle_module, "Pickler"):
        raise AttributeError(
            f"save(): pickle_module must be None or a module with a Pickler, got {pickle_module!r:.100}"
        )
    if not isinstance(pickle_protocol, int) or not 1 <= pickle_protocol <= pickle.HIGHEST_PROTOCOL:
        raise ValueError(f"save(): pickle_protocol must be 1 to {pickle.HIGHEST_PROTOCOL}, got {pickle_protocol!r}")
    how = (pickle if pickle_module is None else pickle_module), pickle_protocol
    if isinstance(f, str | os.PathLike):
        with open(f, "wb") as file:
            if _use_new_zipfile_serialization:
                write(obj, file, folder_of(f), *how)
            else:
                save_legacy(obj, file, *how)
    elif hasattr(f, "write"):
        if _use_new_zipfile_serialization:
            write(obj, f, "archive", *how)
        else:
            save_legacy(obj, f, *how)
    else:
        raise AttributeError(
            f"save(): expected 'f' to be string, path, or a file-like object with a 'write' attribute, got "
            f"{type(f).__name__}"
        )


def load(
    f: "str | os.PathLike[str] | IO[bytes]",
    map_location: "Any | Callable[[Any, str], Any]" = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what `save` or PyTorch's `torch.save` wrote.

    By default nothing in the file is run: it may hold tensors, numbers, strings, containers, dtypes, devices, sizes,
    and what `add_safe_globals` allows. With `weights_only=False` whatever the file says is run: never do that with a
    file that somebody else could have written. Sizes, strides, offsets and lengths are checked in both cases.

    Args:
        f: a path, or a file object with `read`, `seek` and `tell`.
        map_location: what becomes of tensors that were on other devices: `"cpu"`, a dict of devices, or a function of
            storage and device. `"meta"` reads no elements.
        pickle_module: for `weights_only=False`, a module with an `Unpickler`.
        weights_only: True unless given, or unless there is a `pickle_module`. The environment variables
            `TORCH_FORCE_WEIGHTS_ONLY_LOAD` and `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` mean what they mean to PyTorch.
        mmap: if True, the tensors lie in the file, which must be a path, and are read when they are used.

    Raises:
        pickle.UnpicklingError: if the file asks for something that is not allowed, or is no file of tensors.
        RuntimeError: if the file is damaged, or its tensors were on a device that does not exist here.

    >>> import io, pullback
    >>> file = io.BytesIO()
    >>> pullback.save({"class": io.StringIO}, file)
    >>> _ = file.seek(0)
    >>> pullback.load(file)
    Traceback (most recent call last):
    _pickle.UnpicklingError: Weights only load failed. Unsupported global: GLOBAL _io.StringIO was not an allowed ...
    """
    from ._loading import load as read

    only = is_safe(weights_only, pickle_module)
    if only and pickle_module is not None:
        raise RuntimeError(
            "load(): Can not safely load weights when explicit pickle_module is specified: with weights_only=True this "
            "library's own machine reads the pickle"
        )
    return read(f, map_location, pickle_module, only, bool(mmap), pickle_load_args)


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allows classes and functions in files that are loaded with `weights_only=True`, for the whole process.

    Args:
        safe_globals: classes and functions, or pairs of one and the dotted name that files have for it.

    Raises:
        TypeError, ValueError: if an item is neither.

    >>> import io, pullback
    >>> file = io.BytesIO()
    >>> pullback.save({"class": io.StringIO}, file)
    >>> _ = file.seek(0)
    >>> with pullback.serialization.safe_globals([io.StringIO]):
    ...     pullback.load(file)
    {'class': <class '_io.StringIO'>}
    """
    _names.ALLOWED.update({item: _names.names_of(item) for item in safe_globals})


def get_safe_globals() -> list[Any]:
    """What was allowed by `add_safe_globals`."""
    return list(_names.ALLOWED)


def get_unsafe_globals_in_checkpoint(f: "str | os.PathLike[str] | IO[bytes]") -> list[str]:
    """The names in a file that `load` refuses by default, without loading it.

    Raises RuntimeError for a file that is damaged, or of PyTorch before 1.6.

    >>> import io, pullback
    >>> file = io.BytesIO()
    >>> pullback.save({"class": io.StringIO, "x": pullback.ones(1)}, file)
    >>> _ = file.seek(0)
    >>> pullback.serialization.get_unsafe_globals_in_checkpoint(file)
    ['_io.StringIO']
    """
    from ._loading import globals_of

    return sorted(path for path in globals_of(f) if not _names.is_known(path))


def clear_safe_globals() -> None:
    """Allows nothing any more that was allowed by `add_safe_globals`."""
    _names.ALLOWED.clear()


class safe_globals:
    """Allows classes and functions inside a `with` statement.

    >>> import pullback
    >>> class Config: ...
    >>> with pullback.serialization.safe_globals([Config]):
    ...     pullback.serialization.get_safe_globals() == [Config]
    True
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self.wanted = {item: _names.names_of(item) for item in safe_globals}
        self.before: list[dict[Any, tuple[str, ...]]] = []

    def __enter__(self) -> None:
        self.before.append(dict(_names.ALLOWED))
        _names.ALLOWED.update(self.wanted)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        before = self.before.pop()
        _names.ALLOWED.clear()
        _names.ALLOWED.update(before)
