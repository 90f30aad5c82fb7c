"""Operators of several tensors whose results are views, each of the tensor at its place."""

from __future__ import annotations

import pytest

import pullback as pb
from pullback import func


def test_broadcast_tensors_are_views() -> None:
    x, y = pb.arange(3.0), pb.zeros(2, 1)
    a, b = pb.broadcast_tensors(x, y)
    assert (a.stride(), b.stride()) == ((0, 1), (1, 0))
    assert a._base is x and b._base is y
    assert pb.broadcast_tensors([x, y])[0]._base is x
    x[1] = 7.0
    assert a[:, 1].tolist() == [7.0, 7.0]
    b[:, 0] = pb.tensor([3.0, 4.0])
    assert y.tolist() == [[3.0], [4.0]]


def test_grids_are_views() -> None:
    x, y, z = pb.arange(3.0), pb.arange(3.0) + 10, pb.tensor(5.0)
    a, b, c = pb.meshgrid(x, y, z, indexing="ij")
    assert a.shape == b.shape == c.shape == (3, 3, 1)
    assert (a.stride()[:2], b.stride()[:2]) == ((1, 0), (0, 1))
    x[0], y[2], z[()] = -1.0, -2.0, -3.0
    assert a[0, :, 0].tolist() == [-1.0] * 3 and b[:, 2, 0].tolist() == [-2.0] * 3 and c[1, 1].tolist() == [-3.0]
    p, q = pb.meshgrid(x, pb.arange(2.0), indexing="xy")
    assert p.shape == q.shape == (2, 3)
    p.select(0, 0)[1] = 9.0
    assert x[1] == 9.0 and p[:, 1].tolist() == [9.0, 9.0]


def test_gradients_go_through() -> None:
    leaf = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = leaf * 1
    a, b = pb.meshgrid(x, pb.ones(2), indexing="ij")
    x.mul_(2)
    (a * a * b).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [16.0, 32.0, 48.0]
    f = lambda x, y: sum(t.sum() for t in pb.broadcast_tensors(x, y)) + (pb.meshgrid(x, y, indexing="xy")[0] ** 2).sum()
    x, y = pb.arange(3.0), pb.arange(3.0)
    want = pb.stack([func.grad(f)(r, y) for r in (x, x + 1)])
    assert func.vmap(func.grad(f), (0, None))(pb.stack([x, x + 1]), y).tolist() == want.tolist()
    out, tangent = func.jvp(lambda x: pb.broadcast_tensors(x, pb.zeros(2, 1))[0], (x,), (y,))
    assert tangent.tolist() == [y.tolist()] * 2 and out.shape == (2, 3)


def test_none_of_them() -> None:
    assert pb.broadcast_tensors() == ()
    with pytest.raises(RuntimeError, match="meshgrid expects a non-empty TensorList"):
        pb.meshgrid()
    with pytest.raises(RuntimeError, match=r"chain_matmul\(\): Expected one or more matrices; "):
        pb.chain_matmul()
    with pytest.raises(RuntimeError, match=r"einsum\(\): must provide at least one operand"):
        pb.einsum("i")
