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
    "affine_grid": (lambda a: F.affine_grid(a[None, :2, :3], (1, 1, 2, 3), align_corners=False), image[0, 0]),
    "conv_tbc": (
        lambda a: F.conv_tbc(a[0], image[0, :, :2, :3].permute(1, 0, 2)[:, :1].expand(2, 4, 3), x[0, :3]),
        image,
    ),
    "linear_cross_entropy": (lambda a: F.linear_cross_entropy(a, y, pb.tensor([0, 1]), linear_bias=x[0, :2]), x),
    "linear_cross_entropy, in pieces": (
        lambda a: F.linear_cross_entropy(
            a, y, pb.tensor([0, 1]), options=nn.LinearCrossEntropyOptions(batch_chunk_size=1)
        ),
        x,
    ),
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
        (lambda: F.instance_norm(image, weight=pb.ones(2)), RuntimeError),
        (lambda: F.pixel_shuffle(image, 2**32), ValueError),
        (lambda: F.affine_grid(image, (1, 1, 2, 2), align_corners=True), ValueError),
        (lambda: F.affine_grid(image[0], (2, 1, 2), align_corners=True), NotImplementedError),
        (lambda: F.affine_grid(image[0, :, :2, :3], (3, 1, 2, 2), align_corners=True), ValueError),
        (lambda: F.linear_cross_entropy(x, y[:, :3], pb.tensor([0, 1])), RuntimeError),
        (lambda: F.linear_cross_entropy(image, y, pb.tensor([0, 1])), RuntimeError),
        (lambda: F.conv_tbc(x, x, x), RuntimeError),
        (lambda: nn.LinearCrossEntropyOptions(batch_chunk_size=0), ValueError),
        (lambda: F.softshrink(x, -1.0), RuntimeError),
        (lambda: F.softshrink(x.half(), 1e9), RuntimeError),
        (lambda: nn.Hardtanh(1.0, -1.0), AssertionError),
        (lambda: nn.FractionalMaxPool2d(2), ValueError),
        (lambda: nn.FractionalMaxPool2d(2, output_size=2, output_ratio=0.5), ValueError),
        (lambda: nn.FractionalMaxPool3d(2, output_ratio=1.5), ValueError),
        (lambda: nn.FractionalMaxPool2d(2, output_ratio=(0.5, 0.5, 0.6))(image), ValueError),
        (lambda: pb.grid_sampler(image, image, 3, 0, False), ValueError),
        (lambda: pb.kl_div(x, y, 3), ValueError),
        (lambda: pb.batch_norm_update_stats(pb.ones(0, 1), None, None, 0.1), RuntimeError),
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


def test_affine_grids_are_pytorchs() -> None:
    theta = pb.arange(12.0).reshape(1, 3, 4) / 7
    # What PyTorch gives.
    for corners, sums in ((True, [5.1429, 12.0, 18.8571]), (False, [5.1429, 12.0, 18.8571])):
        grid = F.affine_grid(theta, (1, 1, 2, 3, 2), align_corners=corners)
        assert grid.shape == (1, 2, 3, 2, 3) and pb.allclose(grid.sum((0, 1, 2, 3)), pb.tensor(sums), atol=1e-4)
    same = pb.tensor([[[1.0, 0, 0], [0, 1, 0]]]).double()
    for corners in (True, False):
        grid = F.affine_grid(same, image[:, :1].shape, align_corners=corners)
        assert pb.allclose(F.grid_sample(image, grid, align_corners=corners), image)
    with pytest.warns(UserWarning, match="size 1"):
        assert F.affine_grid(same, (1, 1, 1, 2), align_corners=True)[0, 0, :, 1].tolist() == [0, 0]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_behind_a_linear_layer(reduction: str) -> None:
    features = pb.arange(20.0).reshape(4, 5).sin()
    table, target = pb.arange(15.0).reshape(3, 5).cos(), pb.tensor([0, 2, -100, 1])
    for options in (None, nn.LinearCrossEntropyOptions(batch_chunk_size=3), nn.LinearCrossEntropyOptions()):
        for weight, smoothing in ((None, 0.0), (pb.tensor([1.0, 2.0, 0.5]), 0.1)):
            a, b = (features.clone().requires_grad_() for _ in range(2))
            more: Any = {"weight": weight, "reduction": reduction, "label_smoothing": smoothing}
            loss = F.linear_cross_entropy(a, table, target, options=options, **more)
            plain = F.cross_entropy(F.linear(b, table), target, **more)
            assert pb.allclose(loss, plain, atol=1e-6)
            (ga,), (gb,) = pb.autograd.grad(loss.sum(), [a]), pb.autograd.grad(plain.sum(), [b])
            assert pb.allclose(ga, gb, atol=1e-6)


def test_a_class_at_each_place_behind_a_linear_layer() -> None:
    m = nn.LinearCrossEntropyLoss(5, 10, out_features=(4, 3), bias=True)
    assert [(k, tuple(v.shape)) for k, v in m.state_dict().items()] == [
        ("linear.weight", (120, 5)),
        ("linear.bias", (120,)),
    ]
    at, target = pb.randn(2, 5), pb.randint(0, 10, (2, 4, 3))
    assert pb.allclose(m(at, target), F.cross_entropy(m.linear(at).reshape(2, 10, 4, 3), target))


