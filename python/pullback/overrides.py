"""Answering calls for a class or a block: `__torch_function__`, modes, and which functions can be answered.

A class with the classmethod `__torch_function__(cls, func, types, args=(), kwargs=None)` hears of every function,
method and attribute of tensors that one of its objects is given to; what it returns is the result, and NotImplemented
leaves the call to others. A `TorchFunctionMode` hears of all calls of its thread while it is entered.
"""

from __future__ import annotations

import functools
import inspect
import sys
from contextlib import contextmanager
from importlib import import_module
from types import BuiltinFunctionType

from . import _core
from ._core import Tensor
from ._warnings import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

_native: Any = _core.overrides
has_torch_function = _native.has_torch_function
has_torch_function_unary = _native.has_torch_function_unary
has_torch_function_variadic = _native.has_torch_function_variadic
handle_torch_function = _native.handle_torch_function
_get_overloaded_args = _native._get_overloaded_args

__all__ = [
    *("BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions"),
    *("get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function"),
    *("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like"),
    *("is_tensor_method_or_property", "resolve_name", "wrap_torch_function"),
]


class _PlainMethodWarning(DeprecationWarning, UserWarning):
    """Where PyTorch gives one or the other, by how the function that was called is written."""


def _warn_of_plain_method() -> None:
    warn(
        "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, "
        "please define it as a classmethod.",
        _PlainMethodWarning,
    )


# Modes


class TorchFunctionMode:
    """Hears of all calls of its thread between `__enter__` and `__exit__`, also of those that make tensors.

    A subclass defines the plain method `__torch_function__(self, func, types, args=(), kwargs=None)`, which calls
    `func(*args, **kwargs)` for the library's own answer. While it runs the mode is not entered, so that its calls reach
    the modes outside of it; `with self:` enters it again.

    >>> import pullback
    >>> class Doubled(pullback.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         out = func(*args, **(kwargs or {}))
    ...         return out * 2 if func is pullback.ones else out
    >>> with Doubled():
    ...     x = pullback.ones(2)
    >>> x
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        """Subclasses need not call it."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a call of `func` gives. Raises NotImplementedError: subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_function__, which a mode answers calls by")

    def __enter__(self) -> Any:
        _native._push_mode(self)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _native._pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A mode of these arguments: the old spelling of a call of the class."""
        warn("modes are no longer pushed: enter an object of the class by a with statement")
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that gives the library's own answer to each call."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """`func(*args, **kwargs)`"""
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    modes = _native._modes()
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[Any]:
    found: list[Any] = _native._modes()
    return found


def _is_torch_function_mode_enabled() -> bool:
    return bool(_native._modes()) and _native._asking() < 2


_push_mode = _native._push_mode
_pop_mode = _native._pop_mode


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """Leaves the innermost mode for a block."""
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


class _Asking:
    """Sets who is asked on this thread, for a block."""

    _level = 0

    def __enter__(self) -> Any:
        self._before = _native._set_asking(max(self._level, _native._asking()))
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _native._set_asking(self._before)


class DisableTorchFunctionSubclass(_Asking):
    """Classes answer no calls inside of the block; modes do."""

    _level = 1


class DisableTorchFunction(_Asking):
    """Neither classes nor modes answer calls inside of the block."""

    _level = 2


class _EnableTorchFunction:
    """Classes and modes answer calls again, until the object goes."""

    def __init__(self) -> None:
        self._before = _native._set_asking(0)

    def __del__(self) -> None:
        _native._set_asking(self._before)


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Classes and modes answer calls inside of the block, also where a handler has turned that off."""
    before = _native._set_asking(0)
    try:
        yield
    finally:
        _native._set_asking(before)


# Which functions can be answered. The operator table and the modules say it; nothing here lists names of functions.

# Modules with functions of tensors, behind `pullback`. A function that several have is called as in the first.
_MODULES = ("nn.functional", "functional", "nn.init", "", "autograd", "linalg", "fft", "special")
_METHODS = ("method_descriptor", "wrapper_descriptor")
_ATTRIBUTES = ("getset_descriptor", "property")
# What Python's object model asks of any object, what asks by other methods, and what makes plain tensors for handlers.
_OF_OBJECTS = {"__dict__", "__weakref__", "__hash__", "__delitem__", "__torch_function__", "__iter__", "as_subclass"}


@functools.cache
def _tensor_functions() -> set[Any]:
    """Functions of the table that take a tensor."""
    found: set[Any] = set()
    for entry in _core.operator_table():
        kinds = [str(p["kind"]).lower() for p in entry["params"]]
        if any("tensor" in kind or "operand" in kind for kind in kinds):
            names = (entry["name"], *entry["aliases"])
            spellings = (n + end for n in names for end in ("", "_"))
            found.update(_core.functions[n] for n in spellings if n in _core.functions)
    return found


def _asks(function: Any) -> bool:
    """Whether a public function asks the classes of its arguments."""
    if isinstance(function, BuiltinFunctionType):
        return function in _tensor_functions() or function in _native._announced
    return getattr(function, "_asks_classes", False) is True


def _functions(path: str) -> Iterator[tuple[str, Any]]:
    """The public functions of a module, by name."""
    module = import_module(f"pullback.{path}" if path else "pullback")
    for name in getattr(module, "__all__", dir(module)):
        found = getattr(module, name)
        if name[0] != "_" and callable(found) and not isinstance(found, type):
            yield name, found


