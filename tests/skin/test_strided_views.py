"""`as_strided` of tensors whose memory is in another order, and of members of batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, vmap


def channels_last(n: int = 1) -> Any:
    numbers = pb.arange(48.0 * n, dtype=pb.float64).reshape(2 * n, 2, 3, 4)
    return numbers.contiguous(memory_format=pb.channels_last)


def in_memory(t: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> np.ndarray:
    flat = t.permute(0, 2, 3, 1).contiguous().numpy().reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(flat, size, [8 * s for s in stride])


@pytest.mark.parametrize(
    "size, stride, offset", [((4,), (1,), 0), ((2, 2), (1, 2), 5), ((3, 4), (0, 3), 2), ((), (), 7)]
)
def test_memory_in_another_order(size: Any, stride: Any, offset: int) -> None:
    y = channels_last()
    v = y.as_strided(size, stride, offset)
    np.testing.assert_array_equal(v.numpy(), in_memory(y, size, stride, offset))
    assert v.stride() == stride and v.storage_offset() == offset and v._base is y
    assert v.data_ptr() == y.data_ptr() + 8 * offset
    part = y[1].as_strided(size, stride)
    np.testing.assert_array_equal(part.numpy(), in_memory(y, size, stride, 24))
    if 0 not in stride:
        want = in_memory(y, (48,), (1,), 0).copy()
        np.lib.stride_tricks.as_strided(want[offset:], size, [8 * s for s in stride])[...] = -1
        v.fill_(-1)
        np.testing.assert_array_equal(in_memory(y, (48,), (1,), 0), want)
    weights = np.zeros(48)
    for at in np.ndindex(*size):
        weights[offset + int(np.dot(at, stride))] += 1
    x = channels_last()
    g = grad(lambda t: t.as_strided(size, stride, offset).sum())(x)
    np.testing.assert_array_equal(g.permute(0, 2, 3, 1).reshape(-1).numpy(), weights)
    _, t = jvp(lambda t: t.as_strided(size, stride, offset), (x,), (x,))
    np.testing.assert_array_equal(t.numpy(), in_memory(x, size, stride, offset))


def test_leaving_the_memory_raises() -> None:
    y = channels_last()
    with pytest.raises(RuntimeError, match="storage"):
        y.as_strided((49,), (1,), 0)


def test_members_along_a_last_dimension() -> None:
    x = pb.arange(24.0).reshape(2, 3, 4)
    assert vmap(lambda t: t.as_strided((1,), (1,), 0), in_dims=2)(x).tolist() == [[0], [1], [2], [3]]
    assert vmap(lambda t: t.as_strided((2,), (4,), 0), in_dims=2)(x).tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert vmap(lambda t: t.as_strided((2,), (1,), 0), in_dims=1)(x).tolist() == [[0, 1], [4, 5], [8, 9]]
    with pytest.raises(RuntimeError, match="access memory outside"):
        vmap(lambda t: t.as_strided((2,), (1,), 0), in_dims=2)(x)


@pytest.mark.parametrize("shape", [(2, 3), (20, 30)])
def test_two_maps(shape: tuple[int, int]) -> None:
    def inner(t: Any) -> Any:
        return (t * 1.0).as_strided((1,), (1,), 0)

    def outer(x: Any) -> Any:
        return vmap(inner, in_dims=2)(pb.stack([x, x + 1], 2))

    x = pb.arange(2.0 * shape[0] * shape[1]).reshape(2, *shape)
    want = [[[m[0, 0].item()], [m[0, 0].item() + 1]] for m in x]
    assert vmap(outer)(x).tolist() == want
    g = grad(lambda x: vmap(outer)(x).sum())(x)
    assert g.sum() == 4 and g[:, 0, 0].tolist() == [2, 2]


def test_writes_to_members() -> None:
    def f(t: Any) -> Any:
        y = t * 1.0
        y.as_strided((2,), (1,), 1).fill_(-1.0)
        return y

    x = pb.arange(12.0).reshape(2, 6)
    assert vmap(f)(x)[:, :4].tolist() == [[0, -1, -1, 3], [6, -1, -1, 9]]
    y = x.clone()
    vmap(lambda t: t.as_strided((2,), (6,), 0).zero_(), in_dims=1)(y)
    assert y.tolist() == [[0] * 6] * 2


def test_offsets_of_other_dtypes() -> None:
    x = pb.arange(6.0)
    assert x[2:].view(pb.int16).storage_offset() == 4
    assert x[2:].view(pb.int16)[3:].storage_offset() == 7
