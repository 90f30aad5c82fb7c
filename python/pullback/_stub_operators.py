"""The part of `_stubs` that types operators, from what the table says of their parameters and results."""

from __future__ import annotations

import ast
import itertools
import keyword
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from ._stub_signatures import SIGNATURES
from ._stub_types import DECLARED, KINDS, OUT, PARAMETERS, RETURNS, SEVERAL_OUT, SPREAD

Row = dict[str, Any]


def _annotation(parameter: Row) -> str:
    kind = parameter["kind"]
    plain = kind.rstrip("?")
    text = KINDS[plain]
    if plain == "any":
        text = DECLARED.get(parameter["declared"]) or PARAMETERS.get(parameter["name"]) or text
    optional = kind.endswith("?") or parameter["default"] == "None"
    return f"{text} | None" if optional and not re.search(r"\b(None|Any)$", text) else text


def default_of(text: str) -> str:
    try:
        return repr(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError):
        return "..."


# What a parameter is in one of several signatures: its type, and whether it must be given.
Change = tuple[str, bool]


def _parameters(row: Row, method: bool, out: str | None, changes: dict[str, Change] | None = None) -> str:
    parts, star, optional = [], False, False
    positional = [p for p in row["params"] if not p["kwonly"]]
    for i, p in enumerate(row["params"]):
        if method and i == 0:
            parts.append("self")
            continue
        if row["flags"]["variadic"] and p is positional[-1]:
            parts.append(f"*{p['name']}: {SPREAD.get(p['kind'].rstrip('?'), _annotation(p).removesuffix(' | None'))}")
            star = True
            continue
        kind, required = (changes or {}).get(p["name"], (_annotation(p), p["default"] is None))
        if not star and (p["kwonly"] or (required and optional)):
            parts.append("*")
            star = True
        optional = optional or not required
        default = "" if required else f" = {default_of(p['default'])}"
        name = p["name"] + "_" * keyword.iskeyword(p["name"])  # such a parameter can only be given by position
        parts.append(f"{name}: {kind}{default}")
    if row["flags"]["inplace_keyword"] and not any(p["name"] == "inplace" for p in row["params"]):
        parts.append("inplace: builtins.bool = False" if star else "*, inplace: builtins.bool = False")
        star = True
    if row["flags"]["out"] and out and not method:
        parts.append(f"out: {out} = None" if star else f"*, out: {out} = None")
    return ", ".join(parts)


def operator(row: Row, name: str, method: bool = False, inplace: bool = False) -> str:
    doc = row["doc"].split("\n\n")[0] if method else row["doc"]
    if inplace:
        returns = "Self" if method else "Tensor"
        return definition(name, f"({_parameters(row, method, None)}) -> {returns}", doc)
    signatures = []
    for changes, returns in _variants(row):
        out = OUT.get(returns, SEVERAL_OUT)
        signatures.append(f"({_parameters(row, method, out, changes)}) -> {returns}")
    return definition(name, tuple(signatures), doc)


def _variants(row: Row) -> Iterator[tuple[dict[str, Change], str]]:
    """What an operator gives, for each kind of arguments that the kind of the result depends on."""
    kinds = {p["name"]: p for p in row["params"]}
    if row["returns"] != "any":
        named = row["returns"] == "named tuple"
        yield {}, _named_class(row["named"][0]) if named else RETURNS[row["returns"]]
    elif row["named"] is not None and "dim" in kinds:
        yield from _by_dimension(row, kinds)
    elif flags := [n for n, p in kinds.items() if p["kind"] == "bool" and n.startswith(("return_", "as_tuple"))]:
        yield from _by_flags(kinds, flags)
    elif pieces := [n for n, p in kinds.items() if p["kind"] == "TensorOrNumber?"]:
        # All of them give a tensor, none the places where the first argument is true.
        yield dict.fromkeys(pieces, ("_Operand", True)), "Tensor"
        yield dict.fromkeys(pieces, ("None", False)), RETURNS["tuple of Tensors"]
    else:
        yield {}, "Any"


