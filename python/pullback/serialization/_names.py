"""What the names in a file stand for: names are PyTorch's, so that it reads our files and we read its."""

import sys
import threading
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from importlib import import_module
from pickle import UnpicklingError
from typing import Any

from .. import _core
from .._core import Tensor
from ._archive import Damaged
from ._machine import check_keys

# Storages of PyTorch by the dtype of their elements; None where no dtype of ours has such elements.
STORAGES: dict[str, Any] = {
    "DoubleStorage": _core.float64,
    "FloatStorage": _core.float32,
    "HalfStorage": _core.float16,
    "BFloat16Storage": _core.bfloat16,
    "LongStorage": _core.int64,
    "IntStorage": _core.int32,
    "ShortStorage": _core.int16,
    "CharStorage": _core.int8,
    "ByteStorage": _core.uint8,
    "BoolStorage": _core.bool,
    "ComplexDoubleStorage": _core.complex128,
    "ComplexFloatStorage": _core.complex64,
    **dict.fromkeys(("QUInt8Storage", "QInt8Storage", "QInt32Storage", "QUInt4x2Storage", "QUInt2x4Storage")),
}
STORAGE_NAMES = {dtype: name for name, dtype in STORAGES.items() if dtype is not None}
DTYPES = {str(d).rpartition(".")[2]: d for d in STORAGE_NAMES}
_FOREIGN_DTYPES = (
    "uint16",
    "uint32",
    "uint64",
    "complex32",
    "quint8",
    "qint8",
    "qint32",
    "float8_e4m3fn",
    "float8_e5m2",
)
# Nothing of these modules runs, whoever allows it.
_BLOCKED = ("sys", "os", "posix", "nt")


class _Reading(threading.local):
    """The storages of the files that this thread reads, by the identity of the objects that stand for them."""

    def __init__(self) -> None:
        self.known: list[dict[int, Any]] = []

    def of(self, storage: Any) -> Any:
        found = self.known[-1].get(id(storage)) if self.known else None
        if found is None:
            raise UnpicklingError(f"a tensor is made of a {type(storage).__name__} instead of a storage")
        return found


READING = _Reading()


class StorageType:
    """The class of a storage in a file: what dtype its elements have."""

    def __init__(self, name: str, dtype: Any) -> None:
        self.name, self.dtype = name, dtype


