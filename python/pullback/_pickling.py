"""Pickles whose memory is apart from them: protocol 5 with `buffer_callback`."""

import pickle
from typing import Any

from . import _core
from ._core import Generator, Tensor


def reduced(tensor: Tensor) -> Any:
    """What a pickle holds of a tensor; None where the tensor's own method decides."""
    kind = type(tensor)
    if tensor.is_meta or kind.__reduce__ is not object.__reduce__:
        return None
    if not _core.autograd._is_plain(tensor):
        # A value of a transform raises here: a pickle would lose what follows it.
        tensor.reshape(-1)[:0].__reduce_ex__(2)
    values = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    memory: Any = values.view(_core.uint8) if values.numel() else b""
    name = str(tensor.dtype).rpartition(".")[2]
    state = getattr(tensor, "__dict__", None) or None
    return rebuilt, (kind, pickle.PickleBuffer(memory), name, tuple(tensor.shape), tensor.requires_grad), state


def rebuilt(kind: Any, memory: Any, name: str, shape: tuple[int, ...], requires_grad: bool) -> Any:
    """The tensor over a buffer. Raises ValueError if the name, the shape and the buffer do not fit together."""
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
    out = flat.reshape(shape)
    if kind is not Tensor:
        out = Tensor._make_subclass(kind, out)
    return out.requires_grad_() if requires_grad else out


def generator(state: Tensor) -> Generator:
    """The generator of random numbers that has a state."""
    return Generator().set_state(state)
