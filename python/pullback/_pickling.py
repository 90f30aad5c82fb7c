"""Pickles whose memory is apart from them: protocol 5 with `buffer_callback`."""

import copyreg
import pickle
from typing import Any

from . import _core
from ._core import Generator, Tensor


def reduced(tensor: Tensor, protocol: Any, otherwise: Any) -> Any:
    """What a pickle holds of a tensor; `otherwise` is the method of the core."""
    kind = type(tensor)
    if kind.__reduce__ is not object.__reduce__:
        return otherwise(tensor, protocol)
    if tensor.is_meta:
        args = (kind, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.requires_grad)
        return without_elements, args, attributes(tensor)
    apart = type(protocol) is int and protocol >= 5
    if not apart and (tensor.is_contiguous() or not _core.autograd._is_plain(tensor)):
        return by_rows(tensor, protocol, otherwise)
    if not _core.autograd._is_plain(tensor):
        # A value of a transform raises here: a pickle would lose what follows it.
        tensor.reshape(-1)[:0].__reduce_ex__(2)
    values = tensor.detach().resolve_conj().resolve_neg()
    order = () if values.is_contiguous() else dense_order(values)
    if not apart and not order:
        return by_rows(tensor, protocol, otherwise)
    values = (values.permute(order) if order else values).contiguous().reshape(-1)
    memory: Any = values.view(_core.uint8) if values.numel() else b""
    name = str(tensor.dtype).rpartition(".")[2]
    held = pickle.PickleBuffer(memory) if apart else bytearray(memory.numpy() if values.numel() else b"")
    described = (kind, held, name, tuple(tensor.shape), tensor.requires_grad)
    return rebuilt, (*described, order) if order else described, attributes(tensor)


def by_rows(tensor: Tensor, protocol: Any, otherwise: Any) -> Any:
    """As the core reduces a tensor, with all attributes of subclasses."""
    made = otherwise(tensor, protocol)
    if type(tensor) is Tensor or type(made) is not tuple or len(made) < 3:
        return made
    return (*made[:2], attributes(tensor))


def dense_order(tensor: Tensor) -> tuple[int, ...]:
    """The dimensions from the slowest to the fastest, if the elements lie side by side in some order."""
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda d: (-strides[d], tensor.shape[d] == 1))
    return tuple(order) if tensor.permute(order).is_contiguous() else ()


def attributes(tensor: Tensor) -> Any:
    """The attributes of a tensor and what its slots hold, as pickles have them; None if there are none."""
    kind: Any = type(tensor)
    slots = () if kind is Tensor else copyreg._slotnames(kind)  # type: ignore[attr-defined]
    held = {name: getattr(tensor, name) for name in slots if hasattr(tensor, name)}
    state = getattr(tensor, "__dict__", None) or None
    return (state, held) if held else state


def without_elements(kind: Any, dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Any:
    """A tensor on `meta`, which has a shape and no elements."""
    from ._utils import _rebuild_meta_tensor_no_storage

    out = _rebuild_meta_tensor_no_storage(dtype, size, stride, False)
    out = out if kind is Tensor else Tensor._make_subclass(kind, out)
    return out.requires_grad_() if requires_grad else out


def rebuilt(
    kind: Any, memory: Any, name: str, shape: tuple[int, ...], requires_grad: bool, order: tuple[int, ...] = ()
) -> Any:
    """The tensor over a buffer, its dimensions in `order` there. Raises ValueError if these do not fit together."""
    dtype = getattr(_core, name, None)
    if type(dtype) is not _core.dtype or not isinstance(kind, type) or not issubclass(kind, Tensor):
        raise ValueError(f"unpickling: {name!r:.100} is no dtype of a tensor")
    count = 1
    for size in shape:
        count *= size
    view = memoryview(memory)
    if view.nbytes != count * dtype.itemsize:
        raise ValueError(f"unpickling: {view.nbytes} bytes are no tensor of shape {list(shape)} and {dtype}")
    flat = _core.frombuffer(view, dtype=dtype) if count else _core.functions["empty"](0, dtype=dtype)
    if order and sorted(order) != list(range(len(shape))):
        raise ValueError(f"unpickling: {order!r:.100} is no order of the dimensions of shape {list(shape)}")
    out = flat.reshape(shape)
    if order:
        back = [order.index(d) for d in range(len(order))]
        out = flat.reshape([shape[d] for d in order]).permute(back).detach()
    if kind is not Tensor:
        out = Tensor._make_subclass(kind, out)
    return out.requires_grad_() if requires_grad else out


def generator(state: Tensor) -> Generator:
    """The generator of random numbers that has a state."""
    return Generator().set_state(state)
