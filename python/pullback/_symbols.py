"""Numbers that PyTorch's compiler does not know yet while it records. Here every size is a number, so these functions
are those of Python, and nothing is an instance of the classes.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

__all__ = [
    *("SymBool", "SymFloat", "SymInt", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not"),
    *("sym_sqrt", "sym_sum"),
]


class _Symbol:
    def __init__(self, *args: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__}(): sizes are numbers here; use {self._number}")

    _number = "a number"


class SymInt(_Symbol):
    """An int that is not known yet, which nothing is here: `isinstance(n, SymInt)` is False."""

    _number = "an int"


class SymFloat(_Symbol):
    """A float that is not known yet, which nothing is here."""

    _number = "a float"


class SymBool(_Symbol):
    """A bool that is not known yet, which nothing is here."""

    _number = "a bool"


def sym_int(a: Any) -> int:
    """`int(a)`.

    >>> import pullback
    >>> pullback.sym_int(2.5), pullback.sym_max(2, 3.0), pullback.sym_not(True)
    (2, 3.0, False)
    """
    return int(a)


def sym_float(a: Any) -> float:
    """`float(a)`."""
    return float(a)


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers, a float if one of them is."""
    return _as_both(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, a float if one of them is."""
    return _as_both(min(a, b), a, b)


def _as_both(found: Any, a: Any, b: Any) -> Any:
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_not(a: Any) -> bool:
    """`not a`."""
    return not a


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t if b else f`."""
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return math.sqrt(a)


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return sum(args)
