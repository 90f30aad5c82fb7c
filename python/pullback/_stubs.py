"""Writes the type stubs of the extension module: ``python -m pullback._stubs [--check] [python/pullback/_core.pyi]``.

Operators come from the table, with types by the kinds of their parameters. What is written in Rust by hand is found in
the module itself and typed by `_stub_types`, or else as `Any`. Besides `_core.pyi` there is one file for each module
that the table or Rust fills, such as `_core_linalg.pyi` for `pullback.linalg`.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import keyword
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _core
from ._members import members
from ._stub_types import ALIASES, CLASSES, KINDS, PARAMETERS, RETURNS, SIGNATURES, VALUES

Row = dict[str, Any]

_HEADER = "# Made by `python -m pullback._stubs` from the operator table. Do not edit.\n"
_IMPORTS = """
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, SupportsIndex, TypeAlias, TypeVar
"""
# Where PyO3 would leave traces that say nothing about the interface.
_NOISE = {"__module__", "__doc__", "__dict__", "__weakref__", "__new__", "__reduce__", "__getnewargs__"}


# ---------------------------------------------------------------- operators of the table
def _annotation(parameter: Row) -> str:
    kind = parameter["kind"]
    optional = kind.endswith("?")
    text = PARAMETERS.get(parameter["name"]) if kind.rstrip("?") == "any" else None
    text = text or KINDS[kind.rstrip("?")]
    return f"{text} | None" if optional and text != "Any" else text


def _default(text: str) -> str:
    try:
        return repr(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError):
        return "..."


def _parameters(row: Row, method: bool, inplace: bool = False) -> str:
    parts, star = [], False
    positional = [p for p in row["params"] if not p["kwonly"]]
    for i, p in enumerate(row["params"]):
        if method and i == 0:
            parts.append("self")
            continue
        if row["flags"]["variadic"] and p is positional[-1]:
            parts.append(f"*{p['name']}: Any")
            star = True
            continue
        if p["kwonly"] and not star:
            parts.append("*")
            star = True
        default = "" if p["default"] is None else f" = {_default(p['default'])}"
        name = p["name"] + "_" * keyword.iskeyword(p["name"])  # such a parameter can only be given by position
        parts.append(f"{name}: {_annotation(p)}{default}")
    if row["flags"]["inplace_keyword"] and not any(p["name"] == "inplace" for p in row["params"]):
        parts.append("inplace: builtins.bool = False" if star else "*, inplace: builtins.bool = False")
        star = True
    if row["flags"]["out"] and not (method or inplace):
        parts.append("out: Any = None" if star else "*, out: Any = None")
    return ", ".join(parts)


def _operator(row: Row, name: str, method: bool = False, inplace: bool = False) -> str:
    doc = row["doc"].split("\n\n")[0] if method else row["doc"]
    returns = "Tensor" if inplace else _returns(row)
    return _definition(name, f"({_parameters(row, method, inplace)}) -> {returns}", doc)


def _returns(row: Row) -> str:
    return _named_class(row["named"][0]) if row["returns"] == "named tuple" else RETURNS[row["returns"]]


def _named_class(name: str) -> str:
    return f"_return_{name}"


def _named_tuples(table: list[Row]) -> dict[str, str]:
    """Classes of the named tuples that operators give."""
    found = dict(row["named"] for row in table if row["named"] is not None)
    return {
        _named_class(name): "\n".join(
            [f"class {_named_class(name)}(NamedTuple):", *(f"    {field}: Tensor" for field in fields)]
        )
        for name, fields in sorted(found.items())
    }


def _definition(name: str, signature: str, doc: str | None, decorator: str = "") -> str:
    lines = [decorator] if decorator else []
    lines.append(f"def {name}{signature}:")
    ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") and "-> Tensor" in signature else ""
    lines[-1] += ignore
    if not doc:
        lines[-1] = lines[-1].removesuffix(ignore) + f" ...{ignore}"
        return "\n".join(lines)
    body = doc.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    body += " " if body.endswith('"') else ""
    closing = '"""' if "\n" not in body else '\n"""'
    return "\n".join(lines) + "\n" + textwrap.indent(f'"""{body}{closing}', "    ", lambda line: bool(line.strip()))


def _method_names(row: Row) -> list[str]:
    plain = [n for n in (row["name"], *row["aliases"]) if "." not in n]
    return plain or [row["name"].rpartition(".")[2]]


def _methods(table: list[Row], present: set[str]) -> dict[str, str]:
    """Methods, in-place methods and properties of `Tensor` that the table makes."""
    out: dict[str, str] = {}
    for row in table:
        flags = row["flags"]
        for name in _method_names(row):
            if flags["property"]:
                out[name] = _definition(name, "(self) -> Tensor", row["doc"].split("\n\n")[0], "@builtins.property")
            if flags["method"]:
                out[name] = _operator(row, name, method=True)
            if flags["inplace"]:
                out[name + "_"] = _operator(row, name + "_", method=True, inplace=True)
    return {name: text for name, text in out.items() if name in present}


