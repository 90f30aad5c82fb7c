"""Calls release the GIL by the time that they take, not by how many elements they have."""

import pytest

import pullback as pb
from pullback import _core


def releases(f, *args) -> bool:
    before = _core._released_calls()
    f(*args)
    return _core._released_calls() > before


@pytest.mark.parametrize(
    "f",
    [
        lambda: pb.linalg.svd(pb.ones(300, 300).tril()),
        lambda: pb.ones(200, 200) @ pb.ones(200, 200),
        lambda: pb.ones(200_000) + 1.0,
        lambda: pb.ones(50_000).sin(),
        lambda: pb.ones(1000, 1) + pb.ones(1000),
        lambda: pb.ones(50_000) ** 2.5,
        lambda: pb.add(pb.ones(1000, 1), pb.ones(1000)),
        lambda: pb.sort(pb.ones(20_000)),
        lambda: pb.arange(1_000_000),
        lambda: pb.nn.functional.conv2d(pb.ones(1, 16, 64, 64), pb.ones(32, 16, 3, 3)),
        lambda: pb.vmap(pb.linalg.inv)(pb.eye(8).expand(1000, 8, 8).contiguous()),
    ],
)
def test_long_calls_release_the_gil(f):
    assert releases(f)


def test_short_calls_keep_the_gil():
    x, a, m = pb.ones(50_000), pb.ones(8, 8).tril(), pb.ones(2000, 2000)
    calls = [
        lambda: x + x,
        lambda: pb.add(x, x),
        lambda: x * 2.0,
        lambda: x.sum(),
        lambda: pb.linalg.svd(a),
        lambda: a @ a,
        lambda: m.t(),
        lambda: m.reshape(1000, 4000).shape,
        lambda: pb.ones(1000).sin(),
        lambda: pb.zeros(10, 10),
    ]
    # A reshape may copy, so its size alone counts.
    assert [releases(f) for f in calls] == [False] * 7 + [True] + [False] * 2


def test_inplace_functions_write_into_their_argument():
    x = pb.tensor([-1.0, 2.0])
    y = x.clone()
    assert pb.abs_(x) is x
    assert pb.equal(x, y.abs())
    with pytest.raises(TypeError, match=r"exp_?\(\)"):
        pb.exp_(1.0)
    w = pb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        pb.exp_(w)


def test_the_table_says_what_an_operator_promises():
    table = {row["name"]: row for row in _core.operator_table()}
    assert table["linalg.svd"]["cost"] == "cubic"
    assert table["add"]["cost"] == "cheap"
    assert table["t"]["cost"] == "free"
    assert table["rand"]["cost"] == "scattered"
    assert table["nonzero"]["flags"]["dynamic"]
    assert not table["nn.functional.conv2d"]["flags"]["out"]
    assert table["add"]["flags"]["out"]
    # What depends on data has no shape under vmap.
    for row in table.values():
        if row["flags"]["dynamic"] and row["name"] != "nn.functional.one_hot":
            f = getattr(pb, row["name"])
            args = (pb.ones(2, 3, dtype=pb.int64), pb.ones(2, 3) > 0)[: sum(p["required"] for p in row["params"])]
            with pytest.raises(RuntimeError, match="depends on the data|vmap"):
                pb.vmap(f)(*args)
