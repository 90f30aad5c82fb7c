"""Memory of tensors that several processes see: what `Tensor.share_memory_()` does."""

from __future__ import annotations

import ctypes
import weakref
from multiprocessing import sharedctypes
from multiprocessing.reduction import ForkingPickler

from . import _core
from ._core import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Blocks that are alive, by their addresses; a tensor keeps the block that its elements lie in.
_blocks: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def _show(block: Any, like: tuple[Any, ...]) -> Tensor:
    """The elements of a block as a tensor of this dtype, shape, strides and offset."""
    dtype, shape, strides, offset = like
    _blocks[ctypes.addressof(block)] = block
    memory = _core.frombuffer(block, dtype=dtype)
    return memory.as_strided(shape, strides, offset).detach()


def _layout(t: Tensor) -> tuple[Any, ...]:
    return t.dtype, tuple(t.shape), t.stride(), t.storage_offset()


def _block_of(t: Tensor) -> Any:
    return _blocks.get(t.untyped_storage().data_ptr()) if _blocks and t.numel() else None


def is_shared(t: Tensor) -> bool:
    """Whether the elements lie where processes see the same memory."""
    return _block_of(t) is not None


def share(t: Tensor) -> Tensor:
    """Moves the elements into memory that processes started later see too."""
    if t.numel() == 0 or is_shared(t):
        return t
    if t._is_view() or t.untyped_storage().nbytes() != t.numel() * t.element_size():
        raise RuntimeError(
            "share_memory_(): the tensor shows a part of other memory, or all of it in another order; share the tensor "
            "that it is a view of, or its clone()"
        )
    block = sharedctypes.RawArray(ctypes.c_ubyte, t.numel() * t.element_size())
    shared = _show(block, _layout(t))
    shared.copy_(t.detach())
    t.data = shared
    return t


def _rebuild(wrapper: Any, n: int, like: tuple[Any, ...], parameter: bool, requires_grad: bool) -> Tensor:
    rebuild: Any = sharedctypes.rebuild_ctype  # type: ignore[attr-defined]
    block = rebuild(ctypes.c_ubyte, wrapper, n)
    t = _show(block, like)
    if parameter:
        from .nn.parameter import Parameter

        return Parameter(t, requires_grad)
    return t.requires_grad_(requires_grad)


def _reduce(t: Tensor) -> Any:
    """What goes to another process: the place of the memory, where that is shared, or else the elements."""
    block = _block_of(t)
    if block is None or not t.is_leaf:
        return t.__reduce_ex__(2)
    parameter = type(t) is not Tensor
    return _rebuild, (block._wrapper, len(block), _layout(t), parameter, t.requires_grad)


def _register() -> None:
    from .nn.parameter import Parameter

    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, _reduce)


_register()
