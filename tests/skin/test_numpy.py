"""To and from NumPy, DLPack, copies, pickles and printing."""

from __future__ import annotations

import copy
import ctypes
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

same = pb.testing.assert_close
DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", DTYPES)
def test_round_trip(name: str) -> None:
    a = (np.arange(12).reshape(3, 4) % 5).astype(name)
    t = pb.from_numpy(a)
    assert t.dtype is getattr(pb, name) and t.shape == (3, 4)
    back = t.numpy()
    assert back.dtype == a.dtype and np.array_equal(back, a)
    assert np.array_equal(np.asarray(t), a)
    assert t.tolist() == a.tolist()


def test_memory_is_shared_both_ways() -> None:
    a = np.arange(6.0)
    t = pb.from_numpy(a)
    a[0] = 10
    assert t[0].item() == 10
    t.add_(1)
    assert a[0] == 11
    view = t[2:].numpy()
    view[0] = -1
    assert t[2].item() == -1 and a[2] == -1
    assert np.shares_memory(pb.as_tensor(a).numpy(), a)
    assert not np.shares_memory(pb.tensor(a).numpy(), a)


@pytest.mark.parametrize(
    "view",
    [lambda a: a[::-1], lambda a: a[:, ::-2], lambda a: a.T, lambda a: a[1:, 1], lambda a: a[:0], lambda a: a[1, 2:3]],
)
def test_layouts(view: Any) -> None:
    a = view(np.arange(12.0).reshape(3, 4))
    t = pb.from_numpy(a)
    assert np.array_equal(t.numpy(), a)
    assert np.array_equal((t * 2).numpy(), a * 2)
    assert float(t.sum()) == a.sum()


def test_scalars() -> None:
    assert pb.tensor(3).item() == 3 and isinstance(pb.tensor(3).item(), int)
    assert isinstance(pb.tensor(2.5).item(), float) and isinstance(pb.tensor(True).item(), bool)
    assert float(pb.tensor(2.5)) == 2.5 and int(pb.tensor(7)) == 7 and bool(pb.tensor([1]))
    assert np.float32(2) * pb.ones(2).numpy()[0] == 2
    assert pb.tensor(np.float64(1.5)).dtype is pb.float64
    assert [0, 1, 2][pb.tensor(1)] == 1
    same(np.float64(2.0) * pb.ones(2), pb.full((2,), 2.0))
    same(pb.ones(2) * np.float32(2.0), pb.full((2,), 2.0))
    with pytest.raises((RuntimeError, ValueError)):
        bool(pb.ones(2))


def test_dlpack() -> None:
    t = pb.arange(6.0).reshape(2, 3)
    a = np.from_dlpack(t)
    assert np.array_equal(a, t.numpy()) and np.shares_memory(a, t.numpy())
    back = pb.from_dlpack(np.arange(4))
    assert back.tolist() == [0, 1, 2, 3] and back.dtype is pb.int64


def test_copies() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.requires_grad and twin.is_leaf and twin is not x
        same(twin.detach(), x.detach())
        with pb.no_grad():
            twin.add_(1)
        assert x.tolist() == [1.0, 2.0]
    shared = [x, x]
    twins = copy.deepcopy(shared)
    assert twins[0] is twins[1]
    for dtype in (pb.bfloat16, pb.bool, pb.complex64):
        t = pb.ones(3).to(dtype)
        again = pickle.loads(pickle.dumps(t))
        assert again.dtype is dtype and again.tolist() == t.tolist()


def test_iteration_and_length() -> None:
    x = pb.arange(6).reshape(3, 2)
    assert len(x) == 3 and [row.tolist() for row in x] == x.tolist()
    a, b, c = x
    assert c.tolist() == [4, 5]
    with pytest.raises(TypeError, match="0-d"):
        iter(pb.tensor(1.0))
    with pytest.raises(TypeError, match="0-d"):
        len(pb.tensor(1.0))


def test_printing() -> None:
    assert repr(pb.tensor([1.0, 2.5])) == "tensor([1.0000, 2.5000])"
    assert repr(pb.tensor([1, 2])) == "tensor([1, 2])"
    assert repr(pb.tensor([True])) == "tensor([True])"
    assert repr(pb.tensor(1.5, dtype=pb.float64)) == "tensor(1.5000, dtype=pullback.float64)"
    assert repr(pb.tensor([1.0], requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert repr(pb.zeros(0)) == "tensor([])"
    assert repr(pb.tensor([[1.0, -1e10]])) == "tensor([[ 1.0000e+00, -1.0000e+10]])"
    recorded = pb.tensor([1.0], requires_grad=True) * 2
    assert repr(recorded).startswith("tensor([2.], grad_fn=<")
    assert "..." in repr(pb.zeros(10_000))


class TestMemoryThatAFunctionLeaves:
    """What a forward makes with NumPy and hands over belongs to the result, unless somebody else can reach it."""

    @staticmethod
    def doubled(keep: Callable[[np.ndarray], Any]) -> tuple[pb.Tensor, int]:
        seen: list[int] = []

        class Double(pb.autograd.Function):
            @staticmethod
            def forward(x: pb.Tensor) -> pb.Tensor:
                out = 2 * x.detach().numpy()
                seen.append(out.__array_interface__["data"][0])
                keep(out)
                return pb.from_numpy(out)

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

        return Double.apply(pb.arange(100.0).requires_grad_()).detach(), seen[0]

    def test_it_is_not_copied(self) -> None:
        y, address = self.doubled(lambda a: None)
        assert y.data_ptr() == address
        assert pb.equal(y, 2 * pb.arange(100.0))
        z = y.clone()
        y.add_(1)
        assert pb.equal(y, z + 1)

    @pytest.mark.parametrize("keep", [lambda a: a, lambda a: a[3:], memoryview, weakref.ref, pb.from_numpy])
    def test_it_is_copied_if_another_can_write_to_it(self, keep: Callable[[np.ndarray], Any]) -> None:
        kept: list[Any] = []
        y, address = self.doubled(lambda a: kept.append(keep(a)))
        assert y.data_ptr() != address
        if isinstance(kept[0], np.ndarray):
            kept[0][...] = -1
        assert pb.equal(y, 2 * pb.arange(100.0))

    def test_arrays_over_the_memory_of_others_are_copied(self) -> None:
        memory = (ctypes.c_float * 4)(1, 2, 3, 4)

        class Wrap(pb.autograd.Function):
            @staticmethod
            def forward(x: pb.Tensor) -> pb.Tensor:
                return pb.from_numpy(np.ctypeslib.as_array(memory))

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

        y = Wrap.apply(pb.ones(4).requires_grad_())
        memory[0] = 9
        assert y.tolist() == [1, 2, 3, 4]
