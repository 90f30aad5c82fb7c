"""How much is pruned."""

from __future__ import annotations

import numbers

from ... import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_amount(amount: Any) -> None:
    """Raises TypeError for what is no number, and ValueError for one that says no amount."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(
            f"Invalid type for amount: {type(amount).__name__}; give an int (how many) or a float (which part)"
        )
    whole = isinstance(amount, numbers.Integral)
    if float(amount) < 0 or (not whole and float(amount) > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def amount_to_prune(amount: Any, size: int) -> int:
    """How many of `size`. Raises ValueError for more than there are."""
    if not isinstance(amount, numbers.Integral):
        return round(float(amount) * size)
    if int(amount) > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return int(amount)


def check_dim(t: Tensor, dim: int) -> None:
    """Raises IndexError for a dimension that there is not."""
    if not -t.dim() <= dim < t.dim():
        raise IndexError(
            f"Invalid index {dim} for tensor of size {t.shape}: argument 'dim' must be from {-t.dim()} to {t.dim() - 1}"
        )
