"""The memory of tensors: as bytes, and as elements of a dtype, which is what `Tensor.storage()` gives."""

from __future__ import annotations

from . import _core
from ._core import Tensor, UntypedStorage, tensor
from ._core import dtype as DType
from ._tensor_types import _DTYPES as _KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Names of classes, and the dtypes of their elements.
DTYPES: dict[str, DType] = {name.replace("Tensor", "Storage"): kind for name, kind in _KINDS.items()}
__all__ = ["Storage", "TypedStorage", "UntypedStorage", *sorted(DTYPES)]


def _bytes(storage: UntypedStorage) -> Tensor:
    elements: Tensor = tensor([], dtype=_core.uint8).set_(storage)
    return elements


class _Memory:
    """What both kinds of storages have: they lie on the CPU, and are copied by way of a tensor of their elements."""

    is_cuda = is_sparse = is_sparse_csr = is_hpu = False
    filename = None

    def _elements(self) -> Tensor:
        raise NotImplementedError

    @property
    def device(self) -> Any:
        """Where the memory is: on the CPU."""
        return self._elements().device

    def get_device(self) -> int:
        """The number of the device: -1."""
        return -1

    def cpu(self) -> Any:
        """The storage itself."""
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """Raises RuntimeError: there is no such device."""
        return self._elements().cuda()

    def fill_(self, value: Any) -> Any:
        """Sets all elements."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Takes over the elements of another storage, converted.

        Raises RuntimeError if there are more or fewer of them.
        """
        mine, other = self._elements(), (source if isinstance(source, Tensor) else source._elements())
        if mine.numel() != other.numel():
            raise RuntimeError(f"copy_(): size mismatch, got {other.numel()} elements for a storage of {mine.numel()}")
        mine.copy_(other)
        return self

    def clone(self) -> Any:
        """A copy."""
        raise NotImplementedError

    def resize_(self, size: int) -> Any:
        """The storage itself, whose memory stays as it is until its tensors are gone, also for a smaller size.

        Raises NotImplementedError for a larger one than it has.
        """
        have = self._elements().numel()
        if size > have:
            raise NotImplementedError(
                f"resize_(): the memory of tensors does not grow, it has {have} elements here and {size} were asked "
                "for; x.resize_(...) makes a tensor larger"
            )
        return self

    def is_shared(self) -> bool:
        """Whether other processes see the memory, after `Tensor.share_memory_()`."""
        return self._elements().is_shared()

    def is_pinned(self, device: Any = "cuda") -> bool:
        """False: there is no device to pin memory for."""
        return False

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self.clone()
        return memo[id(self)]


