"""The structures of a saved program's arguments and results, as text.

Tensors stand in them as places; everything else is part of the program. Nothing that is read is executed.
"""

from __future__ import annotations

import json
from typing import Any

_DAMAGED = "the bytes of the program are damaged, or of another version"


def encode(structures: tuple[object, ...], tensor: object) -> str:
    """The text of nested tuples, lists and dicts; `tensor` is the object that stands for each tensor."""

    def form(x: Any) -> list[Any]:
        if x is tensor:
            return ["tensor"]
        if type(x) in (type(None), bool, int, str):
            return ["value", x]
        if type(x) is float:
            return ["float", x.hex()]
        if type(x) in (tuple, list):
            return [type(x).__name__, [form(item) for item in x]]
        if type(x) is dict:
            return ["dict", [[form(key), form(value)] for key, value in x.items()]]
        raise TypeError(
            f"to_bytes(): the program has an object of type {type(x).__qualname__} among its arguments or results, "
            "which cannot be saved; tuples, lists, dicts, strings, numbers, bools and None can"
        )

    return json.dumps([form(s) for s in structures])


def decode(text: str, count: int, tensor: object) -> tuple[object, ...]:
    """The `count` structures of such a text.

    Raises ValueError for any other text.
    """

    def value(form: Any) -> Any:
        match form:
            case ["tensor"]:
                return tensor
            case ["value", None | bool() | int() | str() as x]:
                return x
            case ["float", str(digits)]:
                return float.fromhex(digits)
            case ["tuple", list(items)]:
                return tuple(value(item) for item in items)
            case ["list", list(items)]:
                return [value(item) for item in items]
            case ["dict", list(items)]:
                return {value(key): value(item) for key, item in items}
        raise ValueError(_DAMAGED)

    try:
        forms = json.loads(text)
        if not isinstance(forms, list) or len(forms) != count:
            raise ValueError(_DAMAGED)
        return tuple(value(form) for form in forms)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise ValueError(_DAMAGED) from None
