"""Reading what `save` wrote."""

import os
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable
from io import BytesIO
from pickle import UnpicklingError
from typing import IO, Any

from .. import _core
from .._core import Tensor
from ..storage import TypedStorage
from . import _names
from ._archive import Archive, Damaged, Source
from ._machine import Machine
from ._options import CHOSEN, LoadEndianness

_MOST = 2**63 - 1
# The bytes of a pickle that is compressed: a small file could hold one that fills the memory.
_MOST_UNPACKED = 2**24


class Storage:
    """The elements of a storage in a file, of which tensors become views."""

    __slots__ = ("base", "dtype", "memory", "numel", "typed")

    def __init__(self, base: Tensor, dtype: Any, numel: int) -> None:
        self.base, self.dtype, self.numel = base, dtype, numel
        self.memory = None if base.is_meta else base.untyped_storage()
        self.typed: Any = None

    def shown(self) -> Any:
        """What stands for it in the object that is loaded."""
        if self.typed is None:
            self.typed = self if self.memory is None else TypedStorage(wrap_storage=self.memory, dtype=self.dtype)
        return self.typed

    def of(self, dtype: Any) -> "Storage":
        """The same bytes as elements of another dtype."""
        return Storage(self.base, dtype, self.base.nbytes // dtype.itemsize)

    def view(self, offset: Any, size: Any, stride: Any) -> Tensor:
        """The tensor that lies in the storage with this offset, these sizes and strides."""
        _names.whole_numbers("size", size)
        _names.whole_numbers("stride", stride)
        if type(offset) is not int or not 0 <= offset <= _MOST or len(size) != len(stride):
            raise Damaged("load(): a tensor in the file has strides that do not fit its sizes, or a wrong offset")
        if not all(size):
            # Without elements it may begin anywhere, as slices behind the end do.
            offset = min(offset, self.numel)
        last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else -1
        if last >= self.numel:
            raise Damaged(
                f"load(): a tensor in the file with sizes {list(size)}, strides {list(stride)} and offset {offset} "
                f"does not fit into its storage of {self.numel} elements"
            )
        if self.memory is None and last >= _names.MOST_ARRANGED:
            return _names.on_meta(self.dtype, tuple(size), tuple(stride), True)
        if self.memory is None:
            view: Tensor = self.base.as_strided(tuple(size), tuple(stride), offset)
            return view
        view = _core.functions["empty"](0, dtype=self.dtype).set_(self.memory, offset, tuple(size), tuple(stride))
        return view


Place = Callable[[Any, str], Any] | None


def placed(map_location: Any) -> Callable[[str], str]:
    """The device of a storage that was on `location`: `cpu` or `meta`, whatever is asked for."""

    def to(location: str, wanted: Any) -> str:
        try:
            kind = str(_core.device(wanted).type)
        except (RuntimeError, TypeError):
            kind = ""
        if kind not in ("cpu", "meta"):
            raise RuntimeError(
                f"load(): Attempting to deserialize object on {location!r}, but the only device is 'cpu'. Please use "
                f"load with map_location='cpu' to map your storages to the CPU, got {wanted!r}"
            )
        return kind

    if map_location is None or callable(map_location):
        # A function is asked once the storage is there.
        return lambda location: "cpu" if map_location is not None else to(location, location)
    if isinstance(map_location, dict):
        return lambda location: to(location, map_location.get(location, location))
    return lambda location: to(location, map_location)


class Reader:
    """The storages of a file, each read once."""

    def __init__(self, map_location: Any) -> None:
        self.device = placed(map_location)
        self.mapped = map_location if callable(map_location) else None
        self.known: dict[str, Storage] = {}
        self.objects: dict[int, Storage] = {}

    def __enter__(self) -> None:
        _names.READING.known.append(self.objects)

    def __exit__(self, *error: object) -> None:
        _names.READING.known.pop()

    def read(self, key: str, dtype: Any, numel: int, location: str) -> Tensor:
        raise NotImplementedError

    def persistent(self, pid: Any) -> Any:
        """The object that stands for the storage which an id in the pickle names."""
        found = self.storage(pid)
        out = found.shown()
        self.objects[id(out)] = found
        return out

    def storage(self, pid: Any) -> Storage:
        if type(pid) is not tuple or len(pid) < 5 or pid[0] not in ("storage", b"storage"):
            raise UnpicklingError("Only persistent_load of storage is allowed")
        kind, key, location, numel = pid[1:5]
        if type(kind) is not _names.StorageType or type(key) is not str or type(location) is not str:
            raise UnpicklingError("a storage is not described as one")
        if type(numel) is not int or not 0 <= numel <= _MOST:
            raise Damaged(f"load(): a storage in the file has {numel!r:.100} elements")
        if kind.dtype is None:
            raise UnpicklingError(f"the file has a storage of the kind {kind.name}, whose elements tensors cannot have")
        found = self.known.get(key)
        if found is None:
            base = self.read(key, kind.dtype, numel, self.device(location))
            found = self.known[key] = Storage(base, kind.dtype, numel)
            if self.mapped is not None:
                found.memory = self.map(found.memory, location)
        if found.dtype is not kind.dtype or found.numel != numel:
            found = Storage(found.base, kind.dtype, numel)
            if found.base.nbytes < numel * kind.dtype.itemsize:
                raise Damaged(f"load(): storage '{key}' has fewer than {numel} elements of {kind.dtype}")
        return found

    def map(self, memory: Any, location: str) -> Any:
        """What the user's `map_location` makes of a storage."""
        assert self.mapped is not None
        try:
            mapped = self.mapped(memory, location)
            if mapped is not None and not _core.is_storage(mapped):
                raise TypeError(f"load(): map_location should give a storage, got {type(mapped).__name__}")
        except Exception as e:
            raise _Refused(e) from e
        return memory if mapped is None else mapped


# From so many bytes on, elements are read past the file object, into memory that is not set to zeros before.
DIRECT = 1 << 18
_read_file: Any = getattr(_core, "_read_file", None)


class _Refused(Exception):
    """An error of the user's function, which is not one of the file."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def empty(dtype: Any, numel: int, device: str) -> Tensor:
    made: Tensor = _core.functions["empty"](numel, dtype=dtype, device=device)
    return made


def bytes_of(tensor: Tensor) -> memoryview:
    """The memory of a contiguous tensor of one dimension, to read or to write."""
    return memoryview(tensor.view(_core.uint8)) if tensor.numel() else memoryview(bytearray())  # type: ignore[arg-type]


class ArchiveReader(Reader):
    def __init__(self, archive: Archive, map_location: Any, mapping: Any) -> None:
        super().__init__(map_location)
        self.archive, self.mapping = archive, mapping
        unsaid = b"big" if CHOSEN.endianness is LoadEndianness.BIG else b"little"
        order = archive.content("byteorder") if "byteorder" in archive else unsaid
        if order not in (b"little", b"big"):
            raise Damaged(f"load(): Unknown endianness type: {order!r:.40}")
        self.swapped = order == b"big"

    def read(self, key: str, dtype: Any, numel: int, location: str) -> Tensor:
        record = self.archive.record(f"data/{key}")
        needed = numel * dtype.itemsize
        if not 0 <= record.size - needed < dtype.itemsize:
            raise Damaged(
                f"load(): storage '{key}' has {record.size} bytes, and {numel} elements of {dtype} are {needed}"
            )
        if location == "meta":
            return empty(dtype, numel, "meta")
        if CHOSEN.skipped:
            return empty(dtype, numel, "cpu").zero_()
        if record.method:
            target = empty(dtype, numel, "cpu")
            bytes_of(target)[:] = self.archive.content(f"data/{key}")[:needed]
        else:
            start = self.archive.data_offset(record)
            if self.mapping is not None and not self.swapped and needed and start % dtype.itemsize == 0:
                mapped: Tensor = _core.frombuffer(self.mapping, dtype=dtype, count=numel, offset=start)
                return mapped
            target = self._read(start, dtype, numel)
        return swapped(target, dtype) if self.swapped else target

    def _read(self, start: int, dtype: Any, numel: int) -> Tensor:
        source, size = self.archive.source, numel * dtype.itemsize
        descriptor = source.descriptor() if size >= DIRECT and start + size <= source.size else None
        if descriptor is not None and _read_file is not None:
            read: Tensor = _read_file(descriptor, source.start + start, numel, dtype)
            return read
        target = empty(dtype, numel, "cpu")
        source.read_into(start, bytes_of(target))
        return target


def swapped(tensor: Tensor, dtype: Any) -> Tensor:
    """The elements with their bytes in the other order."""
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    rows = tensor.view(_core.uint8).reshape(-1, size).flip(1).reshape(-1)
    out: Tensor = rows.view(dtype) if tensor.numel() else tensor
    return out


# ---------------------------------------------------------------- the allow-list
def _call(function: Any, args: tuple[Any, ...]) -> Any:
    known = _names.CALLS.get(id(function))
    if known is _names.from_type and args:
        # The function that makes the tensor is a name of the file too.
        if id(args[0]) not in _names.CALLS or args[0] is _names.from_type:
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {args[0]!r:.200}")
    if known is not None:
        return known(*args)
    if _names.is_allowed(function) or function is _names._parameter_class():
        return function(*args)
    raise UnpicklingError(f"Trying to call reduce for unrecognized function {function!r:.200}")


def _new(kind: Any, args: tuple[Any, ...]) -> Any:
    parameter = _names._parameter_class()
    if parameter is not None and kind is parameter:
        return parameter(*args)
    if kind is OrderedDict or kind is Counter:
        return _call(kind, args)
    if isinstance(kind, type) and _names.is_allowed(kind):
        return kind.__new__(kind, *args)
    raise UnpicklingError(
        "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
        f"{kind!r:.200}"
    )


def _build(item: Any, state: Any) -> Any:
    kind = type(item)
    if kind is OrderedDict:
        if type(state) is not dict or any(type(k) is not str for k in state):
            raise UnpicklingError("the attributes of an OrderedDict are no dict of strings")
        item.__dict__.update(state)
    elif _names.is_allowed(kind):
        restore = getattr(item, "__setstate__", None)
        if restore is not None:
            restore(state)
        else:
            _names.with_state(item, state)
    else:
        raise UnpicklingError(
            f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {kind}"
        )
    return item


def unpickled(data: bytes, start: int, persistent: Callable[[Any], Any]) -> tuple[Any, int]:
    """The object of a pickle by the allow-list, and where the pickle ends."""
    machine = Machine(data, start, _names.find, _call, _build, persistent, _new)
    try:
        return machine.run(), machine.at
    except UnpicklingError as e:
        raise UnpicklingError(f"Weights only load failed. {e}") from e.__cause__


def unpickler(module: Any, file: IO[bytes], persistent: Callable[[Any], Any], options: dict[str, Any]) -> Any:
    """An unpickler that runs what the file says, with this library in the place of PyTorch."""

    class Unpickler(module.Unpickler):  # type: ignore[misc]
        def find_class(self, name: str, attribute: str) -> Any:
            found = _names.ours(name, attribute)
            return super().find_class(name, attribute) if found is None else found

        def persistent_load(self, pid: Any) -> Any:
            return persistent(pid)

    return Unpickler(file, **options)


# ---------------------------------------------------------------- files
def load_archive(source: Source, map_location: Any, weights_only: bool, module: Any, mapping: Any, options: Any) -> Any:
    archive = Archive(source)
    if "constants.pkl" in archive:
        raise RuntimeError(
            "load(): the file is a TorchScript archive, which holds a compiled program: save the module's state_dict() "
            "with PyTorch, and load that"
        )
    reader = ArchiveReader(archive, map_location, mapping)
    record = archive.record("data.pkl")
    if record.method and record.size > _MOST_UNPACKED:
        # Each byte of a pickle may become an object.
        raise Damaged(
            f"load(): the record 'data.pkl' is compressed and has {record.size} bytes, of which no file of tensors has "
            f"more than {_MOST_UNPACKED}; save it without compression"
        )
    data = archive.content("data.pkl")
    with reader:
        if weights_only:
            return unpickled(data, 0, reader.persistent)[0]
        return unpickler(module, BytesIO(data), reader.persistent, options).load()


def load(
    f: Any, map_location: Any, pickle_module: Any, weights_only: bool, use_mmap: bool, options: dict[str, Any]
) -> Any:
    module = pickle if pickle_module is None else pickle_module
    path = isinstance(f, str | os.PathLike)
    if use_mmap and not path:
        raise ValueError("load(): f must be a file path in order to use the mmap argument")
    try:
        if path:
            with open(f, "r+b" if use_mmap and CHOSEN.shared else "rb", buffering=0) as file:
                return _load_open(file, map_location, weights_only, module, use_mmap, options)
        _check_file(f)
        return _load_open(f, map_location, weights_only, module, False, options)
    except _Refused as e:
        raise e.error from None


def globals_of(f: Any) -> set[str]:
    """The names in the pickle of an archive, which is not run."""
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return globals_of(file)
    _check_file(f)
    from pickletools import genops

    found: set[str] = set()
    strings: list[str] = []
    memo: dict[Any, str | None] = {}
    last: str | None = None
    try:
        for opcode, value, _ in genops(Archive(Source(f)).content("data.pkl")):
            if opcode.name == "GLOBAL":
                found.add(".".join(_names.current(*str(value).split(" ", 1))))
            elif opcode.name == "STACK_GLOBAL":
                found.add(".".join(_names.current(*strings[-2:])))
            elif "PUT" in opcode.name or opcode.name == "MEMOIZE":
                memo[len(memo) if value is None else value] = last
                continue
            last = memo.get(value) if "GET" in opcode.name else value if isinstance(value, str) else None
            if last is not None:
                strings.append(last)
    except (ValueError, TypeError, IndexError) as e:
        raise Damaged(f"get_unsafe_globals_in_checkpoint(): the pickle in the file is damaged ({e})") from None
    return found


def _check_file(f: Any) -> None:
    for needed in ("read", "seek", "tell"):
        if not hasattr(f, needed):
            raise AttributeError(
                f"load(): '{type(f).__name__}' object has no attribute '{needed}': a file must be a path, or have "
                "read, seek and tell. Please pre-load the data into a buffer like io.BytesIO"
            )


def _load_open(file: Any, map_location: Any, weights_only: bool, module: Any, use_mmap: bool, options: Any) -> Any:
    source = Source(file)
    head = source.read(0, min(4, source.size))
    if not head:
        raise EOFError("load(): Ran out of input: the file is empty")
    if head == b"PK\x03\x04":
        mapping = None
        if use_mmap:
            import mmap

            access = mmap.ACCESS_WRITE if CHOSEN.shared else mmap.ACCESS_COPY
            mapping = mmap.mmap(file.fileno(), 0, access=access)
        return load_archive(source, map_location, weights_only, module, mapping, options)
    if use_mmap:
        raise RuntimeError(
            "load(): mmap can only be used with files saved with `save(_use_new_zipfile_serialization=True)`, "
            "please save the file again with it in order to use mmap."
        )
    from ._legacy import load_legacy

    return load_legacy(source, map_location, weights_only, module, options)