class Rebuild:
    """The functions that tensors in a file are made by; the names are PyTorch's."""

    @staticmethod
    def tensor(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> Tensor:
        """`_rebuild_tensor_v2`: storage, offset, sizes, strides, requires_grad, hooks, and whether it is conjugated."""
        tensor: Tensor = READING.of(storage).view(offset, size, stride)
        if len(rest) > 3:
            raise UnpicklingError(f"a tensor has {len(rest) + 4} arguments")
        return Rebuild.marked(tensor, rest[0] if rest else False, rest[2] if len(rest) > 2 else None)

    @staticmethod
    def marked(tensor: Tensor, requires_grad: Any, metadata: Any) -> Tensor:
        """A tensor that is conjugated, negated or requires grad as a file says."""
        if metadata:
            if type(metadata) is not dict or not metadata.keys() <= {"conj", "neg"}:
                raise UnpicklingError(f"a tensor has metadata that is not known: {metadata!r:.200}")
            tensor = tensor.conj() if metadata.get("conj") else tensor
            tensor = _core.functions["_neg_view"](tensor) if metadata.get("neg") else tensor
        return _requiring(tensor, requires_grad)

    @staticmethod
    def tensor_v3(storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any,
                  *rest: Any) -> Tensor:  # fmt: skip
        """`_rebuild_tensor_v3`: the storage has no dtype, and the tensor says it."""
        if type(dtype) is not _core.dtype:
            raise UnpicklingError(f"the dtype of a tensor is a {type(dtype).__name__}")
        return Rebuild.tensor(READING.of(storage).of(dtype), offset, size, stride, requires_grad, hooks, *rest)

    @staticmethod
    def parameter(data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Any:
        if not isinstance(data, Tensor):
            raise UnpicklingError(f"the data of a parameter is a {type(data).__name__}")
        make = _parameter_class()
        out = make(data, bool(requires_grad)) if make is not None else _requiring(data, requires_grad)
        return with_state(out, state) if state else out

    @staticmethod
    def meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
        whole_numbers("size", size)
        whole_numbers("stride", stride)
        if len(size) != len(stride) or type(dtype) is not _core.dtype:
            raise UnpicklingError("a tensor without elements is not described as one")
        return on_meta(dtype, tuple(size), tuple(stride), bool(requires_grad))

    @staticmethod
    def device(type: Any, index: Any = None) -> Any:
        return _core.device(type) if index is None else _core.device(type, index)

    @staticmethod
    def layout(name: Any) -> Any:
        if name != "torch.strided":
            raise UnpicklingError(f"tensors of the layout {name!r:.100} are out of scope: tensors are dense")
        return _core.strided

    @staticmethod
    def encoded(text: Any, encoding: Any = "latin1") -> bytes:
        if type(text) is not str or encoding not in ("latin1", "latin-1", "utf-8"):
            raise UnpicklingError("bytes in a file are written as latin1")
        return text.encode(encoding)


def whole_numbers(name: str, values: Any) -> None:
    """An error unless sizes or strides in a file are integers from 0 on."""
    if not isinstance(values, tuple | list) or any(type(k) is not int or not 0 <= k < 2**63 for k in values):
        raise Damaged(f"load(): the {name} of a tensor in the file is {values!r:.200}, not integers from 0 on")


# Elements up to which a tensor without memory is laid out as strides say that are not those of its sizes.
MOST_ARRANGED = 2**16


def on_meta(dtype: Any, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool) -> Tensor:
    """A tensor on `meta`. A file cannot make it take memory: views of a large one would, if they require grad."""
    empty = _core.functions["empty"]
    out: Tensor = empty(size, dtype=dtype, device="meta")
    if out.stride() == stride or not out.numel():
        return _requiring(out, requires_grad)
    order = sorted(range(len(size)), key=lambda k: (-stride[k], size[k] == 1))
    dense = empty([size[k] for k in order], dtype=dtype, device="meta").permute(
        sorted(range(len(size)), key=order.__getitem__)
    )
    if dense.stride() == stride and not requires_grad:
        return dense  # type: ignore[no-any-return]
    if out.numel() <= MOST_ARRANGED:
        whole = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        out = _core.as_strided(empty(whole, dtype=dtype, device="meta"), size, stride)
    return _requiring(out, requires_grad)


def _requiring(tensor: Tensor, requires_grad: Any) -> Tensor:
    return tensor.requires_grad_() if requires_grad else tensor


def _parameter_class() -> Any:
    from .. import nn

    return getattr(nn, "Parameter", None)


def with_state(tensor: Any, state: Any) -> Any:
    """Puts the attributes on a tensor that it had when it was saved."""
    found, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    for part in (found, slots):
        if part is not None and (type(part) not in (dict, OrderedDict) or any(type(k) is not str for k in part)):
            raise UnpicklingError("the attributes of a tensor are no dict of strings")
    if found:
        tensor.__dict__.update(found)
    for name, value in (slots or {}).items():
        setattr(tensor, name, value)
    return tensor


def from_type(make: Any, kind: Any, args: Any, state: Any) -> Any:
    """`_rebuild_from_type_v2`: a tensor of a subclass, or one with attributes."""
    if type(args) is not tuple or not isinstance(kind, type) or not issubclass(kind, Tensor):
        raise UnpicklingError("a tensor of a subclass is not described as one")
    out = make(*args)
    out = out if type(out) is kind else Tensor._make_subclass(kind, out, out.requires_grad)
    restore = getattr(kind, "__setstate__", None)
    if restore is not None:
        restore(out, state)
        return out
    return with_state(out, state)


def _pairs(*args: Any) -> Any:
    """The items that a dict is made of, from pairs or a dict."""
    if not args:
        return {}
    (items,) = args
    pairs = list(items.items()) if isinstance(items, dict) else items
    if type(pairs) is not list or any(type(p) not in (tuple, list) or len(p) != 2 for p in pairs):
        raise UnpicklingError("a dict is not made of pairs")
    check_keys(key for key, _ in pairs)
    return dict(pairs)


def _plain(kinds: tuple[type, ...], make: Callable[..., Any]) -> Callable[..., Any]:
    """`make` for arguments of these types alone."""

    def checked(*args: Any) -> Any:
        if any(type(a) not in kinds for a in args):
            raise UnpicklingError(f"{make.__name__} is not made of {', '.join(type(a).__name__ for a in args)}")
        return make(*args)

    return checked


def _a_set(items: Any = ()) -> Any:
    return check_keys(list(items))


# Rebuilding functions by their names in files: what stands for a name, and what applies it to checked arguments.
REBUILD: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": Rebuild.tensor,
    "torch._utils._rebuild_tensor_v2": Rebuild.tensor,
    "torch._utils._rebuild_tensor_v3": Rebuild.tensor_v3,
    "torch._utils._rebuild_parameter": Rebuild.parameter,
    "torch._utils._rebuild_parameter_with_state": Rebuild.parameter,
    "torch._utils._rebuild_meta_tensor_no_storage": Rebuild.meta,
    "torch._tensor._rebuild_from_type_v2": from_type,
    "torch.serialization._get_layout": Rebuild.layout,
}
# Classes: the object that stands for the name, and what makes an instance.
_CLASSES: dict[str, tuple[Any, Callable[..., Any] | None]] = {
    "collections.OrderedDict": (OrderedDict, lambda *a: OrderedDict(_pairs(*a))),
    "collections.Counter": (Counter, lambda *a: Counter(_pairs(*a))),
    "builtins.set": (set, lambda *a: set(_a_set(*a))),
    "builtins.frozenset": (frozenset, lambda *a: frozenset(_a_set(*a))),
    "builtins.bytes": (bytes, _plain((bytes,), bytes)),
    "builtins.bytearray": (bytearray, _plain((bytes,), bytearray)),
    "builtins.complex": (complex, _plain((int, float), complex)),
    "_codecs.encode": (Rebuild.encoded, Rebuild.encoded),
    "torch.Size": (_core.Size, _core.Size),
    "torch.device": (_core.device, Rebuild.device),
    "torch.Tensor": (Tensor, None),
}
SPARSE = ("_rebuild_sparse_tensor", "_rebuild_qtensor", "_rebuild_nested_tensor", "_rebuild_wrapper_subclass")


def _known() -> tuple[dict[str, Any], dict[int, Callable[..., Any]]]:
    found: dict[str, Any] = {f"torch.{name}": dtype for name, dtype in DTYPES.items()}
    calls: dict[int, Callable[..., Any]] = {}
    for name, dtype in STORAGES.items():
        found[f"torch.{name}"] = StorageType(name, dtype)
    found["torch.storage.UntypedStorage"] = StorageType("UntypedStorage", _core.uint8)
    found["torch.storage.TypedStorage"] = StorageType("TypedStorage", None)
    for name, function in REBUILD.items():
        found[name] = function
        calls[id(function)] = function
    for name, (value, make) in _CLASSES.items():
        found[name] = value
        if make is not None:
            calls[id(value)] = make
    return found, calls


KNOWN, CALLS = _known()
# What the user allows, by the names that files may have for it.
ALLOWED: dict[Any, tuple[str, ...]] = {}


def names_of(item: Any) -> tuple[str, ...]:
    """The names under which a file may have a class or function; those of this package are PyTorch's there."""
    if isinstance(item, tuple):
        if len(item) != 2:
            raise ValueError(
                f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(item)}"
            )
        if type(item[1]) is not str:
            raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}")
        return (item[1],)
    try:
        name = f"{item.__module__}.{item.__qualname__}"
    except AttributeError:
        raise TypeError(f"add_safe_globals(): a class or a function is expected, got {type(item).__name__}") from None
    return (name, theirs(name)) if theirs(name) != name else (name,)


