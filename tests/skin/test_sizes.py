"""Sizes, strides, offsets and counts that no memory has: an error each, never other memory and never a wrapped size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

FAR = 2**63 - 1
F = pb.nn.functional


def ones(*shape: int) -> Any:
    return pb.ones(*shape)


CALLS: list[tuple[str, Callable[[], Any]]] = [
    ("as_strided far", lambda: ones(3).as_strided((2**32 + 1,), (2**32,))[1]),
    ("as_strided farther", lambda: ones(3).as_strided((3, 2), (FAR, FAR))),
    ("as_strided that wraps to 0", lambda: ones(3).as_strided((5,), (2**62,))),
    ("as_strided offset", lambda: ones(3).as_strided((1,), (1,), FAR)),
    ("as_strided negative offset", lambda: ones(3).as_strided((1,), (1,), -1)),
    ("as_strided of too many", lambda: ones(3).as_strided((2**40, 2**40), (0, 0))),
    ("as_strided_", lambda: ones(3).as_strided_((2**32 + 1,), (2**32,))),
    ("set_", lambda: pb.empty(0).set_(ones(3).untyped_storage(), 0, (2**32 + 1,), (2**32,))),
    ("set_ to grow", lambda: pb.empty(0).set_(ones(3).untyped_storage(), 0, (2,), (FAR,))),
    ("set_ offset", lambda: pb.empty(0).set_(ones(3).untyped_storage(), FAR, (1,), (1,))),
    ("resize_", lambda: ones(3).resize_(2**62, 4)),
    ("resize_ beyond memory", lambda: ones(3).resize_(2**45)),
    ("cat", lambda: pb.cat([ones(1).expand(2**61)] * 32)),
    ("cat of bytes", lambda: pb.cat([pb.ones(1, dtype=pb.uint8).expand(2**61)] * 8)),
    ("stack", lambda: pb.stack([ones(1).expand(2**62)] * 4)),
    ("split", lambda: pb.split(ones(3), [FAR, FAR, 5])),
    ("split_with_sizes", lambda: ones(3).split_with_sizes([2**63 - 1, 4, -(2**63)])),
    ("chunk of nothing", lambda: pb.empty(0).chunk(2**40)),
    ("tensor_split", lambda: ones(3).tensor_split(2**40)),
    ("unbind", lambda: ones(1).expand(2**40).unbind()),
    ("iteration", lambda: list(ones(1).expand(2**40))),
    ("repeat", lambda: ones(3).repeat(0, FAR)),
    ("expand", lambda: ones(1).expand(2**62, 2**62)),
    ("broadcast", lambda: ones(1, 1).expand(2**40, 1) + ones(1, 1).expand(1, 2**40)),
    ("product", lambda: ones(1, 1).expand(2**40, 1) @ ones(1, 1).expand(1, 2**40)),
    ("outer", lambda: pb.outer(ones(1).expand(2**40), ones(1).expand(2**40))),
    ("zeros", lambda: pb.zeros(2**62, 4)),
    ("zeros without elements", lambda: pb.zeros(0, 2**62, 4)),
    ("zeros beyond memory", lambda: pb.zeros(2**40)),
    ("rand beyond memory", lambda: pb.rand(2**40)),
    ("arange beyond memory", lambda: pb.arange(2**40)),
    ("eye beyond memory", lambda: pb.eye(2**21)),
    ("clone beyond memory", lambda: ones(1).expand(2**40).clone()),
    ("sum beyond a lifetime", lambda: ones(1).expand(2**62).sum()),
    ("tolist beyond memory", lambda: pb.zeros(2**40, 0).tolist()),
    ("diag_embed", lambda: pb.diag_embed(ones(2), FAR)),
    ("diag_embed below", lambda: pb.diag_embed(ones(2), -(2**63))),
    ("pad", lambda: F.pad(ones(3), (FAR, FAR))),
    ("pad that crops", lambda: F.pad(ones(3), (-(2**63), FAR))),
    ("replicate", lambda: F.pad(ones(1, 3), (2**40, 2**40), mode="replicate")),
    ("conv padding", lambda: F.conv1d(ones(1, 1, 3), ones(1, 1, 1), padding=2**40)),
    ("conv dilation", lambda: F.conv1d(ones(1, 1, 3), ones(1, 1, 2), dilation=FAR)),
    ("adaptive pool", lambda: F.adaptive_avg_pool1d(ones(1, 3), 2**40)),
    ("frombuffer", lambda: pb.frombuffer(bytearray(8), dtype=pb.float32, count=FAR, offset=FAR)),
    ("storage", lambda: ones(3).untyped_storage()[-(2**63)]),
]


@pytest.mark.parametrize("call", [c for _, c in CALLS], ids=[n for n, _ in CALLS])
def test_what_no_memory_has_raises(call: Callable[[], Any]) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError, OverflowError)) as caught:
        call()
    assert type(caught.value).__name__ != "InternalError", caught.value


def test_shapes_that_do_not_broadcast_read_no_other_memory() -> None:
    with pytest.raises(RuntimeError, match="cannot be expanded"):
        pb.zeros(3, 3, 5).bernoulli_(pb.full((3,), 0.5))
    with pytest.raises(RuntimeError):
        pb.zeros(4).bernoulli_(pb.empty(0))
    with pytest.raises((RuntimeError, ValueError)):
        F.mse_loss(ones(3, 3, 2), ones(3, 3, 2), weight=ones(2, 3))


def test_slices_by_large_steps_take_the_first() -> None:
    x = pb.arange(3.0)
    assert x[0:3:FAR].tolist() == [0.0] and x[1::FAR].tolist() == [1.0]
    assert x[FAR:].shape == (0,) and x[-FAR:FAR].tolist() == [0.0, 1.0, 2.0]
    y = pb.arange(12.0).reshape(3, 4)
    assert y[::FAR, ::FAR].tolist() == [[0.0]]
    y[::FAR] = 9.0
    assert y[0].tolist() == [9.0] * 4 and y[1:].tolist() == [[4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
    assert pb.func.grad(lambda v: (v[::FAR] * 3).sum())(x).tolist() == [3.0, 0.0, 0.0]


def test_strides_that_lead_nowhere_are_harmless() -> None:
    x = pb.arange(3.0)
    one = x.as_strided((1,), (FAR,), 2)
    assert (one + 1).tolist() == [3.0] and one[::FAR].tolist() == [2.0]
    none = x.as_strided((0, 2), (FAR, FAR))
    assert none.t().clone().shape == (2, 0) and none.sum().item() == 0.0
    a = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (0, 3), (2**62, -(2**62)))
    assert pb.tensor(a).shape == (0, 3)


def test_large_views_work() -> None:
    x = pb.ones(1).expand(2**62)
    assert x.numel() == 2**62 and x[-1].item() == 1.0 and x[5:7].tolist() == [1.0, 1.0]
    assert "..." in repr(x) and x.view(2**31, 2**31).shape == (2**31, 2**31)
    assert repr(pb.zeros(2**40, 0)) == f"tensor([], size=({2**40}, 0))"


def test_memory_that_is_not_free_is_refused() -> None:
    """The system would promise it, and end the process when it is written."""
    with pytest.raises(RuntimeError, match="not enough memory.*free"):
        pb.zeros(2**40, dtype=pb.uint8)
    with pytest.raises(RuntimeError, match="not enough memory"):
        pb.ones(1, dtype=pb.uint8).expand(2**40) + 1
    assert pb.ones(3).sum().item() == 3.0
