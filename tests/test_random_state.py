"""The state of a generator is a tensor of bytes, which can be saved, moved and set again."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import pullback as pb

GENERATORS: list[tuple[Any, Any, Any]] = [(pb.get_rng_state, pb.set_rng_state, None)]
own = pb.Generator().manual_seed(3)
GENERATORS.append((own.get_state, own.set_state, own))


@pytest.mark.parametrize(("get", "put", "generator"), GENERATORS)
def test_a_state_repeats_numbers(get: Any, put: Any, generator: Any) -> None:
    state = get()
    assert type(state) is pb.Tensor and state.dtype is pb.uint8 and state.dim() == 1
    first = pb.rand(4, generator=generator)
    assert not get().equal(state)
    file = io.BytesIO()
    pb.save({"random": state}, file)
    file.seek(0)
    for again in (state, pb.load(file)["random"].cpu(), bytes(state.tolist())):
        put(again)
        assert pb.rand(4, generator=generator).equal(first)


@pytest.mark.parametrize("put", [put for _, put, _ in GENERATORS])
def test_what_is_no_state(put: Any) -> None:
    for wrong in ("a", 3, None, pb.ones(16), [1, 2]):
        with pytest.raises(TypeError, match="'new_state' must be a tensor of dtype uint8"):
            put(wrong)
    with pytest.raises((RuntimeError, ValueError)):
        put(pb.zeros(3, dtype=pb.uint8))


def test_states_under_transforms_and_devices() -> None:
    def drawn(x: pb.Tensor) -> pb.Tensor:
        state = pb.get_rng_state()
        first = pb.rand(2)
        pb.set_rng_state(state)
        return x * (pb.rand(2) - first).sum()

    assert pb.func.grad(drawn)(pb.tensor(1.0)) == 0
    with pb.device("meta"):
        state = pb.get_rng_state()
        assert state.device.type == "cpu"
        pb.set_rng_state(state)
    assert own.device == pb.device("cpu") == pb.default_generator.device
    before = pb.get_rng_state()
    with pb.random.fork_rng():
        pb.rand(3)
    assert pb.get_rng_state().equal(before)


def test_the_default_device() -> None:
    try:
        pb.set_default_device("meta")
        assert pb.ones(2).is_meta and pb.get_default_device() == pb.device("meta")
        assert pb.ones(2, device="cpu").sum() == 2
        pb.set_default_device("cpu")
        assert not pb.ones(2).is_meta
    finally:
        pb.set_default_device(None)
    assert pb.get_default_device() == pb.device("cpu") and not pb.ones(2).is_meta
    with pytest.raises(RuntimeError, match="only devices are 'cpu' and 'meta'"):
        pb.set_default_device("cuda")


@pytest.mark.parametrize("protocol", range(6))
def test_generators_are_pickled_and_copied_with_their_state(protocol: int) -> None:
    g = pb.Generator().manual_seed(5)
    pb.rand(3, generator=g)
    made = [pickle.loads(pickle.dumps(g, protocol)), copy.copy(g), copy.deepcopy([g, g])]
    assert made[2][0] is made[2][1]
    expected = pb.rand(4, generator=g)
    for h in (made[0], made[1], made[2][0]):
        assert h is not g and h.initial_seed() == 5 and pb.equal(pb.rand(4, generator=h), expected)


def test_devices_that_are_not_here_have_names_and_no_tensors():
    cuda = pb.device("cuda", 1)
    assert (cuda.type, cuda.index, str(cuda)) == ("cuda", 1, "cuda:1")
    assert cuda == pb.device("cuda:1") != pb.device("cuda")
    assert pickle.loads(pickle.dumps(cuda)) == cuda
    assert pb.device(0) == pb.device("cuda:0")
    assert pb.ones(1).device != cuda
    for use in (lambda: pb.ones(1, device=cuda), lambda: pb.ones(1).to(cuda), cuda.__enter__):
        with pytest.raises(RuntimeError, match="only devices are 'cpu' and 'meta', got 'cuda:1'"):
            use()
    for wrong in ("gpu", "cuda:x", "cuda:-1", "cuda:01"):
        with pytest.raises(RuntimeError, match="only devices are"):
            pb.device(wrong)
