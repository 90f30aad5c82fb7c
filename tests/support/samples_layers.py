"""Samples of layers and losses."""

from __future__ import annotations

from collections.abc import Iterator

import pullback as pb
from support.samples import Maker, S, Sample, of


@of("nn.functional.glu")
def glu(m: Maker) -> Iterator[Sample]:
    yield S(m(4))
    yield S(m(2, 3), 0)


@of("nn.functional.scaled_dot_product_attention")
def attention(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(4, 3), m(4, 2))
    yield S(m(1, 2, 2, 3), m(1, 2, 2, 3), m(1, 2, 2, 2), is_causal=True)
    yield S(m(2, 3), m(3, 3), m(3, 2), m(2, 3), scale=0.3)
    yield S(m(2, 2, 3), m(2, 3, 3), m(2, 3, 2), m.bools(2, 3) | (m.ints(2, 3) >= 0))


CONVOLUTIONS = {1: (4,), 2: (4, 3), 3: (3, 2, 2)}


def convolutions(n: int, transposed: bool) -> None:
    size, kernel = CONVOLUTIONS[n], (2,) * n
    name = f"nn.functional.conv{'_transpose' if transposed else ''}{n}d"

    @of(name)
    def family(m: Maker) -> Iterator[Sample]:
        weight = (2, 3) if transposed else (3, 2)
        yield S(m(1, 2, *size), m(*weight, *kernel), m(3))
        yield S(m(2, *size), m(*weight, *kernel), stride=2, padding=1)
        grouped = (4, 1) if transposed else (2, 2)
        yield S(m(2, 4, *size), m(*grouped, *kernel), groups=2)
        yield S(m(1, 2, *(s + 1 for s in size)), m(*weight, *kernel), None, dilation=2)
        if transposed:
            yield S(m(1, 2, *size), m(*weight, *kernel), m(3), stride=2, output_padding=1)
        else:
            yield S(m(1, 2, *size), m(*weight, *kernel), m(3), padding="same")


for _n in CONVOLUTIONS:
    convolutions(_n, False)
    convolutions(_n, True)


def pooling(n: int) -> None:
    size = (5, 4, 3)[:n]

    @of(f"nn.functional.avg_pool{n}d")
    def average(m: Maker) -> Iterator[Sample]:
        yield S(m(1, 2, *size), 2)
        yield S(m(1, *size), 2, 1, 1, False, False)
        yield S(m(1, 1, *size), 2, stride=2, ceil_mode=True)

    @of(f"nn.functional.max_pool{n}d", f"nn.functional.max_pool{n}d_with_indices")
    def largest(m: Maker) -> Iterator[Sample]:
        yield S(m(1, 2, *size), 2)
        yield S(m(1, *size), 2, 1, 1)
        yield S(m(1, 1, *size), 2, stride=2, ceil_mode=True)
        yield S(m(1, 1, *size), 2, 1, dilation=2)

    @of(f"nn.functional.adaptive_avg_pool{n}d", f"nn.functional.adaptive_max_pool{n}d")
    def adaptive(m: Maker) -> Iterator[Sample]:
        yield S(m(1, 2, *size), 2)
        yield S(m(1, *size), (3, 2, 1)[:n])

    @of(f"nn.functional.max_unpool{n}d")
    def unpooled(m: Maker) -> Iterator[Sample]:
        places = m.choices(1, 2, 2**n, of=4**n).reshape(1, 2, *(2,) * n)
        yield S(m(1, 2, *(2,) * n), places, 2)


for _n in (1, 2, 3):
    pooling(_n)


ELEMENTWISE = ("mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy_with_logits")


@of(*(f"nn.functional.{name}" for name in ELEMENTWISE))
def losses(m: Maker) -> Iterator[Sample]:
    for reduction in ("mean", "sum", "none"):
        yield S(m(2, 3), m(2, 3, low=0.05, high=0.15), reduction=reduction)
    yield S(m(), m(low=0.05, high=0.15))
    yield S(m(0, 2), m(0, 2), reduction="sum")


@of("nn.functional.mse_loss", "nn.functional.huber_loss", "nn.functional.binary_cross_entropy_with_logits")
def weighted_losses(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(2, 3, low=0.05, high=0.15), weight=m(2, 3, low=0.5, high=1.5), reduction="sum")


@of("nn.functional.huber_loss")
def huber(m: Maker) -> Iterator[Sample]:
    yield S(m(3), m(3, low=0.0, high=0.05), delta=0.1)


@of("nn.functional.binary_cross_entropy_with_logits")
def logits(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(2, 3, low=0.1, high=0.9), pos_weight=m(3, low=0.5, high=2.0))


@of("nn.functional.binary_cross_entropy")
def cross_entropy_of_probabilities(m: Maker) -> Iterator[Sample]:
    p, q = {"low": 0.1, "high": 0.9}, {"low": 0.2, "high": 0.8}
    for reduction in ("mean", "sum", "none"):
        yield S(m(2, 3, **p), m(2, 3, **q), reduction=reduction)
    yield S(m(3, **p), m(3, **q), m(3, **p))


@of("nn.functional.kl_div")
def kl_div(m: Maker) -> Iterator[Sample]:
    for reduction in ("mean", "sum", "none", "batchmean"):
        yield S(m(2, 3), m(2, 3, low=0.1, high=0.9), reduction=reduction)
    yield S(m(2, 3), m(2, 3), reduction="sum", log_target=True)


