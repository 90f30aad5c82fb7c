"""What PyTorch has in a private module that programs import and pickles name."""

from typing import Any

from ._core import Tensor, functions
from ._core import dtype as DType
from .compiler import is_compiling as is_compiling
from .serialization._names import Rebuild

__all__ = [
    *("_element_size", "_flatten_dense_tensors", "_rebuild_meta_tensor_no_storage", "_rebuild_parameter"),
    *("_rebuild_parameter_with_state", "_rebuild_tensor", "_rebuild_tensor_v2", "_unflatten_dense_tensors"),
]
_rebuild_meta_tensor_no_storage = Rebuild.meta
_rebuild_parameter = _rebuild_parameter_with_state = Rebuild.parameter


def _element_size(dtype: Any) -> int:
    """Bytes of an element of a dtype. Raises RuntimeError for what is no dtype."""
    if not isinstance(dtype, DType):
        raise RuntimeError(
            f"_element_size(): expected a dtype, but got {type(dtype)}; give one such as pullback.float32"
        )
    return dtype.itemsize


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """The tensor that lies in a storage with this offset, these sizes and strides."""
    return _rebuild_tensor_v2(storage, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool = False,
    backward_hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    """The same, with what a pickle says of its derivative, and whether it is conjugated.

    >>> import pullback
    >>> from pullback._utils import _rebuild_tensor_v2
    >>> _rebuild_tensor_v2(pullback.arange(4.0).storage(), 1, (2,), (1,))
    tensor([1., 2.])
    """
    tensor: Tensor = functions["empty"](0, dtype=storage.dtype).set_(storage.untyped(), storage_offset, size, stride)
    return Rebuild.marked(tensor, requires_grad, metadata)


def _flatten_dense_tensors(tensors: Any) -> Tensor:
    """The elements of all tensors, one after the other; of a single one a view, if it is contiguous.

    >>> import pullback
    >>> from pullback._utils import _flatten_dense_tensors
    >>> _flatten_dense_tensors([pullback.ones(2), pullback.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    parts: list[Tensor] = [t.contiguous().view(-1) for t in tensors]
    return parts[0] if len(parts) == 1 else functions["cat"](parts)


def _unflatten_dense_tensors(flat: Tensor, tensors: Any) -> tuple[Tensor, ...]:
    """Views of the parts of a flat tensor, with the shapes of these tensors.

    >>> import pullback
    >>> from pullback._utils import _unflatten_dense_tensors
    >>> _unflatten_dense_tensors(pullback.arange(3), [pullback.ones(2), pullback.zeros(1, 1)])
    (tensor([0, 1]), tensor([[2]]))
    """
    parts, at = [], 0
    for t in tensors:
        parts.append(flat.narrow(0, at, t.numel()).view_as(t))
        at += t.numel()
    return tuple(parts)
