"""Writes the type stubs of the extension module: ``python -m pullback._stubs [--check] [python/pullback/_core.pyi]``.

Operators come from the table, with types by the kinds of their parameters. What is written in Rust by hand is found in
the module itself and typed by `_stub_signatures`, or else as `Any`. Besides `_core.pyi` there is one for each module
that the table or Rust fills, such as `_core_linalg.pyi` for `pullback.linalg`.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _core
from ._members import members
from ._stub_classes import CLASSES, HELPERS
from ._stub_operators import Row, default_of, definition, method_names, methods, named_tuples, operator
from ._stub_signatures import SIGNATURES, SPECIAL
from ._stub_types import ALIASES, PARAMETERS, VALUES

_HEADER = "# Made by `python -m pullback._stubs` from the operator table. Do not edit.\n"
_IMPORTS = """
import builtins
import numpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import (
    Any, Concatenate, Generic, Literal, NamedTuple, NoReturn, ParamSpec, SupportsIndex, TypeAlias, TypeVar, overload
)
from typing_extensions import Self, TypeIs, TypeVarTuple, Unpack
"""
# Where PyO3 would leave traces that say nothing about the interface.
_NOISE = {"__module__", "__doc__", "__dict__", "__weakref__", "__new__", "__reduce__", "__getnewargs__"}


# ---------------------------------------------------------------- what Rust holds besides
def _signature(path: str, obj: Any, method: bool) -> str | tuple[str, ...]:
    if path in SIGNATURES:
        return SIGNATURES[path]
    last = path.rpartition(".")[2]
    if method and last in SPECIAL:
        return SPECIAL[last]
    returns = "builtins.bool" if method and last.startswith("is_") else "Any"
    try:
        parameters = list(inspect.signature(obj).parameters.values())
    except (TypeError, ValueError):
        return f"({'self, ' if method else ''}*args: Any, **kwargs: Any) -> {returns}"
    parts: list[str] = []
    for i, p in enumerate(parameters):
        if p.kind is not p.POSITIONAL_ONLY and i and parameters[i - 1].kind is p.POSITIONAL_ONLY:
            parts.append("/")
        if p.kind is p.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        stars = "*" * (p.kind is p.VAR_POSITIONAL) + "**" * (p.kind is p.VAR_KEYWORD)
        annotation = "" if method and i == 0 else f": {PARAMETERS.get(p.name, 'Any')}"
        parts.append(
            f"{stars}{p.name}{annotation}" + ("" if p.default is p.empty else f" = {default_of(repr(p.default))}")
        )
    if parameters and parameters[-1].kind is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return f"({', '.join(parts)}) -> {returns}"


def _class(path: str, cls: type, table_members: dict[str, str]) -> str:
    """A class with all its members; the text of `CLASSES` replaces everything."""
    name = cls.__name__
    if path in CLASSES:
        return f"class {CLASSES[path].strip()}"
    bases = [b.__name__ for b in cls.__bases__ if b is not object]
    head = (
        f"class {name}({', '.join(f'builtins.{b}' if hasattr(__builtins__, b) else b for b in bases)}):"
        if bases
        else f"class {name}:"
    )
    body: dict[str, str] = dict(table_members)
    # Attributes that any name may have are no members that a class lists.
    for member in ("__getattr__", "__setattr__"):
        if f"{path}.{member}" in SIGNATURES:
            body[member] = definition(member, SIGNATURES[f"{path}.{member}"], None)
    for member, value in vars(cls).items():
        # Attributes that say why they are not there are none that a class lists.
        if member not in body and member not in _NOISE and member.isidentifier() and not _is_absent(value):
            body[member] = _member(f"{path}.{member}", member, value)
    if "__new__" in vars(cls):
        body["__new__"] = definition("__new__", _constructor(path, cls), None)
    text = [head, textwrap.indent(_docstring(cls.__doc__), "    ")] if cls.__doc__ else [head]
    text += [textwrap.indent(body[m], "    ", lambda line: bool(line.strip())) for m in sorted(body)]
    return "\n".join(text if len(text) > 1 else [head + " ..."])


def _is_absent(value: Any) -> bool:
    return type(value).__name__ == "AbsentAttribute"


def _docstring(doc: str) -> str:
    return f'"""{doc.strip()}"""'


def _constructor(path: str, cls: type) -> str | tuple[str, ...]:
    if f"{path}.__new__" in SIGNATURES:
        return SIGNATURES[f"{path}.__new__"]
    signature = _signature(f"{path}.__new__", cls, method=False)
    assert isinstance(signature, str)
    inner = signature[1 : signature.rindex(") ->")]
    return f"(cls{', ' + inner if inner else ''}) -> {cls.__name__}"


def _member(path: str, name: str, value: Any) -> str:
    if isinstance(value, (staticmethod, classmethod)):
        static = isinstance(value, staticmethod)
        decorator = "@builtins.staticmethod" if static else "@builtins.classmethod"
        signature = _signature(path, value.__func__, method=not static)
        return definition(name, signature, value.__func__.__doc__, decorator)
    if type(value).__name__ == "classmethod_descriptor":
        # Some descriptors tell of the class as a parameter, others do not.
        signature = _signature(path, value, method=False)
        assert isinstance(signature, str)
        signature = signature.replace("(cls: Any, /, ", "(", 1)
        signature = signature.replace("(", "(cls, ", 1).replace(", )", ")")
        return definition(name, signature, None, "@builtins.classmethod")
    if callable(value):
        return definition(name, _signature(path, value, method=True), value.__doc__ if name[:2] != "__" else None)
    if type(value).__name__ in ("getset_descriptor", "member_descriptor", "property"):
        return _property(path, name, value)
    return f"{name}: {VALUES.get(path, 'Any')}"


def _property(path: str, name: str, value: Any) -> str:
    kind = VALUES.get(path, "builtins.bool" if name.startswith("is_") else "Any")
    text = definition(name, f"(self) -> {kind}", value.__doc__, "@builtins.property")
    # The descriptor of a writable attribute does not tell; those that are writable are listed with the types.
    if f"{path}.setter" in VALUES:
        text += f"\n@{name}.setter\ndef {name}(self, value: {VALUES[path + '.setter']}) -> None: ..."
    return text


def _entity(path: str, name: str, obj: Any, table_members: dict[str, str]) -> str:
    if path in CLASSES or (isinstance(obj, type) and path not in SIGNATURES):
        return _class(path, obj, table_members)
    if path in SIGNATURES or callable(obj):
        return definition(name, _signature(path, obj, method=False), obj.__doc__)
    return f"{name}: {VALUES.get(path, type(obj).__name__)}"


# ---------------------------------------------------------------- files
def _functions(table: list[Row], prefix: str) -> Iterator[tuple[str, str]]:
    for row in table:
        if row["flags"]["inplace_function"] and not prefix:
            for name in method_names(row):
                yield f"{name}_", operator(row, f"{name}_", inplace=True)
        if not row["flags"]["function"] or row["flags"]["internal"]:
            continue
        for path in (row["name"], *row["aliases"]):
            head, _, name = path.rpartition(".")
            if head == prefix:
                yield name, operator(row, name)


def _classes_elsewhere(path: str) -> str:
    """Imports of classes that signatures of several modules name."""
    homes = {"autograd.graph": "Node", "utils.hooks": "RemovableHandle"}
    return "".join(
        f"from ._core_{home.replace('.', '_')} import {name}\n" for home, name in homes.items() if home != path
    )


def _core_stub(table: list[Row]) -> str:
    found: dict[str, str] = {}
    of_table = methods(table, set(vars(_core.Tensor)))
    classes: list[str] = []
    values: list[str] = []
    for name in _core.__all__:
        text = _entity(name, name, getattr(_core, name), of_table if name == "Tensor" else {})
        (classes if text.startswith("class") else values).append(text)
    found.update(_functions(table, ""))
    extra = [
        "__version__: builtins.str",
        "functions: builtins.dict[builtins.str, Callable[..., Any]]",
        "def return_type(name: builtins.str) -> builtins.type[Any] | None: ...",
        "def return_type_names() -> builtins.list[builtins.str]: ...",
        "def operator_table() -> builtins.list[builtins.dict[builtins.str, Any]]: ...",
        *(f"{name}: Any" for name, value in vars(_core).items() if isinstance(value, ModuleType)),
    ]
    public = sorted({*_core.__all__, *found})
    listing = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in public) + "]"
    named = named_tuples(table).values()
    parts = [
        _HEADER + _IMPORTS + _classes_elsewhere(""),
        ALIASES.strip(),
        listing,
        *classes,
        *named,
        *values,
        *extra,
        *found.values(),
    ]
    return _join(parts)


def _submodule_stub(path: str, table: list[Row]) -> str:
    found = dict(_functions(table, path))
    for name, obj in members(path).items():
        if name in _core.__all__ and getattr(_core, name) is obj and path != "func":
            found[name] = f"from ._core import {name} as {name}"
        elif name not in found:
            found[name] = _entity(f"{path}.{name}", name, obj, {})
    helpers = HELPERS.get(path, "").strip()
    aliases = re.findall(r"^(_\w+)\s*(?::|=)", ALIASES, flags=re.M)
    classes = ["Tensor", "Size", "dtype", "device", *named_tuples(table)]
    imports = _IMPORTS + _classes_elsewhere(path) + f"\nfrom ._core import {', '.join(sorted([*aliases, *classes]))}\n"
    listing = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(found)) + "]"
    return _join([_HEADER + imports, listing, *filter(None, [helpers]), *found.values()])


def _package_stub() -> str:
    """The package itself, whose names are loaded when they are first used."""
    import pullback

    from ._names import CONTENTS, SUBMODULES, public

    lines = ["import builtins", "from ._core import *", "from ._core import __version__ as __version__"]
    lines += [f"from . import {name} as {name}" for name in sorted(SUBMODULES)]
    lines += [f"from .{home} import {name} as {name}" for name, home in sorted(CONTENTS.items())]
    numbers = [f"{name}: builtins.float" for name in ("e", "inf", "nan", "pi")] + ["newaxis: None"]
    listing = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in public()) + "]"
    doc = f'"""{(pullback.__doc__ or "").strip()}\n"""'
    return _join([_HEADER + doc, "\n".join(lines), "\n".join(numbers), listing])


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


# Modules of the package that look for their stub even while nothing is in them.
_MODULES = (
    "autograd",
    "autograd.forward_ad",
    "autograd.graph",
    "fft",
    "func",
    "linalg",
    "nn.functional",
    "special",
    "utils.hooks",
    "utils.pytree",
)


def stubs() -> dict[str, str]:
    """Text of each stub file by its name."""
    table = _core.operator_table()
    paths = {p.rpartition(".")[0] for row in table for p in (row["name"], *row["aliases"]) if row["flags"]["function"]}
    out = {"__init__.pyi": _package_stub(), "_core.pyi": _core_stub(table)}
    for path in sorted({*_MODULES, *paths} - {""}):
        out[f"_core_{path.replace('.', '_')}.pyi"] = _submodule_stub(path, table)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes or checks the type stubs of the extension module.")
    parser.add_argument("--check", action="store_true", help="only tell whether the files are current")
    parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).with_name("_core.pyi"))
    arguments = parser.parse_args()
    folder = arguments.path.parent
    texts = stubs()
    stale = [
        name for name, text in texts.items() if not (folder / name).exists() or (folder / name).read_text() != text
    ]
    surplus = [file for file in folder.glob("_core_*.pyi") if file.name not in texts]
    if arguments.check:
        for name in [*stale, *(file.name for file in surplus)]:
            print(f"{folder / name} is not current: run python -m pullback._stubs {arguments.path}")
        return int(bool(stale or surplus))
    for name in stale:
        (folder / name).write_text(texts[name])
    for file in surplus:
        file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
