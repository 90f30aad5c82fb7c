"""Operators under the name that PyTorch's own Python code calls them by."""

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: "str") -> "Any":
    import pullback

    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _core.functions.get(name)
    return getattr(pullback, name) if found is None else found
