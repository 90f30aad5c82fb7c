"""Edges of operators behind modules whose results are those that PyTorch gives (recorded numbers)."""

from __future__ import annotations

from typing import Any

import pytest

import pullback
from pullback import nn
from pullback.func import grad, jacrev, vmap
from pullback.nn import functional as F
from pullback.testing import assert_close

D = pullback.float64
INDICES = pullback.tensor([[0, 1, 0], [0, 3, 1]])


def _table() -> Any:
    return nn.Parameter((pullback.arange(8.0, dtype=D) - 3).reshape(4, 2))


TABLES: list[tuple[dict[str, Any], Any, Any]] = [
    (
        {"max_norm": 1.5},
        [[-1.248075, -0.83205], [-1.0, 0.0], [1.0, 2.0], [0.9, 1.2]],
        [[10.0, 13.0], [12.0, 14.0], [0.0, 0.0], [8.0, 9.0]],
    ),
    (
        {"max_norm": 1.0, "norm_type": 1.0, "padding_idx": 1},
        [[-0.6, -0.4], [-1.0, 0.0], [1.0, 2.0], [0.428571, 0.571429]],
        [[10.0, 13.0], [0.0, 0.0], [0.0, 0.0], [8.0, 9.0]],
    ),
    (
        {"scale_grad_by_freq": True},
        [[-3.0, -2.0], [-1.0, 0.0], [1.0, 2.0], [3.0, 4.0]],
        [[10 / 3, 13 / 3], [6.0, 7.0], [0.0, 0.0], [8.0, 9.0]],
    ),
    (
        {"scale_grad_by_freq": True, "padding_idx": 0, "max_norm": 2.0},
        [[-1.664101, -1.1094], [-1.0, 0.0], [1.0, 2.0], [1.2, 1.6]],
        [[0.0, 0.0], [6.0, 7.0], [0.0, 0.0], [8.0, 9.0]],
    ),
]


@pytest.mark.parametrize(("options", "table", "slope"), TABLES)
def test_tables_are_shortened_and_gradients_scaled(options: dict[str, Any], table: Any, slope: Any) -> None:
    w = _table()
    out = F.embedding(INDICES, w, **options)
    assert_close(w.detach(), pullback.tensor(table, dtype=D), atol=1e-6, rtol=0.0)
    assert out.equal(w.detach()[INDICES])
    (out * pullback.arange(12.0, dtype=D).reshape(2, 3, 2)).sum().backward()
    assert_close(w.grad, pullback.tensor(slope, dtype=D), atol=1e-12, rtol=0.0)
    module = nn.Embedding(4, 2, _weight=_table().detach(), **options)
    assert module(INDICES).equal(out) and module.weight.equal(w)


def test_bags_shorten_their_tables() -> None:
    w = _table()
    F.embedding_bag(INDICES, w, max_norm=1.5, mode="sum").sum().backward()
    assert_close(w.detach(), pullback.tensor(TABLES[0][1], dtype=D), atol=1e-6, rtol=0.0)
    assert w.grad.tolist() == [[3.0, 3.0], [2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]


def test_scaled_gradients_under_transforms() -> None:
    w, cotangent = _table().detach(), pullback.arange(12.0, dtype=D).reshape(2, 3, 2)

    def loss(w: Any, i: Any, c: Any) -> Any:
        return (F.embedding(i, w, scale_grad_by_freq=True) * c).sum()

    each = vmap(grad(loss), in_dims=(None, 0, 0))(w, INDICES, cotangent)
    alone = pullback.stack([grad(loss)(w, i, c) for i, c in zip(INDICES, cotangent, strict=True)])
    assert_close(each, alone)


def test_norms_learn_nothing_of_nothing() -> None:
    m = nn.BatchNorm1d(2, momentum=1.0)
    assert m(pullback.zeros(0, 2)).shape == (0, 2)
    assert m.running_mean.tolist() == [0.0, 0.0] and m.running_var.tolist() == [1.0, 1.0]
    assert m.num_batches_tracked == 1


def test_rows_are_a_memory_format_too() -> None:
    x = pullback.ones(4, 3, 2, 3).contiguous(memory_format=pullback.channels_last)
    for out in (x.to(memory_format=pullback.contiguous_format), x.to(D, memory_format=pullback.contiguous_format)):
        assert out.stride() == (18, 6, 3, 1) and out.sum() == 72
    assert x.to(memory_format=pullback.preserve_format) is x
    net = nn.Conv2d(3, 4, 2).to(memory_format=pullback.channels_last).to(memory_format=pullback.contiguous_format)
    assert net.weight.is_contiguous()


def test_means_of_no_losses() -> None:
    x = pullback.zeros(0, 3)
    for target in (x, pullback.zeros(0, dtype=pullback.int64)):
        assert F.cross_entropy(x, target).isnan() and F.cross_entropy(x, target, reduction="sum") == 0


def test_circular_padding_of_what_is_cropped() -> None:
    x = pullback.arange(5.0).reshape(1, 5)
    assert F.pad(x, (-1, 2), mode="circular").tolist() == [[1.0, 2.0, 3.0, 4.0, 1.0, 2.0]]
    assert F.pad(x, (2, -2), mode="circular").tolist() == [[1.0, 2.0, 0.0, 1.0, 2.0]]
    y = F.pad(pullback.arange(12.0).reshape(1, 1, 3, 4), (-1, 1, 1, -1), mode="circular")
    assert y[0, 0].tolist() == [[5.0, 6.0, 7.0, 5.0], [1.0, 2.0, 3.0, 1.0], [5.0, 6.0, 7.0, 5.0]]


@pytest.mark.parametrize("groups", [1, 2])
def test_jacobians_of_convolutions_without_a_batch(groups: int) -> None:
    w = pullback.ones(4, 4 // groups, 2)
    for f, size in ((F.conv1d, 2), (F.conv_transpose1d, 4)):
        x = pullback.zeros(0, 4, 3)
        channels = 4 if f is F.conv1d else 4 // groups * groups
        shape = jacrev(lambda w, f=f, x=x: f(x, w, groups=groups))(w).shape
        assert shape == (0, channels, size, *w.shape)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: F.softmax(x), "Implicit dimension choice for softmax"),
        (lambda x: nn.LogSoftmax()(x), "Implicit dimension choice for log_softmax"),
        (lambda x: F.mse_loss(x, x[:1]), "mse_loss"),
        (lambda x: F.l1_loss(x, x[:1]), "l1_loss"),
        (lambda x: F.huber_loss(x, x[:1]), "huber_loss"),
        (lambda x: nn.KLDivLoss()(x, x), "batchmean"),
    ],
)
def test_operators_warn_of_what_is_seldom_meant(call: Any, text: str) -> None:
    with pytest.warns(UserWarning, match=text):
        call(pullback.ones(2, 3))
