"""Files of the package safetensors, which must be there for these tests."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import pullback as pb

package = pytest.importorskip("safetensors")
from pullback.utils.safetensors import load, load_file, load_model, safe_open, save, save_file, save_model  # noqa: E402

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()
TENSORS = {name: pb.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(pb, name)) for name in DTYPES}
TENSORS |= {"scalar": pb.tensor(2.5), "empty": pb.empty(0, 3), "one": pb.tensor([1], dtype=pb.uint8)}


def same(a: dict[str, pb.Tensor], b: dict[str, pb.Tensor]) -> bool:
    return a.keys() == b.keys() and all(
        x.dtype is b[k].dtype and x.shape == b[k].shape and x.equal(b[k]) for k, x in a.items()
    )


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    assert same(load(save(TENSORS)), TENSORS)
    save_file(TENSORS, path, {"format": "pt"})
    assert same(load_file(path), TENSORS) and same(load_file(path, backend="pread"), TENSORS)
    assert path.read_bytes() == save(TENSORS, {"format": "pt"})
    with safe_open(path) as file:
        assert file.metadata() == {"format": "pt"} and file.keys() == sorted(TENSORS)
        assert file.get_slice("int8")[1:, ::2].tolist() == [[3, 5]]
        assert file.get_slice("int8").get_shape() == [2, 3] and file.get_slice("int8").get_dtype() == "I8"
        with pytest.raises(KeyError, match="no tensor 'x'"):
            file.get_tensor("x")


def test_the_package_reads_it(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    kept = {k: v for k, v in TENSORS.items() if v.dtype is not pb.bfloat16}
    save_file(kept, path)
    assert same({k: pb.from_numpy(v) for k, v in numpy.load_file(path).items()}, kept)
    numpy.save_file({k: v.numpy() for k, v in kept.items()}, path)
    assert same(load_file(path), kept)


def test_tensors_lie_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"a": pb.zeros(4), "b": pb.ones(4)}, path)
    loaded = load_file(path)
    distance = loaded["b"].data_ptr() - loaded["a"].data_ptr()
    assert distance == 16, "nothing was copied"
    loaded["a"].fill_(7)
    assert load_file(path)["a"].sum() == 0, "the file stays as it is"


def test_elements_at_odd_places() -> None:
    header = (
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}'
    )
    data = struct.pack("<Q", len(header)) + header + b"\x07" + struct.pack("<2f", 1.5, 2.5)
    assert load(data)["b"].tolist() == [1.5, 2.5]


def test_elements_at_odd_places_of_a_file(tmp_path: Path) -> None:
    header = (
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}'
    )
    path = tmp_path / "odd.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\x07" + struct.pack("<2f", 1.5, 2.5))
    assert load_file(path)["b"].tolist() == [1.5, 2.5]


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    data = save({"a": pb.zeros(4)})
    for part in (b"", data[:7], data[:-1], data + b"x", b"\xff" * 8 + data[8:]):
        path.write_bytes(part)
        for read, given in ((load, part), (load_file, path)):
            with pytest.raises((package.SafetensorError, ValueError)):
                read(given)  # type: ignore[operator]
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "none")


def test_what_cannot_be_saved() -> None:
    x = pb.arange(6.0).reshape(2, 3)
    cases: list[tuple[Any, type[Exception], str]] = [
        ([x], ValueError, "Expected a dict"),
        ({"a": 3}, ValueError, "Key `a` is invalid"),
        ({"a": x.t()}, ValueError, "non contiguous tensor: `a`"),
        ({"a": x.to(pb.complex128)}, ValueError, "complex128, which the format does not have"),
        ({"a": x, "b": x[1]}, RuntimeError, r"share memory.*\['a', 'b'\]"),
    ]
    for tensors, error, match in cases:
        with pytest.raises(error, match=match):
            save(tensors)
    assert same(load(save({"a": x[0], "b": x[1]})), {"a": x[0], "b": x[1]})
    with pytest.raises(RuntimeError):
        pb.func.vmap(lambda v: (save({"a": v}), v)[1])(x)


class Tied:
    """What has a state dict with one tensor under two names."""

    def __init__(self) -> None:
        self.weight, self.bias = pb.ones(2, 3), pb.zeros(3)

    def state_dict(self) -> dict[str, pb.Tensor]:
        return {"decoder.weight": self.weight, "bias": self.bias, "encoder.weight": self.weight}

    def load_state_dict(self, state: dict[str, pb.Tensor], strict: bool) -> tuple[list[str], list[str]]:
        own = self.state_dict()
        for name in own.keys() & state.keys():
            own[name].copy_(state[name])
        return [n for n in own if n not in state], [n for n in state if n not in own]


def test_models(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model = Tied()
    model.weight.fill_(5)
    save_model(model, path)
    with safe_open(path) as file:
        assert file.keys() == ["bias", "decoder.weight"] and file.metadata() == {"encoder.weight": "decoder.weight"}
    fresh = Tied()
    assert load_model(fresh, path) == ([], []) and fresh.weight.equal(model.weight)
    save_file({"bias": pb.ones(3), "more": pb.ones(1)}, path)
    with pytest.raises(RuntimeError, match=r'Missing key.*"decoder.weight"\n.*Unexpected key.*"more"'):
        load_model(fresh, path)
    assert load_model(fresh, path, strict=False) == (["decoder.weight"], ["more"])