def theirs(name: str) -> str:
    """The name in files for a dotted name of this package."""
    return f"torch{name[8:]}" if name == "pullback" or name.startswith("pullback.") else name


def allowed(name: str) -> Any:
    """What the user allows under a name, or None."""
    for item, names in ALLOWED.items():
        if name in names:
            return item[0] if isinstance(item, tuple) else item
    return None


def is_allowed(value: Any) -> bool:
    return any((item[0] if isinstance(item, tuple) else item) is value for item in ALLOWED)


def current(module: str, name: str) -> tuple[str, str]:
    """A name as Python 3 has it: pickles of protocols below 3 have Python 2's."""
    return NAME_MAPPING.get((module, name)) or (IMPORT_MAPPING.get(module, module), name)


def is_known(path: str) -> bool:
    """Whether `find` gives something for a dotted name."""
    module, _, name = path.rpartition(".")
    try:
        find(module, name)
    except UnpicklingError:
        return False
    return True


def find(module: str, name: str) -> Any:
    """What a name in a file stands for, or an error that says how to allow it."""
    module, name = current(module, name)
    path = f"{module}.{name}"
    if module in _BLOCKED:
        raise UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
    found = KNOWN.get(path)
    if found is None and (found := allowed(path)) is None and path == "torch.nn.parameter.Parameter":
        found = _parameter_class()
    if found is not None:
        return found
    if (module == "torch" and (name in _FOREIGN_DTYPES or name[:6] == "float8")) or name in SPARSE:
        raise UnpicklingError(f"the file has values of the kind {path}, which tensors of this library do not have")
    shown = path.removeprefix("builtins.")
    raise UnpicklingError(
        f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
        f"`pullback.serialization.add_safe_globals([{shown}])` or the `pullback.serialization.safe_globals([{shown}])` "
        "context manager to allowlist this global if you trust this class/function. A file that nobody else could have "
        "written can be loaded with weights_only=False, which runs whatever is in it."
    )


