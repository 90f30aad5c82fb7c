"""`assert_close` and `make_tensor`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close, make_tensor

INF, NAN = math.inf, math.nan
HALF = [pb.float16, pb.bfloat16]


def t(*values: Any, dtype: Any = None) -> Any:
    return pb.tensor(list(values), dtype=dtype)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (1.0, 1.0 + 1e-8),
        (True, True),
        (None, None),
        ([1, (2.0, None)], (1, [2.0, None])),
        ({"a": t(1.0), "b": 2}, {"b": 2, "a": t(1.0)}),
        (t(1.0, INF), t(1.0 + 1e-6, INF)),
        (t(), t()),
        (t(1, 2), t(1, 2)),
        (t(1.0, dtype=pb.float16), t(1.0005, dtype=pb.float16)),
        (t(1 + 1j), t(1 + 1j + 1e-7)),
        (pb.ones(2, requires_grad=True), pb.ones(2)),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9])),
    ],
)
def test_close(actual: Any, expected: Any) -> None:
    assert_close(actual, expected)
    assert_close(expected, actual)


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (1.0, 1.1, "scalars are not close"),
        (1, 1.0, "types do not match: got int, expected float"),
        (None, 1, "None mismatch"),
        ([1, 2], [1, 2, 3], "lengths of the sequences"),
        ({"a": 1}, {"b": 1}, r"missing \['b'\], unexpected \['a'\]"),
        ([1, {"k": (2.0, 3.0)}], [1, {"k": (2.0, 4.0)}], r"item \[1\]\['k'\]\[1\]"),
        (
            t(1.0, 2.0),
            t(1.0, 3.0),
            r"1 of 2 elements differ \(50.0 %\)\ngreatest absolute difference 1.0 at index \(1,\)",
        ),
        (pb.tensor([[1.0, 2.0], [3.0, 4.0]]), pb.tensor([[1.0, 2.0], [3.0, 5.0]]), r"index \(1, 1\)"),
        (t(1, 2), t(1, 3), "not equal"),
        (t(2**62 + 1), t(2**62), "not equal"),
        (t(True), t(False), "not equal"),
        (t(1.0), t(1.0, dtype=pb.float64), "dtypes do not match"),
        (t(1.0, 2.0), t(1.0), "shapes do not match"),
        (t(NAN), t(NAN), "not close"),
        (t(INF), t(-INF), "not close"),
        (t(INF), t(1.0), "not close"),
        (t(1.0), t(INF), "not close"),
        (t(1 + 1j), t(1 + 2j), "greatest absolute difference 1.0"),
    ],
)
def test_not_close(actual: Any, expected: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_close(actual, expected)


def test_options() -> None:
    assert_close(t(NAN, 1.0), t(NAN, 1.0), equal_nan=True)
    assert_close(NAN, NAN, equal_nan=True)
    assert_close(1, 1.0, check_dtype=False)
    assert_close(t(1.0), t(1.0, dtype=pb.float64), check_dtype=False)
    assert_close(t(1.0), t(1.5), rtol=0, atol=0.5)
    assert_close(t(1), t(2), rtol=0.5, atol=0)
    with pytest.raises(AssertionError):
        assert_close(t(1.0), t(INF), rtol=1, atol=1)
    with pytest.raises(AssertionError, match="^mine$"):
        assert_close(t(1.0), t(2.0), msg="mine")
    with pytest.raises(AssertionError, match="^see tensors are"):
        assert_close(t(1.0), t(2.0), msg=lambda text: f"see {text}")
    with pytest.raises(AssertionError, match="strides do not match"):
        assert_close(pb.zeros(20, 30), pb.zeros(30, 20).t(), check_stride=True)


def test_wrong_use() -> None:
    for kwargs in ({"rtol": 0.1}, {"atol": 0.1}):
        with pytest.raises(ValueError, match="both tolerances"):
            assert_close(1.0, 1.0, **kwargs)
    for actual, expected in [("a", "a"), (t(1.0), 1.0), (t(1.0), np.ones(1)), (object(), object())]:
        with pytest.raises(TypeError, match="cannot compare"):
            assert_close(actual, expected)


def test_outside_of_the_tape() -> None:
    x = pb.ones(2, requires_grad=True)
    assert_close(x * 2, x + x)
    assert pb.is_grad_enabled()


@pytest.mark.parametrize("dtype", [pb.float32, pb.float64, *HALF, pb.int8, pb.uint8, pb.int64, pb.bool])
def test_make_tensor(dtype: Any) -> None:
    x = make_tensor(3, 4, dtype=dtype)
    assert (x.shape, x.dtype, x.is_contiguous()) == ((3, 4), dtype, True)
    assert make_tensor((2,), dtype=dtype).shape == (2,) and make_tensor(dtype=dtype).shape == ()
    assert make_tensor(0, 2, dtype=dtype).numel() == 0
    assert not make_tensor(30, 40, dtype=dtype, noncontiguous=True).is_contiguous()
    assert bool((make_tensor(50, dtype=dtype, low=0, high=2, exclude_zero=True) != 0).all())
    wide = make_tensor(500, dtype=dtype).to(pb.float64)
    low, high = float(wide.amin().item()), float(wide.amax().item())
    assert (
        (low, high) == (0, 1)
        if dtype is pb.bool
        else 0 <= low < 2 < 8 <= high < 10
        if dtype is pb.uint8
        else low < -7 < 7 < high
    )


def test_make_tensor_ranges() -> None:
    x = make_tensor(100, dtype=pb.float64, low=-0.25, high=0.5, requires_grad=True)
    assert x.requires_grad and x.is_leaf
    assert -0.25 <= x.min().item() < 0 < x.max().item() < 0.5
    for low, high in [(3, 1), (1, 1), (NAN, 1)]:
        with pytest.raises(ValueError, match="'low'"):
            make_tensor(2, dtype=pb.float32, low=low, high=high)
    with pytest.raises(ValueError, match="no .*int64"):
        make_tensor(2, dtype=pb.int64, low=0.2, high=0.8)