class TypedStorage(_Memory):
    """The memory that a tensor and all its views lie in, as elements of a dtype: what `Tensor.storage()` gives.

    >>> import pullback
    >>> x = pullback.tensor([1.0, 2.0, 3.0])
    >>> memory = x[1:].storage()
    >>> len(memory), memory.tolist(), memory.data_ptr() == x.data_ptr()
    (3, [1.0, 2.0, 3.0], True)

    Args:
        args: a number of elements, which are zero, or the elements; none for an empty storage.
        wrap_storage: memory to see as elements, instead.
        dtype: their dtype; that of new tensors by default.
        device: where the memory is: the CPU.
    """

    dtype: DType

    def __init__(
        self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: DType | None = None, device: Any = None
    ) -> None:
        dtype = _core.get_default_dtype() if dtype is None else dtype
        if wrap_storage is not None:
            if args:
                raise RuntimeError("TypedStorage(): give elements or wrap_storage, not both")
        elif len(args) > 1:
            raise TypeError(f"TypedStorage(): a size or a sequence of elements is expected, got {len(args)} arguments")
        else:
            given = args[0] if args else 0
            made = _core.functions["zeros"] if isinstance(given, int) else tensor
            wrap_storage = made(given, dtype=dtype, device=device).untyped_storage()
        self._untyped_storage: UntypedStorage = wrap_storage
        self.dtype = dtype

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def _elements(self) -> Tensor:
        elements: Tensor = tensor([], dtype=self.dtype).set_(self._untyped_storage)
        return elements

    def _of(self, elements: Tensor) -> TypedStorage:
        return TypedStorage(wrap_storage=elements.untyped_storage(), dtype=elements.dtype)

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self._untyped_storage.nbytes())

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.element_size()

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return int(self._untyped_storage.data_ptr())

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        found: list[Any] = self._elements().tolist()
        return found

    def clone(self) -> TypedStorage:
        """A copy."""
        return self._of(self._elements().clone())

    def share_memory_(self) -> TypedStorage:
        """Moves the elements into memory that other processes see, for tensors that are made of the storage later."""
        shared = self._elements().share_memory_()
        self._untyped_storage = shared.untyped_storage()
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class of such storages; with a dtype, a copy in that, or the storage itself."""
        if dtype is None:
            names = {kind: name for name, kind in DTYPES.items()}
            return f"torch.{names[self.dtype]}" if self.dtype in names else "torch.storage.TypedStorage"
        return self._in(dtype)

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """The storage itself, for the CPU. Raises RuntimeError for another device."""
        self._elements().to(device)
        return self

    def _in(self, dtype: DType) -> TypedStorage:
        return self if dtype is self.dtype else self._of(self._elements().to(dtype))

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> Any:
        found = self._elements()[index]
        return found.tolist() if isinstance(index, slice) else found.item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements()[index] = value

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TypedStorage)
            and self.dtype == other.dtype
            and self._untyped_storage == other._untyped_storage
        )

    def __hash__(self) -> int:
        return hash((self._untyped_storage, self.dtype))

    def __repr__(self) -> str:
        return f"TypedStorage({self.tolist()}, dtype={self.dtype})"


def _add_casts() -> None:
    """The methods that convert: `x.storage().double()`."""
    words = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"}
    words |= {"short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "bfloat16": "bfloat16"}
    words |= {"complex_float": "complex64", "complex_double": "complex128"}

    def add(word: str, kind: str) -> None:
        def cast(self: TypedStorage) -> TypedStorage:
            return self._in(getattr(_core, kind))

        cast.__name__, cast.__qualname__ = word, f"TypedStorage.{word}"
        cast.__doc__ = f"The elements in {kind}: a copy, or the storage itself if they are."
        setattr(TypedStorage, word, cast)

    for word, kind in words.items():
        add(word, kind)


_add_casts()


class _Kind(type):
    """Classes of storages by dtype: storages with elements of the dtype are instances."""

    dtype: DType

    def __call__(cls, *args: Any, **options: Any) -> TypedStorage:
        return TypedStorage(*args, dtype=cls.dtype, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


def _kind(name: str, kind: DType) -> _Kind:
    doc = f"Storages of {str(kind).rpartition('.')[2]}: calls take a number of elements, or the elements."
    return _Kind(name, (), {"__doc__": doc, "__module__": "pullback", "dtype": kind})


_kinds = {name: _kind(name, kind) for name, kind in DTYPES.items()}
globals().update(_kinds, Storage=_kinds["FloatStorage"])


def _load_from_bytes(b: bytes) -> Any:
    """The storage in a plain pickle of PyTorch, which holds a file of it: like that, it runs what the file says."""
    from io import BytesIO

    from .serialization import load

    return load(BytesIO(b), weights_only=False)


if TYPE_CHECKING:

    class BFloat16Storage(TypedStorage): ...

    class BoolStorage(TypedStorage): ...

    class ByteStorage(TypedStorage): ...

    class CharStorage(TypedStorage): ...

    class ComplexDoubleStorage(TypedStorage): ...

    class ComplexFloatStorage(TypedStorage): ...

    class DoubleStorage(TypedStorage): ...

    class FloatStorage(TypedStorage): ...

    class HalfStorage(TypedStorage): ...

    class IntStorage(TypedStorage): ...

    class LongStorage(TypedStorage): ...

    class ShortStorage(TypedStorage): ...

    Storage = FloatStorage


def _add_to_bytes() -> None:
    """Gives storages of bytes, whose class is native, the methods that are written here."""

    def elements(self: UntypedStorage) -> Tensor:
        return _bytes(self)

    def clone(self: UntypedStorage) -> UntypedStorage:
        """A copy."""
        copy: UntypedStorage = _bytes(self).clone().untyped_storage()
        return copy

    def untyped(self: UntypedStorage) -> UntypedStorage:
        """The storage itself."""
        return self

    def setitem(self: UntypedStorage, index: int | slice, value: Any) -> None:
        _bytes(self)[index] = value

    own = {"_elements": elements, "clone": clone, "untyped": untyped, "__setitem__": setitem}
    native: Any = UntypedStorage
    for name, attribute in {**vars(_Memory), **own}.items():
        if name[:2] != "__" or name == "__setitem__":
            setattr(native, name, attribute)


_add_to_bytes()
