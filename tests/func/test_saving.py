"""Programs as bytes."""

import random
import struct

import pytest

import pullback
from pullback.func import Program, grad, trace, vmap


def saved(program):
    return Program.from_bytes(program.to_bytes())


def model(x, weights, *, scale=2.0, flag=True):
    y = pullback.nn.functional.conv1d(x[None], weights["w"])[0].relu() * scale
    return {"y": y, "loss": (y.mean() if flag else y.sum(), None, [1, "a", -0.0])}


ARGS = (pullback.linspace(-1, 2, 12).reshape(2, 6), {"w": pullback.ones(3, 2, 3), "name": "conv"})


def test_a_program_comes_back_with_its_structures():
    program = trace(model)(*ARGS, scale=0.5)
    again = saved(program)
    assert str(again) == str(program) and repr(again) == repr(program)
    ours, theirs = again(*ARGS, scale=0.5), program(*ARGS, scale=0.5)
    assert pullback.equal(ours["y"], theirs["y"]) and pullback.equal(ours["loss"][0], theirs["loss"][0])
    assert ours["loss"][1:] == (None, [1, "a", -0.0]) and str(ours["loss"][2][2]) == "-0.0"
    with pytest.raises(RuntimeError, match="traced with"):
        again(*ARGS, scale=0.25)
    assert saved(again.simplified()).to_bytes() == program.simplified().to_bytes()


def test_saved_programs_are_differentiated_and_batched():
    program = trace(grad(lambda x: (x.sin() * x).sum()))(pullback.ones(3))
    again = saved(program)
    rows = pullback.linspace(0, 1, 6).reshape(2, 3)
    assert pullback.equal(vmap(again)(rows), vmap(program)(rows))
    assert pullback.equal(grad(lambda x: again(x).sum())(rows[0]), grad(lambda x: program(x).sum())(rows[0]))


def test_random_programs_draw_again():
    again = saved(trace(lambda x: pullback.rand_like(x) + x)(pullback.zeros(4)))
    pullback.manual_seed(3)
    drawn = again(pullback.zeros(4))
    pullback.manual_seed(3)
    assert pullback.equal(drawn, pullback.rand(4))


def test_what_cannot_be_saved_says_so():
    outside = pullback.ones(2)
    with pytest.raises(RuntimeError, match="from outside"):
        trace(lambda x: x * outside)(pullback.ones(2)).to_bytes()
    with pytest.raises(TypeError, match="object of type set"):
        trace(lambda x: (x * 2, {1}))(pullback.ones(2)).to_bytes()


def test_other_bytes_are_refused():
    data = trace(model)(*ARGS).to_bytes()
    for bad in (b"", b"x", data[:20], data[:-1], data + b"x", struct.pack("<Q", 2**63) + data[8:], b"\0" * 500):
        with pytest.raises(ValueError, match="damaged|no program"):
            Program.from_bytes(bad)
    rng = random.Random(1)
    for _ in range(300):
        bad = bytearray(data)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        try:
            str(Program.from_bytes(bytes(bad)))
        except (ValueError, TypeError):
            continue


def test_deep_texts_are_refused():
    program = trace(lambda x: x * 2)(pullback.ones(2)).to_bytes()
    (size,) = struct.unpack("<Q", program[:8])
    with pytest.raises(ValueError, match="damaged"):
        Program.from_bytes(program[: 8 + size] + b'["list", [' * 100_000)
