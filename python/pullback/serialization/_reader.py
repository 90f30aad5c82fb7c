"""The records of a file of `save`, one by one."""

from __future__ import annotations

from zipfile import ZipFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class PyTorchFileReader:
    """The records of a file of `save`, by path or as an open file: "data.pkl", "data/0" and so on."""

    def __init__(self, name_or_buffer: Any) -> None:
        self._zip = ZipFile(name_or_buffer)
        # All records lie in one folder, which has the file's name.
        self._records = {name.partition("/")[2]: name for name in self._zip.namelist()}

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return list(self._records)

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return name in self._records

    def get_record(self, name: str) -> bytes:
        """The bytes of a record. Raises RuntimeError if there is none of this name."""
        if name not in self._records:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self._zip.read(self._records[name])
