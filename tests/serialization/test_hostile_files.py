"""Files that were made or changed to do harm end in errors.

`PULLBACK_FUZZ_FILES` sets the number of damaged files that are read.
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback.serialization._archive import Writer

FILES = int(os.environ.get("PULLBACK_FUZZ_FILES", "1500"))
TESTS = Path(__file__).resolve().parent.parent


def archive(pickled: bytes, **records: bytes) -> io.BytesIO:
    file = io.BytesIO()
    writer = Writer(file, "archive")
    writer.add("data.pkl", pickled)
    for name, data in records.items():
        writer.add(f"data/{name}", data)
    writer.finish()
    file.seek(0)
    return file


def refused(pickled: bytes, match: str, **records: bytes) -> None:
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match=match):
        pb.load(archive(pickled, **records))


def test_damaged_files_end_in_errors() -> None:
    """In a process of its own, which must not crash."""
    program = [sys.executable, str(TESTS / "support" / "damaged.py"), str(FILES), "20260101"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    done = subprocess.run(program, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "loaded" in done.stdout and "UnpicklingError" in done.stdout and "Damaged" in done.stdout


class Runs:
    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call


CALLS = [
    (os.system, ("true",)),
    (eval, ("1",)),
    (getattr, (1, "real")),
    (__import__, ("os",)),
    (subprocess.Popen, (["true"],)),
    (open, ("x",)),
    (pickle.loads, (b"N.",)),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].__name__)
@pytest.mark.parametrize("protocol", range(6))
def test_no_function_runs_that_was_not_allowed(call: Any, protocol: int) -> None:
    match = "not an allowed global|is blocked|Unsupported operand"
    refused(pickle.dumps([Runs(*call)], protocol), match)


def test_blocked_modules_stay_blocked() -> None:
    with pb.serialization.safe_globals([(os.system, "posix.system")]):
        refused(pickle.dumps(Runs(os.system, ("true",)), 2), "module posix is blocked")


def named(path: str) -> bytes:
    module, _, name = path.rpartition(".")
    return f"c{module}\n{name}\n".encode()


V2 = named("torch._utils._rebuild_tensor_v2")


def test_attributes_of_globals_cannot_be_reached() -> None:
    for path in (
        "torch.Tensor.__class__",
        "collections.OrderedDict.__init__",
        "torch.load",
        "torch.func",
        "builtins.object",
    ):
        refused(b"\x80\x02" + named(path) + b".", "not an allowed global")


def test_nothing_that_outlives_the_load_is_changed() -> None:
    state = b"}X\x0c\0\0\0__defaults__K\x01s"
    for target in (V2, named("torch.Tensor"), named("collections.OrderedDict"), named("torch.float32")):
        refused(b"\x80\x02" + target + state + b"b.", "Can only build")
        refused(b"\x80\x02" + target + b"N" + state + b"\x86b.", "Can only build")
        refused(b"\x80\x02" + target + b"K\x01a.", "Can only append to lists")
        refused(b"\x80\x02" + target + b"K\x01K\x02s.", "Can only set items of dicts")
        refused(b"\x80\x02" + target + b")\x81.", "Can only create new object|ends|is described") if target not in (
            named("collections.OrderedDict"),
        ) else None
    assert not hasattr(pb.Tensor, "__defaults__")


def tensor(numel: int, offset: Any, size: Any, stride: Any, data: bytes = bytes(16)) -> io.BytesIO:
    """A file with one tensor, whose parts are taken as they are."""

    def item(x: Any) -> bytes:
        return pickle.dumps(x, 2)[2:-1]

    pid = b"(" + item("storage") + b"ctorch\nFloatStorage\n" + item("0") + item("cpu") + item(numel) + b"tQ"
    args = b"(" + pid + item(offset) + item(size) + item(stride) + item(False) + item(OrderedDict()) + b"t"
    return archive(b"\x80\x02" + V2 + args + b"R.", **{"0": data})


META = named("torch._utils._rebuild_meta_tensor_no_storage")


@pytest.mark.parametrize("size", [(3,), ("a" * 9,), b"abc", {1: 2}, (True,), (-1,), (2**63,), (1.0,)])
@pytest.mark.parametrize("stride", [("x",), "x", (2**70,), (-1,), {1: 2}, (None,), (1, 1)])
def test_a_shape_without_elements_is_checked(size: Any, stride: Any) -> None:
    """A number times a string would be a long string."""
    parts = named("torch.float32"), *(pickle.dumps(x, 2)[2:-1] for x in (size, stride, False))
    refused(b"\x80\x02" + META + b"(" + b"".join(parts) + b"tR.", "integers from 0 on|not described as one")


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_shape_without_elements_takes_no_memory(requires_grad: bool) -> None:
    for size, stride in (((2**31,), (2,)), ((2**30,), (0,)), ((2**16, 2**15), (1, 2**16)), ((2**30, 2), (1, 1))):
        parts = named("torch.float32"), *(pickle.dumps(x, 2)[2:-1] for x in (size, stride, requires_grad))
        loaded = pb.load(archive(b"\x80\x02" + META + b"(" + b"".join(parts) + b"tR."))
        assert loaded.is_meta and loaded.shape == size and loaded.requires_grad == requires_grad


def test_a_sound_file_made_by_hand_loads() -> None:
    assert pb.load(tensor(4, 1, (1, 3), (0, 1))).tolist() == [[0, 0, 0]]
    assert pb.load(tensor(4, 4, (0, 3), (3, 1))).shape == (0, 3)


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (5,), (1,)),
        (1, (4,), (1,)),
        (0, (2, 2), (3, 2)),
        (-1, (2,), (1,)),
        (0, (2,), (-1,)),
        (3, (2,), (-1,)),
        (0, (-1,), (1,)),
        (0, (2**63,), (0,)),
        (0, (2**62, 4), (0, 0)),
        (0, (2**32, 2**32), (0, 0)),
        (2**63, (1,), (1,)),
        (2**62, (0,), (1,)),
        (0, (2**70,), (2**70,)),
        (0, (1,), (2**70,)),
        (0, (3,), (2**62,)),
        (0, (2, 2), (1,)),
        (0, (True,), (1,)),
        (0, (1.0,), (1,)),
        (0, "ab", (1, 1)),
        ("0", (1,), (1,)),
        (0, None, None),
        (0, (1,) * 100, (1,) * 100),
    ],
)
def test_places_outside_of_the_storage(offset: Any, size: Any, stride: Any) -> None:
    try:
        loaded = pb.load(tensor(4, offset, size, stride))
    except (RuntimeError, pickle.UnpicklingError):
        return
    assert loaded.numel() <= 1 and loaded.ndim in (1, 100), "what loads lies in the storage"


@pytest.mark.parametrize("numel", [5, 3, -1, 2**62, 2**63, 2**70, True, 4.0, None])
def test_a_storage_has_the_bytes_that_it_claims(numel: Any) -> None:
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        pb.load(tensor(numel, 0, (1,), (1,)))


def test_persistent_ids_are_storages() -> None:
    for pid in (
        b"K\x01",
        b"X\x01\0\0\0a",
        b")",
        b"(X\x07\0\0\0storageK\x01K\x02K\x03K\x04t",
        b"(X\x06\0\0\0moduleK\x01t",
    ):
        refused(b"\x80\x02" + pid + b"Q.", "Only persistent_load of storage|not described as one")


def test_numbers_in_the_pickle_allocate_nothing() -> None:
    refused(b"\x80\x02\x8e" + b"\xff" * 8 + b".", "ends too early")
    refused(b"\x80\x02\x96" + b"\0\0\0\0\0\x10\0\0" + b".", "ends too early")
    refused(b"\x80\x02X\xff\xff\xff\x7f.", "ends too early")
    refused(b"\x80\x02\x8b\xff\xff\xff\xff.", "ends too early")
    refused(b"\x80\x02" + named("builtins.bytearray") + b"J\xff\xff\xff\x7f\x85R.", "not made of int")
    assert pb.load(archive(b"\x80\x02Nr\xff\xff\xff\xff.")) is None


def test_keys_are_hashed_by_few_steps() -> None:
    deep = b"\x80\x02}N" + b"\x85" * 200_000 + b"Ns."
    doubled = b"\x80\x02}N" + b"q\0h\0\x86" * 60 + b"Ns."
    for pickled in (deep, doubled):
        refused(pickled, "a tuple that is a key has too many members")
        refused(pickled.replace(b"}N", b"\x8fN").replace(b"Ns.", b"\x90."), "ends too early|too many members")
    refused(b"\x80\x02}]Ns.", "a list cannot be a key")


def test_deep_containers_load() -> None:
    found = pb.load(archive(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b"."))
    assert type(found) is list


def test_a_bomb_is_refused() -> None:
    import zlib

    packed = zlib.compressobj(9, wbits=-15)
    content = packed.compress(bytes(10**6)) + packed.flush()
    file = archive(b"\x80\x02N.")
    data = bytearray(file.getvalue())
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = (2**31).to_bytes(4, "little")
    for method in (0, 8):
        data[at + 10 : at + 12] = method.to_bytes(2, "little")
        with pytest.raises(RuntimeError, match="which the file does not hold"):
            pb.load(io.BytesIO(bytes(data)))
    assert len(content) < 2000


def test_records_that_overlap() -> None:
    data = bytearray(archive(b"\x80\x02N.", a=bytes(100), b=bytes(100)).getvalue())
    entries = [k for k in range(len(data)) if data[k : k + 4] == b"PK\x01\x02"]
    data[entries[2] + 42 : entries[2] + 46] = data[entries[1] + 42 : entries[1] + 46]
    with pytest.raises(RuntimeError, match="records overlap"):
        pb.load(io.BytesIO(bytes(data)))


@pytest.mark.parametrize("code", [*b"IFLVSPiop\x82\x83\x84\x92\x97\x98"])
def test_opcodes_that_data_does_not_need(code: int) -> None:
    refused(b"\x80\x02" + bytes([code]) + b"x\nx\n.", "Unsupported operand")
