"""`custom_op`: a function in any language as an operator of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from ._running import Call, Rules
from .schema import Schema, parse_schema, schema_of

__all__ = [
    "CustomOpDef",
    "custom_op",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]

Devices = str | Iterable[str] | None
OPERATORS: dict[str, CustomOpDef] = {}


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Devices = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Makes a function an operator, which transforms do not look into. Also a decorator.

    The function may use NumPy or another language. It gets plain tensors, and must return new ones, no inputs or views
    of them. What else it should do under transforms is registered with the result, a `CustomOpDef`.

    Args:
        name: ``"namespace::name"``; the operator is also ``pullback.ops.namespace.name``.
        fn: the function; without it, a decorator is returned.
        mutates_args: names of the tensors that the function writes to, ``()`` for none or ``"unknown"`` for all.
        device_types: the devices that the function is for; all by default. This library has "cpu".
        schema: parameters and results, such as ``"(Tensor x, int n=1) -> Tensor"``; by default from the type hints.
        tags: accepted and without effect.

    Raises:
        ValueError: if the name has no namespace, or the hints or the schema cannot be understood.

    >>> import pullback
    >>> import numpy as np
    >>> @pullback.library.custom_op("docs::sin", mutates_args=())
    ... def numpy_sin(x: pullback.Tensor) -> pullback.Tensor:
    ...     return pullback.from_numpy(np.sin(x.numpy()))
    >>> @numpy_sin.register_vmap
    ... def _(info, in_dims, x):
    ...     return numpy_sin(x), in_dims[0]
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(inputs[0])
    >>> def backward(ctx, grad):
    ...     return grad * ctx.saved_tensors[0].cos()
    >>> numpy_sin.register_autograd(backward, setup_context=setup_context)
    >>> pullback.func.vmap(pullback.func.grad(numpy_sin))(pullback.zeros(2))
    tensor([1., 1.])
    """
    del tags

    def define(function: Callable[..., Any]) -> CustomOpDef:
        namespace, separator, short = name.partition("::")
        if not (separator and namespace.isidentifier() and short.isidentifier()):
            raise ValueError(
                f"Expected there to be a namespace in {name}, i.e. the operator name should look like ns::foo"
            )
        if schema is None:
            made = schema_of(function, mutates_args, name)
        else:
            made = parse_schema(schema, name)
            _check_mutated(made, mutates_args)
        operator = CustomOpDef(name, made, function, device_types)
        OPERATORS[name] = operator
        return operator

    return define if fn is None else define(fn)


def _check_mutated(schema: Schema, mutates_args: str | Iterable[str]) -> None:
    written = {schema.parameters[i].name for i in schema.mutated}
    if mutates_args != "unknown" and written != set(mutates_args):
        raise ValueError(
            f"custom_op(): argument 'mutates_args' expected the arguments that the schema {schema} marks with '!', "
            f"{sorted(written)}, got {sorted(mutates_args)}"
        )


def _names(device_types: Devices, what: str) -> tuple[str | None, ...]:
    if device_types is None:
        return (None,)
    names = (device_types,) if isinstance(device_types, str) else tuple(device_types)
    for name in names:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{what}(): argument 'device_types' expected names such as 'cpu', got {name!r}")
    return names


