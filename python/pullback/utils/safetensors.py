"""Files in the format of the package `safetensors`, which must be installed, under the names of `safetensors.torch`.

>>> import pullback
>>> from pullback.utils.safetensors import load, save
>>> load(save({"weight": pullback.ones(2)}))  # doctest: +SKIP
{'weight': tensor([1., 1.])}
"""

import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import TracebackType
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]

# Dtypes by the names in a file.
_DTYPES = {
    **{"F64": _core.float64, "F32": _core.float32, "F16": _core.float16, "BF16": _core.bfloat16, "BOOL": _core.bool},
    **{"I64": _core.int64, "I32": _core.int32, "I16": _core.int16, "I8": _core.int8, "U8": _core.uint8},
    "C64": _core.complex64,
}
_Path = str | os.PathLike[str]


def _package() -> Any:
    try:
        safetensors = import_module("safetensors")
    except ImportError:
        raise ModuleNotFoundError(
            "pullback.utils.safetensors needs the package safetensors: pip install safetensors", name="safetensors"
        ) from None
    if not hasattr(safetensors, "TensorSpec") or sys.byteorder != "little":
        raise ImportError("pullback.utils.safetensors needs safetensors 0.8 or later, and a little-endian processor")
    return safetensors


def _specs(function: str, tensors: Mapping[str, Tensor]) -> tuple[dict[str, Any], list[Tensor]]:
    """What the package writes: addresses of memory. The tensors must live until then."""
    if not isinstance(tensors, Mapping):
        raise ValueError(f"{function}(): Expected a dict of [str, Tensor] but received {type(tensors)}")
    names = {dtype: name for name, dtype in _DTYPES.items()}
    kept: list[Tensor] = []
    for key, tensor in tensors.items():
        if type(key) is not str or not isinstance(tensor, Tensor):
            raise ValueError(f"{function}(): Key `{key}` is invalid, expected Tensor but received {type(tensor)}")
        if tensor.dtype not in names or tensor.is_meta:
            kind = "meta" if tensor.is_meta else tensor.dtype
            raise ValueError(f"{function}(): Key `{key}` is a tensor of {kind}, which the format does not have")
        if not tensor.is_contiguous():
            raise ValueError(
                f"{function}(): You are trying to save a non contiguous tensor: `{key}` which is not allowed. Call "
                "`.contiguous()` on it, or save the tensor that it is a view of"
            )
        # Values of transforms have no memory, and raise here.
        kept.append(tensor.detach().resolve_conj().resolve_neg())
    _check_apart(function, dict(zip(tensors, kept, strict=True)))
    kind = _package().TensorSpec
    found = {
        key: kind(dtype=str(t.dtype).rpartition(".")[2], shape=list(t.shape), data_ptr=t.data_ptr(), data_len=t.nbytes)
        for key, t in zip(tensors, kept, strict=True)
    }
    return found, kept


def _shared(tensors: Mapping[str, Tensor]) -> list[list[str]]:
    """Groups of names whose tensors lie in one memory and overlap."""
    groups: dict[int, list[str]] = {}
    for key, tensor in tensors.items():
        if tensor.numel():
            groups.setdefault(tensor.untyped_storage().data_ptr(), []).append(key)
    found = []
    for names in groups.values():
        names.sort(key=lambda n: tensors[n].data_ptr())
        together, end = [names[0]], tensors[names[0]].data_ptr() + tensors[names[0]].nbytes
        for name in names[1:]:
            start = tensors[name].data_ptr()
            if start >= end:
                found.append(together)
                together = []
            together.append(name)
            end = max(end, start + tensors[name].nbytes)
        found.append(together)
    return [sorted(group) for group in found if len(group) > 1]


def _check_apart(function: str, tensors: Mapping[str, Tensor]) -> None:
    if failing := _shared(tensors):
        raise RuntimeError(
            f"{function}(): Some tensors share memory, this will lead to duplicate memory on disk and potential "
            f"differences when loading them again: {failing}. Save one of each group, clone() them, or use save_model()"
        )


