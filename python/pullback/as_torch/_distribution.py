"""The package `torch` as `importlib.metadata` sees it, which libraries ask for its version."""

from importlib.metadata import Distribution
from os import PathLike
from pathlib import Path
from typing import Any

import pullback

from ..version import TORCH


class Torch(Distribution):
    """A package without files, which has the version whose names these are."""

    def read_text(self, filename: str) -> str | None:
        """The one text that it has."""
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH}\n" if filename == "METADATA" else None

    def locate_file(self, path: "str | PathLike[str]") -> Any:
        """Where files of the package would be."""
        return Path(pullback.__file__).parent / path
