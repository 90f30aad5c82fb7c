"""Tensors as Python's and NumPy's own objects: dtypes, texts and addresses."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.nn import Parameter
from pullback.utils.dlpack import from_dlpack, to_dlpack


def test_arrays_of_int64_are_numpys_own() -> None:
    for array in (pb.tensor([1, 2]).numpy(), np.asarray(pb.tensor(3))):
        assert array.dtype is np.dtype(np.int64) and "dtype" not in repr(array)
    shared = pb.tensor([1, 2])
    shared.numpy()[0] = 7
    assert shared.tolist() == [7, 2] and pb.from_numpy(shared.numpy()).dtype == pb.int64


def test_a_formatted_parameter_is_its_text() -> None:
    p = Parameter(pb.ones(2))
    assert f"{p}" == str(p) and f"{p}".startswith("Parameter containing:\ntensor(")
    assert f"{pb.ones(2)}" == "tensor([1., 1.])" and f"{pb.tensor(1.5):.2f}" == "1.50"


def test_int_of_a_complex_number() -> None:
    assert int(pb.tensor(3.0 + 0j)) == 3
    with pytest.raises(RuntimeError, match="complex"):
        int(pb.tensor(3.0 + 1j))


def test_tensors_without_data_have_no_address() -> None:
    assert pb.ones(2, device="meta").data_ptr() == 0


def test_to_dlpack_leaves_the_history_behind() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for t in (x, x * 1, Parameter(pb.tensor([1.0, 2.0]))):
        out = from_dlpack(to_dlpack(t))
        assert out.tolist() == [1.0, 2.0] and not out.requires_grad
    with pytest.raises(RuntimeError):
        to_dlpack(pb.tensor([1.0 + 2j]).conj())
