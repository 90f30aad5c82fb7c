"""Where elements are: strides, offsets, bases, storages, the same bits under another dtype."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import pullback as pb
from pullback.func import grad, vmap

same = pb.testing.assert_close

LAYOUTS: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "transpose": (lambda x: x.t(), (1, 4), 0),
    "select": (lambda x: x[:, 1], (4,), 1),
    "slice": (lambda x: x[1:, ::2], (4, 2), 4),
    "expand": (lambda x: x[:, :1].expand(3, 5), (4, 0), 0),
    "diagonal": (lambda x: x.diagonal(1), (5,), 1),
    "unfold": (lambda x: x.unfold(1, 2, 2), (4, 2, 1), 0),
    "overlapping unfold": (lambda x: x.unfold(1, 3, 1), (4, 1, 1), 0),
    "permute": (lambda x: x.view(3, 2, 2).permute(2, 0, 1), (1, 4, 2), 0),
    "narrow": (lambda x: x.narrow(1, 2, 2), (4, 1), 2),
    "chunk": (lambda x: x.chunk(2, 1)[1], (4, 1), 2),
    "tensor_split": (lambda x: x.tensor_split(3, 1)[2], (4, 1), 3),
    "unbind": (lambda x: x.unbind(1)[3], (4,), 3),
    "squeeze": (lambda x: x[:, 1:2].squeeze(1), (4,), 1),
    "unflatten": (lambda x: x.unflatten(1, (2, 2)), (4, 2, 1), 0),
    "movedim": (lambda x: x.view(3, 2, 2).movedim(0, 2), (2, 1, 4), 0),
    "as_strided": (lambda x: x.as_strided((2, 2), (1, 3), 2), (1, 3), 2),
    "detach": (lambda x: x.t()[1:].detach(), (1, 4), 1),
    "reshape": (lambda x: x[:, :2].reshape(3, 2, 1)[:, :, 0], (4, 1), 0),
    "of a view": (lambda x: x.t()[1:].t()[:, 1], (4,), 2),
}


@pytest.mark.parametrize("scale", [1, 100], ids=["small", "large"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str, scale: int) -> None:
    view, strides, offset = LAYOUTS[name]
    x = pb.zeros(3, 4) if scale == 1 else pb.zeros(400)[:12].view(3, 4)
    v = view(x)
    assert (v.stride(), v.storage_offset()) == (strides, offset)
    expected = tuple(v.shape[i + 1 :].numel() for i in range(v.dim()))
    assert v.is_contiguous() == (strides == expected)
    assert v.contiguous().is_contiguous()
    assert (v.contiguous() is v) == v.is_contiguous()
    if name != "overlapping unfold":
        assert v.data_ptr() - x.data_ptr() == offset * 4
        assert v.numpy().strides == tuple(4 * s for s in strides)


def test_bases() -> None:
    x = pb.zeros(3, 4)
    v = x.t()[1:]
    assert v._base is x and x[0]._base is x and x.view(pb.int32)._base is x
    assert v._is_view() and not x._is_view()
    assert x._base is None and x.detach()._base is None and (x * 1)._base is None
    v.fill_(2)
    del x
    gc.collect()
    base = v._base
    assert base is not None and v._base is base
    same(base[:, 1:], pb.full((3, 3), 2.0))
    y = pb.ones(2)
    w = y[0]
    y.data = pb.zeros(2)
    assert w._base is not y


def test_versions() -> None:
    x = pb.zeros(4)
    v, d = x[1:], x.detach()
    assert x._version == 0
    v.add_(1)
    d.mul_(2)
    x[0] = 3
    assert x._version == v._version == d._version == 3
    assert x.view(pb.int32)._version == 3
    assert x.clone()._version == 0


def test_storages() -> None:
    x = pb.arange(3, dtype=pb.uint8)
    s = x.untyped_storage()
    assert s.tolist() == [0, 1, 2] and len(s) == s.nbytes() == s.size() == 3
    assert s.data_ptr() == x.data_ptr() == x[1:].untyped_storage().data_ptr()
    assert s == x.view(3, 1).untyped_storage() and s != x.clone().untyped_storage()
    x.add_(1)
    assert s[-1] == 3 and x.data_ptr() == s.data_ptr()
    with pytest.raises(IndexError, match="storage index 3 is out of range for 3 bytes"):
        s[3]
    assert x.is_set_to(x.view(3)) and not x.is_set_to(x[1:]) and not x.is_set_to(x.clone())


# ---------------------------------------------------------------- as_strided
def test_as_strided() -> None:
    x = pb.arange(6.0)
    v = pb.as_strided(x[2:], (2, 2), (1, 2))
    same(v, pb.tensor([[2.0, 4.0], [3.0, 5.0]]))
    v.neg_()
    same(x, pb.tensor([0.0, 1.0, -2.0, -3.0, -4.0, -5.0]))
    same(x[2:].as_strided((2,), (1,), 0), pb.tensor([0.0, 1.0]))
    windows = grad(lambda x: (x.as_strided((4, 3), (1, 1)) ** 2).sum())
    same(windows(x), 2 * x * pb.tensor([1.0, 2.0, 3.0, 3.0, 2.0, 1.0]))
    with pytest.raises(RuntimeError, match=r"out of bounds for storage of 6 elements"):
        x.as_strided((2, 3), (3, 2), 1)
    with pytest.raises(RuntimeError, match="mismatch in length of strides"):
        x.as_strided((2, 3), (3,))
    with pytest.raises(RuntimeError, match="Negative strides"):
        x.as_strided((2,), (-1,), 3)
    with pytest.raises(RuntimeError, match="more than one element"):
        x.as_strided((4, 3), (1, 1)).add_(1)


# ---------------------------------------------------------------- other dtypes
def test_bits_are_shared_both_ways() -> None:
    for n in (4, 100):
        x = pb.ones(n)
        bits = x.view(pb.int32)
        assert bits.tolist() == [0x3F800000] * n
        bits[0] = 0x40000000
        bits[2:].zero_()
        same(x[:3], pb.tensor([2.0, 1.0, 0.0]))
        x[1] = -1
        assert bits[1].item() == -0x40800000
        octets = x.view(pb.uint8)
        assert octets.shape == (4 * n,) and octets.stride() == (1,)
        octets.view(n, 4)[:, 3].fill_(0)
        octets[2] = 0x80
        assert bits.tolist()[0] == 0x800000
        same(octets.view(pb.float32), x)


def test_bits_have_no_derivative() -> None:
    x = pb.ones(2, requires_grad=True)
    assert not x.view(pb.int32).requires_grad and not x.view(pb.float16).requires_grad
    y = x * 1
    y.view(pb.int32).zero_()
    y.sum().backward()
    same(x.grad, pb.zeros(2))
    same(vmap(lambda x: x.view(pb.int16).view(pb.float32))(pb.ones(2, 3)), pb.ones(2, 3))


def test_bits_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match=r"self.size\(-1\) must be divisible by 4 to view uint8 as float32"):
        pb.zeros(3, dtype=pb.uint8).view(pb.float32)
    with pytest.raises(RuntimeError, match=r"self.dim\(\) cannot be 0 to view float32 as float16"):
        pb.tensor(1.0).view(pb.float16)
    with pytest.raises(RuntimeError, match=r"self.stride\(-1\) must be 1 to view float32 as uint8"):
        pb.zeros(40, 30).t().view(pb.uint8)
    with pytest.raises(RuntimeError, match=r"self.stride\(-1\) must be 1 to view float32 as uint8"):
        pb.zeros(2, 3).t().view(pb.uint8)
    with pytest.raises(TypeError, match="view"):
        pb.zeros(3).view("int")
