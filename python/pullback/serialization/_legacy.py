"""Files as PyTorch wrote them before version 1.6: pickles one after the other, with the elements behind them."""

import io
import struct
import sys
from pickle import UnpicklingError
from typing import Any

from .._core import Tensor
from ._archive import Damaged, Source
from ._loading import Reader, Storage, bytes_of, empty, swapped, unpickled, unpickler

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
# What such a file begins with.
HEAD = (
    *(_MAGIC, _PROTOCOL),
    {
        "protocol_version": _PROTOCOL,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    },
)


class LegacyReader(Reader):
    """Storages whose elements follow behind the last pickle: they are made first, and filled later."""

    def __init__(self, map_location: Any, left: int, swap: bool) -> None:
        super().__init__(map_location)
        self.left, self.swap = left, swap

    def read(self, key: str, dtype: Any, numel: int, location: str) -> Tensor:
        self.left -= numel * dtype.itemsize
        if self.left < 0:
            raise Damaged(f"load(): storage '{key}' of {numel} elements does not fit into the file")
        return empty(dtype, numel, location)

    def persistent(self, pid: Any) -> Any:
        if type(pid) is tuple and pid and pid[0] in ("module", b"module"):
            return pid[1]
        return super().persistent(pid)

    def storage(self, pid: Any) -> Storage:
        found = super().storage(pid)
        return found if len(pid) < 6 or pid[5] is None else self._part(found, pid[5])

    @staticmethod
    def _part(storage: Storage, described: Any) -> Storage:
        """A storage that is a part of another one: its key, where it begins, and its length."""
        if type(described) is not tuple or len(described) != 3 or any(type(k) is not int for k in described[1:]):
            raise UnpicklingError("a part of a storage is not described as one")
        base = storage.view(described[1], (described[2],), (1,))
        out = Storage(base, storage.dtype, described[2])
        return _Part(out, described[1])


class _Part(Storage):
    """Views of a part begin behind the elements in front of it."""

    __slots__ = ("start",)

    def __init__(self, storage: Storage, start: int) -> None:
        super().__init__(storage.base, storage.dtype, start + storage.numel)
        self.start = start

    def view(self, offset: Any, size: Any, stride: Any) -> Tensor:
        return super().view(offset + self.start if type(offset) is int and offset >= 0 else offset, size, stride)


def load_legacy(source: Source, map_location: Any, weights_only: bool, module: Any, options: dict[str, Any]) -> Any:
    data = source.read(0, source.size)
    reader = LegacyReader(map_location, len(data), False)
    file = io.BytesIO(data)
    at = 0

    def plain() -> Any:
        nonlocal at
        found, at = unpickled(data, at, _nothing)
        return found

    try:
        magic = plain()
    except UnpicklingError:
        magic = None
    if magic != _MAGIC:
        raise UnpicklingError(
            "load(): Invalid magic number; corrupt file? It is neither a zip archive as save() writes it nor a file of "
            "PyTorch before 1.6 (the tar files of PyTorch before 0.4 are not read)"
        )
    if (protocol := plain()) != _PROTOCOL:
        raise RuntimeError(f"load(): Invalid protocol version: {protocol!r:.100}")
    system = plain()
    reader.swap = type(system) is dict and system.get("little_endian") is False
    with reader:
        if weights_only:
            out, at = unpickled(data, at, reader.persistent)
        else:
            file.seek(at)
            out = unpickler(module, file, reader.persistent, options).load()
            at = file.tell()
    # Another object may follow, which the next call reads.
    source.leave(_fill(reader, data, at))
    return out


def _fill(reader: LegacyReader, data: bytes, at: int) -> int:
    """Reads the elements of all storages, in the order of a list of their keys; gives where they end."""
    keys, at = unpickled(data, at, _nothing)
    if type(keys) is not list or any(type(k) is not str for k in keys) or sorted(keys) != sorted(reader.known):
        raise Damaged("load(): the list of storages in the file does not fit the storages that its tensors have")
    for key in keys:
        storage = reader.known[key]
        size = storage.numel * storage.dtype.itemsize
        if at + 8 + size > len(data):
            raise Damaged(f"load(): the file ends before the elements of storage '{key}'")
        (count,) = struct.unpack_from(">q" if reader.swap else "<q", data, at)
        if count != storage.numel:
            raise Damaged(
                f"load(): storage '{key}' has {count} elements, and its tensors were saved with {storage.numel}"
            )
        if not storage.base.is_meta:
            bytes_of(storage.base)[:] = data[at + 8 : at + 8 + size]
            if reader.swap:
                storage.base.copy_(swapped(storage.base.clone(), storage.dtype))
        at += 8 + size
    return at


def _nothing(pid: Any) -> Any:
    raise UnpicklingError("a storage stands where none can be")
