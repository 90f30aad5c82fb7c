"""Strides of what operators compute, and of what is written to: programs go on with `view`, which asks for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pullback as pb
from pullback import Tensor

# Above and below the size up to which elements lie in the value itself.
SIZES = [pytest.param(3, id="small"), pytest.param(12, id="large")]

NEW: dict[str, Callable[[Tensor], Tensor]] = {
    "repeat": lambda x: x.repeat(2, 1, 1),
    "repeat in a new place": lambda x: x.repeat(2, 3),
    "tile": lambda x: pb.tile(x, (2, 1, 1)),
    "tile of a number": lambda x: pb.tile(x[0, 0], (2, 20)),
    "repeat_interleave": lambda x: pb.repeat_interleave(x, pb.tensor([2]), 1),
    "repeat_interleave by a number": lambda x: x.repeat_interleave(2, 0),
    "vander": lambda x: pb.vander(x[0]),
    "index_select": lambda x: x.index_select(1, pb.tensor([0, 1])),
    "index_add": lambda x: x.index_add(1, pb.tensor([0]), x[:, :1]),
    "index_copy": lambda x: x.index_copy(1, pb.tensor([0]), x[:, 1:2]),
    "index_fill": lambda x: x.index_fill(1, pb.tensor([0]), 2),
    "replicate": lambda x: pb.nn.functional.pad(x, (1, 2), "replicate"),
    "circular": lambda x: pb.nn.functional.pad(x, (1, 2), "circular"),
    "columns by a list": lambda x: x[:, [1, 0]],
    "columns by a mask": lambda x: x[:, pb.arange(x.size(1)) > 0],
    "columns behind a dimension": lambda x: x[None][..., pb.tensor([1, 0]), None],
    "members of two dimensions": lambda x: x[None][:, [0, 1], [1, 1]],
    "nonzero": lambda x: x.nonzero(as_tuple=True)[1],
    "ravel": lambda x: x.t().ravel(),
}


def of_size(n: int) -> Tensor:
    return pb.arange(1.0, 2.0 * n + 1, dtype=pb.float64).reshape(2, n)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", sorted(NEW))
def test_new_tensors_are_in_row_major_order(name: str, n: int) -> None:
    out = NEW[name](of_size(n))
    assert out.is_contiguous(), out.stride()
    assert pb.equal(out.view(-1), out.reshape(-1))
    assert pb.empty(out.shape).stride() == out.stride()


@pytest.mark.parametrize("n", SIZES)
def test_members_of_a_repeated_tensor_are_apart(n: int) -> None:
    x = of_size(n)
    repeated = x.repeat(2, 1, 1)
    repeated.numpy()[0] = 7
    assert pb.equal(repeated[1], x) and bool((repeated[0] == 7).all())
    grown = pb.tile(x, (2, 1, 1)).requires_grad_()
    grown.view(-1)[:n].sum().backward()
    assert grown.grad is not None and grown.grad.sum() == n


def test_repeated_members_of_a_batch() -> None:
    x = of_size(12)
    rows = pb.func.vmap(lambda v: v.repeat(2, 1).view(-1))(x)
    assert rows.shape == (2, 24) and pb.equal(rows, x.repeat(1, 2))
    slope = pb.func.grad(lambda v: (v.repeat(3, 1).view(-1) ** 2).sum())(x[0])
    assert pb.equal(slope, 6 * x[0])


IN_PLACE: dict[str, Callable[[Tensor], object]] = {
    "index_add_": lambda x: x.index_add_(1, pb.tensor([0]), pb.ones(x.size(0), 1, dtype=x.dtype)),
    "index_copy_": lambda x: x.index_copy_(1, pb.tensor([0]), pb.ones(x.size(0), 1, dtype=x.dtype)),
    "index_fill_": lambda x: x.index_fill_(1, pb.tensor([0]), 2),
    "add_": lambda x: x.add_(pb.ones(x.size(1), x.size(0), dtype=x.dtype).t()),
    "copy_": lambda x: x.copy_(pb.ones(x.size(1), x.size(0), dtype=x.dtype).t()),
    "mask": lambda x: x.__setitem__((slice(None), pb.arange(x.size(1)) > 0), 1.0),
    "last of a list": lambda x: x.__setitem__((..., pb.tensor([1, 0])), 0.0),
    "fill_": lambda x: x.fill_(2),
    "clamp_": lambda x: x.clamp_(2, 3),
}
ORDERS = [pytest.param(False, id="rows"), pytest.param(True, id="columns")]


@pytest.mark.parametrize("columns", ORDERS)
@pytest.mark.parametrize("name", sorted(IN_PLACE))
def test_writes_keep_the_strides(name: str, columns: bool) -> None:
    x = pb.empty_strided((4, 12), (1, 4) if columns else (12, 1), dtype=pb.float64)
    x.copy_(pb.arange(48.0).reshape(4, 12))
    same, strides = pb.arange(48.0, dtype=pb.float64).reshape(4, 12), x.stride()
    pb.manual_seed(0)
    IN_PLACE[name](x)
    pb.manual_seed(0)
    IN_PLACE[name](same)
    assert x.stride() == strides
    assert pb.equal(x, same)
    assert pb.equal((x.t() if columns else x).view(-1), (same.t() if columns else same).reshape(-1))


def test_random_numbers_fill_memory_in_its_order() -> None:
    x = pb.empty_strided((4, 12), (1, 4), dtype=pb.float64)
    rows = pb.empty(12, 4, dtype=pb.float64)
    pb.manual_seed(0)
    assert x.uniform_().stride() == (1, 4)
    pb.manual_seed(0)
    assert pb.equal(x.t(), rows.uniform_())


@pytest.mark.parametrize("columns", ORDERS)
def test_recorded_writes_keep_the_strides(columns: bool) -> None:
    x = pb.empty_strided((4, 12), (1, 4) if columns else (12, 1), dtype=pb.float64).fill_(1).requires_grad_()
    y = x.clone()
    strides = y.stride()
    y.index_add_(1, pb.tensor([0]), pb.ones(4, 1, dtype=pb.float64))
    y[:, pb.arange(12) > 5] = 0.0
    assert y.stride() == strides
    (y * y).sum().backward()
    assert x.grad is not None and x.grad[0].tolist() == [4.0] + [2.0] * 5 + [0.0] * 6


@pytest.mark.parametrize("size", [2, 20])
@pytest.mark.parametrize("method", [False, True])
def test_strides_with_gaps(size: int, method: bool) -> None:
    make = pb.ones(1, dtype=pb.float64).new_empty_strided if method else pb.empty_strided
    for shape, strides in (((size, 3), (8, 2)), ((size, 3), (0, 1)), ((size, 2), (1, 1)), ((size,), (9,))):
        x = make(shape, strides)
        room = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        assert x.stride() == strides and x.is_leaf and x._base is None and not x._is_view()
        assert x.untyped_storage().nbytes() == room * x.element_size()
        memory = x.as_strided((room,), (1,))
        memory.copy_(pb.arange(room))
        at = pb.arange(room).as_strided(shape, strides)
        assert x.tolist() == at.tolist() == pb.from_numpy(x.numpy()).tolist()
        assert x.fill_(-1) is x and (x == -1).all() and (memory[at] == -1).all()
        assert (memory == -1).sum() == at.unique().numel()
        assert (x * 2).is_contiguous() and x.clone().is_contiguous()
    x = pb.empty_strided((size, 3), (8, 2), requires_grad=True)
    with pb.no_grad():
        x.fill_(2.0)
    (x * x).sum().backward()
    assert x.is_leaf and x.stride() == (8, 2) and x.grad is not None and x.grad.tolist() == [[4.0] * 3] * size
    out = pb.func.grad(lambda v: pb.empty_strided((3,), (2,)).copy_(v).mul_(v).sum())(pb.arange(3.0))
    assert out.tolist() == [0, 2, 4]
