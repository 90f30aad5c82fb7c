"""`Tensor.storage()`: the memory of a tensor as elements."""

import pullback as pb
from pullback.storage import TypedStorage


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
