"""Where the names of the package come from: the extension module, by dotted path."""

from . import _core

TYPE_CHECKING = False  # importing `typing` would take as long as everything else here
if TYPE_CHECKING:
    from typing import Any


def members(path: "str") -> "dict[str, Any]":
    """What belongs into the module `pullback.<path>`: operators of the table, and a module of `_core` of that name.

    The operator `linalg.solve` is `solve` of `linalg`; the module `_core.func` holds what is not in the table.
    """
    prefix = f"{path}." if path else ""
    found = {}
    for name, function in _core.functions.items():
        if name.startswith(prefix) and "." not in (last := name[len(prefix) :]):
            found[last] = function
    extra = getattr(_core, path.replace(".", "_"), None) if path else None
    if extra is not None:
        found.update((name, getattr(extra, name)) for name in extra.__all__ if not name.startswith("_"))
    return found
