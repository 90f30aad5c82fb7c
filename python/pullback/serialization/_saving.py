"""Writing what `load` and PyTorch's `torch.load` read."""

import io
import os
import pickle
import struct
import sys
from collections import OrderedDict
from types import FunctionType
from typing import IO, Any

from .. import _core
from .._core import Tensor
from . import _names
from ._archive import Writer


class _Named:
    """A name of PyTorch in a pickle, whatever is behind it there."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


_V2 = _Named("torch._utils", "_rebuild_tensor_v2")
_PARAMETER = _Named("torch._utils", "_rebuild_parameter")
_PARAMETER_STATE = _Named("torch._utils", "_rebuild_parameter_with_state")
_META = _Named("torch._utils", "_rebuild_meta_tensor_no_storage")
_TYPE = _Named("torch._tensor", "_rebuild_from_type_v2")
_LAYOUT = _Named("torch.serialization", "_get_layout")
_DEVICE, _SIZE, _TENSOR = _Named("torch", "device"), _Named("torch", "Size"), _Named("torch", "Tensor")
_UNTYPED = _Named("torch.storage", "UntypedStorage")
_DTYPES = {dtype: _Named("torch", name) for name, dtype in _names.DTYPES.items()}
_STORAGES = {dtype: _Named("torch", name) for dtype, name in _names.STORAGE_NAMES.items()}


_HOOKS = (
    *("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs"),
    *("_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks"),
    *("_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"),
)


class _Held:
    """A storage in the object that is saved: what its id in the pickle says."""

    def __init__(self, kind: _Named, key: str, numel: int, legacy: bool) -> None:
        # Files before version 1.6 say behind it of which storage this is a part, and it is of none.
        self.id = ("storage", kind, key, "cpu", numel, *((None,) if legacy else ()))


_Base: Any = pickle._Pickler


class _Pickler(_Base):  # type: ignore[misc]
    """Writes classes and functions by the names that PyTorch has for them, and storages by their keys."""

    def __init__(self, file: IO[bytes], protocol: int, legacy: bool = False) -> None:
        super().__init__(file, protocol=protocol)
        self.legacy = legacy
        self.typed: Any = getattr(sys.modules.get("pullback.storage"), "TypedStorage", None)
        self.storages: dict[tuple[int, int], tuple[str, Any, Any]] = {}
        self.named: dict[tuple[str, str], _Named] = {}
        self.modules: Any = getattr(sys.modules.get("pullback.nn"), "Module", None)

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is _Held:
            return obj.id
        if self.typed is not None and type(obj) is self.typed:
            return self.storage(obj.untyped(), obj.dtype).id
        return self.storage(obj, None).id if type(obj) is _core.UntypedStorage else None

    def reducer_override(self, obj: Any) -> Any:
        """Tensors of subclasses; everything else has its type in `dispatch`, or no type of ours."""
        kind: Any = type(obj)
        if not isinstance(obj, Tensor) or kind is Tensor:
            return self.module(obj) if self.modules is not None and isinstance(obj, self.modules) else NotImplemented
        state: Any = dict(getattr(obj, "__dict__", None) or {})
        args: tuple[Any, ...]
        if kind is getattr(sys.modules.get("pullback.nn.parameter"), "Parameter", None):
            args = (obj.data, obj.requires_grad, OrderedDict())
            self.apply(obj, *((_PARAMETER_STATE, (*args, state)) if state else (_PARAMETER, args)))
        elif kind.__reduce_ex__ is not Tensor.__reduce_ex__ or kind.__reduce__ is not Tensor.__reduce__:
            return NotImplemented
        else:
            state = obj.__getstate__() if "__getstate__" in kind.__dict__ else state
            function, args = self.plain(obj)
            self.apply(obj, _TYPE, (function, kind, args, state))
        return _DONE

    def module(self, obj: Any) -> Any:
        """A module with the attributes that PyTorch's have, so that it can be called there."""
        made = obj.__reduce_ex__(self.proto)
        if len(made) < 3 or type(made[2]) is not dict:
            return made
        state = made[2]
        registered = {n for part in ("_parameters", "_buffers", "_modules") for n in state.get(part) or ()}
        state = {name: value for name, value in state.items() if name not in registered}
        if "_flat_weights_names" in state:
            # The layers of recurrent networks list their weights a second time there.
            state["_flat_weights"] = [getattr(obj, name) for name in state["_flat_weights_names"]]
        for name in _HOOKS:
            state.setdefault(name, OrderedDict())
        state.setdefault("_is_full_backward_hook", None)
        return (*made[:2], state, *made[3:])

    def save_reduce(self, func: Any, args: Any = (), *rest: Any, **options: Any) -> None:
        if (func, args, *rest) != _DONE:
            super().save_reduce(func, args, *rest, **options)

    def apply(self, obj: Any, function: _Named, args: tuple[Any, ...]) -> None:
        """Writes that an object is what a function of PyTorch makes of arguments."""
        self.save(function)
        self.save(args)
        self.write(pickle.REDUCE)
        self.memoize(obj)

    # ------------------------------------------------------------ tensors
    def save_tensor(self, tensor: Tensor) -> None:
        function, args = self.plain(tensor)
        state = tensor.__dict__
        if state:
            function, args = _TYPE, (function, _TENSOR, args, dict(state))
        self.apply(tensor, function, args)

    def plain(self, tensor: Tensor) -> tuple[_Named, tuple[Any, ...]]:
        """What makes a tensor of its storage."""
        requires_grad = tensor.requires_grad
        if tensor.is_meta:
            return _META, (tensor.dtype, tuple(tensor.shape), tensor.stride(), requires_grad)
        if not _core.autograd._is_plain(tensor):
            # Values of transforms raise here, as they do in a pickle.
            tensor.reshape(-1)[:0].__reduce_ex__(2)
        conjugated = tensor.is_conj()
        if conjugated or tensor.is_neg():
            tensor = tensor.detach()
            tensor = (tensor.conj() if conjugated else tensor).resolve_conj().resolve_neg()
        try:
            storage = tensor.untyped_storage()
        except RuntimeError:
            # The elements are nowhere in memory, such as the imaginary parts of a conjugate.
            tensor = tensor.detach().clone()
            storage = tensor.untyped_storage()
        held = self.storage(storage, tensor.dtype)
        place = tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
        return _V2, (held, *place, requires_grad, OrderedDict(), *(({"conj": True},) if conjugated else ()))

    def storage(self, storage: Any, dtype: Any) -> _Held:
        place = storage.data_ptr(), storage.nbytes()
        # Storages without bytes may share an address; the others are held, so that no two do.
        place = place if place[1] else (-1 - len(self.storages), 0)
        key, known, _ = self.storages.setdefault(place, (str(len(self.storages)), dtype, storage))
        if known is not dtype:
            raise RuntimeError(
                "save(): Cannot save multiple tensors or storages that view the same data as different types "
                f"({known} and {dtype}): clone() one of them"
            )
        if dtype is None:
            return _Held(_UNTYPED, key, place[1], self.legacy)
        return _Held(_STORAGES[dtype], key, place[1] // dtype.itemsize, self.legacy)

    # ------------------------------------------------------------ names
    def save_named(self, named: _Named) -> None:
        self.write(f"c{named.module}\n{named.name}\n".encode())
        self.memoize(named)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        path = getattr(obj, "__module__", None)
        if not isinstance(path, str) or not (path == "pullback" or path.startswith("pullback.")):
            super().save_global(obj, name)
            return
        name = name or obj.__qualname__
        place = _names.theirs(_public(path, name, obj)), name
        # One object for each name: the pickle refers to it when it comes again.
        self.save(self.named.setdefault(place, _Named(*place)))

    dispatch = {
        **_Base.dispatch,
        _Named: save_named,
        Tensor: save_tensor,
        FunctionType: save_global,
        _core.dtype: lambda self, obj: self.save(_DTYPES[obj]),
        _core.device: lambda self, obj: self.apply(
            obj, _DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        ),
        _core.Size: lambda self, obj: self.apply(obj, _SIZE, (tuple(obj),)),
        _core.layout: lambda self, obj: self.apply(obj, _LAYOUT, ("torch.strided",)),
    }


def _public(path: str, name: str, obj: Any) -> str:
    """A public module of this package that has an object of a private one: the name is PyTorch's there."""
    parts = path.split(".")
    private = next((k for k, part in enumerate(parts) if part[0] == "_"), None)
    if private is None:
        return path
    above = ".".join(parts[:private])
    found = []
    for module in sorted(sys.modules, key=len, reverse=True):
        inside = module == above or module.startswith(above + ".")
        if inside and "._" not in module and vars(sys.modules[module]).get(name) is obj:
            found.append(module)
    # Others may have imported it for their own use.
    shown = [module for module in found if name in getattr(sys.modules[module], "__all__", ())]
    return next(iter(shown or found), path)


# What says that an object has been written.
_DONE = (_Held, ())


def save(obj: Any, file: IO[bytes], folder: str, protocol: int) -> None:
    data = io.BytesIO()
    pickler = _Pickler(data, protocol)
    pickler.dump(obj)
    writer = Writer(file, folder)
    writer.add("data.pkl", data.getbuffer())
    writer.add(".format_version", b"1")
    writer.add(".storage_alignment", b"64")
    writer.add("byteorder", sys.byteorder.encode())
    for key, _, storage in pickler.storages.values():
        writer.add(f"data/{key}", _bytes(storage))
    writer.add("version", b"3\n")
    writer.finish()


def save_legacy(obj: Any, file: IO[bytes], protocol: int) -> None:
    """Writes the format of PyTorch before 1.6: pickles, and the elements of the storages behind them."""
    from ._legacy import HEAD

    data = io.BytesIO()
    for part in HEAD:
        pickle.dump(part, data, protocol)
    pickler = _Pickler(data, protocol, legacy=True)
    pickler.dump(obj)
    storages = {key: (storage, dtype) for key, dtype, storage in pickler.storages.values()}
    pickle.dump(sorted(storages), data, protocol)
    file.write(data.getbuffer())
    for _, (storage, dtype) in sorted(storages.items()):
        file.write(struct.pack("=q", storage.nbytes() // (1 if dtype is None else dtype.itemsize)))
        file.write(_bytes(storage))


def _bytes(storage: Any) -> "memoryview | bytes":
    """The memory of a storage, which is held as long as this is used."""
    size = storage.nbytes()
    if not size:
        return b""
    try:
        return memoryview(_core.functions["empty"](0, dtype=_core.uint8).set_(storage, 0, (size,), (1,)))
    except NotImplementedError:
        # No tensor of bytes shows memory in another order, such as that of `channels_last`.
        from ctypes import c_ubyte

        return memoryview((c_ubyte * size).from_address(storage.data_ptr()))


def folder_of(path: Any) -> str:
    """The folder in the archive: PyTorch names it like the file."""
    return os.path.splitext(os.path.basename(os.fsdecode(path)))[0] or "archive"
