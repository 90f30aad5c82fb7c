"""Operators made by `pullback.library.custom_op`: `pullback.ops.namespace.name`."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__: "list[str]" = []


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


def __getattr__(name: "str") -> "Any":
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _Namespace(name)
