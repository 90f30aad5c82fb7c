"""Padding that a `TransformerEncoder` leaves out, as PyTorch's does in evaluation and without gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import pullback as pb
from pullback import nn
from pullback.func import functional_call, vmap

X = pb.sin(pb.arange(24.0)).reshape(2, 3, 4)
PADDING = pb.tensor([[False, False, True], [False, True, True]])


def encoder(**options: Any) -> nn.TransformerEncoder:
    pb.manual_seed(0)
    options = {"batch_first": True, "nhead": 2, **options}
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(4, dim_feedforward=8, **options), 2).eval()


def computed(net: nn.TransformerEncoder, padding: pb.Tensor = PADDING, **others: Any) -> pb.Tensor:
    with pb.no_grad():
        out: pb.Tensor = net(X, src_key_padding_mask=padding, **others)
    return out


@pytest.fixture
def everywhere() -> Iterator[None]:
    pb.backends.mha.set_fastpath_enabled(False)
    yield
    pb.backends.mha.set_fastpath_enabled(True)


def test_zeros_for_padding_in_evaluation() -> None:
    net = encoder()
    out, whole = computed(net), net(X, src_key_padding_mask=PADDING)
    assert net.use_nested_tensor and pb.equal(out[PADDING], pb.zeros(3, 4)) and bool((whole[PADDING] != 0).all())
    pb.testing.assert_close(out[~PADDING], whole[~PADDING].detach())
    additive = pb.zeros(2, 3).masked_fill(PADDING, float("-inf"))
    assert pb.equal(computed(net, additive), out)
    net.norm = nn.LayerNorm(4)
    with pb.no_grad():
        net.norm.bias.fill_(0.5)
    assert pb.equal(computed(net)[PADDING], pb.full((3, 4), 0.5))
    net.norm = None
    net.requires_grad_(False)
    assert pb.equal(net(X, src_key_padding_mask=PADDING), out)


def test_what_keeps_padding() -> None:
    gap = pb.tensor([[False, True, False], [False, True, True]])
    assert bool((computed(encoder(), gap) != 0).all())
    assert bool((computed(encoder(), mask=pb.zeros(3, 3, dtype=pb.bool)) != 0).all())
    assert bool((computed(encoder().train()) != 0).any(-1).all())
    for options in [
        {"batch_first": False},
        {"nhead": 1},
        {"norm_first": True},
        {"activation": pb.tanh},
        {"bias": False},
    ]:
        net = encoder(**options)
        assert not net.use_nested_tensor
        turned = X if options.get("batch_first", True) else X.transpose(0, 1)
        with pb.no_grad():
            assert bool((net(turned, src_key_padding_mask=PADDING) != 0).all())
    unchecked = nn.TransformerEncoder(encoder().layers[0], 1, mask_check=False).eval()
    assert pb.equal(computed(unchecked, gap)[gap], pb.zeros(3, 4))


def test_it_can_be_switched_off(everywhere: None) -> None:
    assert not pb.backends.mha.get_fastpath_enabled() and bool((computed(encoder()) != 0).all())


def test_padding_under_transforms() -> None:
    net = encoder()
    params = {k: v.detach() for k, v in net.named_parameters()}

    def f(x: pb.Tensor, padding: pb.Tensor) -> Any:
        return functional_call(net, params, (x[None],), {"src_key_padding_mask": padding[None]})[0]

    whole = net(X, src_key_padding_mask=PADDING).detach()
    with pb.no_grad():
        pb.testing.assert_close(vmap(f)(X, PADDING), whole)