class CustomOpDef:
    """An operator made by `custom_op`. Call it like the function.

    Without a rule for `vmap`, the members of a batch are computed one by one; the first time warns, and `loops` counts
    the members.
    """

    def __init__(self, name: str, schema: Schema, fn: Callable[..., Any], device_types: Devices) -> None:
        import functools

        functools.update_wrapper(self, fn)
        self._schema = schema
        self._qualname = name
        self._namespace, _, self._name = name.partition("::")
        self._kernels: dict[str | None, Callable[..., Any]] = dict.fromkeys(_names(device_types, "custom_op"), fn)
        self._disabled: set[str] = set()
        self._fallback = fn
        self._fake: Callable[..., Any] | None = None if schema.returns else lambda *args, **kwargs: None
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None
        self._warned = False
        self._unverified = os.environ.get("PULLBACK_VERIFY") == "first"
        self.loops = 0
        """How many members of batches were computed one by one."""
        self._runner = _core.autograd._Operator(type(name, (Rules,), {"__module__": fn.__module__}))

    @property
    def default(self) -> CustomOpDef:
        """The operator itself: PyTorch's name of its only overload."""
        return self

    def register_kernel(self, device_types: Devices, fn: Callable[..., Any] | None = None, /) -> Callable[..., Any]:
        """Gives another implementation for some devices; None stands for all. Also a decorator."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            for device in _names(device_types, "register_kernel"):
                self._kernels[device] = function
            return function

        return register if fn is None else register(fn)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Within this context the kernel of a device is not used (or is again); the decorated function is instead."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Gives a function that makes results of the right shapes and dtypes, without data; also a decorator.

        It is used where a batch has no members, and by `opcheck`.
        """
        self._fake = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Gives the rule for derivatives.

        Args:
            backward: called as ``backward(ctx, *grads)`` with one gradient for each result (a list of them for a list);
                returns one for each positional argument (a list for a list), None for those that are no tensors.
                Forward mode uses its transpose.
            setup_context: called as ``setup_context(ctx, inputs, output)`` to save what `backward` needs. Operators
                with arguments by name get these as ``keyword_only_inputs``.

        Raises:
            RuntimeError: for an operator that writes to its arguments.
        """
        if self._schema.mutated:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self._qualname} with schema "
                f"{self._schema}. Please create a functional operator and register an autograd formula for that."
            )
        self._backward, self._setup_context = backward, setup_context
        self._unverified = os.environ.get("PULLBACK_VERIFY") == "first"

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Callable[..., Any]:
        """Gives the rule for batches; also a decorator.

        Args:
            func: called as ``func(info, in_dims, *args, **kwargs)``. ``info`` has `batch_size` and `randomness`;
                ``in_dims`` has the batch dimension of each argument, None if it has none. It returns the result for the
                whole batch, and where its batch dimension is.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._vmap = function
            return function

        return register if func is None else register(func)

    def _kernel(self, device: str = "cpu") -> Callable[..., Any]:
        if device in self._disabled:
            return self._fallback
        found = self._kernels.get(device) or self._kernels.get(None)
        if found is None:
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the '{device.upper()}' backend: it has kernels "
                f"for {sorted(map(str, self._kernels))}; add one with register_kernel('{device}')"
            )
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._unverified:
            self._verify(args, kwargs)
        call = Call(self, self._schema.bind(args, kwargs))
        return call.start()

    def _verify(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        from ..autograd import _verify

        # What writes to its arguments has no rule for derivatives.
        self._unverified = False
        if not self._schema.mutated:
            rules = {"backward": "missing" if self._backward is None else "written", "jvp": "missing"}
            named = _verify.Named(self._qualname, self, rules)
            self._unverified = not _verify.at_first_use(named, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        from types import MethodType

        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def _is_of_a_library_elsewhere(op: CustomOpDef | str) -> bool:
    """Whether a package registers a rule for an operator of its own compiled library, which cannot be loaded here."""
    if not isinstance(op, str) or op in OPERATORS:
        return False
    own = sys._getframe(2).f_globals.get("__name__", "").partition(".")[0]
    return op.partition("::")[0] == own and not any(name.startswith(f"{own}::") for name in OPERATORS)


def _found(op: CustomOpDef | str, what: str) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if not isinstance(op, str):
        raise ValueError(f"{what}(op): got unexpected type for op: {type(op)}")
    if op not in OPERATORS:
        raise RuntimeError(f"{what}(): there is no operator {op}; define it with custom_op()")
    return OPERATORS[op]


def _check_library(lib: Any, what: str) -> None:
    """`lib` says for how long PyTorch keeps a rule; here it is kept as long as its operator."""
    if lib is not None:
        from .libraries import Library

        if not isinstance(lib, Library):
            raise TypeError(f"{what}(): argument 'lib' must be a Library or None, got {type(lib).__name__}")


def register_kernel(
    op: CustomOpDef | str, device_types: Devices, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """`CustomOpDef.register_kernel` of an operator or its name."""
    _check_library(lib, "register_kernel")
    return _found(op, "register_kernel").register_kernel(device_types, func)


def register_fake(
    op: CustomOpDef | str,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Any = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """`CustomOpDef.register_fake` of an operator or its name; also a decorator.

    With `allow_override=False`, an operator that has one raises RuntimeError.
    """
    _check_library(lib, "register_fake")
    if _is_of_a_library_elsewhere(op):
        return (lambda f: f) if func is None else func
    found = _found(op, "register_fake")
    if not allow_override and found._fake is not None and found._schema.returns:
        raise RuntimeError(f"register_fake(): {found._qualname} has a fake already; allow_override=True replaces it")
    return found.register_fake if func is None else found.register_fake(func)


def register_autograd(
    op: CustomOpDef | str,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Any = None,
) -> None:
    """`CustomOpDef.register_autograd` of an operator or its name."""
    _check_library(lib, "register_autograd")
    if _is_of_a_library_elsewhere(op):
        return
    _found(op, "register_autograd").register_autograd(backward, setup_context=setup_context)


def register_vmap(op: CustomOpDef | str, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """`CustomOpDef.register_vmap` of an operator or its name; also a decorator."""
    _check_library(lib, "register_vmap")
    return _found(op, "register_vmap").register_vmap(func)
