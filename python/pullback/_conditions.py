"""Conditions that programs check, and a choice between two functions, under the names of PyTorch's."""

from __future__ import annotations

from . import _core
from ._core import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    *("_assert", "_assert_async", "_check", "_check_index", "_check_is_size", "_check_not_implemented"),
    *("_check_tensor_all", "_check_type", "_check_value", "_check_with", "cond"),
]


def _assert(condition: Any, message: Any) -> None:
    """As `assert`. Raises AssertionError if the condition does not hold."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raises RuntimeError if the only element of a tensor is zero."""
    if not isinstance(input, Tensor):
        raise TypeError(f"_assert_async(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _check_with(error_type: type[Exception], cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raises an error of this type if the condition does not hold; `message` is called for its text."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False.")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raises RuntimeError if the condition does not hold."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raises IndexError if the condition does not hold."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raises ValueError if the condition does not hold."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raises TypeError if the condition does not hold."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raises NotImplementedError if the condition does not hold."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """Raises RuntimeError if a number is negative, or more than `max`."""
    _check(bool(i >= 0) and (max is None or bool(i <= max)), message)


def _check_tensor_all(cond: Tensor, message: Callable[[], Any] | None = None) -> None:
    """Raises RuntimeError if an element of a tensor of bools is False."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _core.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(RuntimeError, bool(cond.all()), message)


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """What one of two functions gives for the operands: `true_fn` if `pred` holds, else `false_fn`.

    Only the chosen function runs. Where members of a batch choose, both do, and each gets its own result.

    >>> import pullback
    >>> pullback.cond(pullback.tensor(True), lambda x: x + 1, lambda x: x - 1, (pullback.ones(1),))
    tensor([2.])

    Raises:
        RuntimeError: if `pred` is neither a bool, a number nor a tensor of one element, a function cannot be called, or
            `operands` is neither a tuple nor a list; and if members choose between results of different structures.
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"cond(): Expected pred to be bool or tensor, but got {type(pred).__name__}")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(
            f"cond(): Expected pred to be bool or single-element tensor, but got one of {pred.numel()} elements; use "
            "where() to choose for each"
        )
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond(): Expect both branches to be callable")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"cond(): Expect operands to be a tuple or a list, got {type(operands).__name__}")
    try:
        chosen = true_fn if pred else false_fn
    except RuntimeError as error:
        if "vmap" not in str(error):
            raise
        return _of_each(pred, true_fn(*operands), false_fn(*operands))
    return chosen(*operands)


def _of_each(pred: Any, yes: Any, no: Any) -> Any:
    """What each member of a batch has chosen."""
    from .utils.pytree import tree_flatten, tree_unflatten

    (ours, spec), (others, other_spec) = tree_flatten(yes), tree_flatten(no)
    if spec != other_spec:
        raise RuntimeError(
            f"cond(): both functions must give the same structure under vmap, but got {spec} and {other_spec}"
        )
    holds = pred.to(_core.bool).reshape(())
    where: Any = _core.functions["where"]
    return tree_unflatten([where(holds, a, b) for a, b in zip(ours, others, strict=True)], spec)
