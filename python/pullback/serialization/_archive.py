"""Archives as PyTorch writes them: zip files whose records are aligned, and read with every length checked."""

import os
import struct
import zlib
from collections.abc import Iterable
from io import BufferedReader, FileIO
from typing import IO, Any

_LOCAL, _ENTRY, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_END64, _LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"
_MOST = 0xFFFFFFFF
_ALIGNMENT = 64
# The most that one byte of a deflated record can become.
_RATIO = 1032
PIECE = 64 << 20


class Damaged(RuntimeError):
    """A file that is no archive, or one that contradicts itself."""


def _damaged(text: str) -> Damaged:
    return Damaged(
        f"load(): PytorchStreamReader failed reading the file: {text}. It is damaged, or was not written by save()"
    )


class Source:
    """Bytes to read from: a file object that can seek, or a buffer."""

    def __init__(self, file: IO[bytes] | None, buffer: memoryview | None = None) -> None:
        self.file, self.buffer = file, buffer
        self.start = 0
        if file is not None:
            self.start = file.tell()
            self.size = file.seek(0, os.SEEK_END) - self.start
            file.seek(self.start)
        else:
            assert buffer is not None
            self.size = len(buffer)

    def read(self, offset: int, length: int) -> bytes:
        """Exactly these bytes; the caller has checked that they lie in the file."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise _damaged(f"{length} bytes from byte {offset} on do not lie in its {self.size}")
        if self.buffer is not None:
            return bytes(self.buffer[offset : offset + length])
        assert self.file is not None
        self.file.seek(self.start + offset)
        found = self.file.read(length)
        if len(found) != length:
            raise _damaged(f"it ends at byte {offset + len(found)} of {self.size}")
        return found

    def leave(self, offset: int) -> None:
        """Lets the file object stand behind what was read."""
        if self.file is not None:
            self.file.seek(self.start + offset)

    def descriptor(self) -> int | None:
        """The descriptor of a file that nothing stands in front of: the file object reads what it is."""
        file: Any = self.file
        raw = file.raw if type(file) is BufferedReader else file
        return raw.fileno() if type(raw) is FileIO else None

    def read_into(self, offset: int, target: memoryview) -> None:
        """Fills `target`, without a copy in between where the file object can."""
        if offset < 0 or offset + len(target) > self.size:
            raise _damaged(f"{len(target)} bytes from byte {offset} on do not lie in its {self.size}")
        if self.buffer is not None:
            target[:] = self.buffer[offset : offset + len(target)]
            return
        assert self.file is not None
        self.file.seek(self.start + offset)
        into: Any = getattr(self.file, "readinto", None)
        at = 0
        while at < len(target):
            piece = target[at : at + PIECE]
            if into is not None:
                count = into(piece)
            else:
                found = self.file.read(len(piece))
                count = len(found)
                piece[:count] = found
            if not count:
                raise _damaged(f"it ends at byte {offset + at} of {self.size}")
            at += count


class Record:
    """A member of an archive."""

    __slots__ = ("method", "offset", "packed", "size")

    def __init__(self, offset: int, packed: int, size: int, method: int) -> None:
        self.offset, self.packed, self.size, self.method = offset, packed, size, method


class Archive:
    """The records of a zip file by their names, without the folder that all lie in."""

    def __init__(self, source: Source) -> None:
        self.source = source
        directory, count = self._directory()
        self.records, first = self._entries(directory, count)
        self.folder = first.partition("/")[0]

    def __contains__(self, name: str) -> bool:
        return f"{self.folder}/{name}" in self.records

    def record(self, name: str) -> Record:
        found = self.records.get(f"{self.folder}/{name}")
        if found is None:
            raise _damaged(f"it has no record '{name}'")
        return found

    def content(self, name: str) -> bytes:
        """The content of a record."""
        record = self.record(name)
        start = self.data_offset(record)
        packed = self.source.read(start, record.packed)
        if record.method == 0:
            return packed
        unpacking = zlib.decompressobj(-15)
        try:
            found = unpacking.decompress(packed, record.size + 1)
        except zlib.error as e:
            raise _damaged(f"record '{name}' cannot be decompressed ({e})") from None
        if len(found) != record.size:
            raise _damaged(f"record '{name}' does not have the {record.size} bytes that it should")
        return found

    def data_offset(self, record: Record) -> int:
        """Where the bytes of a record begin."""
        head = self.source.read(record.offset, 30)
        if head[:4] != _LOCAL:
            raise _damaged(f"no record begins at byte {record.offset}")
        name, extra = struct.unpack_from("<HH", head, 26)
        start: int = record.offset + 30 + name + extra
        if start + record.packed > self.end:
            raise _damaged(f"the record at byte {record.offset} is longer than the file")
        return start

    def _directory(self) -> tuple[bytes, int]:
        """The central directory, and how many entries it has."""
        size = self.source.size
        tail_at = max(0, size - 65557)
        tail = self.source.read(tail_at, size - tail_at)
        at = tail.rfind(_END)
        if at < 0 or at + 22 > len(tail):
            raise _damaged("failed finding central directory")
        count, length, offset = struct.unpack_from("<HII", tail, at + 10)
        if at >= 20 and tail[at - 20 : at - 16] == _LOCATOR64:
            (at64,) = struct.unpack_from("<Q", tail, at - 12)
            end = self.source.read(at64, 56)
            if end[:4] != _END64:
                raise _damaged("failed finding central directory")
            count, length, offset = struct.unpack_from("<QQQ", end, 32)
        if offset + length > tail_at + at or count * 46 > length:
            raise _damaged("its central directory does not lie in it")
        self.end: int = offset
        return self.source.read(offset, length), count

    def _entries(self, directory: bytes, count: int) -> tuple[dict[str, Record], str]:
        records: dict[str, Record] = {}
        at, first = 0, ""
        for _ in range(count):
            if directory[at : at + 4] != _ENTRY or at + 46 > len(directory):
                raise _damaged("its central directory has a wrong entry")
            flags, method = struct.unpack_from("<HH", directory, at + 8)
            packed, size, name_len, extra_len, comment_len = struct.unpack_from("<IIHHH", directory, at + 20)
            (offset,) = struct.unpack_from("<I", directory, at + 42)
            end = at + 46 + name_len + extra_len
            if end + comment_len > len(directory):
                raise _damaged("its central directory has a wrong entry")
            try:
                name = directory[at + 46 : at + 46 + name_len].decode()
            except UnicodeDecodeError:
                raise _damaged("a record's name is not UTF-8") from None
            size, packed, offset = _wide(directory[at + 46 + name_len : end], size, packed, offset)
            self._check(name, flags, method, packed, size, offset)
            if name in records:
                raise _damaged(f"it has two records '{name}'")
            records[name] = Record(offset, packed, size, method)
            first = first or name
            at = end + comment_len
        if not records:
            raise _damaged("it is empty")
        self._check_apart(records.values())
        return records, first

    def _check(self, name: str, flags: int, method: int, packed: int, size: int, offset: int) -> None:
        if flags & 1:
            raise _damaged(f"record '{name}' is encrypted")
        if method not in (0, 8):
            raise _damaged(f"record '{name}' is compressed by method {method}, and only deflate is known")
        if (method == 0 and packed != size) or size > packed * _RATIO or offset + 30 + packed > self.end:
            raise _damaged(f"record '{name}' claims {size} bytes, which the file does not hold")

    @staticmethod
    def _check_apart(records: Iterable[Record]) -> None:
        """Records that lie in each other would unpack to more than the file suggests."""
        before = 0
        for record in sorted(records, key=lambda r: r.offset):
            if record.offset < before:
                raise _damaged("two of its records overlap")
            before = record.offset + 30 + record.packed


def _wide(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Numbers that are too large for their places in an entry stand in its extra field."""
    at = 0
    values = [size, packed, offset]
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            field = at + 4
            for k, value in enumerate(values):
                if value == _MOST:
                    if field + 8 > min(len(extra), at + 4 + length):
                        raise _damaged("its central directory has a wrong entry")
                    (values[k],) = struct.unpack_from("<Q", extra, field)
                    field += 8
            break
        at += 4 + length
    return values[0], values[1], values[2]


