#!/usr/bin/env python3
"""Packs the one wheel in a folder again, so that its files take the least that the format allows.

Same files, same order, same contents: deflate by the package zopfli (Apache 2.0) looks longer for what can be left out.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import zopfli.zlib

LARGE = 1_000_000
"""Bytes from which on a file is searched a few times, half a minute each, instead of many."""
FEW, MANY = 3, 15
HEADER, TRAILER = 2, 4
"""Bytes that zlib's format has around a deflated stream."""


class Deflated:
    """A compressor for `zipfile` that takes its time."""

    def __init__(self, rounds: int) -> None:
        self.parts: list[bytes] = []
        self.rounds = rounds

    def compress(self, data: bytes) -> bytes:
        self.parts.append(data)
        return b""

    def flush(self) -> bytes:
        return bytes(zopfli.zlib.compress(b"".join(self.parts), numiterations=self.rounds)[HEADER:-TRAILER])


def packed(source: Path, target: Path) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for info in old.infolist():
            data = old.read(info)
            with new.open(info, "w") as file:
                file._compressor = Deflated(FEW if len(data) >= LARGE else MANY)  # type: ignore[attr-defined]
                file.write(data)


def main(folder: str) -> int:
    (wheel,) = Path(folder).glob("*.whl")
    smaller = wheel.with_suffix(".packed")
    packed(wheel, smaller)
    with zipfile.ZipFile(wheel) as a, zipfile.ZipFile(smaller) as b:
        same = [(i.filename, i.CRC, i.external_attr) for i in a.infolist()] == [
            (i.filename, i.CRC, i.external_attr) for i in b.infolist()
        ]
        if not same or b.testzip() is not None:
            print(f"pack_wheel: {wheel.name} does not come out as it was")
            return 1
    smaller.replace(wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
