"""Tensors that lie in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()


@pytest.mark.parametrize("name", DTYPES)
def test_shared_files_hold_what_is_written(name: str, tmp_path: Path) -> None:
    dtype = getattr(pb, name)
    path = tmp_path / "numbers"
    want = pb.arange(6).to(dtype)
    shared = pb.from_file(path, shared=True, size=6, dtype=dtype)
    assert shared.shape == (6,) and shared.dtype is dtype and not shared.any()
    shared.copy_(want)
    assert path.stat().st_size == 6 * dtype.itemsize
    assert pb.from_file(str(path), size=6, dtype=dtype).equal(want)
    other = pb.from_file(path, True, 4, dtype=dtype)
    other[0] = 1
    assert shared[0] == 1 and path.stat().st_size == 6 * dtype.itemsize


def test_private_files_stay(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    for shared in (None, False):
        x = pb.from_file(path, shared, 3)
        x.add_(1)
        assert x.tolist() == [1, 2, 3]
    assert np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3]
    assert pb.from_file(path).shape == (0,) and pb.from_file(path, size=2, device="meta").is_meta


def test_shared_files_become_long_enough(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.ones(2, dtype=np.float32).tofile(path)
    assert pb.from_file(path, shared=True, size=4).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"size": 3}, "unable to open file <.*none> in read-only mode"),
        ({"size": 2, "here": True}, r"size <4> is smaller than the required mapping size <8>; give size=1"),
        ({"size": -1, "here": True}, "must not be negative"),
        ({"size": 2, "shared": True, "folder": True}, "in read-write mode"),
    ],
)
def test_errors(options: dict[str, Any], text: str, tmp_path: Path) -> None:
    path = tmp_path / "none"
    if options.pop("here", False):
        np.ones(1, dtype=np.float32).tofile(path)
    if options.pop("folder", False):
        path = tmp_path
    with pytest.raises(RuntimeError, match=text):
        pb.from_file(path, **options)