@of("nn.functional.nll_loss", "nn.functional.cross_entropy")
def class_losses(m: Maker) -> Iterator[Sample]:
    for reduction in ("mean", "sum", "none"):
        yield S(m(3, 4), m.ints(3), reduction=reduction)
    yield S(m(4), m.ints())
    yield S(m(2, 4, 2), m.ints(2, 2), m(4, low=0.5, high=1.5))
    yield S(m(3, 4), m.ints(3, low=1), ignore_index=0)


@of("nn.functional.cross_entropy")
def cross_entropy(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 4), m.ints(3), label_smoothing=0.2)
    yield S(m(3, 4), m(3, 4, low=0.1, high=0.4))
    yield S(m(2, 3), m(2, 3, low=0.1, high=0.4), m(3, low=0.5, high=1.5), reduction="sum")


@of("nn.functional.dropout")
def dropout(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), 0.3)
    yield S(m(3), training=False)
    yield S(m(3), 1.0)


@of("nn.functional.ctc_loss")
def ctc_loss(m: Maker) -> Iterator[Sample]:
    for reduction in ("mean", "sum", "none"):
        yield S(m(5, 2, 3), m.ints(2, 2, low=1, high=3), [5, 4], [2, 1], reduction=reduction)
    # Labels that repeat, in one dimension, and another blank.
    yield S(m(6, 2, 3), pb.tensor([1, 1, 0]), pb.tensor([6, 5]), pb.tensor([2, 1]), blank=2)
    yield S(m(4, 3), pb.tensor([2, 1]), (4,), (2,))
    yield S(m(3, 2, 3), pb.tensor([[1, 1, 2], [1, 0, 0]]), [3, 3], [3, 0], zero_infinity=True)
    yield S(m(2, 1, 2), m.ints(1, 0), [0], [0]).but(grad=False)


@of("rnn_tanh_cell", "rnn_relu_cell")
def plain_cells(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(2, 2), m(2, 3), m(2, 2), m(2), m(2))
    yield S(m(3), m(2), m(2, 3), m(2, 2))


@of("gru_cell")
def gru_cell(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), m(2, 2), m(6, 3), m(6, 2), m(6), m(6))
    yield S(m(3), m(2), m(6, 3), m(6, 2))


@of("lstm_cell")
def lstm_cell(m: Maker) -> Iterator[Sample]:
    yield S(m(2, 3), [m(2, 2), m(2, 2)], m(8, 3), m(8, 2), m(8), m(8))
    yield S(m(3), [m(2), m(2)], m(8, 3), m(8, 2))


@of("rnn_tanh", "rnn_relu")
def plain_layers(m: Maker) -> Iterator[Sample]:
    one = [m(2, 3), m(2, 2), m(2), m(2)]
    yield S(m(3, 2, 3), m(1, 2, 2), one, True, 1, 0.0, False, False)
    yield S(m(2, 3, 3), m(2, 2, 2), [m(2, 3), m(2, 2)] * 2, False, 1, 0.0, True, True, True)
    yield S(m(5, 3), m(1, 2, 2), one, True, 1, 0.0, False, False, batch_sizes=[2, 2, 1])


@of("gru")
def gru(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2, 3), m(1, 2, 2), [m(6, 3), m(6, 2), m(6), m(6)], True, 1, 0.0, False, False)
    second = [m(6, 4), m(6, 2)]
    yield S(m(2, 1, 3), m(4, 1, 2), [m(6, 3), m(6, 2), m(6, 3), m(6, 2), *second, *second], False, 2, 0.0, True, True)
    yield S(m(4, 3), m(1, 3, 2), [m(6, 3), m(6, 2)], False, 1, 0.0, False, False, batch_sizes=[3, 1])


@of("lstm")
def lstm(m: Maker) -> Iterator[Sample]:
    yield S(m(3, 2, 3), [m(1, 2, 2), m(1, 2, 2)], [m(8, 3), m(8, 2), m(8), m(8)], True, 1, 0.0, False, False)
    # Both ways, and with a projection.
    yield S(m(2, 1, 3), [m(2, 1, 2), m(2, 1, 2)], [m(8, 3), m(8, 2)] * 2, False, 1, 0.0, True, True)
    yield S(m(2, 2, 3), [m(1, 2, 1), m(1, 2, 2)], [m(8, 3), m(8, 1), m(1, 2)], False, 1, 0.0, False, False, True)
    yield S(m(4, 3), [m(1, 3, 2), m(1, 3, 2)], [m(8, 3), m(8, 2)], False, 1, 0.0, False, False, batch_sizes=[3, 1])


@of("nn.functional.interpolate")
def interpolate(m: Maker) -> Iterator[Sample]:
    for mode in ("nearest", "nearest-exact", "area", "linear"):
        yield S(m(2, 1, 4), 3, mode=mode)
        yield S(m(1, 2, 3), scale_factor=1.7, mode=mode)
    for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic"):
        yield S(m(1, 2, 3, 4), (5, 2), mode=mode)
    yield S(m(1, 1, 3, 4), scale_factor=(1.5, 0.6), mode="bilinear", recompute_scale_factor=True)
    for mode in ("bilinear", "bicubic"):
        yield S(m(1, 1, 3, 2), (4, 3), mode=mode, align_corners=True)
        yield S(m(1, 1, 5, 4), (2, 3), mode=mode, antialias=True)
    yield S(m(1, 1, 2, 3, 2), (3, 2, 4), mode="trilinear")
    yield S(m(1, 1, 2, 2, 3), scale_factor=2, mode="nearest")
    yield S(m(1, 2, 3, 3).to(memory_format=pb.channels_last), (4, 4), mode="bilinear")
    yield S(m.ints(1, 1, 2, 3), (4, 3))
    yield S(m(1, 1, 3), 3)
