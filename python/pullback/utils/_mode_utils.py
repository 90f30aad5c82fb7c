"""Questions about modes."""

from typing import Any


def all_same_mode(modes: Any) -> bool:
    """Whether the modes are all one object."""
    return all(mode == modes[0] for mode in modes)
