"""Optimisers that were copied out of PyTorch find what they import."""

from __future__ import annotations

import math

import pytest

import pullback as pb
from pullback.optim import optimizer as inner


def test_complex_tensors_are_seen_as_pairs() -> None:
    params, states = [pb.ones(2), pb.ones(2, dtype=pb.complex64)], [pb.ones(2), pb.zeros(2, dtype=pb.complex64)]
    inner._view_as_real(params, states)
    assert [list(x.shape) for x in params + states] == [[2], [2, 2]] * 2


def test_what_steps_are_counted_in() -> None:
    assert inner._get_scalar_dtype() == inner._get_scalar_dtype(is_fused=True) == pb.float32
    pb.set_default_dtype(pb.float64)
    try:
        assert (inner._get_scalar_dtype(), inner._get_scalar_dtype(is_fused=True)) == (pb.float64, pb.float32)
    finally:
        pb.set_default_dtype(pb.float32)


def test_numbers_and_tensors() -> None:
    assert inner._dispatch_sqrt(2.0) == math.sqrt(2.0) and inner._dispatch_sqrt(pb.tensor(4.0)).item() == 2.0
    assert inner._to_scalar(pb.ones(1)).dim() == 0 and inner._to_scalar(0.5) == 0.5
    assert inner._stack_if_compiling(3) == 3 and inner._disable_dynamo_if_unsupported()(len) is len
    with pytest.raises(RuntimeError, match="floating point"):
        inner._device_dtype_check_for_fused(pb.ones(1, dtype=pb.int64))


def test_nothing_is_compiled() -> None:
    assert pb._utils.is_compiling() is False
