#!/usr/bin/env python3
"""Checks that the extension asks the C library for nothing that glibc 2.28 does not have.

A wheel binds to the newest version that the machine of its build has of each function: `dlsym` of 2.34 here is that of
2.2.5 where wheels for others are built. What fails there, and so here, is a function whose first version is newer.
"""

from __future__ import annotations

import re
import struct
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

LIMIT = (2, 28)
# Functions that are linked in from the static part of the C library where they have no version.
STATIC = {
    "stat",
    "fstat",
    "lstat",
    "fstatat",
    "stat64",
    "fstat64",
    "lstat64",
    "fstatat64",
    "atexit",
    "mknod",
    "mknodat",
}
SYSTEM = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib")
LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1")

DYNSYM, VERNEED, VERDEF, VERSYM = 11, 0x6FFFFFFE, 0x6FFFFFFD, 0x6FFFFFFF
WEAK = 2


class Elf:
    """Names and versions of the dynamic symbols of a 64-bit little-endian ELF file."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self.data = data
        start, size, count = (*struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 58))
        heads = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * i) for i in range(count)]
        self.sections = {head[1]: head for head in heads}
        self.offsets = [head[4] for head in heads]

    def text(self, section: int, at: int) -> str:
        start = self.offsets[self.sections[section][6]] + at
        return self.data[start : self.data.index(b"\0", start)].decode()

    def chain(self, section: int, form: str, aux: str, first: int, following: int) -> Iterator[tuple[tuple, tuple]]:
        """The records of a version section with the auxiliary records of each."""
        if section not in self.sections:
            return
        at = self.sections[section][4]
        while True:
            head = struct.unpack_from(form, self.data, at)
            inner = at + head[first]
            while True:
                item = struct.unpack_from(aux, self.data, inner)
                yield head, item
                if not item[-1]:
                    break
                inner += item[-1]
            if not head[following]:
                return
            at += head[following]

    def versions(self) -> dict[int, str]:
        """Names of the versions by their numbers."""
        needed = self.chain(VERNEED, "<HHIII", "<IHHII", 3, 4)
        found = {item[2] & 0x7FFF: self.text(VERNEED, item[3]) for _, item in needed}
        for head, item in self.chain(VERDEF, "<HHHHIII", "<II", 5, 6):
            # The first name is the version's, those that follow are its parents'.
            found.setdefault(head[2], self.text(VERDEF, item[0]))
        return found

    def symbols(self) -> Iterator[tuple[str, str, bool, bool]]:
        """Name, version, whether it is defined here, and whether it may be missing."""
        names = self.versions()
        _, _, _, _, start, size, *_ = self.sections[DYNSYM]
        for i in range(1, size // 24):
            name, info, _, section = struct.unpack_from("<IBBH", self.data, start + 24 * i)
            (version,) = struct.unpack_from("<H", self.data, self.sections[VERSYM][4] + 2 * i)
            yield self.text(DYNSYM, name), names.get(version & 0x7FFF, ""), section != 0, info >> 4 == WEAK


def number(version: str) -> tuple[int, ...]:
    found = re.fullmatch(r"GLIBC_([0-9.]+)", version)
    return tuple(map(int, found[1].split("."))) if found else ()


def system() -> set[str]:
    """Names that this machine's C library has in a version up to the limit."""
    found = set()
    for folder in SYSTEM:
        for path in (Path(folder) / name for name in LIBRARIES):
            if path.exists():
                symbols = Elf(path.read_bytes()).symbols()
                found |= {name for name, version, here, _ in symbols if here and () < number(version) <= LIMIT}
    return found


def too_new(extension: bytes, known: set[str]) -> list[str]:
    """What the extension cannot do without and a C library of the limit does not have."""
    faults = []
    for name, version, here, weak in Elf(extension).symbols():
        if not here and not weak and number(version) > LIMIT and name not in known | STATIC:
            faults.append(f"{name} ({version})")
    return faults


def main(folder: str) -> int:
    (wheel,) = Path(folder).glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        modules = [files.read(name) for name in files.namelist() if name.endswith(".so")]
    faults = [fault for module in modules for fault in too_new(module, system())]
    for fault in faults:
        print(f"glibc_needs: the extension needs {fault}, which glibc 2.28 does not have")
    return 1 if faults or not modules else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