def _by_dimension(row: Row, kinds: dict[str, Row]) -> Iterator[tuple[dict[str, Change], str]]:
    """Without a dimension a tensor, along one a named tuple; some take another tensor in its place."""
    others = {n: ("None", False) for n, p in kinds.items() if n == "other" and kinds["dim"]["declared"] == "DimOrOther"}
    yield {"dim": ("None", False), **others}, "Tensor"
    yield {"dim": ("builtins.int", True), **others}, _named_class(row["named"][0])
    if others:
        yield {"dim": ("Tensor", True), **others}, "Tensor"
        yield {"dim": ("None", False), "other": ("Tensor", True)}, "Tensor"


def _by_flags(kinds: dict[str, Row], flags: list[str]) -> Iterator[tuple[dict[str, Change], str]]:
    """A flag `return_indices` adds a tensor; with `as_tuple` there are as many as dimensions."""
    defaults = {n: kinds[n]["default"].strip() == "True" for n in flags}
    for values in sorted(itertools.product((False, True), repeat=len(flags)), key=lambda v: v != (*defaults.values(),)):
        changes = {n: (f"Literal[{v}]", v != defaults[n]) for n, v in zip(flags, values, strict=True)}
        count = 1 + sum(v for n, v in zip(flags, values, strict=True) if n != "as_tuple")
        returns = "Tensor" if count == 1 else f"builtins.tuple[{', '.join(['Tensor'] * count)}]"
        yield (
            changes,
            RETURNS["tuple of Tensors"] if "as_tuple" in flags and values[flags.index("as_tuple")] else returns,
        )
    yield dict.fromkeys(flags, ("builtins.bool", False)), "Any"


def _named_class(name: str) -> str:
    return f"_return_{name}"


def named_tuples(table: list[Row]) -> dict[str, str]:
    """Classes of the named tuples that operators give."""
    found = dict(row["named"] for row in table if row["named"] is not None)
    return {
        _named_class(name): "\n".join(
            [f"class {_named_class(name)}(NamedTuple):", *(f"    {field}: Tensor" for field in fields)]
        )
        for name, fields in sorted(found.items())
    }


def without_examples(doc: str) -> str:
    """A docstring's paragraphs but its examples, which `help()` shows: they are a third of the stubs."""
    return "\n\n".join(part for part in re.split(r"\n\s*\n", doc) if not part.lstrip().startswith(">>>"))


def definition(name: str, signature: str | tuple[str, ...], doc: str | None, decorator: str = "") -> str:
    """The text of a function; one with several signatures is documented once."""
    if isinstance(signature, tuple) and len(signature) > 1:
        texts = [definition(name, one, doc if one is signature[0] else None, "@overload") for one in signature]
        return "\n".join(texts)
    signature = signature if isinstance(signature, str) else signature[0]
    lines = [decorator] if decorator else []
    lines.append(f"def {name}{signature}:")
    ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") and "-> Tensor" in signature else ""
    ignore = "  # type: ignore[misc]" if name == "__new__" and signature.endswith("-> _F") else ignore
    lines[-1] += ignore
    if not doc:
        lines[-1] = lines[-1].removesuffix(ignore) + f" ...{ignore}"
        return "\n".join(lines)
    body = without_examples(doc).strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    body += " " if body.endswith('"') else ""
    closing = '"""' if "\n" not in body else '\n"""'
    return "\n".join(lines) + "\n" + textwrap.indent(f'"""{body}{closing}', "    ", lambda line: bool(line.strip()))


def method_names(row: Row) -> list[str]:
    plain = [n for n in (row["name"], *row["aliases"]) if "." not in n]
    return plain or [row["name"].rpartition(".")[2]]


def methods(table: list[Row], present: set[str]) -> dict[str, str]:
    """Methods, in-place methods and properties of `Tensor` that the table makes."""
    out: dict[str, str] = {}
    for row in table:
        flags = row["flags"]
        for name in method_names(row):
            if flags["property"]:
                out[name] = definition(name, "(self) -> Tensor", row["doc"].split("\n\n")[0], "@builtins.property")
            if flags["method"]:
                out[name] = operator(row, name, method=True)
            if flags["inplace"]:
                out[name + "_"] = operator(row, name + "_", method=True, inplace=True)
    return {name: text for name, text in out.items() if name in present and f"Tensor.{name}" not in SIGNATURES}
