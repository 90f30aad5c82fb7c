"""Results of layers lie in memory as PyTorch's do: rows for rows, channels last for channels last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pullback as pb
from support import formats

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "strides.json").read_text())


@pytest.mark.parametrize("last", [False, True], ids=["rows", "channels_last"])
@pytest.mark.parametrize("n", [2, 3])
def test_strides_are_those_that_were_recorded(n: int, last: bool) -> None:
    got = formats.strides(pb, n, last)
    want = RECORDED[f"{n}{' channels_last' if last else ''}"]
    assert {k: v for k, v in got.items() if v != want[k]} == {}
    assert set(got) == set(want)


@pytest.mark.parametrize("n", [2, 3])
def test_values_do_not_depend_on_where_channels_lie(n: int) -> None:
    rows, last = formats.image(pb, n, False), formats.image(pb, n, True)
    for name, program in formats.programs(pb, n).items():
        pb.manual_seed(0)
        want = program(rows)
        pb.manual_seed(0)
        got = program(last)
        # Random numbers fill memory in its order.
        assert name == "dropout" or pb.allclose(got, want, rtol=1e-5), name


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_crops_and_extends(mode: str) -> None:
    x = pb.arange(10.0).reshape(1, 2, 5)
    whole = pb.nn.functional.pad(x, (2, 2), mode)
    places = {"reflect": [2, 1, 0, 1, 2, 3, 4, 3, 2], "replicate": [0, 0, 0, 1, 2, 3, 4, 4, 4]}
    at = places.get(mode, [3, 4, 0, 1, 2, 3, 4, 0, 1])
    assert whole.tolist() == x[..., at].tolist()
    # What is left after cropping goes round.
    want = x[..., [1, 2, 3, 4, 1, 2]] if mode == "circular" else whole[..., 3:]
    assert pb.nn.functional.pad(x, (-1, 2), mode).tolist() == want.tolist()
    assert pb.nn.functional.pad(x, (-1, -2), mode).tolist() == x[..., 1:3].tolist()
    assert pb.nn.functional.pad(x, (-1, -2), mode).is_contiguous()
