"""Operators along a dimension where there is none, or one of size 1 or 0; batches of such members.

`PULLBACK_FUZZ_CALLS` sets how many random shapes are tried; failures name the seed.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.func import vmap

SEED = 20261122
CALLS = int(os.environ.get("PULLBACK_FUZZ_CALLS", "200"))
same = pb.testing.assert_close


def attempt(f: Callable[[], Any]) -> Any:
    """Results as tensors, or the class of the exception."""
    try:
        out = f()
    except Exception as error:
        return type(error)
    return tuple(out) if isinstance(out, tuple) else out


def looped(f: Callable[..., Any], args: list[Any], dims: tuple[Any, ...]) -> Any:
    """`vmap` as a loop over members."""
    rows = [f(*(a if d is None else a[i] for a, d in zip(args, dims, strict=True))) for i in range(3)]
    if isinstance(rows[0], tuple):
        return tuple(pb.stack(column) for column in zip(*rows, strict=True))
    return pb.stack(rows)


ALONG = {
    "index_select": lambda x, i: pb.index_select(x, 0, i),
    "gather": lambda x, i: pb.gather(x, 0, i),
    "scatter": lambda x, i: pb.scatter(x, 0, i, 7.0),
    "scatter of itself": lambda x, i: pb.scatter(x, 0, i, pb.ones_like(i).to(x.dtype)),
    "scatter_add": lambda x, i: pb.scatter_add(x, 0, i, pb.ones_like(i).to(x.dtype)),
    "index_fill": lambda x, i: pb.index_fill(x, 0, i, 7.0),
    "index_fill by a tensor": lambda x, i: pb.index_fill(x, 0, i, x.sum()),
    "index_copy": lambda x, i: pb.index_copy(x, 0, i, pb.index_select(x, 0, i) * 2),
    "index_add": lambda x, i: pb.index_add(x, 0, i, pb.index_select(x, 0, i), alpha=3),
    "take_along_dim": lambda x, i: pb.take_along_dim(x, i, 0),
    "take_along_dim, flat": lambda x, i: pb.take_along_dim(x, i),
}


@pytest.mark.parametrize("name", ALONG)
def test_batches_of_members_without_dimensions(name: str) -> None:
    f = ALONG[name]
    members = [
        pb.tensor([3.0, 1.0, 2.0]),
        pb.tensor([[3.0], [1.0], [2.0]]),
        pb.tensor([[3.0, 5.0], [1.0, 6.0], [2.0, 7.0]]),
    ]
    indices = [
        pb.tensor([0, 0, 0]),
        pb.tensor([[0], [0], [0]]),
        pb.tensor([[0, 0]] * 3),
        pb.zeros(3, 0, dtype=pb.int64),
    ]
    for x, i in itertools.product(members, indices):
        for dims in ((0, 0), (0, None), (None, 0)):
            args = [a if d == 0 else a[0] for a, d in zip((x, i), dims, strict=True)]
            want = attempt(lambda args=args, dims=dims: looped(f, args, dims))
            got = attempt(lambda args=args, dims=dims: vmap(f, dims)(*args))
            where = f"{name} of {args[0].shape} and {args[1].shape}, in_dims {dims}"
            if isinstance(want, type):
                assert isinstance(got, type), f"{where}: {got}, but the loop raises {want}"
            else:
                assert not isinstance(got, type), f"{where}: {got}"
                same(got, want, msg=where)


def test_order_statistics_of_any_shape() -> None:
    rng = random.Random(SEED)
    for _ in range(CALLS):
        shape = [rng.choice([1, 1, 2, 3]) for _ in range(rng.randint(1, 4))]
        x = pb.tensor([rng.random() for _ in range(pb.zeros(shape).numel())]).reshape(shape)
        d = rng.randrange(-len(shape), len(shape))
        k = rng.randint(1, shape[d])
        ordered, places = x.sort(d)
        where = f"seed {SEED}: shape {shape}, dim {d}, k {k}"
        for keep in (True, False):
            values, indices = pb.kthvalue(x, k, d, keep)
            one = [slice(None)] * len(shape)
            one[d] = slice(k - 1, k)
            want, at = ordered[tuple(one)], places[tuple(one)]
            if not keep:
                want, at = want.squeeze(d), at.squeeze(d)
            same(values, want, msg=where)
            same(indices, at, msg=where)
            batched = vmap(lambda v, k=k, d=d, keep=keep: pb.kthvalue(v, k, d, keep).values)(pb.stack([x, x + 1]))
            same(batched, pb.stack([want, want + 1]), msg=where)


def test_order_statistics_without_dimensions() -> None:
    x = pb.tensor(3.0)
    for result in (pb.kthvalue(x, 1), pb.topk(x, 1), pb.sort(x), pb.max(x, 0), pb.cummax(x, 0), pb.topk(x, 0)):
        values, indices = result
        assert (values.shape, values.item(), indices.item()) == ((), 3.0, 0)
    empty = pb.zeros(0)
    assert pb.sort(empty).values.shape == (0,) and pb.topk(empty, 0).values.shape == (0,)
    for call in (lambda: pb.kthvalue(empty, 1), lambda: pb.max(empty, 0), lambda: pb.argmin(empty, 0)):
        with pytest.raises(IndexError):
            call()


def test_indices_of_members_without_dimensions() -> None:
    x = pb.tensor(3.0)
    assert pb.index_fill(x, 0, pb.zeros(0, dtype=pb.int64), 7.0).item() == 3.0
    assert pb.index_fill(x, 0, pb.tensor([0, 0]), 7.0).item() == 7.0
    for bad in (pb.tensor([1]), pb.tensor([-2])):
        with pytest.raises(IndexError):
            pb.index_fill(x, 0, bad, 7.0)
    with pytest.raises(RuntimeError, match="vector/scalar"):
        pb.index_fill(x, 0, pb.tensor([[0]]), 7.0)
    for op in (pb.index_select, lambda v, d, i: pb.index_add(v, d, i, pb.zeros(i.shape))):
        for count in (0, 2):
            with pytest.raises((RuntimeError, IndexError)):
                op(x, 0, pb.zeros(count, dtype=pb.int64))


@pytest.mark.parametrize("dim", [1, -2, 5])
def test_a_dimension_is_looked_at_even_if_the_index_is_empty(dim: int) -> None:
    x, i = pb.zeros(3), pb.zeros(0, dtype=pb.int64)
    for call in (
        lambda: pb.scatter(x, dim, i, 1.0),
        lambda: pb.scatter(x, dim, i, pb.zeros(0), reduce="add"),
        lambda: pb.scatter_add(x, dim, i, pb.zeros(0)),
        lambda: pb.gather(x, dim, i),
        lambda: pb.index_fill(x, dim, i, 1.0),
        lambda: pb.index_select(x, dim, i),
    ):
        with pytest.raises(IndexError):
            call()


def test_a_source_that_is_too_short() -> None:
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    some = pb.tensor([[True, False], [False, True]])
    same(vmap(lambda v, m: pb.masked_scatter(v, m, pb.tensor([9.0])))(x, some), pb.tensor([[9.0, 2.0], [3.0, 9.0]]))
    same(vmap(lambda v, s: pb.masked_scatter(v, v > 9, s))(x, pb.zeros(2, 0)), x)
    most = pb.tensor([[True, False], [True, True]])
    for call in (
        lambda: pb.masked_scatter(x, most, pb.zeros(2)),
        lambda: vmap(lambda v, m: pb.masked_scatter(v, m, pb.tensor([9.0])))(x, most),
        lambda: vmap(lambda v: pb.masked_scatter(v, v > 0, pb.zeros(1)))(x),
        lambda: vmap(lambda v: pb.masked_scatter(v, v > 0, pb.zeros(0)))(x),
        lambda: vmap(lambda s: pb.masked_scatter(pb.zeros(2), pb.tensor([True, True]), s))(pb.zeros(3, 1)),
        lambda: vmap(vmap(lambda v: pb.masked_scatter(v, v > 0, pb.zeros(1))))(x[None]),
    ):
        with pytest.raises(RuntimeError, match="at least"):
            call()


def test_the_class_of_tensors_names_the_type_of_new_ones() -> None:
    mask = pb.tensor([True, False])
    assert mask.type(pb.Tensor).dtype is pb.float32
    pb.set_default_dtype(pb.float64)
    try:
        assert mask.type(pb.Tensor).dtype is pb.float64
    finally:
        pb.set_default_dtype(pb.float32)