@pytest.mark.parametrize("dtype", [pb.bfloat16, pb.float16])
def test_activations_of_16_bits_are_rounded_once(dtype: Any) -> None:
    for f in (F.celu, F.selu, F.hardsigmoid, F.hardswish, F.softshrink, F.tanhshrink):
        at = pb.linspace(-7, 7, 400).to(dtype).requires_grad_()
        wide = at.detach().float().requires_grad_()
        out, exact = f(at), f(wide)
        assert out.dtype is dtype and pb.equal(out, exact.to(dtype)), f
        (grad,) = pb.autograd.grad(out.sum(), [at])
        (slope,) = pb.autograd.grad(exact.sum(), [wide])
        assert pb.equal(grad, slope.to(dtype)), f
        if f not in (F.softshrink, F.tanhshrink):
            there = at.detach().clone()
            assert f(there, inplace=True) is there and pb.equal(there, out)


def test_sums_of_gradients_of_16_bits_are_rounded_once() -> None:
    at = pb.zeros(1, 1, 2, 2, dtype=pb.bfloat16, requires_grad=True)
    F.interpolate(at, scale_factor=40).sum().backward()
    assert at.grad is not None and at.grad.flatten().tolist() == [1600.0] * 4


def test_channels_stay_last_in_memory() -> None:
    def last(t: pb.Tensor) -> bool:
        return t.is_contiguous(memory_format=pb.channels_last)

    plain = pb.arange(2.0 * 4 * 8 * 8).reshape(2, 4, 8, 8)
    for make in (
        lambda t: F.interpolate(t, size=(5, 7), mode="bilinear"),
        lambda t: F.interpolate(t, scale_factor=2),
        lambda t: F.pixel_shuffle(t, 2),
        lambda t: F.pixel_unshuffle(t, 2),
        lambda t: F.channel_shuffle(t, 2),
        nn.GroupNorm(2, 4),
    ):
        there = plain.contiguous(memory_format=pb.channels_last)
        for part in (there, there[:, :, 2:-2, 2:-2], there[:, :, ::2, ::2]):
            assert last(make(part)) and pb.allclose(make(part), make(part.contiguous()))
        assert pb.allclose(make(plain), make(there)) and make(plain).is_contiguous()


def test_in_place_threshold_of_elements_at_one_place() -> None:
    row = pb.tensor([[0.1, 0.7, -2.0]])
    wide = row.expand(4, 3)
    assert F.threshold_(wide, 0.5, 9.0) is wide
    assert wide.tolist() == [[9.0, pytest.approx(0.7), 9.0]] * 4 and row.tolist() == wide[:1].tolist()


@pytest.mark.parametrize("dtype", [pb.bfloat16, pb.float16, pb.float32, pb.float64])
def test_bounds_of_thresholds_are_not_rounded(dtype: pb.dtype) -> None:
    bound = 0.1
    x = pb.tensor([0.1, 0.3, -0.1, 0.1001, float("nan"), float("inf")], dtype=dtype)
    kept = x.double() > pb.tensor(bound, dtype=pb.float64 if dtype is pb.float64 else pb.float32).double()
    want = pb.where(kept | x.isnan(), x, pb.tensor(20.0, dtype=dtype))
    assert pb.allclose(F.threshold(x, bound, 20), want, rtol=0, atol=0, equal_nan=True)
    assert pb.allclose(F.threshold(x.clone(), bound, 20, inplace=True), want, rtol=0, atol=0, equal_nan=True)


def test_functions_beside_nn_functional() -> None:
    at = image[0]
    assert pb.equal(
        pb.batch_norm(at, y[0, :4], None, None, None, True, 0.1, 1e-5),
        F.batch_norm(at, None, None, y[0, :4], None, True),
    )
    assert pb.equal(pb.embedding(x, pb.tensor([1, 0])), x.flip(0))
    assert pb.equal(pb.kl_div(x, y.abs()), F.kl_div(x, y.abs()))
    assert pb.equal(
        pb.cosine_embedding_loss(x, y, pb.tensor([1, -1]), 0.0, 2),
        F.cosine_embedding_loss(x, y, pb.tensor([1, -1]), reduction="sum"),
    )
    assert pb.equal(
        pb.grid_sampler(image, image.permute(0, 2, 3, 1), 1, 2, True),
        F.grid_sample(image, image.permute(0, 2, 3, 1), "nearest", "reflection", True),
    )
    assert [len(pb.adaptive_max_pool1d(at, 2)), pb.get_device(x), pb.is_signed(x), pb.is_nonzero(pb.ones(1))] == [
        2,
        -1,
        True,
        True,
    ]
    mean, var = pb.zeros(2).double(), pb.ones(2).double()
    pb.batch_norm_update_stats(image, mean, var, 0.5)
    other = [pb.zeros(2).double(), pb.ones(2).double()]
    F.batch_norm(image, *other, training=True, momentum=0.5)
    assert pb.allclose(mean, other[0]) and pb.allclose(var, other[1])
    pb.manual_seed(3)
    a = pb.dropout(x, 0.5, True)
    pb.manual_seed(3)
    assert pb.equal(a, F.dropout(x, 0.5))
