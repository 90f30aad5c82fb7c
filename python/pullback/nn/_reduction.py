"""Words of the argument `reduction` and their numbers, by which PyTorch's losses pass them on."""

from .._warnings import warn as _warn
from ._composites.losses import word_of as _word_of

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a word: 0 for "none", 1 for "mean", 2 for "sum".

    Raises ValueError for other words.

    >>> from pullback.nn import _reduction
    >>> _reduction.get_enum("sum")
    2
    """
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction; give 'none', 'mean' or 'sum'")
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The word for the two flags that were there before it; both are true if they are None.

    >>> from pullback.nn import _reduction
    >>> _reduction.legacy_get_string(False, None, emit_warning=False)
    'sum'
    """
    word = _word_of(size_average, reduce)
    if emit_warning:
        _warn(f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.")
    return word


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number for the two flags that were there before the word."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
