"""Views alias, writes are seen, and histories stay right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import vmap

same = pb.testing.assert_close


def numbers(*shape: int) -> Any:
    return pb.arange(int(np.prod(shape)), dtype=pb.float64).reshape(shape)


VIEWS: dict[str, Any] = {
    "index": lambda x: x[1],
    "slice": lambda x: x[1:, ::2],
    "transpose": lambda x: x.t(),
    "reshape": lambda x: x.view(-1),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "diagonal": lambda x: x.diagonal(),
    "narrow": lambda x: x[:, 1:3],
    "permute": lambda x: x.permute(1, 0),
    "twice": lambda x: x.t()[1:],
}


@pytest.mark.parametrize("name", VIEWS)
def test_writes_go_both_ways(name: str) -> None:
    view = VIEWS[name]
    x, model = numbers(3, 4), np.arange(12.0).reshape(3, 4)
    v = view(x)
    v.mul_(10)
    where = np.zeros((3, 4), dtype=bool)
    marks = pb.zeros(3, 4)
    view(marks).fill_(1)
    where = marks.numpy().astype(bool)
    model[where] *= 10
    same(x, pb.from_numpy(model))
    x.add_(1)
    same(v, view(pb.from_numpy(model + 1)))
    other = x[0]
    v.zero_()
    same(other, x[0])


def test_a_view_keeps_the_history_of_its_creation() -> None:
    a = pb.tensor([1.0, 2.0], requires_grad=True)
    with pb.no_grad():
        v = a[0]
    (a.sum() * v).backward()
    same(a.grad, pb.tensor([1.0, 1.0]))


def test_writing_into_a_view_of_a_recorded_tensor() -> None:
    a = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = a * 1
    y[1:].mul_(pb.tensor([10.0, 100.0]))
    (y * y).sum().backward()
    same(a.grad, pb.tensor([2.0, 400.0, 60000.0]))


def test_aliasing_inside_vmap() -> None:
    def f(v: Any) -> Any:
        z = v.clone()
        row = z[0]
        row.mul_(0)
        z[1].add_(v[0])
        return z

    x = numbers(2, 2, 3)
    want = x.clone()
    want[:, 0] = 0
    want[:, 1] += x[:, 0]
    same(vmap(f)(x), want)


def test_filling_rows() -> None:
    z = pb.zeros(100, 3)
    for i in range(100):
        z[i] = float(i)
    same(z[:, 1], pb.arange(100.0))


def test_in_place_operators_keep_the_object() -> None:
    x = y = numbers(3)
    x += 1
    x *= 2
    x -= 0.5
    x /= 4
    assert x is y
    same(x, (numbers(3) + 1) * 2 / 4 - 0.125)


def test_one_object_per_cell() -> None:
    x = numbers(3).requires_grad_()
    x.sum().backward()
    assert x.grad is x.grad
    assert x.detach() is not x
    assert len({x, x, x.detach()}) == 2


def test_expanded_views_refuse_writes() -> None:
    with pytest.raises(RuntimeError):
        pb.zeros(1).expand(3).add_(pb.arange(3.0))


def test_shape_and_dtype_of_in_place_results() -> None:
    with pytest.raises(RuntimeError):
        pb.zeros(3).add_(pb.zeros(2, 3))
    with pytest.raises(RuntimeError):
        pb.zeros(3, dtype=pb.int64).add_(0.5)
    with pytest.raises(RuntimeError):
        pb.zeros(3, dtype=pb.int64).div_(2)


def test_views_of_small_tensors_need_a_layout_that_fits() -> None:
    x = pb.arange(6.0).reshape(2, 3)
    for moved in (x.t(), x.t().detach(), x[:, :2], x.t()[1:]):
        with pytest.raises(RuntimeError, match=r"view\(\): view size is not compatible"):
            moved.view(-1)
        with pytest.raises(RuntimeError, match=r"view_as\(\): view size is not compatible"):
            moved.view_as(pb.zeros(moved.numel()))
        assert moved.reshape(-1).tolist() == [v for row in moved.tolist() for v in row]
    flat = x[0].view(3, 1)
    flat[1] = 9
    assert x[0].tolist() == [0, 9, 2]
    np.testing.assert_array_equal(x.t().reshape(-1).detach().numpy(), [0, 3, 9, 4, 2, 5])


def test_part_of_an_expanded_view() -> None:
    x = pb.zeros(3)
    y = x.expand(2, 3)
    y[0] = 5
    same(x, pb.full((3,), 5.0))
    with pytest.raises(RuntimeError, match="more than one element"):
        y[:, 0] = 1


def test_parts_of_views_are_written_where_they_are() -> None:
    z = pb.zeros(100, 32)
    address = z.data_ptr()
    turned = z.t()
    for i in range(32):
        turned[i] = float(i)
    assert z.data_ptr() == address
    same(z[7], pb.arange(32.0))


def test_members_written_one_by_one() -> None:
    y = pb.ones(2, 2, requires_grad=True) * 1
    p, _ = y.unbind()
    for write in (lambda: p.mul_(2), lambda: p.__setitem__(0, 2.0)):
        with pytest.raises(RuntimeError, match=r"Output 0 of Unbind is a view .* returns multiple views"):
            write()
    for row in y:
        row.mul_(3)
    same(y.detach(), pb.full((2, 2), 3.0))
    with pb.no_grad():
        v = y[0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        v[0] = pb.ones((), requires_grad=True)


def test_rows_beside_a_detached_tensor() -> None:
    x = pb.ones(32, requires_grad=True)
    z = pb.zeros(100, 32) * x
    d = z.detach()
    for i in range(100):
        z[i] = x * i
    same(d[:, 0], pb.arange(100.0))
    z.sum().backward()
    same(x.grad, pb.full((32,), 4950.0))
    with pytest.raises(RuntimeError, match="shape mismatch"):
        z[0] = pb.ones(5)
    same(d[:, 0], pb.arange(100.0))
