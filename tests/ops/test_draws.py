"""A seed gives the random numbers that PyTorch draws from it, but for rounding (tools/record_draws.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pullback as pb
from support.draws import numbers, programs

RECORDED = json.loads((Path(__file__).parents[1] / "reference/draws.json").read_text())
PROGRAMS = programs(pb)


def test_all_programs_are_recorded() -> None:
    assert set(PROGRAMS) == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_the_numbers_of_a_seed(name: str) -> None:
    got, want = numbers(pb, PROGRAMS[name]), RECORDED[name]
    assert len(got) == len(want)
    # A unit in the last place of the dtype, beside the six digits that are recorded.
    tolerance = 1e-2 if "bfloat16" in name else 2e-3 if "float16" in name else 4e-6
    wrong = [(i, a, b) for i, (a, b) in enumerate(zip(got, want, strict=True)) if abs(a - b) > tolerance * (1 + abs(b))]
    assert not wrong


def test_a_state_of_pytorch_is_taken() -> None:
    """A fresh generator of PyTorch's with the seed 1234, word by word, after one normal number."""
    g = pb.Generator().manual_seed(1234)
    pb.randn(1, generator=g)
    state = bytes(g.get_state().tolist())
    assert len(state) == 5056
    assert int.from_bytes(state[:8], "little") == 1234
    assert [int.from_bytes(state[i : i + 4], "little") for i in (8, 12)] == [621, 1]
    assert int.from_bytes(state[16:24], "little") == 4
    words = [int.from_bytes(state[24 + 8 * i : 32 + 8 * i], "little") for i in range(3)]
    assert words == [2260313690, 348938374, 3392255680]
    assert state[5040] == 1
    other = pb.Generator()
    other.set_state(g.get_state())
    assert other.initial_seed() == 1234
    # The second number of the pair, and then those of the sequence.
    assert pb.randn(3, generator=other).equal(pb.randn(3, generator=g))
