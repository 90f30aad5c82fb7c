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
from .._pickling import attributes
from ..utils.hooks import warn_if_has_hooks
from . import _names
from ._archive import Writer
from ._options import CHOSEN


class _Named:
    """A name of PyTorch in a pickle, whatever is behind it there."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __reduce__(self) -> Any:
        # Picklers of other modules write what stands for it here.
        return _names.ours, (self.module, self.name)


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
        return self.storage(obj, _core.uint8, _UNTYPED).id if type(obj) is _core.UntypedStorage else None

    def reducer_override(self, obj: Any) -> Any:
        """Tensors of subclasses; everything else has its type in `dispatch`, or no type of ours."""
        if not isinstance(obj, Tensor) or type(obj) is Tensor:
            return self.module(obj) if self.modules is not None and isinstance(obj, self.modules) else NotImplemented
        made = self.made(obj)
        if made is None:
            return NotImplemented
        self.apply(obj, *made)
        return _DONE

    def made(self, obj: Any) -> "tuple[_Named, tuple[Any, ...]] | None":
        """The function of PyTorch that makes a tensor, and its arguments; None where the class has its own method."""
        kind: Any = type(obj)
        warn_if_has_hooks(obj)
        state: Any = attributes(obj)
        if kind is getattr(sys.modules.get("pullback.nn.parameter"), "Parameter", None):
            args: tuple[Any, ...] = (obj.data, obj.requires_grad, OrderedDict())
            return (_PARAMETER_STATE, (*args, state)) if state else (_PARAMETER, args)
        if kind is Tensor:
            function, parts = self.plain(obj)
            return (_TYPE, (function, _TENSOR, parts, state)) if state else (function, parts)
        if kind.__reduce_ex__ is not Tensor.__reduce_ex__ or kind.__reduce__ is not Tensor.__reduce__:
            return None
        function, parts = self.plain(obj)
        return _TYPE, (function, kind, parts, obj.__getstate__() if "__getstate__" in kind.__dict__ else state)

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
        made = self.made(tensor)
        assert made is not None
        self.apply(tensor, *made)

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

    def storage(self, storage: Any, dtype: Any, kind: Any = None) -> _Held:
        place = storage.data_ptr(), storage.nbytes()
        # Storages without bytes may share an address; the others are held, so that no two do.
        place = place if place[1] else (-1 - len(self.storages), 0)
        key, known, _ = self.storages.setdefault(place, (str(len(self.storages)), dtype, storage))
        if known is not dtype:
            raise RuntimeError(
                "save(): Cannot save multiple tensors or storages that view the same data as different types "
                f"({known} and {dtype}): clone() one of them"
            )
        return _Held(kind or _STORAGES[dtype], key, place[1] // dtype.itemsize, self.legacy)

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


def _pickled(obj: Any, data: IO[bytes], module: Any, protocol: int, legacy: bool = False) -> _Pickler:
    """Writes the pickle of an object; gives what knows its storages."""
    ours = _Pickler(data, protocol, legacy)
    if module is pickle:
        ours.dump(obj)
        return ours

    class Pickler(module.Pickler):  # type: ignore[misc]
        def persistent_id(self, obj: Any) -> Any:
            return ours.persistent_id(obj)

        def reducer_override(self, obj: Any) -> Any:
            made = ours.made(obj) if isinstance(obj, Tensor) else None
            if made is not None:
                return _names.ours(made[0].module, made[0].name), made[1]
            above = getattr(super(), "reducer_override", None)
            return NotImplemented if above is None else above(obj)

    Pickler(data, protocol=protocol).dump(obj)
    return ours


def save(obj: Any, file: IO[bytes], folder: str, module: Any, protocol: int) -> None:
    data = io.BytesIO()
    pickler = _pickled(obj, data, module, protocol)
    writer = Writer(file, folder)
    writer.add("data.pkl", data.getbuffer())
    writer.add(".format_version", b"1")
    writer.add(".storage_alignment", b"64")
    writer.add("byteorder", sys.byteorder.encode())
    for key, _, storage in pickler.storages.values():
        writer.add(f"data/{key}", _bytes(storage))
    writer.add("version", b"3\n")
    writer.finish()


def save_legacy(obj: Any, file: IO[bytes], module: Any, protocol: int) -> None:
    """Writes the format of PyTorch before 1.6: pickles, and the elements of the storages behind them."""
    from ._legacy import HEAD

    data = io.BytesIO()
    for part in HEAD:
        pickle.dump(part, data, protocol)
    pickler = _pickled(obj, data, module, protocol, legacy=True)
    storages = {key: (storage, dtype) for key, dtype, storage in pickler.storages.values()}
    pickle.dump(sorted(storages), data, protocol)
    file.write(data.getbuffer())
    for _, (storage, dtype) in sorted(storages.items()):
        file.write(struct.pack("=q", storage.nbytes() // dtype.itemsize))
        file.write(_bytes(storage))


def _bytes(storage: Any) -> "memoryview | bytes":
    """The memory of a storage, which is held as long as this is used."""
    size = storage.nbytes()
    if not size or CHOSEN.skipped:
        return bytes(size)
    try:
        return memoryview(_core.functions["empty"](0, dtype=_core.uint8).set_(storage, 0, (size,), (1,)))
    except RuntimeError:
        # No tensor of bytes shows memory in another order, such as that of `channels_last`, or what lies before a part.
        from ctypes import c_ubyte

        return memoryview((c_ubyte * size).from_address(storage.data_ptr()))


def folder_of(path: Any) -> str:
    """The folder in the archive: PyTorch names it like the file."""
    return os.path.splitext(os.path.basename(os.fsdecode(path)))[0] or "archive"
