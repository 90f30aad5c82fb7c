"""Functions written in Python as classes with `__torch_function__` see them: one call, which a class may answer."""

from __future__ import annotations

from functools import wraps

from .. import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Probe(Tensor):
    """Answers a call, unless a default handler runs, whose calls no class answers."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _Probe


_PROBE: Any = _Probe([0.0])


def _has_say(kind: type) -> bool:
    for c in kind.__mro__:
        if c is Tensor:
            return False
        if "__torch_function__" in c.__dict__:
            return c.__dict__["__torch_function__"] is not None
    return False


def shown(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which asks the classes of its tensors first, subclasses before others."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for a in (*args, *kwargs.values()):
            if type(a) is not Tensor and isinstance(a, Tensor) and _has_say(type(a)):
                break
        else:
            return function(*args, **kwargs)
        if _PROBE.dim() is not _Probe:
            return function(*args, **kwargs)
        return _answered(call, args, kwargs)

    return call


def _answered(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found: list[Any] = []
    for a in (*args, *kwargs.values()):
        kind = type(a)
        if not isinstance(a, Tensor) or not _has_say(kind) or any(type(f) is kind for f in found):
            continue
        at = next((i for i, f in enumerate(found) if issubclass(kind, type(f))), len(found))
        found.insert(at, a)
    types = tuple(type(f) for f in found)
    for f in found:
        out = f.__torch_function__(call, types, args, kwargs)
        if out is not NotImplemented:
            return out
    names = ", ".join(str(t) for t in types)
    raise TypeError(
        f"Multiple dispatch failed for 'pullback.nn.functional.{call.__name__}'; all __torch_function__ handlers "
        "returned "
        f"NotImplemented: {names}"
    )