class Writer:
    """Writes an archive; the bytes of each record begin at a multiple of 64."""

    def __init__(self, file: IO[bytes], folder: str) -> None:
        self.file, self.folder = file, folder
        self.at = 0
        self.entries: list[bytes] = []

    def _write(self, data: bytes | memoryview) -> None:
        for start in range(0, len(data), PIECE):
            self.file.write(data[start : start + PIECE])
        self.at += len(data)

    def add(self, name: str, data: bytes | memoryview) -> None:
        path = f"{self.folder}/{name}".encode()
        size, offset = len(data), self.at
        check = 0
        for start in range(0, size, PIECE):
            check = zlib.crc32(data[start : start + PIECE], check)
        wide = struct.pack("<HHQQ", 1, 16, size, size) if size >= _MOST else b""
        short = _MOST if wide else size
        free = -(offset + 30 + len(path) + len(wide) + 4) % _ALIGNMENT
        extra = wide + struct.pack("<2sH", b"FB", free) + b"Z" * free
        # Names are UTF-8; the time is the first that zip files know, so that equal objects make equal files.
        common = struct.pack("<HHHHIIIHH", 0x800, 0, 0, 0x21, check, short, short, len(path), len(extra))
        version = struct.pack("<H", 45 if wide else 20)
        self._write(_LOCAL + version + common + path + extra)
        self._write(data)
        fields = [v for v in (size, size) if wide] + ([offset] if offset >= _MOST else [])
        extra = struct.pack(f"<HH{len(fields)}Q", 1, 8 * len(fields), *fields) if fields else b""
        version = struct.pack("<HH", *(45, 45) if fields else (20, 20))
        common = common[:-2] + struct.pack("<H", len(extra))
        rest = struct.pack("<HHHII", 0, 0, 0, 0, min(offset, _MOST))
        self.entries.append(_ENTRY + version + common + rest + path + extra)

    def finish(self) -> None:
        directory = b"".join(self.entries)
        offset, length, count = self.at, len(directory), len(self.entries)
        self._write(directory)
        if offset >= _MOST or length >= _MOST or count >= 0xFFFF:
            end = struct.pack("<4sQHHIIQQQQ", _END64, 44, 45, 45, 0, 0, count, count, length, offset)
            self._write(end + struct.pack("<4sIQI", _LOCATOR64, 0, offset + length, 1))
        short = min(count, 0xFFFF)
        self._write(struct.pack("<4sHHHHIIH", _END, 0, 0, short, short, min(length, _MOST), min(offset, _MOST), 0))
