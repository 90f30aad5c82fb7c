"""Functions of `nn.functional` that are written in operators: under transforms, and at what they refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import pullback as pb
import pullback.nn.functional as F
from pullback import nn

x = pb.tensor([[0.3, -1.2, 2.1, 0.7], [1.4, 0.2, -0.4, -2.3]], dtype=pb.float64)
y = pb.tensor([[1.1, 0.4, -0.7, 0.5], [-0.3, 1.9, 0.8, 0.1]], dtype=pb.float64)
image = pb.arange(32.0, dtype=pb.float64).reshape(1, 2, 4, 4).sin()
SMOOTH: dict[str, Any] = {
    "celu": (lambda a: F.celu(a, 0.7), x),
    "selu": (F.selu, x),
    "prelu": (lambda a: F.prelu(a, pb.tensor([0.2], dtype=pb.float64)), x),
    "hardswish": (F.hardswish, x),
    "hardsigmoid": (F.hardsigmoid, x),
    "softshrink": (F.softshrink, x),
    "hardshrink": (F.hardshrink, x),
    "tanhshrink": (F.tanhshrink, x),
    "softmin": (lambda a: F.softmin(a, 1), x),
    "normalize": (F.normalize, x),
    "cosine_similarity": (lambda a: F.cosine_similarity(a, y), x),
    "pairwise_distance": (lambda a: F.pairwise_distance(a, y), x),
    "smooth_l1_loss": (lambda a: F.smooth_l1_loss(a, y), x),
    "triplet_margin_loss": (lambda a: F.triplet_margin_loss(a, y, -y), x),
    "gaussian_nll_loss": (lambda a: F.gaussian_nll_loss(a, y, y.abs()), x),
    "multi_margin_loss": (lambda a: F.multi_margin_loss(a, pb.tensor([2, 0])), x),
    "pixel_shuffle": (lambda a: F.pixel_shuffle(a, 2), image.reshape(1, 8, 2, 2)),
    "channel_shuffle": (lambda a: F.channel_shuffle(a, 2), image),
    "instance_norm": (F.instance_norm, image),
    "local_response_norm": (lambda a: F.local_response_norm(a, 2), image),
    "lp_pool2d": (lambda a: F.lp_pool2d(a.abs() + 0.1, 3, 2), image),
    "bilinear": (lambda a: F.interpolate(a, scale_factor=1.5, mode="bilinear"), image),
    "bicubic": (lambda a: F.interpolate(a, size=(3, 7), mode="bicubic", antialias=True), image),
    "nearest": (lambda a: F.interpolate(a, size=3), image),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_and_batches(name: str) -> None:
    f, at = SMOOTH[name]
    assert pb.autograd.gradcheck(f, (at.clone().requires_grad_(),), check_forward_ad=True, check_batched_grad=True)
    several = pb.stack([at, at * 0.9, at + 0.1])
    together = pb.func.vmap(f)(several)
    for i in range(3):
        assert pb.allclose(together[i], f(several[i]), atol=1e-12)


def test_antialias_of_a_constant_is_constant() -> None:
    for mode in ("bilinear", "bicubic"):
        for size in ((2, 3), (7, 9), (5, 4)):
            out = F.interpolate(pb.full((1, 1, 5, 4), 3.0), size=size, mode=mode, antialias=True)
            assert pb.allclose(out, pb.full((1, 1, *size), 3.0))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: F.interpolate(image), ValueError),
        (lambda: F.interpolate(image, size=2, scale_factor=2), ValueError),
        (lambda: F.interpolate(image, size=(2, 2, 2)), ValueError),
        (lambda: F.interpolate(image, size=2, mode="linear"), NotImplementedError),
        (lambda: F.interpolate(image, size=2, mode="none"), NotImplementedError),
        (lambda: F.interpolate(image, size=2, align_corners=True), ValueError),
        (lambda: F.interpolate(image, size=2, antialias=True), ValueError),
        (lambda: F.interpolate(image, size=0), RuntimeError),
        (lambda: F.celu(x, 0.0), RuntimeError),
        (lambda: F.prelu(x, pb.ones(3)), RuntimeError),
        (lambda: F.dropout2d(x, 1.5), ValueError),
        (lambda: F.alpha_dropout(x, -0.1), ValueError),
        (lambda: F.pixel_shuffle(image, 3), RuntimeError),
        (lambda: F.pixel_unshuffle(image, 3), RuntimeError),
        (lambda: F.channel_shuffle(image, 3), RuntimeError),
        (lambda: F.instance_norm(pb.ones(1, 2, 1)), ValueError),
        (lambda: F.cosine_embedding_loss(x, y, pb.ones(2, 2)), RuntimeError),
        (lambda: F.multi_margin_loss(x, pb.tensor([0]), p=3), ValueError),
        (lambda: F.l1_loss(x, y, reduction="none of these"), (ValueError, RuntimeError)),
        (lambda: F.smooth_l1_loss(x, y, reduction="none of these"), ValueError),
        (lambda: F.gaussian_nll_loss(x, y, -y.abs()), ValueError),
        (lambda: F.embedding_bag(pb.tensor([0]), x), ValueError),
        (lambda: F.embedding_bag(pb.tensor([0]), x, pb.tensor([0]), mode="most"), ValueError),
        (lambda: nn.MultiheadAttention(5, 2), AssertionError),
        (lambda: nn.MultiheadAttention(4, 2)(pb.ones(3, 2, 6), pb.ones(3, 2, 4), pb.ones(3, 2, 4)), AssertionError),
        (lambda: nn.LSTM(3, 4)(pb.ones(2, 5)), RuntimeError),
        (lambda: nn.GRU(3, 4, proj_size=2), ValueError),
        (lambda: nn.Conv2d(3, 4, 2, groups=2), ValueError),
        (lambda: nn.Conv2d(2, 4, 2, stride=2, padding="same"), ValueError),
        (lambda: nn.BatchNorm2d(3)(pb.ones(2, 3)), ValueError),
    ],
)
def test_bad_input_is_refused(call: Any, error: Any) -> None:
    with pytest.raises(error):
        call()


def test_dropout_of_channels() -> None:
    pb.manual_seed(0)
    for f, shape in ((F.dropout1d, (50, 40, 3)), (F.dropout2d, (50, 40, 3, 2)), (F.dropout3d, (50, 40, 2, 3, 2))):
        out = f(pb.ones(shape), 0.25).flatten(2)
        assert ((out == out[:, :, :1]).all(2)).all()
        kept = (out[:, :, 0] != 0).float().mean().item()
        assert kept == pytest.approx(0.75, abs=0.04)
        assert out.max().item() == pytest.approx(1 / 0.75)
    noise = pb.randn(20000)
    dropped = F.alpha_dropout(noise, 0.2, training=True)
    assert dropped.mean().abs().item() < 0.05 and dropped.std().item() == pytest.approx(1, abs=0.05)


def test_classes_answer_for_functions_as_a_whole() -> None:
    calls: list[Any] = []

    class Log(pb.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    out = F.normalize(pb.ones(2, 2).as_subclass(Log))
    assert calls[0] is F.normalize and type(out) is Log


def test_recurrent_weights_are_found_after_copies() -> None:
    m = nn.LSTM(2, 3)
    twin = copy.deepcopy(m).double()
    assert all(w.dtype == pb.float64 for w in twin._flat_weights)
    assert m.all_weights[0][0] is m.weight_ih_l0
    grads = pb.func.grad(lambda p: pb.func.functional_call(m, p, (pb.ones(4, 2),))[0].sum())(dict(m.named_parameters()))
    assert grads["weight_hh_l0"].abs().sum() > 0
