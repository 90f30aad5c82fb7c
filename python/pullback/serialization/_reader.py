"""The records of a file of `save`, one by one."""

from __future__ import annotations

from zipfile import ZipFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class PyTorchFileReader:
    """Reads the records of a file that `save` wrote: "data.pkl", the pickle, and "data/0", "data/1", …, the storages.

    >>> import io, pullback
    >>> file = io.BytesIO()
    >>> pullback.save(pullback.ones(2), file)
    >>> reader = pullback.PyTorchFileReader(file)
    >>> reader.has_record("data.pkl"), len(reader.get_record("data/0"))
    (True, 8)

    Args:
        name_or_buffer: the path of the file, or the open file.
    """

    def __init__(self, name_or_buffer: Any) -> None:
        self._zip = ZipFile(name_or_buffer)
        names = self._zip.namelist()
        # All records lie in one folder, which has the file's name.
        self._folder = names[0].partition("/")[0] + "/" if names else ""

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return [name.removeprefix(self._folder) for name in self._zip.namelist()]

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return self._folder + name in self._zip.namelist()

    def get_record(self, name: str) -> bytes:
        """The bytes of a record. Raises RuntimeError if there is none of this name."""
        if not self.has_record(name):
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self._zip.read(self._folder + name)
