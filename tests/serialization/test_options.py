"""What files are read and written by: picklers of other modules, the environment, and what is set for a process."""

from __future__ import annotations

import copy
import io
import mmap
import pickle
import types
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback import _utils, serialization
from pullback.nn import Parameter


def again(obj: Any, write: dict[str, Any] | None = None, **read: Any) -> Any:
    file = io.BytesIO()
    pb.save(obj, file, **(write or {}))
    file.seek(0)
    return pb.load(file, **read)


_Plain: Any = pickle._Pickler


class Counted(_Plain):  # type: ignore[misc]
    saved = 0

    def save(self, *args: Any, **kwargs: Any) -> None:
        Counted.saved += 1
        super().save(*args, **kwargs)


class Marked(pb.Tensor):
    __slots__ = ("extra",)
    extra: Any
    other: Any


class Slotted:
    __slots__ = ("a",)
    a: int


@pytest.mark.parametrize("legacy", [False, True])
def test_a_pickler_of_another_module_writes_the_object(legacy: bool) -> None:
    module = types.ModuleType("module")
    module.__dict__.update(Pickler=Counted, Unpickler=pickle.Unpickler)
    x = pb.arange(4.0)
    parameter: Any = Parameter(pb.ones(2))
    parameter.note = "kept"
    obj = [x, x[1:], parameter, pb.tensor([1 + 2j]).conj(), pb.ones(2, device="meta"), x.storage(), pb.float32]
    Counted.saved = 0
    write = {"pickle_module": module, "_use_new_zipfile_serialization": not legacy}
    whole, part, loaded, conjugate, shape, memory, dtype = again(obj, write, pickle_module=module)
    assert Counted.saved > 10
    whole.zero_()
    assert part.tolist() == [0, 0, 0] and memory.tolist() == [0.0] * 4 and dtype is pb.float32
    assert isinstance(loaded, Parameter) and vars(loaded)["note"] == "kept" and loaded.requires_grad
    assert conjugate.is_conj() and conjugate.tolist() == [1 - 2j] and shape.is_meta and shape.shape == (2,)


def test_storages_keep_their_dtype() -> None:
    loaded = again({"a": pb.FloatStorage([1.0, 2.0]), "b": pb.arange(3).storage()})
    assert loaded["a"].dtype is pb.float32 and list(loaded["a"]) == [1.0, 2.0]
    assert loaded["b"].dtype is pb.int64 and list(loaded["b"]) == [0, 1, 2]
    x = pb.ones(4, dtype=pb.uint8)
    tensor, memory = again([x, x.untyped_storage()])
    tensor.zero_()
    assert memory.tolist() == [0, 0, 0, 0]


def test_a_part_of_a_conjugate_is_saved() -> None:
    x = pb.tensor([1 + 2j, 3 - 1j, 2j])
    for part in (x.conj()[1:], x[1:].conj(), x.conj()[::2], x.conj().imag[1:], x.conj()[2]):
        assert again(part).tolist() == part.tolist()


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_has_no_elements_may_lie_behind_the_end(device: str) -> None:
    for shape in ((3, 0), (0, 4), (2, 3)):
        x = pb.zeros(shape, device=device)
        for part in (x[1:, 2:], x[2:], x[:0], x[1:, :0], x.expand(2, *shape)[1:, 2:]):
            for legacy in (False, True):
                y = again(part, {"_use_new_zipfile_serialization": not legacy})
                assert y.shape == part.shape and y.numel() == part.numel()


def test_names_that_python_2_had() -> None:
    values: tuple[Any, ...] = (range(3), slice(1, 2), int, defaultdict(int), len)
    for value in values:
        kind = type(value) if not isinstance(value, type) and value is not len else value
        with serialization.safe_globals([kind, int]):
            assert again(value) == value
    slotted = Slotted()
    slotted.a = 2
    with serialization.safe_globals([Slotted]):
        assert again(slotted).a == 2


def test_several_objects_in_one_file() -> None:
    file = io.BytesIO(b"head")
    file.seek(4)
    for value in (pb.ones(1), [pb.zeros(2), 3]):
        pb.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(4)
    assert pb.load(file).tolist() == [1]
    assert pb.load(file)[1] == 3


def test_what_slots_and_attributes_hold_is_copied() -> None:
    x = pb.ones(2).as_subclass(Marked)
    x.extra, x.other = [1], "attribute"
    copies = [copy.copy(x), copy.deepcopy(x), again(x, weights_only=False)]
    copies += [pickle.loads(pickle.dumps(x, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for y in copies:
        assert type(y) is Marked and y.extra == [1] and y.other == "attribute"
    assert copies[0].extra is x.extra and copies[1].extra is not x.extra


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_tensor_without_elements_is_pickled(protocol: int) -> None:
    x = pb.ones(2, 3, device="meta").t().requires_grad_()
    y = pickle.loads(pickle.dumps(x, protocol))
    assert y.is_meta and y.shape == (3, 2) and y.stride() == (1, 3) and y.requires_grad


def test_hooks_are_left_out_with_a_warning() -> None:
    x = pb.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    with pytest.warns(UserWarning, match="will not be serialized"):
        assert again(x).requires_grad


def test_a_plain_pickle_of_pytorch_loads() -> None:
    """Its functions are these; the storage in it is a file of the old format."""
    file = io.BytesIO()
    pb.save(pb.arange(4.0).storage(), file, _use_new_zipfile_serialization=False)
    storage = pb.storage._load_from_bytes(file.getvalue())
    assert _utils._rebuild_tensor_v2(storage, 1, (3,), (1,), False, None).tolist() == [1, 2, 3]
    assert _utils._rebuild_parameter(pb.ones(1), True, None).requires_grad


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pickle.UnpicklingError):
        again(Path("x"))
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert again(Path("x")) == Path("x")
    with pytest.raises(pickle.UnpicklingError):
        again(Path("x"), weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(RuntimeError, match="both were set"):
        again(1)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        again(Path("x"), weights_only=False)


def test_what_is_set_for_a_process(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    pb.save(pb.ones(2), path)
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        pb.load(path, mmap=True).zero_()
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    pb.load(path, mmap=True).fill_(3)
    assert pb.load(path).tolist() == [0, 0]
    with pytest.raises(ValueError, match="MAP_PRIVATE or mmap.MAP_SHARED"):
        serialization.set_default_mmap_options(77)
    pb.save(pb.ones(2), path)
    with serialization.skip_data():
        assert pb.load(path).tolist() == [0, 0]
    serialization.set_crc32_options(False)
    assert serialization.get_crc32_options() is False
    serialization.set_crc32_options(True)
    with pytest.raises(TypeError, match="expected a LoadEndianness or None"):
        serialization.set_default_load_endianness("big")  # type: ignore[arg-type]


def test_storages_of_bytes_are_made() -> None:
    make: Any = pb.UntypedStorage
    assert make(3).tolist() == [0, 0, 0] and make([1, 2]).tolist() == [1, 2] and make().nbytes() == 0
    with pytest.raises(TypeError, match="got 2 arguments"):
        make(1, 2)
