"""Tensors that lie in files."""

from __future__ import annotations

from . import empty, frombuffer, get_default_dtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from . import Tensor, dtype

__all__ = ["from_file"]


def from_file(
    filename: str | PathLike[str],
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """A tensor of one dimension whose elements lie in a file.

    With `shared`, what is written to the tensor is written to the file, which is made, or made longer, if need be.
    Otherwise the file stays as it is, and must be long enough. Elements are read when they are used.

    Raises RuntimeError if the file cannot be opened, or is too short.

    >>> import os, pullback, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> pullback.from_file(path, True, 3).copy_(pullback.arange(3.0))
    tensor([0., 1., 2.])
    >>> pullback.from_file(path, size=2)
    tensor([0., 1.])
    """
    import mmap
    import os

    if size < 0:
        raise RuntimeError(f"from_file(): argument 'size' must not be negative, got {size}")
    kind = get_default_dtype() if dtype is None else dtype
    # What these options may be is checked there.
    nothing: Tensor = empty(0, dtype=kind, layout=layout, device=device, pin_memory=bool(pin_memory))
    if size == 0 or nothing.is_meta:
        return nothing if size == 0 else empty(size, dtype=kind, device=device)
    path, length = os.fspath(filename), size * kind.itemsize
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600) if shared else os.open(path, os.O_RDONLY)
    except OSError as e:
        how = "read-write" if shared else "read-only"
        raise RuntimeError(f"from_file(): unable to open file <{path}> in {how} mode: {e.strerror}") from e
    try:
        there = os.fstat(handle).st_size
        if there < length and not shared:
            raise RuntimeError(
                f"from_file(): file <{path}> size <{there}> is smaller than the required mapping size <{length}>; "
                f"give size={there // kind.itemsize} at most, or shared=True to make it longer"
            )
        if there < length:
            os.ftruncate(handle, length)
        memory = mmap.mmap(handle, length, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(handle)
    return frombuffer(memory, dtype=kind, count=size)
