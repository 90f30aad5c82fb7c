"""Functions written in Python as classes with `__torch_function__` see them: one call, which a class may answer."""

from __future__ import annotations

from functools import wraps

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

_asked: Any = _core.overrides.has_torch_function_variadic
_answer: Any = _core.overrides.handle_torch_function


def shown(function: _F) -> _F:
    """The function, which asks modes and the classes of its arguments first."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values()) if kwargs else args
        if _asked(*given):
            return _answer(call, given, *args, **kwargs)
        return function(*args, **kwargs)

    call._asks_classes = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
