"""Numbers or tuples, as arguments of layers are given."""

from __future__ import annotations

from ... import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        if hasattr(x, "__iter__") and not isinstance(x, str):
            return tuple(x)
        return (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Padding by dimension as `pad` wants it: the last dimension first, each side named."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _refuse_empty(input: Any, dims: int) -> None:
    """Raises RuntimeError for a tensor that is empty in another dimension than the batch, as PyTorch's layers over
    windows of `dims` dimensions do."""
    if not isinstance(input, Tensor) or input.numel():
        return
    sizes = list(input.shape)
    if len(sizes) in (dims + 1, dims + 2) and 0 in sizes[len(sizes) - dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {sizes}"
        )


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix off the keys of a state dict, in place, and off those of its metadata.

    >>> from pullback.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> sorted(state)
    ['bias', 'weight']
    """
    for key in [k for k in state_dict if k.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata: Any = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if key == prefix.rstrip(".") and key:
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
