"""What PyTorch wrote is read with the same values, and what is written is read again; the rest raises."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback.serialization._archive import Archive, Source, Writer
from support import saved

MAKERS = {**saved.OBJECTS, "containers-protocol4": saved.containers, "layouts-legacy": saved.layouts}


def buffer(obj: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    pb.save(obj, file, **options)
    file.seek(0)
    return file


def again(obj: Any, **options: Any) -> Any:
    return pb.load(buffer(obj), **options)


@pytest.mark.parametrize("name", MAKERS)
def test_files_of_pytorch(name: str) -> None:
    loaded = pb.load(saved.FOLDER / f"{name}.pt")
    assert saved.described(loaded) == saved.described(MAKERS[name](pb))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", saved.OBJECTS)
def test_round_trip(name: str, protocol: int) -> None:
    want = saved.OBJECTS[name](pb)
    assert saved.described(pb.load(buffer(want, pickle_protocol=protocol))) == saved.described(want)
    assert saved.described(pb.load(buffer(want), weights_only=False)) == saved.described(want)


@pytest.mark.parametrize("name", saved.OBJECTS)
def test_pickles_are_those_of_pytorch(name: str) -> None:
    """Byte for byte, so that it reads our files."""
    ours = zipfile.ZipFile(buffer(saved.OBJECTS[name](pb)))
    theirs = zipfile.ZipFile(saved.FOLDER / f"{name}.pt")
    for path in ours.namelist():
        member = path.partition("/")[2]
        assert ours.read(path) == theirs.read(f"{name}/{member}"), member


@pytest.mark.parametrize("name", ["layouts", "layouts-legacy"])
def test_loaded_tensors_share_memory(name: str) -> None:
    loaded = pb.load(saved.FOLDER / f"{name}.pt")
    loaded["x"].fill_(7)
    assert all((loaded[k] == 7).all() for k in ("y", "transposed", "row", "steps", "scalar", "expanded"))
    assert loaded["alone"] == 2.5
    loaded["alone"].resize_(5)


def test_orders_in_memory_are_kept() -> None:
    x = pb.arange(96.0).reshape(2, 4, 3, 4).contiguous(memory_format=pb.channels_last)
    a, b, part = again([x, x.permute(0, 2, 3, 1), x[1:, :2]])
    assert a.stride() == x.stride() and a.equal(x) and part.equal(x[1:, :2]) and part.stride() == x[1:, :2].stride()
    a.fill_(1)
    assert (b == 1).all() and (part == 1).all()
    y = pb.arange(6.0).reshape(2, 3).t().clone(memory_format=pb.preserve_format)
    assert again(y).equal(y) and again(y.conj().T).equal(y.T)


def test_the_same_object_is_the_same() -> None:
    a = pb.ones(2)
    nested = [a, a]
    nested.append(nested)
    x, y, z = again(nested)
    assert x is y and z[2] is z


def test_paths_and_file_objects(tmp_path: Path) -> None:
    pb.save(pb.ones(2), tmp_path / "a.b.pt")
    pb.save(pb.ones(2), str(tmp_path / "c.pt"))
    assert zipfile.ZipFile(tmp_path / "a.b.pt").testzip() is None
    assert zipfile.ZipFile(tmp_path / "a.b.pt").namelist()[0] == "a.b/data.pkl"
    with open(tmp_path / "many.pt", "w+b") as file:
        file.write(b"in front")
        pb.save(pb.ones(3), file)
        file.seek(8)
        assert pb.load(file).shape == (3,)
    assert pb.load(str(tmp_path / "c.pt")).equal(pb.ones(2))


class OnlyRead:
    """A file object without `readinto`, whose reads are short."""

    def __init__(self, data: bytes) -> None:
        self.file = io.BytesIO(data)
        self.seek, self.tell = self.file.seek, self.file.tell

    def read(self, length: int = -1) -> bytes:
        return self.file.read(length)


def test_a_file_object_that_only_reads() -> None:
    assert pb.load(OnlyRead(buffer(pb.arange(1000)).getvalue())).equal(pb.arange(1000))  # type: ignore[arg-type]


def test_bytes_begin_at_multiples_of_64() -> None:
    archive = Archive(Source(buffer([pb.ones(3), pb.ones(5)])))
    assert all(archive.data_offset(record) % 64 == 0 for record in archive.records.values())


def test_mmap_reads_the_file_when_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    pb.save(saved.layouts(pb), path)
    loaded = pb.load(path, mmap=True)
    assert saved.described(loaded) == saved.described(saved.layouts(pb))
    loaded["x"].fill_(3)
    assert loaded["y"].sum() == 72, "views share the mapping"
    assert pb.load(path)["x"].sum() == 276, "the file stays as it is"
    with pytest.raises(ValueError, match="f must be a file path"):
        pb.load(buffer(1), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        pb.load(saved.FOLDER / "layouts-legacy.pt", mmap=True)


def test_compressed_records(tmp_path: Path) -> None:
    original = zipfile.ZipFile(buffer(saved.layouts(pb)))
    path = tmp_path / "packed.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in original.namelist():
            packed.writestr(name, original.read(name))
    for use_mmap in (False, True):
        assert saved.described(pb.load(path, mmap=use_mmap)) == saved.described(saved.layouts(pb))


def test_a_small_file_holds_no_large_pickle(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.pt", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("x/data.pkl", b"\x80\x02" + b"]" * 2**25 + b".")
        out.writestr("x/version", b"3\n")
    assert (tmp_path / "x.pt").stat().st_size < 2**17
    for weights_only in (True, False):
        with pytest.raises(RuntimeError, match=r"'data\.pkl' is compressed and has 33554435 bytes"):
            pb.load(tmp_path / "x.pt", weights_only=weights_only)


def test_elements_in_the_other_byte_order() -> None:
    want = saved.dtypes(pb)
    original = zipfile.ZipFile(buffer(want))
    turned = io.BytesIO()
    writer = Writer(turned, "archive")
    for name in original.namelist():
        data = original.read(name)
        key = name.rpartition("/")[2]
        if "/data/" in name:
            dtype = want[saved.DTYPES[int(key)]].dtype
            size = dtype.itemsize // (2 if dtype.is_complex else 1)
            data = b"".join(data[k : k + size][::-1] for k in range(0, len(data), size))
        writer.add(name.partition("/")[2], b"big" if key == "byteorder" else data)
    writer.finish()
    turned.seek(0)
    assert saved.described(pb.load(turned)) == saved.described(want)


def test_map_location() -> None:
    original = zipfile.ZipFile(buffer(pb.arange(3)))
    moved = io.BytesIO()
    writer = Writer(moved, "archive")
    for name in original.namelist():
        data = original.read(name)
        writer.add(name.partition("/")[2], data.replace(b"\x03\0\0\0cpu", b"\x06\0\0\0cuda:0"))
    writer.finish()

    def load(where: Any) -> Any:
        moved.seek(0)
        return pb.load(moved, where)

    with pytest.raises(RuntimeError, match="Attempting to deserialize object on 'cuda:0'.*map_location='cpu'"):
        load(None)
    with pytest.raises(RuntimeError, match="Attempting to deserialize"):
        load({"cuda:1": "cpu"})
    seen = []
    for where in ("cpu", pb.device("cpu"), {"cuda:0": "cpu"}, lambda s, place: seen.append(place) or s):
        assert load(where).equal(pb.arange(3))
    assert seen == ["cuda:0"]
    assert load("meta").is_meta
    with pytest.raises(TypeError, match="map_location should give a storage"):
        load(lambda storage, place: 3)


def test_storages() -> None:
    x = pb.arange(4)
    held, loaded = again([x.untyped_storage(), x.untyped_storage()])
    # As PyTorch gives it: bytes are elements too.
    assert (
        type(held) is pb.storage.TypedStorage
        and held.dtype is pb.uint8
        and held.tolist() == x.untyped_storage().tolist()
        and loaded == held
    )


def test_storages_with_a_dtype() -> None:
    x = pb.arange(4.0)
    storage, view = again([x.storage(), x[1:]], weights_only=False)
    assert storage.nbytes() == 16 and storage.data_ptr() == view.untyped_storage().data_ptr()


@pytest.mark.parametrize("name", ["dtypes", "layouts", "containers", "state_dict", "tensors"])
def test_the_format_before_1_6_is_written_too(name: str, tmp_path: Path) -> None:
    want = saved.OBJECTS[name](pb)
    file = buffer(want, _use_new_zipfile_serialization=False)
    assert file.read(2) != b"PK"
    file.seek(0)
    assert saved.described(pb.load(file)) == saved.described(want)
    pb.save(want, tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    assert saved.described(pb.load(tmp_path / "x.pt", weights_only=False)) == saved.described(want)


def test_elements_that_are_nowhere_in_memory() -> None:
    z = pb.tensor([1 + 2j, 3 - 1j]).conj()
    for x in (z, z.imag, z.real, z[1:].imag, -z.imag):
        assert again(x).equal(x.resolve_conj())


def test_results_with_named_fields_of_pytorch() -> None:
    """PyTorch writes the class with the tuple of its fields and an empty dict."""
    found = pb.max(pb.eye(2), 0)
    data = zipfile.ZipFile(buffer(found)).read("archive/data.pkl")
    assert b"ctorch.return_types\nmax\n" in data
    kind: Any = type(found)
    for loaded in (again(found, weights_only=False), pickle.loads(pickle.dumps(found)), kind((found[0], found[1]), {})):
        assert type(loaded) is kind and loaded.values.equal(found.values) and loaded.indices.equal(found.indices)
    assert repr(kind((1, 2))) == "max(values=1, indices=2)"
    assert kind(1, 2) == kind([1, 2]) == kind(values=1, indices=2) == (1, 2)
    with pytest.raises(TypeError):
        kind((1, 2, 3))


class Marked(pb.Tensor):
    pass


class Config:
    def __init__(self) -> None:
        self.size = 3


def test_subclasses_and_objects_are_allowed_by_name() -> None:
    x = pb.ones(2).as_subclass(Marked)
    x.note = "n"  # type: ignore[attr-defined]
    files = [buffer(x), buffer(Config())]
    for file in files:
        with pytest.raises(pickle.UnpicklingError, match="Unsupported global: GLOBAL .*was not an allowed global"):
            pb.load(file)
        file.seek(0)
    with pb.serialization.safe_globals([Marked, Config]):
        loaded = [pb.load(file) for file in files]
        assert pb.serialization.get_safe_globals() == [Marked, Config]
    assert pb.serialization.get_safe_globals() == []
    assert type(loaded[0]) is Marked and loaded[0].note == "n" and loaded[1].size == 3
    pb.serialization.add_safe_globals([(Config, f"{Config.__module__}.Config")])
    try:
        assert again(Config()).size == 3
    finally:
        pb.serialization.clear_safe_globals()
    assert again(x, weights_only=False).note == "n"


@pytest.mark.parametrize("protocol", [2, 4])
def test_names_that_would_be_refused(protocol: int, tmp_path: Path) -> None:
    asked = pb.serialization.get_unsafe_globals_in_checkpoint
    assert asked(buffer(saved.containers(pb), pickle_protocol=protocol)) == []
    pb.save([Config(), {1}, pb.ones(1)], tmp_path / "x.pt", pickle_protocol=protocol)
    name = f"{Config.__module__}.Config"
    assert asked(tmp_path / "x.pt") == [name]
    with pb.serialization.safe_globals([Config]):
        assert asked(tmp_path / "x.pt") == []
    with pytest.raises(RuntimeError):
        asked(io.BytesIO(b"nothing"))


def test_names_in_files_are_those_of_pytorch() -> None:
    data = zipfile.ZipFile(buffer([pb.ones(1), pb.float32, pb.Size([1]), pb.nn.functional.softmax, pb.Tensor])).read(
        "archive/data.pkl"
    )
    assert b"pullback" not in data
    assert b"ctorch._utils\n_rebuild_tensor_v2\n" in data and b"ctorch.nn.functional\nsoftmax\n" in data
    assert again(pb.nn.functional.softmax, weights_only=False) is pb.nn.functional.softmax


def test_what_cannot_be_saved() -> None:
    with pytest.raises(RuntimeError, match="value of .*grad"):
        pb.func.grad(lambda x: (pb.save(x, io.BytesIO()), x.sum())[1])(pb.ones(2))
    x = pb.ones(4)
    with pytest.raises(RuntimeError, match="same data as different types"):
        pb.save([x, x.view(pb.int32)], io.BytesIO())
    with pytest.raises((TypeError, pickle.PicklingError, AttributeError)):
        pb.save(lambda: 0, io.BytesIO())
    with pytest.raises(AttributeError, match="'write' attribute, got int"):
        pb.save(1, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pickle_protocol must be 1 to"):
        pb.save(1, io.BytesIO(), pickle_protocol=0)
    with pytest.raises(AttributeError, match="pickle_module must be None or a module with a Pickler"):
        pb.save(1, io.BytesIO(), pickle_module=os)


def test_what_is_no_file_of_tensors() -> None:
    with pytest.raises(EOFError):
        pb.load(io.BytesIO())
    with pytest.raises(pickle.UnpicklingError, match="Invalid magic number"):
        pb.load(io.BytesIO(b"something else"))
    with pytest.raises(FileNotFoundError):
        pb.load("no/such/file.pt")
    with pytest.raises(AttributeError, match="has no attribute 'read'"):
        pb.load(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="failed finding central directory"):
        pb.load(io.BytesIO(buffer(1).getvalue()[:-30]))
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        pb.load(buffer(1), pickle_module=pickle, weights_only=True)
    script = io.BytesIO()
    writer = Writer(script, "archive")
    for name in ("data.pkl", "constants.pkl"):
        writer.add(name, b"\x80\x02N.")
    writer.finish()
    script.seek(0)
    with pytest.raises(RuntimeError, match="TorchScript archive"):
        pb.load(script)


def test_a_dtype_that_does_not_exist_here() -> None:
    data = zipfile.ZipFile(buffer(pb.int8)).read("archive/data.pkl").replace(b"int8", b"uint16")
    file = io.BytesIO()
    writer = Writer(file, "archive")
    writer.add("data.pkl", data)
    writer.finish()
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.uint16.*do not have"):
        pb.load(file)


def test_large_archives_have_wide_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from pullback.serialization import _archive

    monkeypatch.setattr(_archive, "_MOST", 500)
    file = io.BytesIO()
    writer = Writer(file, "archive")
    records = {f"data/{k}": bytes([k]) * (200 * k) for k in range(1, 5)}
    for name, data in records.items():
        writer.add(name, data)
    writer.finish()
    file.seek(0)
    archive = Archive(Source(file))
    assert {name: archive.content(name) for name in records} == records


def test_state_dicts_keep_their_metadata() -> None:
    loaded = pb.load(saved.FOLDER / "module-state.pt")
    assert type(loaded) is OrderedDict
    assert loaded._metadata["1"] == {"version": 2}  # type: ignore[attr-defined]
    assert again(loaded)._metadata == loaded._metadata  # type: ignore[attr-defined]


def test_parameters() -> None:
    loaded = pb.load(saved.FOLDER / "parameters.pt")
    assert loaded["0.weight"].requires_grad and loaded["0.weight"].is_leaf and loaded["1.bias"].tolist() == [3, 3, 3]
    if hasattr(pb.nn, "Parameter"):
        assert all(type(p) is pb.nn.Parameter for p in loaded.values())
        assert saved.described(again(loaded)) == saved.described(loaded)


def test_loading_does_not_import_pytorch() -> None:
    pb.load(saved.FOLDER / "parameters.pt")
    assert "torch" not in sys.modules


@pytest.mark.skipif(not hasattr(pb.nn, "Module"), reason="there are no modules")
def test_modules_have_the_names_and_attributes_of_pytorchs() -> None:
    """So that PyTorch loads them and calls them."""
    net = pb.nn.Sequential(pb.nn.Linear(2, 3), pb.nn.ReLU(), pb.nn.BatchNorm1d(3))
    data = zipfile.ZipFile(buffer(net)).read("archive/data.pkl")
    assert b"pullback" not in data and b"ctorch.nn.modules.activation\nReLU\n" in data
    assert data.count(b"_is_full_backward_hook") == 1 and b"_load_state_dict_post_hooks" in data
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.container\.Sequential was not an allowed"):
        again(net)
    loaded = again(net, weights_only=False)
    x = pb.randn(4, 2)
    assert loaded(x).equal(net(x)) and type(loaded[0].weight) is pb.nn.Parameter
    theirs = pb.load(saved.FOLDER / "module.pt", weights_only=False)
    assert theirs(x).shape == (4, 3) and theirs[0].bias.tolist() == [1, 1, 1]
    assert all(k == 2 or p.requires_grad for k, p in enumerate(theirs.parameters()))


@pytest.mark.parametrize("dtype", [pb.float32, pb.bfloat16, pb.complex128, pb.bool, pb.uint8])
def test_large_records_of_files(tmp_path: Path, dtype: pb.dtype) -> None:
    """They are read past a plain file object; what stands between a program and its file reads for itself."""
    x = (pb.arange(300_000) % 251).to(dtype)
    path = tmp_path / "large.pt"
    with path.open("wb") as file:
        file.write(b"before")
        pb.save({"x": x, "y": x[:7].clone()}, file)
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    opened: list[Any] = [path.open("rb"), path.open("rb", buffering=0), path.open("r+b"), gzip.open(packed)]
    opened.append(io.BytesIO(path.read_bytes()))
    for file in opened:
        with file:
            file.seek(6)
            loaded = pb.load(file)
            assert pb.equal(loaded["x"], x) and pb.equal(loaded["y"], x[:7]) and loaded["x"].dtype is dtype
            loaded["x"][0] = 1


def test_places_that_cannot_be_read(tmp_path: Path) -> None:
    read: Any = getattr(pb._core, "_read_file", None)
    if read is None:
        return
    path = tmp_path / "short"
    path.write_bytes(bytes(range(64)))
    with path.open("rb") as file:
        n = file.fileno()
        assert read(n, 8, 7, pb.uint8).tolist() == [8, 9, 10, 11, 12, 13, 14] and read(n, 64, 0, pb.float64).shape == (
            0,
        )
        for offset, numel, message in [
            (0, 9, "it became shorter meanwhile"),
            (-8, 1, "Invalid argument"),
            (2**63 - 4, 2, "there is no such place|Invalid argument"),
        ]:
            with pytest.raises(RuntimeError, match=f"the file cannot be read: .*({message})"):
                read(n, offset, numel, pb.float64)
        for wrong in (2**60, 2**63):
            with pytest.raises((RuntimeError, OverflowError)):
                read(n, 0, wrong, pb.float64)
    with pytest.raises(RuntimeError, match="Bad file descriptor"):
        read(n, 0, 1, pb.uint8)
