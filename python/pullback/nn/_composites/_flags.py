"""Flags of functions that are written in Python: bools only, as in PyTorch's operators below them."""

from typing import Any


def check_flags(op: str, **flags: Any) -> None:
    """Raises `TypeError` for a flag that is no bool: `"False"` would be true."""
    for name, value in flags.items():
        if type(value) is not bool:
            raise TypeError(
                f"{op}(): argument '{name}' must be bool, not {type(value).__name__}; give True or False, or bool(...)"
            )
