"""TorchScript's decorators, which give back what they get: functions run as Python, with all transforms.

`pullback.func.trace` records a program. Saving compiled programs is out of scope: save a module's `state_dict()`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._absent import absent

__all__ = [
    *(
        "Attribute",
        "CompilationUnit",
        "Error",
        "Final",
        "annotate",
        "export",
        "fork",
        "freeze",
        "ignore",
        "is_scripting",
        "is_tracing",
        "isinstance",
    ),
    *(
        "optimize_for_inference",
        "optimized_execution",
        "script",
        "script_if_tracing",
        "script_method",
        "trace",
        "trace_module",
        "unused",
    ),
    *("RecursiveScriptModule", "ScriptFunction", "ScriptWarning", "TopLevelTracedModule", "TracedModule"),
    *("TracerWarning", "wait"),
]
_isinstance = isinstance


class ScriptWarning(Warning):
    """What TorchScript warns of; nothing does here, and programs may filter it."""


class TracerWarning(Warning):
    """What `torch.jit.trace` warns of; nothing does here, and programs may filter it."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Does nothing."""


class Error(RuntimeError):
    """What a compiled program raises; nothing does here."""


class _Compiled:
    """The base of classes of compiled programs, of which there are none."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError(f"jit.{type(self).__name__}(): programs are not compiled; use the function or module itself")


class ScriptFunction(_Compiled):
    """A compiled function: nothing is one."""


class RecursiveScriptModule(_Compiled):
    """A compiled module: nothing is one."""


class TracedModule(_Compiled):
    """A traced module: nothing is one."""


class TopLevelTracedModule(TracedModule):
    """A traced module: nothing is one."""


class CompilationUnit(_Compiled):
    """Compiled functions: there are none."""


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """The function, class or module as it is.

    >>> import pullback
    >>> @pullback.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(pullback.ones(1))
    tensor([2.])
    """
    return obj


def trace(func: Any = None, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The function or module as it is; `pullback.func.trace` records one. Without arguments, a decorator."""
    return script if func is None else func


def trace_module(mod: Any, inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The module as it is."""
    return mod


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A function as it is, or a decorator that gives it back."""
    return drop if callable(drop) else lambda function: function


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is."""
    return fn


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is."""
    return fn


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is."""
    return fn


# Marks that PyTorch's own libraries put on functions.
_overload = _overload_method = _script_if_tracing = script_if_tracing


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The method as it is."""
    return fn


def freeze(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """The module as it is."""
    return mod


def optimize_for_inference(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """The module as it is."""
    return mod


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


def Attribute(value: Any, type: Any = None) -> Any:
    """The value."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type."""
    return _isinstance(obj, target_type)


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a call, for `wait`: it runs at once."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """What `fork` gave."""
    return future


def optimized_execution(should_optimize: bool) -> AbstractContextManager[None]:
    """A context that changes nothing."""
    return nullcontext()


def __getattr__(name: str) -> Any:
    if name == "Final":
        from typing import Final

        return Final
    if name == "ScriptModule":
        from . import nn

        return getattr(nn, "Module", None) or _absent(name)
    return _absent(name)


_absent = absent("torch.jit", __all__)
