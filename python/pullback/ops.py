"""Operators made by `pullback.library.custom_op`: `pullback.ops.namespace.name`."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__: "list[str]" = ["load_library"]


class _Namespace:
    """The operators of a namespace."""

    def __init__(self, name: "str") -> None:
        self._name = name

    def __getattr__(self, name: "str") -> "Any":
        from .library.custom_ops import OPERATORS

        found = OPERATORS.get(f"{self._name}::{name}")
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        return found

    def __dir__(self) -> "list[str]":
        from .library.custom_ops import OPERATORS

        prefix = f"{self._name}::"
        return [name.removeprefix(prefix) for name in OPERATORS if name.startswith(prefix)]

    def __repr__(self) -> str:
        return f"<module 'pullback.ops.{self._name}'>"


def load_library(path: "Any") -> None:
    """Raises OSError, as for a file that is not there: operators in C++ are out of scope.

    >>> import pullback
    >>> pullback.ops.load_library("libmine.so")
    Traceback (most recent call last):
    OSError: load_library(): libmine.so has operators in C++, which are out of scope; library.custom_op makes one here
    """
    raise OSError(
        f"load_library(): {path} has operators in C++, which are out of scope; library.custom_op makes one here"
    )


def __getattr__(name: "str") -> "Any":
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _Namespace(name)
