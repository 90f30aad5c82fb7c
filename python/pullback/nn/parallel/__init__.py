"""Modules over several devices, of which there is one: `DataParallel` calls its module; the rest is out of scope."""

from ..._members import missing
from .data_parallel import DataParallel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DataParallel"]


def __getattr__(name: "str") -> "Any":
    raise AttributeError(missing(__name__, name))
