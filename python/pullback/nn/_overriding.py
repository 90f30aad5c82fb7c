"""Functions written in Python as users see them: one call, which a class with `__torch_function__` may answer, and
whose errors have its name."""

from __future__ import annotations

import re
from functools import wraps

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

_asked: Any = _core.overrides.has_torch_function_variadic
_answer: Any = _core.overrides.handle_torch_function


_OWN = f"{__name__.partition('.')[0]}."
_NAMED = re.compile(r"[\w.]+(\(\))? ?: ")
_OF_OPERATOR = re.compile(r"(\w+)\(\): |linalg\.\w+: ")


def _ours(error: BaseException) -> bool:
    """Whether the error was raised by this library, on behalf of no function that it was given."""
    if type(error) not in _KINDS or len(error.args) != 1 or not isinstance(error.args[0], str):
        return False
    at = error.__traceback__
    while at is not None and f"{at.tb_frame.f_globals.get('__name__', '')}.".startswith(_OWN):
        at = at.tb_next
    return at is None and error.__traceback__ is not None


_KINDS = {AssertionError, AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError}


def _no_tensor(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """The sentence about the first argument that must be a tensor, and is none."""
    code, kinds = function.__code__, function.__annotations__
    given = {**dict(zip(code.co_varnames[: code.co_argcount], args, strict=False)), **kwargs}
    for at, (name, value) in enumerate(given.items()):
        if kinds.get(name) in ("Tensor", _core.Tensor) and not isinstance(value, _core.Tensor):
            return f"argument '{name}' (position {at + 1}) must be Tensor, not {type(value).__name__}"
    return None


def _is_function(name: str) -> bool:
    from . import functional

    return name in _core.functions or name in functional.__all__ or hasattr(_core.Tensor, name)


def _name_error(error: Exception, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Puts the name of the function that was called in the place of that of an operator which it is made of."""
    text, head = error.args[0], f"{function.__name__}()"
    if text.startswith(head):
        return
    text = text.removeprefix(f"{function.__name__}: ")
    if isinstance(error, (TypeError, AttributeError)):
        sentence = _no_tensor(_inner(function), args, kwargs)
        if sentence is not None:
            raise TypeError(f"{head}: {sentence}") from None
    found = _OF_OPERATOR.match(text)
    if found and (found[1] is None or _is_function(found[1])):
        text = text[found.end() :]
    elif _NAMED.match(text):
        return
    error.args = (f"{head}: {text}",)


def _inner(function: Any) -> Any:
    """The function below its decorators."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def name_module(error: BaseException, module: Any) -> None:
    """Puts the class of a module before an error of its `forward` that names nothing."""
    if _ours(error) and not _NAMED.match(error.args[0]):
        error.args = (f"{type(module).__name__}: {error.args[0]}",)


def shown(function: _F) -> _F:
    """The function, which asks modes and the classes of its arguments first, and whose name its errors have."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values()) if kwargs else args
        if _asked(*given):
            return _answer(call, given, *args, **kwargs)
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if _ours(error):
                _name_error(error, function, args, kwargs)
            raise

    call._asks_classes = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
