"""Tensors that change the memory they show: resize_, set_, as_strided_, swap_tensors."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, vmap
from pullback.utils import swap_tensors


def test_resize_keeps_the_first_elements() -> None:
    x = pb.arange(6)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_((6,)).tolist() == [0, 1, 2, 3, 4, 5]
    assert x.resize_([2, 4]).tolist() == [[0, 1, 2, 3], [4, 5, 0, 0]]
    assert x.resize_(0).shape == (0,) and x.resize_(3).tolist() == [0, 1, 2]
    assert x._base is None and not x._is_view() and x.is_contiguous()
    assert pb.empty(0).resize_(1000).resize_as_(pb.ones(2, 3)).shape == (2, 3)
    x.add_(10)
    assert x.resize_(4).tolist() == [10, 11, 12, 3]


def test_resized_tensors_share_with_views() -> None:
    x = pb.arange(6.0)
    v = x[2:4]
    v.resize_(3)
    v[0] = 9
    assert x.tolist() == [0, 1, 9, 3, 4, 5] and v._base is x
    v.resize_(8)
    assert v.tolist() == [9, 3, 4, 5, 0, 0, 0, 0]
    v[1] = 7
    assert x.tolist() == [0, 1, 9, 7, 4, 5]
    x[3] = 8
    assert v[1].item() == 8
    x.resize_(2)
    x.mul_(2)
    assert x.tolist() == [0, 2] and x.resize_(3).tolist() == [0, 2, 9]


def test_growing_keeps_all_that_share() -> None:
    x = pb.arange(4.0)
    row, detached = x[1:3], x.detach()
    x.resize_(100)
    x[2] = 50
    assert row.tolist() == [1, 50] and detached.tolist() == [0, 1, 50, 3]
    row.zero_()
    detached[3] = 5
    assert x[:5].tolist() == [0, 0, 0, 5, 0]
    x.resize_(200)
    x[1] = 6
    assert row.tolist() == [6, 0] and detached.tolist() == [0, 6, 0, 5]
    row[1] = 4
    assert x[:4].tolist() == [0, 6, 4, 5]
    n = x.numpy()
    detached[0] = 3
    assert n[0] == 3 and x[0] == 3


def test_resize_of_what_must_not_change() -> None:
    leaf = pb.ones(2, requires_grad=True)
    for t in (leaf, leaf * 2):
        with pytest.raises(RuntimeError, match=r"resize_\(\): cannot resize variables that require grad.*test_resize"):
            t.resize_(3)
    assert leaf.detach().resize_(1).tolist() == [1]
    with pytest.raises(RuntimeError, match=r"cannot resize variables that require grad"):
        grad(lambda x: x.resize_(2).sum())(pb.ones(4))
    with pytest.raises(RuntimeError, match=r"cannot resize variables that has a forward grad"):
        jvp(lambda x: x.resize_(2).sum(), (pb.ones(4),), (pb.ones(4),))
    with pytest.raises(RuntimeError, match=r"resize_\(\): the tensor is a value of vmap.*test_resize"):
        vmap(lambda x: x.resize_(2))(pb.ones(3, 4))
    assert vmap(lambda x: pb.arange(4.0).resize_(2) + x.sum())(pb.ones(3, 4)).tolist() == [[4, 5]] * 3
    shared = pb.from_numpy(np.arange(3.0))
    assert shared.resize_(2).tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        shared.resize_(5)
    with pytest.raises(NotImplementedError, match="row-major"):
        pb.from_numpy(np.ones((2, 3)).T).resize_(2)
    with pytest.raises(RuntimeError, match=r"resize_\(\): required rank 4 tensor to use channels_last format"):
        pb.ones(6).resize_((2, 3), memory_format=pb.channels_last)
    with pytest.raises(TypeError, match=r"resize_\(\): argument 'size' must be tuple of ints"):
        pb.ones(2).resize_("a")
    with pytest.raises(RuntimeError):
        pb.ones(2).resize_(-1)
    with pytest.raises(TypeError, match=r"resize_as_\(\): argument 'the_template' must be Tensor"):
        pb.ones(2).resize_as_(3)  # type: ignore[arg-type]


def test_saved_values_survive_a_resize() -> None:
    w = pb.ones(3, requires_grad=True)
    x = pb.arange(3.0)
    y = (w * x).sum()
    x.resize_(1).fill_(9)
    y.backward()
    assert w.grad is not None and w.grad.tolist() == [0, 1, 2]


def test_set_to_a_tensor() -> None:
    x, y = pb.ones(2), pb.arange(6.0)
    assert x.set_(y) is x and x.tolist() == y.tolist() and x.is_set_to(y)
    x[0] = 7
    y[1] = 8
    assert y[0] == 7 and x[1] == 8 and x._base is None
    assert x.set_(y, 1, (2,), (3,)).tolist() == [8, 4]
    assert x.set_(y[2:], 4, (2,)).tolist() == [4, 5]
    assert x.set_(y, 5, (3,)).tolist() == [5, 0, 0]
    x[0] = 3
    assert y[5] == 3
    assert x.set_().shape == (0,) and y.numel() == 6
    with pytest.raises(RuntimeError, match="Could not set tensor of type float64 to a tensor of type float32"):
        x.set_(y.double())
    with pytest.raises(TypeError, match=r"argument 'source' must be Tensor or UntypedStorage, got int"):
        x.set_(3)
    with pytest.raises(RuntimeError, match=r"set_\(\): expected 1 strides of 0 or more"):
        x.set_(y, 0, (2,), (1, 2))


def test_set_to_a_storage() -> None:
    y = pb.arange(6.0)
    x = pb.ones(1).set_(y.untyped_storage(), 1, (2, 2), (2, 1))
    x[0, 0] = 50
    assert y.tolist() == [0, 50, 2, 3, 4, 5]
    assert x.set_(y[3:].untyped_storage()).shape == (6,)
    bits = pb.ones(1, dtype=pb.int32).set_(y.untyped_storage(), 1, (2,))
    assert bits.tolist() == y[1:3].view(pb.int32).tolist()
    bits[0] = 0
    assert y[1] == 0 and x[1] == 0
    assert pb.ones(1, dtype=pb.float64).set_(y[:5].clone().untyped_storage()).shape == (2,)


def test_set_and_gradients() -> None:
    leaf = pb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.set_(pb.ones(3))
    for t, source in ((leaf * 2, pb.ones(3)), (pb.ones(2), leaf)):
        with pytest.raises(RuntimeError, match=r"set_\(\): the .* requires grad.*test_resize"):
            t.set_(source)
    with pb.no_grad():
        leaf.set_(pb.arange(3.0))
    assert leaf.requires_grad and leaf.is_leaf and leaf.tolist() == [0, 1, 2]
    (leaf * leaf).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match=r"set_\(\): the tensor is a value of vmap"):
        vmap(lambda x: x.set_(pb.ones(2)))(pb.ones(3, 4))


def test_as_strided_in_place() -> None:
    x = pb.arange(6.0)
    assert x.as_strided_((2, 2), (1, 2)) is x and x.tolist() == [[0, 2], [1, 3]] and x.stride() == (1, 2)
    w = pb.arange(6.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        w.as_strided_((2,), (1,))
    y = w * 2
    y.as_strided_((2, 2), (1, 2), 1).mul_(3)
    y.sum().backward()
    assert w.grad is not None and w.grad.tolist() == [0, 6, 6, 6, 6, 0]
    assert vmap(lambda v: v.clone().as_strided_((2,), (2,)))(pb.arange(8.0).view(2, 4)).tolist() == [[0, 2], [4, 6]]
    with pytest.raises(RuntimeError, match=r"as_strided_\(\): mismatch in length"):
        x.as_strided_((2,), (1, 1))


def test_swap_tensors() -> None:
    class Named(pb.Tensor):
        pass

    class Other(pb.Tensor):
        pass

    a, b = Other([1.0, 1.0]).requires_grad_(), Named([0.0, 0.0, 0.0])
    b.name_of_it = "b"  # type: ignore[attr-defined]
    y = a * 2
    view = b[1:]
    swap_tensors(a, b)
    assert type(a) is Named and a.name_of_it == "b" and a.tolist() == [0, 0, 0]  # type: ignore[attr-defined]
    assert type(b) is Other and b.requires_grad and b.is_leaf and not hasattr(b, "name_of_it")
    a[1] = 5
    assert view.tolist() == [5, 0] and view._base is a
    y.sum().backward()
    assert b.grad is not None and b.grad.tolist() == [2, 2] and a.grad is None
    assert y.grad_fn.next_functions[0][0].variable is b
    swap_tensors(a, a)
    with pytest.raises(TypeError, match=r"swap_tensors\(\): argument 't2' must be Tensor"):
        swap_tensors(a, 3)  # type: ignore[arg-type]
    plain = pb.ones(1)
    swap_tensors(a, plain)
    assert type(plain) is Named and plain[1] == 5 and type(a) is pb.Tensor and a.tolist() == [1]
    gone = weakref.ref(b)
    del b, y
    gc.collect()
    assert gone() is None


def test_scatter_by_strides() -> None:
    x, src = pb.zeros(3, 3, requires_grad=True), pb.ones(2, 2, requires_grad=True)
    f: Any = lambda x, s: pb.as_strided_scatter(x, s, (2, 2), (1, 2), 1)
    assert f(x, src).tolist() == [[0, 1, 1], [1, 1, 0], [0, 0, 0]]
    assert x.as_strided_scatter(src.double(), (2, 2), (1, 2)).dtype == pb.float32
    assert pb.autograd.gradcheck(f, (x.double(), src.double()), check_forward_ad=True, check_batched_grad=True)
    assert pb.autograd.gradgradcheck(lambda x, s: f(x, s) ** 3, (x.double(), src.double()))
    rows = pb.arange(8.0).view(2, 4)
    out = vmap(lambda r, s: pb.as_strided_scatter(r, s, (2,), (2,)), in_dims=(0, None))(rows, pb.tensor([-1.0, -2]))
    assert out.tolist() == [[-1, 1, -2, 3], [-1, 5, -2, 7]]
    for sizes, strides, message in (
        ((2, 2), (1, 1), "more than one element"),
        ((2,), (9,), "out of bounds for storage of 9 elements"),
        ((3,), (1,), "argument 'src' must have the shape"),
        ((2,), (1, 1), "mismatch in length of strides"),
    ):
        with pytest.raises(RuntimeError, match=rf"as_strided_scatter\(\): .*{message}"):
            pb.as_strided_scatter(x, pb.ones(2), sizes, strides)


@pytest.mark.parametrize("size", [3, 30])
def test_scatter_counts_in_memory(size: int) -> None:
    x = pb.arange(2.0 * size)
    ones = pb.ones(2)
    turned = x.view(size, 2).t()
    want = turned.clone()
    want[:, 0] = 1
    out = pb.as_strided_scatter(turned, ones, (2,), (1,))
    assert pb.equal(out, want) and out.stride() == turned.stride()
    assert turned.as_strided_scatter(turned, turned.shape, turned.stride()).equal(turned)
    assert x[1:].as_strided_scatter(ones, (2,), (1,), 2)[:4].tolist() == [1, 1, 1, 4]
    assert x[::2].as_strided_scatter(pb.tensor([-1.0, -2, -3]), (3,), (1,)).tolist()[:3] == [-1, -3, 4]
    slopes = pb.func.grad(lambda v: pb.as_strided_scatter(v.t(), ones, (2,), (2,)).sum())(pb.ones(size, 2))
    assert slopes.flatten().tolist() == [0, 1, 0] + [1] * (2 * size - 3)
    with pytest.raises(RuntimeError, match="before the tensor's own"):
        x[1:].as_strided_scatter(ones, (2,), (1,), 0)


@pytest.mark.parametrize("size", [3, 30])
def test_sizes_that_stay(size: int) -> None:
    x = pb.arange(4.0 * size)
    for y in (
        x.view(-1, 2).t(),
        x[::2],
        x.expand(2, 4 * size),
        x.view(2, 2, 1, size).to(memory_format=pb.channels_last),
    ):
        before, strides = y.clone(), y.stride()
        assert y.resize_(y.shape) is y and pb.equal(y, before) and y.stride() == strides
        assert y.resize_as_(pb.empty(y.shape)) is y and pb.equal(y, before)
    y = x.view(-1, 2).t()
    assert pb.equal(y.resize_(y.shape, memory_format=pb.contiguous_format), x.view(2, -1))


def test_order_in_memory() -> None:
    x = pb.arange(6.0).reshape(2, 3).t()
    assert x.resize_(3, 2) is x and x.stride() == (1, 3) and x.resize_as_(x).tolist() == [[0, 3], [1, 4], [2, 5]]
    for order, shape in ((pb.channels_last, (2, 3, 4, 5)), (pb.channels_last_3d, (2, 3, 2, 2, 2))):
        flat = pb.arange(0.0).resize_(shape, memory_format=order)
        assert flat.shape == shape and flat.is_contiguous(memory_format=order)
        like = pb.empty(0).resize_as_(pb.empty(shape), memory_format=order)
        assert like.stride() == flat.stride() == pb.empty(shape, memory_format=order).stride()
    for shape in ([2, 4, 2**29, 2**29], [8, 8, 2**29, 2**29]):
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
            pb.empty((), dtype=pb.float64).resize_(shape)
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        pb.empty(()).resize_([0, 4, 2**61])
    assert pb.ones(2)[:0].data_ptr() == 0 != pb.ones(2).data_ptr()
