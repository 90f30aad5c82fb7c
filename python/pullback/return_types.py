"""Classes of results with named fields, such as `pullback.return_types.max`. They are made when first needed."""

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: "str") -> "Any":
    found = _core.return_type(name)
    if found is None:
        raise AttributeError(f"module 'pullback.return_types' has no attribute {name!r}")
    return found


def __dir__() -> "list[str]":
    return sorted(_core.return_type_names())
