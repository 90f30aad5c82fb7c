"""What autocast does to arguments of functions that are written in Python: a decorator says it at the function."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from . import _core

F = TypeVar("F", bound=Callable[..., Any])


def _to(value: Any, dtype: _core.dtype) -> Any:
    if isinstance(value, _core.Tensor) and value.dtype in (_core.float32, _core.bfloat16, _core.float16):
        return value.to(dtype)
    return value


def _casting(function: F, in_single: bool) -> F:
    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        lower = _core._autocast()
        if lower is None:
            return function(*args, **kwargs)
        dtype = _core.float32 if in_single else lower
        _core._set_autocast(None)
        try:
            return function(*(_to(a, dtype) for a in args), **{k: _to(v, dtype) for k, v in kwargs.items()})
        finally:
            _core._set_autocast(lower)

    return run  # type: ignore[return-value]


def in_single(function: F) -> F:
    """Under autocast the function gets its floats in float32."""
    return _casting(function, True)


def lowers(function: F) -> F:
    """Under autocast the function gets its floats in the dtype of that."""
    return _casting(function, False)
