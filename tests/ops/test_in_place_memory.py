"""In-place operators that change elements where they are: nobody else may see it, and who shares the memory does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pullback as pb
from pullback import Tensor
from support import samples

ROWS, COLUMNS = 1200, 1000  # Above the size from which all elements are changed where they are.

AT = pb.tensor([3, 0, 900, 3])
V = pb.arange(4.0 * COLUMNS).reshape(4, COLUMNS) / 1000
WIDE = AT[:, None].expand(4, COLUMNS)
ROW = pb.arange(1.0 * COLUMNS) / 7


def whole() -> Tensor:
    return (pb.arange(1.0 * ROWS * COLUMNS).reshape(ROWS, COLUMNS) % 97) / 8 - 3


def set_rows(x: Tensor) -> None:
    x[AT] = V


def set_places(x: Tensor) -> None:
    x[AT, AT] = 5.0


def add_rows(x: Tensor) -> None:
    x[AT] += V


def add_to_row(x: Tensor) -> None:
    x[5] += 1.0


def add_to_rows(x: Tensor) -> None:
    x[2:4].add_(ROW)


def plus(x: Tensor) -> None:
    x += ROW


def minus(x: Tensor) -> None:
    x -= 2.5


def times(x: Tensor) -> None:
    x *= ROW


def over(x: Tensor) -> None:
    x /= 3.0


def plus_itself(x: Tensor) -> None:
    x += x


def plus_turned(x: Tensor) -> None:
    x[:COLUMNS] += x[:COLUMNS].T


WRITES: dict[str, Callable[[Tensor], object]] = {
    "index_put_": lambda x: x.index_put_((AT,), V),
    "index_put_ accumulate": lambda x: x.index_put_((AT,), V, accumulate=True),
    "index_add_": lambda x: x.index_add_(0, AT, V, alpha=2),
    "index_add_ columns": lambda x: x.index_add_(1, pb.tensor([1, 1]), pb.ones(ROWS, 2)),
    "index_copy_": lambda x: x.index_copy_(0, AT, V),
    "index_fill_": lambda x: x.index_fill_(0, AT, 7.0),
    "scatter_": lambda x: x.scatter_(0, WIDE, V),
    "scatter_ multiply": lambda x: x.scatter_(0, WIDE, V, reduce="multiply"),
    "scatter_add_": lambda x: x.scatter_add_(0, WIDE, V),
    "scatter_reduce_ amax": lambda x: x.scatter_reduce_(0, WIDE, V, "amax"),
    "scatter_reduce_ mean": lambda x: x.scatter_reduce_(0, WIDE, V, "mean", include_self=False),
    "scatter_reduce_ prod": lambda x: x.scatter_reduce_(0, WIDE, V, "prod"),
    "index_reduce_": lambda x: x.index_reduce_(0, AT, V, "amin"),
    "fill_diagonal_": lambda x: x.fill_diagonal_(9.0),
    "put_": lambda x: x.put_(AT, ROW[:4], accumulate=True),
    "add_": lambda x: x.add_(ROW, alpha=3),
    "sub_": lambda x: x.sub_(ROW),
    "mul_": lambda x: x.mul_(0.5),
    **{f.__name__: f for f in (set_rows, set_places, add_rows, add_to_row, add_to_rows)},
    **{f.__name__: f for f in (plus, minus, times, over, plus_itself, plus_turned)},
}


def expected(write: Callable[[Tensor], object]) -> Tensor:
    """What a copy that somebody holds, and that so cannot be written to, becomes."""
    x = whole()
    held = x.detach()
    write(x)
    assert not pb.equal(x, whole()) and pb.equal(held, x)
    return x


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_nobody_else_sees_it(write: Callable[[Tensor], object]) -> None:
    want, before = expected(write), whole()
    x = whole()
    version = x._version
    write(x)
    assert pb.equal(x, want) and x._version > version
    # A copy, a view, and what an operator keeps for its derivative.
    x = whole()
    copy, view = x.clone(), x[1:, 3]
    w = pb.tensor(2.0, requires_grad=True)
    product = (x * w).sum()
    write(x)
    assert pb.equal(x, want) and pb.equal(copy, before) and pb.equal(view, want[1:, 3])
    product.backward()
    pb.testing.assert_close(w.grad, before.sum())


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_under_transforms(write: Callable[[Tensor], object]) -> None:
    want = expected(write)

    def written(x: Tensor) -> Tensor:
        y = x * 1
        write(y)
        return y

    x = whole()
    out, tangent = pb.func.jvp(written, (x,), (pb.ones_like(x),))
    assert pb.allclose(out, want) and tangent.shape == x.shape
    assert pb.allclose(pb.func.vmap(written)(pb.stack([x, x]))[1], want)
    out, pull = pb.func.vjp(written, x)
    assert pb.allclose(out, want)
    # Sums of many numbers, in different orders.
    pb.testing.assert_close(pull(pb.ones_like(x))[0].double().sum(), tangent.double().sum(), rtol=1e-5, atol=1e-3)
    assert pb.equal(x, whole())


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.index_put_((pb.tensor([0, ROWS]),), V[:2]),
        lambda x: x.scatter_(0, pb.tensor([[0, 1], [ROWS, 2]]), V[:2, :2]),
        lambda x: x.scatter_add_(0, pb.tensor([[0, 1], [-1, 2]]), V[:2, :2]),
        lambda x: x.index_add_(0, pb.tensor([0, ROWS]), V[:2]),
        lambda x: x.index_copy_(0, pb.tensor([0, ROWS]), V[:2]),
        lambda x: x.put_(pb.tensor([0, ROWS * COLUMNS]), ROW[:2]),
        lambda x: x.index_fill_(0, pb.tensor([0, ROWS]), 1.0),
        lambda x: x.add_(pb.ones(3)),
    ],
)
def test_errors_change_nothing(write: Callable[[Tensor], object]) -> None:
    x = whole()
    with pytest.raises((IndexError, RuntimeError)):
        write(x)
    assert pb.equal(x, whole()) and x._version == 0


def test_exported_memory_keeps_its_place() -> None:
    x = whole()
    shown = x.numpy()
    set_rows(x)
    x += 1
    assert shown[3, 2] == x[3, 2] and (shown == x.numpy()).all()


IN_PLACE = [name for name, entry in samples.table().items() if entry["flags"]["inplace"] and not entry["flags"]["view"]]
# What shares the memory of a tensor.
SHARED: dict[str, Callable[[Tensor], object]] = {
    "numpy": lambda x: x.numpy(),
    "dlpack": lambda x: np.from_dlpack(x) if x.dtype is not pb.bool else x.numpy(),
    "data": lambda x: x.data,
    "detach": lambda x: x.detach(),
    "view": lambda x: x.view(x.shape),
    "storage": lambda x: pb.empty(0, dtype=x.dtype).set_(x.untyped_storage(), 0, x.shape, x.stride()),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_who_shares_the_memory_sees_it(name: str) -> None:
    """A write keeps the address that a program has asked for, and reaches all that lies there."""
    tried = 0
    for sample in samples.build(name, 0):
        first, *others = sample.args
        write = getattr(pb.Tensor, name.rpartition(".")[2] + "_", None)
        if not isinstance(first, pb.Tensor) or write is None:
            continue
        try:
            write(first.detach().clone(), *others, **sample.kwargs)
        except RuntimeError:
            continue  # Of another shape, or dtype.
        for how, share in SHARED.items():
            x = first.detach().clone(memory_format=pb.contiguous_format)
            shown = share(x)
            assert write(x, *others, **sample.kwargs) is x
            assert np.array_equal(np.asarray(shown), x.numpy(), equal_nan=x.dtype.is_floating_point), how
            tried += 1
        memory = np.array(first.detach().numpy(), order="C")
        x = pb.from_numpy(memory)
        write(x, *others, **sample.kwargs)
        assert np.array_equal(memory, x.numpy(), equal_nan=x.dtype.is_floating_point)
        x = first.detach().clone()
        place = x.data_ptr()
        write(x, *others, **sample.kwargs)
        assert x.data_ptr() == place
    assert tried


@pytest.mark.parametrize("size", [3, 3000])
def test_known_addresses_are_no_saved_values(size: int) -> None:
    x, w = pb.arange(1.0, size + 1), pb.tensor(2.0, requires_grad=True)
    place = x.data_ptr()
    product, copy, tangent = (x * w).sum(), x.clone(), pb.func.jvp(lambda v: v, (w,), (w,))[1]
    kept = x * 1
    x.exp_().sub_(x)
    product.backward()
    assert w.grad == copy.sum() and pb.equal(kept, copy) and tangent == 2
    leaf = pb.nn.Parameter(pb.ones(size))
    place, square = leaf.data_ptr(), (leaf * leaf).sum()
    with pb.no_grad():
        leaf.mul_(3)
    square.backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [2.0] * size
    place = leaf.data_ptr()
    with pb.no_grad():
        leaf.sigmoid_()
    assert leaf.data_ptr() == place and leaf.is_leaf
