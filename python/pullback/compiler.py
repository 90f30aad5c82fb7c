"""The compiler of PyTorch, which is not here: functions run as they are, operator by operator."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, overload

from ._absent import absent

__all__ = [
    *("allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable"),
    *("is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset"),
    *("graph_break", "set_stance"),
]

_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def compile(model: _F, **options: Any) -> _F: ...
@overload
def compile(model: None = None, **options: Any) -> Callable[[_F], _F]: ...
def compile(model: Any = None, **options: Any) -> Any:
    """The function or module as it is: nothing is compiled yet. Without one, a decorator that gives it back.

    It has the same results and the same transforms. `pullback.func.trace` records a program once, which then runs
    without Python between its operators.

    >>> import pullback
    >>> f = pullback.compile(lambda x: x.sin() + 1, fullgraph=True)
    >>> f(pullback.zeros(1))
    tensor([1.])

    Raises TypeError for an argument that is not known, or a model that cannot be called.
    """
    known = {"fullgraph", "dynamic", "backend", "mode", "options", "disable"}
    if unknown := sorted(set(options) - known):
        raise TypeError(f"compile(): got an unexpected keyword argument '{unknown[0]}'")
    if model is None:
        return lambda f: compile(f, **options)
    if not callable(model):
        raise TypeError(f"compile(): a function or a module is expected, got {type(model).__name__}")
    return model


@overload
def disable(fn: _F, recursive: bool = True, **options: Any) -> _F: ...
@overload
def disable(fn: None = None, recursive: bool = True, **options: Any) -> Callable[[_F], _F]: ...
def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    """The function as it is, or a decorator that gives it back.

    >>> import pullback
    >>> @pullback.compiler.disable(recursive=False)
    ... def f(x):
    ...     return x
    >>> f(1)
    1
    """
    return (lambda f: f) if fn is None else fn


class set_stance:
    """How compiled functions are to behave, as a call, a context or a decorator. None is compiled, so all behave alike.

    >>> import pullback
    >>> with pullback.compiler.set_stance("force_eager"):
    ...     pullback.compile(lambda x: x + 1)(1)
    2

    Raises RuntimeError for a word that is no stance.
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        known = (
            "default",
            "force_eager",
            "eager_on_recompile",
            "fail_on_recompile",
            "eager_then_compile",
            "aot_eager_then_compile",
        )
        if stance not in known:
            raise RuntimeError(f"set_stance(): invalid stance {stance!r}; give one of {', '.join(known)}")

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None

    def __call__(self, fn: _F) -> _F:
        return fn


def allow_in_graph(fn: _F) -> _F:
    """The function as it is."""
    return fn


def assume_constant_result(fn: _F) -> _F:
    """The function as it is."""
    return fn


def is_compile_supported(device_type: Any) -> bool:
    """False: nothing is compiled for any device."""
    return False


def is_compiling() -> bool:
    """False."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def cudagraph_mark_step_begin() -> None:
    """Does nothing."""


def graph_break(msg: str = "") -> None:
    """Does nothing: there is no graph to end."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The compilers: none."""
    return []


def reset() -> None:
    """Does nothing: there are no compiled programs to forget."""


class OptimizedModule:
    """The class of what `compile` makes of a module in PyTorch. Here it gives the module back, so nothing is one."""


class FlopCounterMode:
    """Counts operations in PyTorch; here it can be made, with no counts."""

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def get_total_flops(self) -> int:
        """0: nothing was counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """No counts."""
        return {"Global": {}}

    def __enter__(self) -> None:
        raise NotImplementedError(
            "FlopCounterMode: operations are not counted; profiler.profile measures how long operators take"
        )

    def __exit__(self, *error: object) -> None: ...


class _Switches(ModuleType):
    """Switches of a compiler that is not there: all can be set, and what was not set is one more set of them, false."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self.__name__} has no attribute {name!r}")
        made = _Switches(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __bool__(self) -> bool:
        return False

    def patch(self, *args: Any, **options: Any) -> set_stance:
        """Does nothing, as a context manager and as a decorator."""
        return set_stance()


config = _Switches("torch._dynamo.config")
__getattr__ = absent("torch.compiler", __all__)