@functools.cache
def _collected() -> tuple[dict[Any, list[Any]], dict[Any, str], set[Any]]:
    """What can be answered, by namespace; its names; and what cannot."""
    overridable: dict[Any, list[Any]] = {}
    names: dict[Any, str] = {}
    ignored: set[Any] = set()
    for path in _MODULES:
        prefix = f"pullback.{path}" if path else "pullback"
        for name, function in _functions(path):
            if function not in names or names[function].rpartition(".")[2] != getattr(function, "__name__", "") == name:
                names[function] = f"{prefix}.{name}"
            if not _asks(function):
                ignored.add(function)
                continue
            here = overridable.setdefault(import_module(prefix), [])
            if function not in here:
                here.append(function)
    for name, attribute in vars(Tensor).items():
        kind = type(attribute).__name__
        if name in _OF_OBJECTS or not (kind in (*_METHODS, *_ATTRIBUTES) or getattr(attribute, "_asks_classes", False)):
            if callable(attribute):
                ignored.add(attribute)
            continue
        is_method = kind not in _ATTRIBUTES
        getter = attribute if is_method else attribute.__get__
        if getter not in names:
            overridable.setdefault(Tensor if is_method else attribute, []).append(getter)
        names.setdefault(getter, f"pullback.Tensor.{name}" + ("" if is_method else ".__get__"))
        if not is_method:
            names.setdefault(attribute.__set__, f"pullback.Tensor.{name}.__set__")
    return overridable, names, ignored


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that classes and modes can answer: lists, by the module or class that they are in.

    The getter of an attribute stands by itself, under the attribute.

    >>> import pullback
    >>> pullback.sin in pullback.overrides.get_overridable_functions()[pullback]
    True
    """
    package, as_torch = sys.modules[__package__], sys.modules.get(f"{__package__}.as_torch")
    # Under `as_torch` programs know the package as another module of its names.
    known = sys.modules.get("torch", package) if as_torch is not None and as_torch.is_installed() else package
    return {known if n is package else n: list(functions) for n, functions in _collected()[0].items()}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """The public functions and methods that no class can answer: those that make tensors of what is none, settings,
    and what is written in operators that classes answer one by one."""
    return set(_collected()[2])


def _signature(function: Any) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:
        any_kind = (("args", inspect.Parameter.VAR_POSITIONAL), ("kwargs", inspect.Parameter.VAR_KEYWORD))
        return inspect.Signature([inspect.Parameter(name, kind) for name, kind in any_kind])


def _dummy(function: Any) -> Callable[..., int]:
    signature = _signature(function)
    if getattr(function, "__name__", "") == "__get__":
        signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)])

    def override(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    override.__signature__ = signature  # type: ignore[attr-defined]
    return override


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., int]]:
    """For each function that can be answered, one of the same signature that returns -1.

    >>> import inspect, pullback
    >>> inspect.signature(pullback.overrides.get_testing_overrides()[pullback.mm])
    <Signature (input, mat2)>
    """
    return {function: _dummy(function) for functions in _collected()[0].values() for function in functions}


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The dotted name of a function that a handler was given, or None if it is none that can be answered.

    Where the module `torch` of the process is this library (`as_torch`), names begin with that.

    >>> import pullback
    >>> pullback.overrides.resolve_name(pullback.Tensor.shape.__get__)
    'pullback.Tensor.shape.__get__'
    """
    name = _collected()[1].get(f)
    if name is not None and getattr(sys.modules.get("torch"), "Tensor", None) is Tensor:
        return "torch" + name.removeprefix("pullback")
    return name


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function that a handler was given is a method of tensors, or reads an attribute of them."""
    name = _collected()[1].get(func)
    kind = getattr(func, "__name__", "")
    of_tensors = name is not None and name.startswith("pullback.Tensor.")
    return kind == "__get__" or (of_tensors and kind != "__set__")


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The getters whose results keep their class: those of attributes that hold what somebody put there."""
    names = ("_base", "grad", "_grad")
    return {vars(Tensor)[name].__get__ for name in names if name in vars(Tensor)}


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor, or of a class with `__torch_function__`.

    >>> import pullback
    >>> pullback.overrides.is_tensor_like(1.0)
    False
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Lets classes answer calls of a function of one's own.

    `dispatcher` is called with the function's arguments and gives those whose classes are asked.

    >>> import pullback
    >>> @pullback.overrides.wrap_torch_function(lambda x: (x,))
    ... def twice(x):
    ...     return x * 2
    """

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def _make_wrapper_subclass(
    cls: Any,
    size: Any,
    *,
    strides: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """What `Tensor._make_wrapper_subclass` gives: its values have no data, so its device is `meta`."""
    if layout not in (None, _core.strided):
        raise ValueError(f"_make_wrapper_subclass(): argument 'layout' must be strided, got {layout}")
    if device is not None:
        _core.device(device)
    handler = inspect.getattr_static(cls, "__torch_function__", None)
    if handler in (None, vars(Tensor)["__torch_function__"], _native._disabled_torch_function_impl):
        raise TypeError(
            f"_make_wrapper_subclass(): {cls.__name__} must define __torch_function__ and answer every operator by "
            "it, for a wrapper has no data, and there is no __torch_dispatch__ here. Tensor._make_subclass(cls, data) "
            "makes an object that shares the memory of data"
        )
    data: Any = _core.functions["empty"](size, dtype=dtype, device="meta")
    if strides is not None:
        reach = sum((n - 1) * s for n, s in zip(data.shape, strides, strict=True)) + 1 if data.numel() else 0
        data = _core.functions["empty"](reach, dtype=dtype, device="meta").as_strided(data.shape, strides)
    return Tensor._make_subclass(cls, data, requires_grad)
