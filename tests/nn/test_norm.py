"""Normalisation at the edges of shapes."""

import pytest

import pullback as pb
from pullback.nn.functional import batch_norm


def test_batch_norm_needs_a_batch():
    stats = pb.zeros(3), pb.ones(3)
    with pytest.raises(
        RuntimeError,
        match=r"^batch_norm\(\): Input must be >= 2-d: argument 'input' must have at least 2 dim.*unsqueeze",
    ):
        batch_norm(pb.ones(3), *stats, training=False)
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        batch_norm(pb.ones(3), None, None, training=False)
    assert batch_norm(pb.zeros(0), None, None, training=False).shape == (0,)
    assert batch_norm(pb.zeros(0, 3), None, None, training=False).shape == (0, 3)
    with pytest.raises(RuntimeError, match="running_mean"):
        batch_norm(pb.ones(2, 3), None, None, training=False)
