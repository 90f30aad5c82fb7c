"""Signatures of custom operators: read from type hints or from text, and used to check arguments."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pullback as pb

__all__ = ["Parameter", "Schema", "Type", "infer_schema"]


class Type(NamedTuple):
    """A type of a schema: `base`, or `base[]` whose items may be None, and the whole may be None."""

    base: str
    is_list: bool = False
    optional: bool = False
    optional_items: bool = False

    def __str__(self) -> str:
        items = self.base + "?" * self.optional_items + "[]" if self.is_list else self.base
        return items + "?" * self.optional

    @property
    def is_tensor(self) -> bool:
        return self.base == "Tensor"


class Parameter(NamedTuple):
    name: str
    type: Type
    default: Any = inspect.Parameter.empty
    kwonly: bool = False
    alias: str = ""
    """A letter with "!" where the operator writes to it."""

    def __str__(self) -> str:
        text = str(self.type)
        if self.alias:
            text = f"Tensor({self.alias}){text.removeprefix('Tensor')}"
        return f"{text} {self.name}" + ("" if self.default is inspect.Parameter.empty else f"={_literal(self.default)}")


def _literal(value: Any) -> str:
    if isinstance(value, (pb.dtype, pb.device)):
        return str(value).removeprefix("pullback.")
    return f'"{value}"' if isinstance(value, str) else repr(value)


# What values of these types may be; a bool is no number.
_ACCEPTS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda v: isinstance(v, pb.Tensor),
    "SymInt": lambda v: hasattr(v, "__index__") and not isinstance(v, (bool, pb.Tensor)),
    "float": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "Scalar": lambda v: isinstance(v, (int, float, complex)),
    "ScalarType": lambda v: isinstance(v, pb.dtype),
    "Device": lambda v: isinstance(v, (pb.device, str)),
    "Generator": lambda v: isinstance(v, pb.Generator),
}


def fits(value: Any, of: Type) -> bool:
    if value is None:
        return of.optional
    accepts = _ACCEPTS[of.base]
    if not of.is_list:
        return accepts(value)
    if isinstance(value, (str, pb.Tensor)) or not isinstance(value, Sequence):
        return False
    return all(accepts(v) or (v is None and of.optional_items) for v in value)


def type_name(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        kind = type(value).__name__
        return f"{kind} of {', '.join(sorted({type(v).__name__ for v in value}))}" if value else f"empty {kind}"
    return type(value).__name__


class Schema:
    """The parameters and results of an operator."""

    def __init__(self, name: str, parameters: Sequence[Parameter], returns: Sequence[Type]) -> None:
        self.name, self.parameters, self.returns = name, tuple(parameters), tuple(returns)
        self.positional = [p for p in self.parameters if not p.kwonly]
        self.keywords = [p for p in self.parameters if p.kwonly]
        self.mutated = [i for i, p in enumerate(self.parameters) if p.alias]

    def __str__(self) -> str:
        parts = [str(p) for p in self.positional]
        if self.keywords:
            parts += ["*", *map(str, self.keywords)]
        results = ", ".join(map(str, self.returns))
        return f"{self.name}({', '.join(parts)}) -> {results if len(self.returns) == 1 else f'({results})'}"

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """One checked value for each parameter."""
        if len(args) > len(self.positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(self.positional)} positional argument(s) but received "
                f"{len(args)} argument(s). Declaration: {self}"
            )
        values: list[Any] = list(args)
        left = dict(kwargs)
        for p in self.parameters[len(args) :]:
            if p.name in left:
                values.append(left.pop(p.name))
            elif p.default is not inspect.Parameter.empty:
                values.append(p.default)
            else:
                raise RuntimeError(f"{self.name}() is missing value for argument '{p.name}'. Declaration: {self}")
        for name in left:
            if any(p.name == name for p in self.parameters):
                raise RuntimeError(f"{self.name}() got multiple values for argument '{name}'. Declaration: {self}")
            raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.name}'. Declaration: {self}")
        for p, v in zip(self.parameters, values, strict=True):
            if not fits(v, p.type):
                raise RuntimeError(
                    f"{self.name}() Expected a value of type '{p.type}' for argument '{p.name}' but instead found type "
                    f"'{type_name(v)}'. Declaration: {self}"
                )
        return values

    def check_output(self, output: Any) -> None:
        """Raises unless what a kernel returned is what the schema says."""
        if not self.returns:
            valid = output is None
        elif len(self.returns) == 1:
            valid = fits(output, self.returns[0])
        else:
            valid = isinstance(output, (tuple, list)) and len(output) == len(self.returns)
            valid = valid and all(fits(v, t) for v, t in zip(output, self.returns, strict=True))
        if not valid:
            raise RuntimeError(
                f"{self.name}(): the kernel returned {type_name(output)}, which does not fit the schema {self}"
            )


# ---------------------------------------------------------------- from type hints
_BASES: dict[Any, str] = {
    pb.Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    pb.dtype: "ScalarType",
    pb.device: "Device",
    types.NoneType: "None",
}
_NUMBERS = ({int, float}, {int, float, bool}, {int, float, bool, complex}, {int, float, complex})


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The schema that the type hints of a function say.

    Args:
        prototype_function: its parameters and results have hints: tensors, ints, floats, bools, strings, numbers (a
            union of these), dtypes, devices, sequences of them, or None besides.
        mutates_args: names of the parameters that the function writes to, or "unknown" for all tensors.
        op_name: stands in front of the schema, if given.

    Raises:
        ValueError: for parameters without a hint, hints that a schema does not know, and wrong names in `mutates_args`.

    >>> import pullback
    >>> def scale(x: pullback.Tensor, by: float = 2.0, *, out: pullback.Tensor | None = None) -> pullback.Tensor: ...
    >>> pullback.library.infer_schema(scale, mutates_args={"out"})
    '(Tensor x, float by=2.0, *, Tensor(a2!)? out=None) -> Tensor'
    """
    schema = schema_of(prototype_function, mutates_args, op_name or "")
    return str(schema)


