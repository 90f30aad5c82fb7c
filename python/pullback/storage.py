"""The memory of tensors as elements of a dtype; `Tensor.untyped_storage()` gives it as bytes."""

from __future__ import annotations

from ._core import Tensor, UntypedStorage, dtype, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TypedStorage", "UntypedStorage"]


class TypedStorage:
    """The memory that a tensor and all its views lie in, as elements of a dtype: what `Tensor.storage()` gives.

    >>> import pullback
    >>> x = pullback.tensor([1.0, 2.0, 3.0])
    >>> memory = x[1:].storage()
    >>> len(memory), memory.tolist(), memory.data_ptr() == x.data_ptr()
    (3, [1.0, 2.0, 3.0], True)
    """

    is_cuda = is_sparse = False

    def __init__(self, *, wrap_storage: UntypedStorage, dtype: dtype) -> None:
        self._untyped_storage = wrap_storage
        self.dtype = dtype

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def _elements(self) -> Tensor:
        elements: Tensor = tensor([], dtype=self.dtype).set_(self._untyped_storage)
        return elements

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

    def is_shared(self) -> bool:
        """Whether other processes see the memory, after `Tensor.share_memory_()`."""
        return self._elements().is_shared()

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        found: list[Any] = self._elements().tolist()
        return found

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, index: int | slice) -> Any:
        found = self._elements()[index]
        return found.tolist() if isinstance(index, slice) else found.item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements()[index] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Sets all elements."""
        self._elements().fill_(value)
        return self

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