# ---------------------------------------------------------------- what Rust holds besides
def _signature(path: str, obj: Any, method: bool) -> str:
    if path in SIGNATURES:
        return SIGNATURES[path]
    try:
        parameters = list(inspect.signature(obj).parameters.values())
    except (TypeError, ValueError):
        return f"({'self, ' if method else ''}*args: Any, **kwargs: Any) -> Any"
    parts: list[str] = []
    for i, p in enumerate(parameters):
        if p.kind is not p.POSITIONAL_ONLY and i and parameters[i - 1].kind is p.POSITIONAL_ONLY:
            parts.append("/")
        if p.kind is p.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        stars = "*" * (p.kind is p.VAR_POSITIONAL) + "**" * (p.kind is p.VAR_KEYWORD)
        annotation = "" if method and i == 0 else f": {PARAMETERS.get(p.name, 'Any')}"
        parts.append(
            f"{stars}{p.name}{annotation}" + ("" if p.default is p.empty else f" = {_default(repr(p.default))}")
        )
    if parameters and parameters[-1].kind is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return f"({', '.join(parts)}) -> Any"


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
    for member, value in vars(cls).items():
        if member not in body and member not in _NOISE and member.isidentifier():
            body[member] = _member(f"{path}.{member}", member, value)
    if "__new__" in vars(cls):
        body["__new__"] = _definition("__new__", _constructor(path, cls), None)
    text = [head, textwrap.indent(_docstring(cls.__doc__), "    ")] if cls.__doc__ else [head]
    text += [textwrap.indent(body[m], "    ", lambda line: bool(line.strip())) for m in sorted(body)]
    return "\n".join(text if len(text) > 1 else [head + " ..."])


def _docstring(doc: str) -> str:
    return f'"""{doc.strip()}"""'


def _constructor(path: str, cls: type) -> str:
    if f"{path}.__new__" in SIGNATURES:
        return SIGNATURES[f"{path}.__new__"]
    signature = _signature(f"{path}.__new__", cls, method=False)
    inner = signature[1 : signature.rindex(") ->")]
    return f"(cls{', ' + inner if inner else ''}) -> {cls.__name__}"


def _member(path: str, name: str, value: Any) -> str:
    if isinstance(value, (staticmethod, classmethod)):
        static = isinstance(value, staticmethod)
        decorator = "@builtins.staticmethod" if static else "@builtins.classmethod"
        signature = _signature(path, value.__func__, method=not static)
        return _definition(name, signature, value.__doc__, decorator)
    if type(value).__name__ == "classmethod_descriptor":
        # Some descriptors tell of the class as a parameter, others do not.
        signature = _signature(path, value, method=False).replace("(cls: Any, /, ", "(", 1)
        signature = signature.replace("(", "(cls, ", 1).replace(", )", ")")
        return _definition(name, signature, None, "@builtins.classmethod")
    if callable(value):
        return _definition(name, _signature(path, value, method=True), value.__doc__ if name[:2] != "__" else None)
    if type(value).__name__ in ("getset_descriptor", "member_descriptor", "property"):
        return _property(path, name, value)
    return f"{name}: {VALUES.get(path, 'Any')}"


def _property(path: str, name: str, value: Any) -> str:
    kind = VALUES.get(path, "Any")
    text = _definition(name, f"(self) -> {kind}", value.__doc__, "@builtins.property")
    # The descriptor of a writable attribute does not tell; those that are writable are listed with the types.
    if f"{path}.setter" in VALUES:
        text += f"\n@{name}.setter\ndef {name}(self, value: {VALUES[path + '.setter']}) -> None: ..."
    return text


def _entity(path: str, name: str, obj: Any, table_members: dict[str, str]) -> str:
    if path in CLASSES or (isinstance(obj, type) and path not in SIGNATURES):
        return _class(path, obj, table_members)
    if path in SIGNATURES or callable(obj):
        return _definition(name, _signature(path, obj, method=False), obj.__doc__)
    return f"{name}: {VALUES.get(path, type(obj).__name__)}"


# ---------------------------------------------------------------- files
def _functions(table: list[Row], prefix: str) -> Iterator[tuple[str, str]]:
    for row in table:
        if row["flags"]["inplace_function"] and not prefix:
            for name in _method_names(row):
                yield f"{name}_", _operator(row, f"{name}_", inplace=True)
        if not row["flags"]["function"] or row["flags"]["internal"]:
            continue
        for path in (row["name"], *row["aliases"]):
            head, _, name = path.rpartition(".")
            if head == prefix:
                yield name, _operator(row, name)


def _core_stub(table: list[Row]) -> str:
    found: dict[str, str] = {}
    methods = _methods(table, set(vars(_core.Tensor)))
    classes: list[str] = []
    values: list[str] = []
    for name in _core.__all__:
        text = _entity(name, name, getattr(_core, name), methods if name == "Tensor" else {})
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
    named = _named_tuples(table).values()
    parts = [_HEADER + _IMPORTS, ALIASES.strip(), listing, *classes, *named, *values, *extra, *found.values()]
    return _join(parts)


def _submodule_stub(path: str, table: list[Row]) -> str:
    found = dict(_functions(table, path))
    for name, obj in members(path).items():
        if name not in found:
            found[name] = _entity(f"{path}.{name}", name, obj, {})
    aliases = re.findall(r"^(_\w+)\s*(?::|=)", ALIASES, flags=re.M)
    classes = ["Tensor", "Size", "dtype", "device", *_named_tuples(table)]
    imports = _IMPORTS + f"\nfrom ._core import {', '.join(sorted([*aliases, *classes]))}\n"
    listing = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(found)) + "]"
    return _join([_HEADER + imports, listing, *found.values()])


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
    out = {"_core.pyi": _core_stub(table)}
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