def schema_of(function: Callable[..., Any], mutates_args: str | Iterable[str], name: str) -> Schema:
    signature = inspect.signature(function)
    try:
        hints = typing.get_type_hints(function)
    except NameError as e:
        raise ValueError(f"infer_schema(func): {e}. Got func with signature {signature}") from e

    def error(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature}")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise error("mutates_args must be names of parameters, or 'unknown'.")
    mutated = mutates_args if isinstance(mutates_args, str) else set(mutates_args)
    parameters = []
    for i, p in enumerate(signature.parameters.values()):
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            raise error("We do not support positional-only args, varargs, or varkwargs.")
        if p.name not in hints:
            raise error(f"Parameter {p.name} must have a type annotation.")
        found = _type(hints[p.name])
        if found is None or found.base == "None":
            raise error(f"Parameter {p.name} has unsupported type {hints[p.name]}. The valid types are: {_valid()}.")
        if p.default is not p.empty and not _is_default(p.default):
            raise error(
                f"Parameter {p.name} has an unsupported default value of type {type(p.default)}: expected int, float, "
                "bool, str, dtype, device or None."
            )
        writes = found.is_tensor if mutated == "unknown" else p.name in mutated
        if writes and not found.is_tensor:
            raise error(
                f"Parameter {p.name} is in mutable_args but only Tensors or collections of Tensors can be mutated."
            )
        parameters.append(Parameter(p.name, found, p.default, p.kind is p.KEYWORD_ONLY, f"a{i}!" if writes else ""))
    if mutated != "unknown" and (unknown := set(mutated) - {p.name for p in parameters}):
        raise error(f"{sorted(unknown)} in mutates_args were not found in the custom op's signature.")
    if "return" not in hints:
        raise error("No return type annotation was provided. Please add one.")
    returns = _returns(hints["return"])
    if returns is None:
        raise error(f"Return has unsupported type {hints['return']}. The valid types are: {_valid()}, tuples, None.")
    return Schema(name, parameters, returns)


