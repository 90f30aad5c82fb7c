"""Which results are the tensor itself, a view of it, or another one: for Python and for autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.func import vmap


class Sub(pb.Tensor):
    pass


def leaf() -> Any:
    return pb.ones(2, 3).requires_grad_()


def test_as_subclass_is_a_view() -> None:
    x = pb.ones(2)
    s = x.as_subclass(Sub)
    assert type(s) is Sub and s._base is x and s._is_view() and s.is_leaf
    s.requires_grad_()
    assert s.requires_grad and not x.requires_grad
    w = leaf()
    s = w.as_subclass(Sub)
    assert not s.is_leaf and s.grad_fn.name() == "AliasBackward0" and s._base is w
    (s * 2).sum().backward()
    assert w.grad.tolist() == [[2.0] * 3] * 2
    y = w * 2
    z = y.as_subclass(Sub)
    z.mul_(3)
    assert y.tolist() == [[6.0] * 3] * 2 and y._version == z._version == 1
    assert vmap(lambda t: t.as_subclass(Sub) * 2)(pb.ones(3)).tolist() == [2, 2, 2]


ITSELF: dict[str, Callable[[Any], Any]] = {
    "atleast_1d": lambda x: pb.atleast_1d(x),
    "atleast_2d": lambda x: pb.atleast_2d(x),
    "broadcast_tensors": lambda x: pb.broadcast_tensors(x)[0],
    "broadcast_tensors of two": lambda x: pb.broadcast_tensors(x, pb.ones(3))[0],
    "atleast_2d of several": lambda x: pb.atleast_2d(pb.ones(3), x)[1],
    "atleast_1d of a list": lambda x: pb.atleast_1d([x])[0],
    "sum_to_size": lambda x: x.sum_to_size(x.shape),
    "contiguous": lambda x: x.contiguous(),
    "to": lambda x: x.to(pb.float32),
    "resolve_conj": lambda x: x.resolve_conj(),
    "resolve_neg": lambda x: x.resolve_neg(),
    "real": lambda x: x.real,
    "conj": lambda x: x.conj(),
    "requires_grad_": lambda x: x.requires_grad_(),
}
RESULT: dict[str, Callable[[Any], Any]] = {
    "einsum": lambda x: pb.einsum("ij->ij", x),
    "einsum of lists": lambda x: pb.einsum(x, [0, 1], [0, 1]),
    "channel_shuffle": lambda x: pb.nn.functional.channel_shuffle(x[None], 1)[0],
    "cat": lambda x: pb.cat([x]),
    "clone": lambda x: x.clone(),
    "flip": lambda x: x.flip(()),
    "repeat": lambda x: x.repeat(1, 1),
    "tile": lambda x: x.tile(1),
    "roll": lambda x: x.roll(0),
    "tril": lambda x: x.tril(5),
    "block_diag": lambda x: pb.block_diag(x),
    "nan_to_num": lambda x: x.nan_to_num(),
    "pad": lambda x: pb.nn.functional.pad(x, (0, 0)),
    "broadcast_to": lambda x: x.broadcast_to(2, 3),
    "view": lambda x: x.view(2, 3),
    "[...]": lambda x: x[...],
}


@pytest.mark.parametrize("name", ITSELF)
def test_is_itself(name: str) -> None:
    for x in (pb.ones(2, 3), leaf(), leaf() * 2, (leaf() * 2)[:1]):
        assert ITSELF[name](x) is x


@pytest.mark.parametrize("name", RESULT)
def test_is_a_result(name: str) -> None:
    x = leaf()
    y = RESULT[name](x)
    assert y is not x and not y.is_leaf and y.grad_fn is not None and y.output_nr == 0
    (g,) = pb.autograd.grad((y * 3).sum(), y)
    assert g.tolist() == [[3.0] * 3] * 2
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad_(False)
    plain = RESULT[name](pb.ones(2, 3))
    assert plain.is_leaf and plain.grad_fn is None


NOTHING_TO_DO: dict[str, Callable[[Any], Any]] = {
    "flip": lambda t: t.flip(()),
    "repeat": lambda t: t.repeat(1),
    "roll": lambda t: t.roll(0),
    "cat": lambda t: pb.cat([t]),
    "tril": lambda t: t[None].tril(5)[0],
    "scatter": lambda t: t.scatter(0, pb.zeros(0, dtype=pb.int64), t[:0]),
    "nan_to_num": lambda t: t.nan_to_num(),
    "clone": lambda t: t.clone(),
    "pad": lambda t: pb.nn.functional.pad(t, (0, 0)),
}


@pytest.mark.parametrize("name", NOTHING_TO_DO)
@pytest.mark.parametrize("size", [4, 400])
def test_results_begin_at_0(name: str, size: int) -> None:
    x = pb.arange(float(size))
    x.data_ptr()
    y = NOTHING_TO_DO[name](x[1:])
    assert y.storage_offset() == 0 and y.stride() == (1,)
    z = y.as_strided((2,), (1,), 0)
    assert z.tolist() == [1, 2] and y[1:].storage_offset() == 1
    z.zero_()
    assert y[:3].tolist() == [0, 0, 3] and x[:4].tolist() == [0, 1, 2, 3]
    assert y.detach()[1:].storage_offset() == 1
    y.numpy()[0] = 7
    assert y[0] == 7 and x[1] == 1 and y.storage_offset() == 0


def first(x: Any) -> Any:
    return x[0] if isinstance(x, tuple) else x


# What each shows of a tensor of these sizes, as indices of it: a write goes both ways, and derivatives follow.
VIEWS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "atleast_1d of 0d": ((), lambda x: pb.atleast_1d(x)),
    "atleast_2d of 0d": ((), lambda x: pb.atleast_2d(x)),
    "atleast_2d of 1d": ((3,), lambda x: pb.atleast_2d(x)),
    "atleast_3d of 0d": ((), lambda x: pb.atleast_3d(x)),
    "atleast_3d of 1d": ((3,), lambda x: pb.atleast_3d(x)),
    "atleast_3d of 2d": ((2, 3), lambda x: pb.atleast_3d(x)),
    "atleast_2d of several": ((), lambda x: pb.atleast_2d(pb.ones(3), x)[1]),
    "atleast_3d of a list": ((3,), lambda x: pb.atleast_3d([x, x])[0]),
    "einsum": ((2, 3), lambda x: pb.einsum("ij->ji", x)),
    "einsum of a diagonal": ((3, 3), lambda x: pb.einsum("ii->i", x)),
    "einsum of lists": ((2, 3), lambda x: pb.einsum(x, [0, 1], [1, 0])),
    "unsafe_chunk": ((4,), lambda x: pb.unsafe_chunk(x, 2)[1]),
    "unsafe_split": ((2, 4), lambda x: x.unsafe_split(1, 1)[1]),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("many", [False, True])
def test_is_a_view(name: str, many: bool) -> None:
    sizes, show = VIEWS[name]
    sizes = tuple(n * 50 for n in sizes) if many else sizes
    count = pb.ones(sizes).numel()
    x = pb.arange(float(count)).reshape(sizes).clone()
    y = show(x)
    places = show(pb.arange(count).reshape(sizes)).flatten()
    assert y._base is x and y.flatten().tolist() == places.tolist()
    y.fill_(-1)
    assert (x.flatten()[places] == -1).all() and (x == -1).sum() == places.numel()
    x.fill_(-2)
    assert (y == -2).all()

    def written(v: Any) -> Any:
        v = v * 1
        show(v).mul_(3)
        return v

    x = pb.arange(1.0, count + 1).reshape(sizes)
    slopes = pb.ones(count).index_fill(0, places, 3.0).reshape(sizes)
    assert pb.equal(pb.func.grad(lambda v: written(v).sum())(x), slopes)
    assert pb.equal(pb.func.jvp(written, (x,), (pb.ones(sizes),))[1], slopes)
    assert pb.equal(vmap(written)(pb.stack([x, 2 * x])), pb.stack([x * slopes, 2 * x * slopes]))


def test_the_only_vector() -> None:
    x = pb.arange(3.0)
    assert pb.cartesian_prod(x) is x and pb.cartesian_prod([x]) is x
    assert pb.cartesian_prod(x, x) is not x
    flat = pb._utils._flatten_dense_tensors([x])
    assert flat._base is x


@pytest.mark.parametrize("size", [2, 20])
def test_formats_that_change_nothing(size: int) -> None:
    x = pb.ones(2, 3, size, size).to(memory_format=pb.channels_last)
    assert x.to(memory_format=pb.channels_last) is x
    assert x.to(pb.float32, memory_format=pb.channels_last, copy=True) is not x
    assert pb.ones(1, 1, 1, 1).to(memory_format=pb.channels_last)._base is None


def test_results_without_dimensions() -> None:
    x = pb.tensor(2.0)
    y = x.sum_to_size(())
    y.fill_(3)
    assert x == 2 and y._base is None
