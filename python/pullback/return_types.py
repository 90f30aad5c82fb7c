"""Classes of results with named fields, such as `pullback.return_types.max`. They are made when first needed."""

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: "str") -> "Any":
    try:
        return _core.return_types[name]
    except KeyError:
        raise AttributeError(f"module 'pullback.return_types' has no attribute {name!r}") from None
