"""`Tensor.storage()`: the memory of a tensor as elements."""

import copy
from typing import Any

import pytest

import pullback as pb
from pullback.storage import DTYPES, TypedStorage


def test_elements_of_the_whole_memory() -> None:
    x = pb.arange(10.0)
    memory = x[2:5].storage()
    assert isinstance(memory, TypedStorage) and len(memory) == memory.size() == 10
    assert memory.data_ptr() == x.data_ptr() and memory.nbytes() == 40 and memory.dtype is pb.float32
    assert memory.tolist() == x.tolist() and memory[3] == 3.0 and memory[1:3] == [1.0, 2.0]
    memory[0] = 7.0
    assert x[0] == 7.0
    memory.fill_(1.0)
    assert x.tolist() == [1.0] * 10
    assert memory == x.storage() and hash(memory) == hash(x.storage()) and memory != x.clone().storage()


def test_tensors_of_a_storage() -> None:
    x = pb.arange(1.0, 11.0)
    y = pb.tensor(()).set_(x.storage(), storage_offset=0, size=pb.Size([4]), stride=[2])
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0]
    y.zero_()
    assert x[0] == 0 and x[1] == 2


def test_classes_by_dtype() -> None:
    for name, dtype in DTYPES.items():
        kind: Any = getattr(pb, name)
        made = kind(3)
        assert made.tolist() == [0, 0, 0] and made.dtype is dtype and isinstance(made, (kind, TypedStorage))
        assert made.type() == f"torch.{name}" and kind.__name__ == name
        assert isinstance(pb.zeros(2, dtype=dtype).storage(), kind) and not isinstance(pb.zeros(2, dtype=dtype), kind)
    assert not isinstance(pb.ones(1).storage(), pb.LongStorage) and pb.FloatStorage([1.5, 2]).tolist() == [1.5, 2.0]
    assert pb.FloatStorage().size() == 0 and TypedStorage([1, 2], dtype=pb.int16).dtype is pb.int16
    assert pb.IntStorage(wrap_storage=pb.ones(2).untyped_storage())[0] == 0x3F800000
    with pytest.raises(TypeError, match="a size or a sequence of elements is expected, got 2 arguments"):
        pb.FloatStorage(1, 2)
    with pytest.raises(RuntimeError, match="not both"):
        TypedStorage(3, wrap_storage=pb.ones(1).untyped_storage())


def test_conversions_and_copies() -> None:
    x = pb.tensor([1.0, 2.5])
    memory = x.storage()
    assert memory.double().tolist() == [1.0, 2.5] and memory.long().dtype is pb.int64  # type: ignore[attr-defined]
    assert memory.type(pb.float32) is memory and memory.cpu() is memory and memory.to(device="cpu") is memory
    for other in (memory.clone(), copy.copy(memory), copy.deepcopy([memory])[0]):
        assert other.tolist() == memory.tolist() and other != memory
    memory.copy_(pb.LongStorage([3, 4]))
    assert x.tolist() == [3.0, 4.0] and list(memory) == [3.0, 4.0]
    assert memory.device == x.device and not memory.is_cuda and memory.get_device() == -1 and not memory.is_pinned()
    with pytest.raises(RuntimeError, match="size mismatch, got 3 elements for a storage of 2"):
        memory.copy_(pb.FloatStorage(3))
    for call in (memory.cuda, lambda: memory.to(device="cuda")):
        with pytest.raises(RuntimeError, match="CPU|'cpu'"):
            call()


def test_bytes_have_the_same_methods() -> None:
    x = pb.arange(3, dtype=pb.uint8)
    memory: Any = x.untyped_storage()
    assert memory.device == x.device and memory.untyped() is memory and not memory.is_shared() and not memory.is_cuda
    memory[1] = 9
    assert x.tolist() == [0, 9, 2] and memory.clone().tolist() == [0, 9, 2] and memory.clone() != memory
    memory.copy_(pb.ByteStorage([4, 5, 6]))
    assert x.tolist() == [4, 5, 6] and memory.fill_(1) is memory and x.tolist() == [1, 1, 1]
    a, b = copy.deepcopy([x, memory])
    assert a.data_ptr() == b.data_ptr() != memory.data_ptr()
    with pytest.raises(AttributeError, match="'UntypedStorage' object has no attribute 'no_such'"):
        _ = memory.no_such


def test_storages_have_a_dtype() -> None:
    x = pb.arange(4.0)
    with pytest.raises(
        RuntimeError, match=r"set_\(\): Expected a Storage of type float64 .*, but got type float32; give its bytes"
    ):
        pb.empty(0, dtype=pb.float64).set_(x.storage())
    assert pb.empty(0).new(x.storage()).data_ptr() == x.data_ptr() == pb.empty(0).new(x).data_ptr()
    assert pb.empty(0, dtype=pb.int32).set_(x.untyped_storage()).shape == (4,)
