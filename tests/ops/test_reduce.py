"""Reductions whose dtype needs a word."""

import pullback as pb


def test_products_of_bools():
    b = pb.tensor([[True, False], [True, True]])
    assert pb.prod(b).dtype == pb.int64
    assert pb.prod(b, 1).tolist() == [0, 1]
    whole = pb.prod(b, dtype=pb.bool)
    assert (whole.dtype, whole.item()) == (pb.bool, False)
    assert pb.prod(b, 1, dtype=pb.bool).tolist() == [False, True]
    assert pb.prod(pb.tensor([2.0, -0.5]), dtype=pb.bool).item() is True
    assert pb.prod(pb.zeros(0, dtype=pb.bool), dtype=pb.bool).item() is True
    assert pb.vmap(lambda row: pb.prod(row, dtype=pb.bool))(b).tolist() == [False, True]
