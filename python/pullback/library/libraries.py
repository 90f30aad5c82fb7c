"""`Library`: operators that are declared by a schema first, and get their functions afterwards."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from .custom_ops import OPERATORS, CustomOpDef, _check_library
from .schema import parse_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Library", "define", "impl"]

# Keys of the dispatcher: the devices of kernels, and what is not run by operators that derivatives are known of.
_KERNELS = {"CPU": "cpu", "CompositeExplicitAutograd": None, "CompositeExplicitAutogradNonFunctional": None}
_KINDS = ("DEF", "FRAGMENT", "IMPL")


class _Declared(CustomOpDef):
    """An operator without a function: `Library.impl` gives it some."""

    _composite: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._composite is not None:
            return self._composite(*args, **kwargs)
        return super().__call__(*args, **kwargs)


class Library:
    """Declares operators of a namespace, ``pullback.ops.namespace.name``, and gives them functions.

    Args:
        ns: the namespace.
        kind: "DEF" or "FRAGMENT" to declare operators, or "IMPL".
        dispatch_key: what `impl` is for where it is not told.

    Raises:
        ValueError: for another kind.

    >>> import pullback
    >>> library = pullback.library.Library("docs_library", "DEF")
    >>> library.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> pullback.func.grad(pullback.ops.docs_library.twice)(pullback.tensor(3.0))
    tensor(2.)
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Library(): argument 'kind' must be one of {', '.join(_KINDS)}, got {kind!r}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._names: set[str] = set()

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declares an operator by its schema, such as ``"name(Tensor x, int n=1) -> Tensor"``; gives its name.

        Raises:
            RuntimeError: if there is an operator of this name.
            ValueError: if the schema cannot be understood.
        """
        del alias_analysis, tags
        name = schema.partition("(")[0].strip()
        _declare(f"{self.ns}::{name.partition('.')[0]}", schema)
        self._names.add(f"{self.ns}::{name.partition('.')[0]}")
        return name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Gives a function to an operator of the namespace, by its name or as an object.

        Args:
            op_name: the operator.
            fn: the function.
            dispatch_key: "CPU" or "CompositeExplicitAutograd" for a kernel, "CompositeImplicitAutograd" for a function
                of operators that have derivatives, "Meta" for shapes; other devices are never asked.
            with_keyset: must be False.
            allow_override: whether another function may be there already.

        Raises:
            NotImplementedError: for operators of the table, and keys of rules: `register_autograd` gives these.
            RuntimeError: if there is no such operator.
        """
        del with_keyset, allow_override
        name = op_name if isinstance(op_name, str) else getattr(op_name, "_qualname", str(op_name))
        name = name if "::" in name else f"{self.ns}::{name}"
        _implement(name.partition(".")[0], fn, dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")

    def _destroy(self) -> None:
        """Takes back what was declared."""
        for name in self._names:
            OPERATORS.pop(name, None)
        self._names.clear()


def _declare(name: str, schema: str) -> None:
    if name in OPERATORS:
        raise RuntimeError(f"define(): there is an operator {name} already; name another, or only implement it")

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name} was declared and has no function; give it one with impl()")

    made = _Declared(name, parse_schema(schema, name), missing, None)
    made._kernels.clear()
    OPERATORS[name] = made


def _implement(name: str, fn: Callable[..., Any], key: str) -> None:
    if key not in _KERNELS and key not in ("CompositeImplicitAutograd", "Meta") and "Autograd" not in key:
        return
    found = OPERATORS.get(name)
    if name.startswith("aten::") or "Autograd" in key.replace("CompositeExplicitAutograd", "").replace(
        "CompositeImplicitAutograd", ""
    ):
        raise NotImplementedError(
            f"impl(): {name} has no function for {key} here: operators of the table stay as they are, and derivatives "
            "are given with library.register_autograd"
        )
    if not isinstance(found, CustomOpDef):
        raise RuntimeError(f"impl(): there is no operator {name}; define() it first")
    if key == "Meta":
        found.register_fake(fn)
    elif key == "CompositeImplicitAutograd" and isinstance(found, _Declared):
        found._composite = fn
    else:
        found.register_kernel(_KERNELS.get(key), fn)


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Declares the operator ``"namespace::name"`` by a schema without a name, such as ``"(Tensor x) -> Tensor"``."""
    del tags
    _declare(qualname, schema)
    if lib is not None:
        lib._names.add(qualname)


def impl(
    qualname: str,
    types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Gives a function to the operator ``"namespace::name"`` for devices such as "cpu", or all for "default".

    Also a decorator. Keys of the dispatcher are understood as by `Library.impl`.
    """

    _check_library(lib, "impl")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for kind in [types] if isinstance(types, str) else types:
            key = {"cpu": "CPU", "default": "CompositeExplicitAutograd"}.get(kind, kind)
            _implement(qualname, function, key)
        return function

    return register if func is None else register(func)


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A `Library` that is taken back at the end of the context."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()