def save(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a file with these tensors, by their names, and with strings beside them.

    Raises ValueError for a tensor that is not contiguous or has a dtype that the format lacks, RuntimeError if tensors
    share memory or belong to a transform.
    """
    specs, kept = _specs("save", tensors)
    found = bytes(_package().serialize(specs, metadata=metadata))
    del kept
    return found


def save_file(tensors: Mapping[str, Tensor], filename: _Path, metadata: dict[str, str] | None = None) -> None:
    """Writes tensors, by their names, and strings beside them to a file. Raises as `save`."""
    specs, kept = _specs("save_file", tensors)
    _package().serialize_file(specs, os.fspath(filename), metadata=metadata)
    del kept


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a file. Raises SafetensorError for bytes that are no such file."""
    found = {}
    for key, view in _package().deserialize(data):
        found[key] = _tensor(key, view["dtype"], view["shape"], view["data"], 0)
    return found


def load_file(filename: _Path, device: Any = "cpu", *, backend: str = "mmap") -> dict[str, Tensor]:
    """The tensors of a file; they lie in it, and are read when they are used. Writes to them do not change the file.

    With `backend="pread"` they are read at once. Raises SafetensorError for a file that is damaged, OSError for one
    that cannot be opened, and RuntimeError for a device that does not exist.
    """
    with safe_open(filename, "pt", device, backend=backend) as file:
        return {key: file.get_tensor(key) for key in file.offset_keys()}


def _tensor(key: str, name: str, shape: list[int], buffer: Any, offset: int) -> Tensor:
    """A tensor over bytes from `offset` on, whose number the package has checked."""
    dtype: Any = _DTYPES.get(name)
    if dtype is None:
        raise TypeError(f"load(): tensor '{key}' has the dtype {name}, which tensors of this library do not have")
    count = 1
    for size in shape:
        count *= size
    found: Tensor
    if not count:
        found = _core.functions["empty"](shape, dtype=dtype)
    elif offset % dtype.itemsize:
        found = _core.frombuffer(buffer, dtype=_core.uint8, count=count * dtype.itemsize, offset=offset)
        found = found.clone().view(dtype).reshape(shape)
    else:
        found = _core.frombuffer(buffer, dtype=dtype, count=count, offset=offset).reshape(shape)
    return found


class safe_open:
    """Opens a file and gives its tensors one by one.

    >>> import pullback
    >>> with pullback.utils.safetensors.safe_open("model.safetensors", "pt") as file:  # doctest: +SKIP
    ...     part = file.get_slice("embedding")[:10]
    """

    def __init__(self, filename: _Path, framework: str = "pt", device: Any = "cpu", *, backend: str = "mmap") -> None:
        if framework not in ("pt", "torch", "pytorch", "pullback"):
            raise ValueError(
                f"safe_open(): framework must be 'pt', got {framework!r}; safetensors.safe_open has others"
            )
        if backend not in ("mmap", "pread"):
            raise ValueError(f"safe_open(): backend must be 'mmap' or 'pread', got {backend!r}")
        if _core.device(device).type != "cpu":
            raise RuntimeError(f"safe_open(): the only device is 'cpu', got {device!r}")
        # The package checks the header: the tensors lie one behind the other and fill the file.
        self._file = _package().safe_open(os.fspath(filename), framework="np")
        self._keys = list(self._file.offset_keys())
        self._places: dict[str, tuple[str, list[int], int]] = {}
        with open(filename, "rb") as file:
            at = 8 + int.from_bytes(file.read(8), "little")
            for key in self._keys:
                part = self._file.get_slice(key)
                dtype, shape = part.get_dtype(), part.get_shape()
                self._places[key] = dtype, shape, at
                at += _bytes_of(dtype, shape)
            self._buffer = self._mapped(file, at, backend)

    @staticmethod
    def _mapped(file: Any, size: int, backend: str) -> Any:
        file.seek(0, os.SEEK_END)
        if size != file.tell():
            raise TypeError("safe_open(): the file has tensors of dtypes whose size is not known here")
        if backend == "mmap":
            import mmap

            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        file.seek(0)
        return bytearray(file.read())

    def __enter__(self) -> "safe_open":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def keys(self) -> list[str]:
        """The names of the tensors, in order."""
        return sorted(self._keys)

    def offset_keys(self) -> list[str]:
        """The names of the tensors, as they lie in the file."""
        return list(self._keys)

    def metadata(self) -> dict[str, str] | None:
        """The strings that were saved beside the tensors, or None."""
        found: dict[str, str] | None = self._file.metadata()
        return found

    def get_tensor(self, name: str) -> Tensor:
        """A tensor, which lies in the file. Raises KeyError for a name that is not there."""
        if name not in self._places:
            raise KeyError(f"the file has no tensor '{name}'")
        dtype, shape, at = self._places[name]
        return _tensor(name, dtype, shape, self._buffer, at)

    def get_slice(self, name: str) -> "_Slice":
        """What gives parts of a tensor when it is indexed."""
        return _Slice(self.get_tensor(name), self._places[name][0])


class _Slice:
    def __init__(self, tensor: Tensor, dtype: str) -> None:
        self._tensor, self._dtype = tensor, dtype

    def get_shape(self) -> list[int]:
        return list(self._tensor.shape)

    def get_dtype(self) -> str:
        return self._dtype

    def __getitem__(self, index: Any) -> Tensor:
        return self._tensor[index]


_SIZES = {"U16": 2, "U32": 4, "U64": 8, "F8_E4M3": 1, "F8_E5M2": 1}


def _bytes_of(dtype: str, shape: Iterable[int]) -> int:
    size = _DTYPES[dtype].itemsize if dtype in _DTYPES else _SIZES.get(dtype, 1)
    for n in shape:
        size *= n
    return size


# ---------------------------------------------------------------- modules
def _doubles(state: Mapping[str, Tensor], preferred: Iterable[str] = ()) -> dict[str, list[str]]:
    """Names that are left out because another one has the same elements, by the one that is kept."""
    wanted = set(preferred)
    found: dict[str, list[str]] = {}
    for names in _shared(state):
        whole = [n for n in names if state[n].nbytes == state[n].untyped_storage().nbytes()]
        if not whole:
            raise RuntimeError(
                f"save_model(): none of {names}, which share memory, covers it: clone() the tensors, or save each alone"
            )
        kept = next((n for n in whole if n in wanted), whole[0])
        found[kept] = [n for n in names if n != kept]
    return found


def save_model(
    model: Any, filename: _Path, metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """Writes the state dict of a module; of names that share memory one is written. Raises as `save_file`."""
    state = dict(model.state_dict())
    metadata = dict(metadata or {})
    for kept, others in _doubles(state).items():
        for name in others:
            metadata.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(state, filename, metadata or None)


def load_model(
    model: Any, filename: _Path, strict: bool = True, device: Any = "cpu", *, backend: str = "mmap"
) -> tuple[list[str], list[str]]:
    """Loads a file into a module; gives the names that were missing and those that were not expected.

    Raises RuntimeError if there are such names and `strict` is True.
    """
    state = load_file(filename, device, backend=backend)
    doubles = _doubles(model.state_dict(), state)
    found = model.load_state_dict(state, strict=False)
    left, unexpected = set(found[0]), list(found[1])
    for name in (n for others in doubles.values() for n in others):
        if name in left:
            left.remove(name)
        else:
            unexpected.append(name)
    missing = sorted(left)
    if strict and (missing or unexpected):
        text = f"Error(s) in loading state_dict for {type(model).__name__}:"
        for label, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                quoted = ", ".join(f'"{n}"' for n in names)
                text += f"\n    {label} key(s) in state_dict: {quoted}"
        raise RuntimeError(text)
    return missing, unexpected
