"""Lists as indices: PyTorch takes a short list of more than numbers for the tuple of its items."""

from typing import Any

import pytest

import pullback as pb


@pytest.mark.parametrize(
    ("index", "meant"),
    [
        ([[0], [1]], ([0], [1])),
        ([[0, 1], [1, 0]], ([0, 1], [1, 0])),
        ([slice(None), [2, 3]], (slice(None), [2, 3])),
        ([[2, 3], slice(None)], ([2, 3], slice(None))),
        ([None, 0], (None, 0)),
        ([0, Ellipsis], (0, Ellipsis)),
        ([pb.tensor([0, 1]), pb.tensor([1, 0])], ([0, 1], [1, 0])),
        ([pb.tensor([0, 1]), Ellipsis], ([0, 1], Ellipsis)),
        ([0, 2], (pb.tensor([0, 2]),)),
        ([True, False, True, False], (pb.tensor([True, False, True, False]),)),
    ],
)
def test_lists(index: Any, meant: Any) -> None:
    x = pb.arange(16.0).view(4, 4)
    assert pb.equal(x[index], x[meant])
    y, z = x.clone(), x.clone()
    y[index] = -1.0
    z[meant] = -1.0
    assert pb.equal(y, z)


def test_bytes_as_masks_warn() -> None:
    x, mask = pb.rand(3), pb.tensor([1, 0, 1], dtype=pb.uint8)
    with pytest.warns(UserWarning, match="indexing with dtype uint8 is now deprecated"):
        assert x[mask].shape == (2,)
    with pytest.warns(UserWarning, match="indexing with dtype uint8 is now deprecated"):
        x[mask] = 0.0


def test_empty_views_have_the_strides_of_their_base() -> None:
    x = pb.rand(2, 3, 4, 5)
    y = x[:, :, :, 1][:, 1:1, :]
    assert y.shape == (2, 0, 4) and y.stride() == (60, 20, 5) and y.is_contiguous()


def test_resizing_counts_as_a_write() -> None:
    x = pb.rand(1)
    x.resize_(1, 2)
    assert x._version == 1
    x.resize_as_(pb.rand(3))
    assert x._version == 2
    x.resize_(3)
    assert x._version == 2
