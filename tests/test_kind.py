"""What an object is."""

from __future__ import annotations

import pytest

import pullback as pb


def test_kinds() -> None:
    x = pb.ones(2)
    assert pb.is_tensor(x) and not pb.is_tensor([1.0]) and not pb.is_tensor(pb.Tensor)
    assert pb.is_storage(x.untyped_storage()) and not pb.is_storage(x)
    assert pb.is_floating_point(x) and pb.is_floating_point(x.half()) and not pb.is_floating_point(x.long())
    assert not pb.is_complex(x)
    assert pb.vmap(lambda v: v * pb.is_floating_point(v))(x).tolist() == [1, 1]
    with pytest.raises(TypeError):
        pb.is_floating_point(1.0)
