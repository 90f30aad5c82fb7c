"""Files of tensors with damage: what reads them must give an object or an error, whatever they say."""

from __future__ import annotations

import io
import pickle
import random
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pullback as pb
from pullback.serialization._archive import Writer
from support import saved

ERRORS = (RuntimeError, pickle.UnpicklingError, EOFError)
WORDS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


def change_bits(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def change_bytes(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 2, 8))):
        data[rng.randrange(len(data))] = rng.choice((0, 1, 0xFF, 0x80, *b".RQbcqhtsu(}])", rng.randrange(256)))


def change_word(rng: random.Random, data: bytearray) -> None:
    width, letter = rng.choice(((2, "H"), (4, "I"), (8, "Q")))
    at = rng.randrange(max(1, len(data) - width))
    data[at : at + width] = struct.pack(f"<{letter}", rng.choice(WORDS) % 2 ** (8 * width))


def cut(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    if rng.random() < 0.5:
        del data[at:]
    else:
        del data[at : at + rng.choice((1, 2, 8, 100))]


def insert(rng: random.Random, data: bytearray) -> None:
    at, start = rng.randrange(len(data)), rng.randrange(len(data))
    data[at:at] = data[start : start + rng.choice((1, 2, 5, 30, 300))]


def exchange(rng: random.Random, data: bytearray) -> None:
    length = rng.choice((1, 4, 20))
    a, b = (rng.randrange(max(1, len(data) - length)) for _ in range(2))
    data[a : a + length], data[b : b + length] = data[b : b + length], data[a : a + length]


MUTATIONS: list[Callable[[random.Random, bytearray], None]] = [
    *(change_bits, change_bytes, change_word, cut, insert, exchange),
]


def samples() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted(saved.FOLDER.glob("*.pt"))}


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Half of the time the file is damaged as it is, otherwise one record of it, in an archive that is sound."""
    if data[:2] != b"PK" or rng.random() < 0.5:
        changed = bytearray(data)
        rng.choice(MUTATIONS)(rng, changed)
        return bytes(changed)
    archive, file = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    names = archive.namelist()
    target = rng.choice([n for n in names if n.endswith("data.pkl")] * 10 + names)
    writer = Writer(file, "archive")
    for name in names:
        content = bytearray(archive.read(name))
        if name == target and content:
            rng.choice(MUTATIONS)(rng, content)
        writer.add(name.partition("/")[2], bytes(content))
    writer.finish()
    return file.getvalue()


def use(item: Any, left: int = 300) -> int:
    """Reads what was loaded, so that memory which does not exist is touched."""
    waiting = [item]
    while waiting and left:
        left -= 1
        x = waiting.pop()
        if isinstance(x, pb.Tensor):
            if not x.is_meta and x.numel() < 10**6:
                x.detach().clone().resolve_conj().reshape(-1).tolist()
            repr(x.shape)
        elif isinstance(x, dict):
            waiting += [*x.values(), getattr(x, "_metadata", None)]
        elif isinstance(x, list | tuple | set):
            waiting += x
    return left


def run(count: int, seed: int) -> dict[str, int]:
    """Loads so many damaged files; gives how many of them loaded, and how many raised which error."""
    rng = random.Random(seed)
    files = list(samples().values())
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "damaged.pt"
        for k in range(count):
            data = damaged(rng, rng.choice(files))
            try:
                if k % 8:
                    use(pb.load(io.BytesIO(data)))
                else:
                    path.write_bytes(data)
                    use(pb.load(path, mmap=data[:4] == b"PK\x03\x04"))
                name = "loaded"
            except ERRORS as e:
                name = type(e).__name__
            except Exception as e:
                raise AssertionError(f"file {k} of seed {seed} raised {type(e).__name__}: {e}") from e
            found[name] = found.get(name, 0) + 1
    return found


if __name__ == "__main__":
    import sys

    print(run(int(sys.argv[1]), int(sys.argv[2])))