def _is_default(value: Any) -> bool:
    return value is None or isinstance(value, (int, float, bool, str, pb.dtype, pb.device))


def _valid() -> str:
    names = ["Tensor", "int", "float", "bool", "str", "int | float | bool", "dtype", "device"]
    return ", ".join([*names, "sequences of these", "each | None"])


def _type(hint: Any) -> Type | None:
    """The type of a hint, None if there is none."""
    if hint in _BASES:
        return Type(_BASES[hint])
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        rest = [a for a in args if a is not types.NoneType]
        inner = _type(rest[0]) if len(rest) == 1 else Type("Scalar") if set(rest) in _NUMBERS else None
        return None if inner is None else inner._replace(optional=len(rest) < len(args))
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        args = args[:1]
    elif origin not in (list, Sequence):
        return None
    inner = _type(args[0])
    if inner is None or inner.is_list or inner.base == "None":
        return None
    return Type(inner.base, is_list=True, optional_items=inner.optional)


def _returns(hint: Any) -> list[Type] | None:
    if hint is types.NoneType:
        return []
    args = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        found = [_type(a) for a in args]
        valid = [t for t in found if t is not None and t.base != "None"]
        return valid if len(valid) == len(found) else None
    one = _type(hint)
    return None if one is None else [one]


# ---------------------------------------------------------------- from text
_TYPE = r"(?P<base>\w+)(?P<alias>\([a-z]\d*!?\))?(?P<items>\?(?=\[))?(?P<list>\[\d*\])?(?P<optional>\?)?"
_PARAMETER = re.compile(_TYPE + r"\s+(?P<name>\w+)\s*(=\s*(?P<default>.+))?$")
_ALIASES = {"int": "SymInt", "Layout": "ScalarType"}


def parse_schema(text: str, name: str) -> Schema:
    """The schema that a text says, such as ``(Tensor x, Tensor(a!) out, *, int[] dims=[]) -> (Tensor, Tensor)``."""

    def error(what: str) -> ValueError:
        return ValueError(f"custom_op(): argument 'schema' {what}, got {text!r}")

    match = re.fullmatch(r"\s*[\w:.]*\((?P<parameters>.*)\)\s*->\s*(?P<returns>.+?)\s*", text, re.DOTALL)
    if match is None:
        raise error("expected '(parameters) -> results'")
    parameters, kwonly = [], False
    for part in _split(match["parameters"]):
        if part == "*":
            kwonly = True
            continue
        found = _PARAMETER.match(part)
        if found is None:
            raise error(f"has no parameter in {part!r}")
        default = inspect.Parameter.empty if found["default"] is None else _default(found["default"])
        alias = (found["alias"] or "").strip("()")
        parameters.append(
            Parameter(found["name"], _parsed(found, error), default, kwonly, alias if alias.endswith("!") else "")
        )
    results = match["returns"]
    parts = _split(results[1:-1]) if results.startswith("(") else [results]
    returns = []
    for part in parts:
        found = re.match(_TYPE + r"(\s+\w+)?$", part)
        if found is None:
            raise error(f"has no type in {part!r}")
        returns.append(_parsed(found, error))
    return Schema(name, parameters, returns)


def _split(text: str) -> list[str]:
    """Parts between commas that are not in brackets."""
    return [p.strip() for p in re.split(r",(?![^\[\(]*[\]\)])", text) if p.strip()]


def _parsed(found: re.Match[str], error: Callable[[str], ValueError]) -> Type:
    base = _ALIASES.get(found["base"], found["base"])
    if base not in _ACCEPTS:
        raise error(f"names the type {found['base']!r}, which is none of {', '.join(sorted(_ACCEPTS))}")
    return Type(base, bool(found["list"]), bool(found["optional"]), bool(found["items"]))


def _default(text: str) -> Any:
    import ast

    text = text.strip()
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return getattr(pb, text, text)
