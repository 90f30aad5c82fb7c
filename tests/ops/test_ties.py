"""Which of equal elements is chosen: the one that PyTorch's CPU kernels choose."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb

# What PyTorch 2.13 gives on the CPU.
ZEROS = [10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1]
DTYPES = [pb.float16, pb.float32, pb.float64, pb.uint8, pb.int32, pb.int64]


def thirds(dtype: Any, n: int = 20) -> Any:
    return (pb.arange(n) % 3).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_elements(dtype: Any) -> None:
    zeros, x = pb.zeros(20, dtype=dtype), thirds(dtype)
    assert pb.sort(zeros).indices.tolist() == pb.argsort(zeros).tolist() == ZEROS
    assert pb.sort(zeros, descending=True).indices.tolist() == ZEROS
    assert pb.argsort(zeros, stable=True).tolist() == list(range(20))
    assert pb.topk(x, 5, largest=False).indices.tolist() == [9, 6, 12, 15, 0]
    assert pb.kthvalue(x, 10).indices.item() == 4
    for dim in (0, 1):
        pairs = pb.stack([x, x], 1 - dim)
        assert pb.kthvalue(pairs, 10, dim).indices.tolist() == [4, 4]


def test_what_is_chosen_has_the_value() -> None:
    for n in (1, 2, 16, 17, 100, 3000):
        for k in {1, max(1, n // 100), (n + 1) // 2, n}:
            x = pb.randint(0, 4, (3, n), generator=pb.Generator().manual_seed(n))
            for largest in (True, False):
                for ordered in (True, False):
                    values, indices = pb.topk(x, k, largest=largest, sorted=ordered)
                    best = pb.sort(x, descending=largest, stable=True).values[:, :k]
                    assert (x.gather(1, indices) == values).all() and values.shape == (3, k)
                    assert (values.sort(1, descending=largest).values == best).all()
                    assert not ordered or (values == best).all()
                    assert all(len(set(row)) == k for row in indices.tolist())
            value, index = pb.kthvalue(x, k)
            assert (x.gather(1, index[:, None])[:, 0] == value).all()
            assert (value == pb.sort(x, stable=True).values[:, k - 1]).all()
        value, index = pb.mode(x)
        assert (x.gather(1, index[:, None])[:, 0] == value).all()
        order = pb.argsort(x, 1)
        assert (x.gather(1, order) == pb.sort(x, 1, stable=True).values).all()


def test_few_elements_and_stable_sorts_keep_their_places() -> None:
    x = thirds(pb.float32, 16)
    assert pb.argsort(x).tolist() == pb.argsort(x, stable=True).tolist()
    y = thirds(pb.float32, 90)
    assert pb.argsort(y, stable=True).tolist() == sorted(range(90), key=lambda i: i % 3)
    # A second sort of long rows would take several times as long as the first.
    long = thirds(pb.float32, 5000)
    assert pb.argsort(long).tolist() == pb.argsort(long, stable=True).tolist()
    assert pb.argsort(y, descending=True, stable=True).tolist() == sorted(range(90), key=lambda i: -(i % 3))


def test_derivatives_go_to_what_is_chosen() -> None:
    x = pb.zeros(20, requires_grad=True)
    for f, chosen in (
        (lambda x: pb.topk(x, 3).values.sum(), pb.topk(x, 3).indices),
        (lambda x: pb.kthvalue(x, 7).values, pb.kthvalue(x, 7).indices),
        (lambda x: pb.mode(x).values, pb.mode(x).indices),
    ):
        (g,) = pb.autograd.grad(f(x), x)
        assert g.nonzero().flatten().tolist() == sorted(chosen.flatten().tolist())
    batch = pb.zeros(2, 20)
    assert pb.func.vmap(lambda r: pb.argsort(r))(batch).tolist() == [ZEROS, ZEROS]