# Homes of PyTorch's compiled functions and classes, the module that has what is in them, and what names begin with.
_COMPILED = {
    "torch._C._nn": ("torch.nn.functional", ""),
    "torch._C._special": ("torch.special", "special_"),
    "torch._C._linalg": ("torch.linalg", "linalg_"),
    "torch._C._fft": ("torch.fft", "fft_"),
}
_RENAMED = {
    ("torch.nn.functional", "log_sigmoid"): ("torch.nn.functional", "logsigmoid"),
    ("torch._C", "TensorBase"): ("torch", "Tensor"),
}


def _public(module: str, name: str) -> tuple[str, str]:
    """The public name of what is compiled in PyTorch."""
    if module in _COMPILED:
        module, prefix = _COMPILED[module]
        name = name.removeprefix(prefix)
    return _RENAMED.get((module, name), (module, name))


class _VariableFunctions:
    """What `torch.tanh` and its like are attributes of in files."""

    def __getattr__(self, name: str) -> Any:
        import pullback

        return getattr(pullback, name)


def ours(module: str, name: str) -> Any:
    """What a name of PyTorch stands for where everything is allowed; None if it is not PyTorch's."""
    path = f"{module}.{name}"
    if path in KNOWN:
        return KNOWN[path]
    if module != "torch" and not module.startswith("torch."):
        return None
    if path == "torch._C._VariableFunctionsClass":
        return _VariableFunctions()
    module, name = _public(module, name)
    known: Any = sys.modules.get(f"pullback{module[5:]}")
    try:
        found = known if known is not None else import_module(f"pullback{module[5:]}")
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise UnpicklingError(f"the file needs '{path}' of PyTorch, which this library does not have") from None
    return found
