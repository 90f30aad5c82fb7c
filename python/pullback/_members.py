"""How the package's modules get their names: from the extension module, or by loading a submodule when it is needed."""

from ._table import members as members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def missing(package: "str", name: "str") -> "str":
    """The text of the error for a name that a package does not have, with what to use instead if it is out of scope."""
    if name[0] != "_":
        from ._absent import explained, reason

        if reason(f"{package}.{name}".partition(".")[2]) is not None:
            return explained(package, name)
    return f"module {package!r} has no attribute {name!r}"


def lazily(package: "str", names: "tuple[str, ...]", contents: "dict[str, str] | None" = None) -> "Any":
    """A `__getattr__` for a package that loads these submodules when they are first used.

    `contents` has names that lie in a submodule, and in which.
    """

    def __getattr__(name: "str") -> "Any":
        holder = name if name in names else (contents or {}).get(name)
        if holder is None:
            raise AttributeError(missing(package, name))
        from importlib import import_module

        module = import_module(f"{package}.{holder}")
        if name in names:
            return module
        # Found once, it is an attribute like any other.
        found = getattr(module, name)
        setattr(import_module(package), name, found)
        return found

    return __getattr__


def adopt(module: "dict[str, Any]") -> None:
    """Gives a public module the classes that it takes from private files beside it: programs and pickles name it."""
    name = module["__name__"]
    private = (f"{name}._", f"{name.rpartition('.')[0]}._")
    for value in list(module.values()):
        if isinstance(value, type) and value.__module__.startswith(private):
            value.__module__ = name
