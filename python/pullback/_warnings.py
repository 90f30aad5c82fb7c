"""The one way in which functions of this package warn."""

from __future__ import annotations

import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the line of the program that called into this package, through however many functions of it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
        level += not _is_of_import(frame)
    warnings.warn(text, category, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    return _is_of_import(frame) or f"{frame.f_globals.get('__name__')}.".startswith("pullback.")


def _is_of_import(frame: FrameType) -> bool:
    """Whether this is a frame of the import system, which `stacklevel` does not count."""
    name = frame.f_code.co_filename
    return "importlib" in name and "_bootstrap" in name
