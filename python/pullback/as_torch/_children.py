"""Processes that are started anew, which have to be told that `import torch` means this package."""

from multiprocessing import spawn
from pathlib import Path
from typing import Any

_FOLDER = str(Path(__file__).resolve().parent.parent.parent)
_CODE = """
import sys
try:
    import pullback
except ImportError:
    sys.path.append({folder!r})
import pullback.as_torch._preloaded
"""
_plain = spawn.get_preparation_data


class _Told:
    """What a process reads before it loads the program: reading it runs the code."""

    def __reduce__(self) -> Any:
        return exec, (_CODE.format(folder=_FOLDER), {})


def _preparation_data(name: str) -> dict[str, Any]:
    return {"as_torch": _Told(), **_plain(name)}


def tell() -> None:
    """From now on, processes of the methods "spawn" and "forkserver" do what this one does."""
    spawn.get_preparation_data = _preparation_data


def tell_no_more() -> None:
    if spawn.get_preparation_data is _preparation_data:
        spawn.get_preparation_data = _plain
