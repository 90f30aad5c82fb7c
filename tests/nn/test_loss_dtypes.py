"""Losses of arguments of different dtypes: the result has the dtype that PyTorch's has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
import pullback.nn.functional as F

HALF, BRAIN, SINGLE, DOUBLE = pb.float16, pb.bfloat16, pb.float32, pb.float64
JOINT, FIRST, SECOND = "joint", "first", "second"
LOSSES: dict[str, tuple[Callable[..., Any], str]] = {
    "mse_loss": (F.mse_loss, JOINT),
    "l1_loss": (F.l1_loss, JOINT),
    "smooth_l1_loss": (F.smooth_l1_loss, JOINT),
    "huber_loss": (F.huber_loss, FIRST),
    "soft_margin_loss": (F.soft_margin_loss, FIRST),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, SECOND),
    "cross_entropy": (F.cross_entropy, JOINT),
    "weights": (lambda a, b: F.mse_loss(a, a, weight=b), JOINT),
    "cosine_similarity": (F.cosine_similarity, JOINT),
}
PAIRS = [(a, b) for a in (HALF, BRAIN, SINGLE, DOUBLE) for b in (HALF, BRAIN, SINGLE, DOUBLE)]


@pytest.mark.parametrize("name", LOSSES)
def test_floats(name: str) -> None:
    loss, rule = LOSSES[name]
    a, b = pb.tensor([[0.25, 0.75], [0.5, 1.0]]), pb.tensor([[0.5, 0.5], [0.25, 0.75]])
    exact = loss(a.double(), b.double())
    for first, second in PAIRS:
        x = a.to(first, copy=True).requires_grad_()
        out = loss(x, b.to(second))
        assert out.dtype is {JOINT: pb.promote_types(first, second), FIRST: first, SECOND: second}[rule]
        pb.testing.assert_close(out.double(), exact, rtol=0.02, atol=0.01)
        out.sum().backward()
        assert x.grad is not None and x.grad.dtype is first


@pytest.mark.parametrize("dtype", [pb.bool, pb.uint8, pb.int64])
def test_targets_that_are_no_floats(dtype: Any) -> None:
    x, y = pb.tensor([0.25, -0.5]), pb.tensor([1, 0])
    for loss in (F.smooth_l1_loss, F.soft_margin_loss):
        pb.testing.assert_close(loss(x, y.to(dtype)), loss(x, y.float()))
    assert F.cosine_similarity(x[None].half(), y[None].to(dtype)).dtype is HALF
