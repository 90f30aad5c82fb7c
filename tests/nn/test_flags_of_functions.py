"""What stands where a flag is asked for: bools only, but for the flags that PyTorch tests by their truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import nn
from pullback.nn import functional as F

x = pb.tensor([[3.0, 1.0, 2.0], [0.5, -1.0, 4.0]])
image = pb.arange(16.0).reshape(1, 1, 4, 4)
rows = pb.tensor([0, 1])
NO_BOOLS = ["False", "", 1.0, [], (1,), pb.tensor(True), None, object()]

STRICT: list[Callable[[Any], Any]] = [
    lambda flag: F.dropout(x, 0.5, flag),
    lambda flag: F.dropout1d(image[0], 0.5, flag),
    lambda flag: F.dropout2d(image, 0.5, flag),
    lambda flag: F.dropout3d(image[None], 0.5, flag),
    lambda flag: F.alpha_dropout(x, 0.5, flag),
    lambda flag: F.feature_alpha_dropout(image, 0.5, flag),
    lambda flag: F.rrelu(x, training=flag),
    lambda flag: F.poisson_nll_loss(x, x.abs(), log_input=flag),
    lambda flag: F.poisson_nll_loss(x, x.abs(), full=flag),
    lambda flag: F.triplet_margin_loss(x, x + 1, x - 1, swap=flag),
    lambda flag: F.instance_norm(image, use_input_stats=flag),
    lambda flag: F.embedding_bag(rows[None], x, sparse=flag),
    lambda flag: x.sum(0, keepdim=flag),
    lambda flag: x.to(pb.float64, copy="" if flag is None else flag),
    lambda flag: x.allclose(x, equal_nan="" if flag is None else flag),
    lambda flag: x.detach().requires_grad_("" if flag is None else flag),
]
BY_TRUTH: list[Callable[[Any], Any]] = [
    lambda flag: F.relu(x.clone(), inplace=flag),
    lambda flag: F.dropout(x.clone(), 0.0, True, inplace=flag),
    lambda flag: nn.SiLU(inplace=flag)(x.clone()),
    lambda flag: F.max_pool2d(image, 2, return_indices=flag),
    lambda flag: nn.AdaptiveMaxPool2d(1, return_indices=flag)(image),
    lambda flag: F.interpolate(image, 2, antialias=bool(flag) and flag, mode="bilinear"),
]


@pytest.mark.parametrize("call", STRICT)
def test_what_is_no_bool_is_refused(call: Any) -> None:
    for flag in NO_BOOLS:
        with pytest.raises(TypeError, match=r"bool|True or False"):
            call(flag)


@pytest.mark.parametrize("call", BY_TRUTH)
def test_flags_that_are_tested_by_their_truth(call: Any) -> None:
    for flag in ("yes", "", 1, 0, None, 2.0, np.bool_(True), np.bool_(False), [], pb.tensor(False)):
        got, expected = call(flag), call(bool(flag))
        assert type(got) is type(expected)
        pb.testing.assert_close(got, expected)


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.binary_cross_entropy_with_logits])
def test_old_pair_of_flags_by_truth(loss: Any) -> None:
    y = x.sigmoid()
    for flag in (1, 0, "yes", "", 0.0, np.bool_(False)):
        for name in ("size_average", "reduce"):
            with pytest.warns(UserWarning, match="size_average and reduce args will be deprecated"):
                got = loss(x, y, **{name: flag})
            with pytest.warns(UserWarning, match="size_average and reduce args will be deprecated"):
                pb.testing.assert_close(got, loss(x, y, **{name: bool(flag)}))


def test_no_requires_grad_is_false() -> None:
    assert not pb.ones(2, requires_grad=None).requires_grad  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        pb.ones(2, requires_grad="yes")  # type: ignore[call-overload]


@pytest.mark.parametrize("target", [[0, -2, 1], [0, -1, -7], [0, -1, 9], [3, -1, -1], [-2, 1, 0]])
def test_multilabel_margin_loss_refuses_what_is_no_class(target: list[int]) -> None:
    for rows in (1, 2):
        with pytest.raises(RuntimeError, match="out of (bounds|range)"):
            F.multilabel_margin_loss(x[:rows], pb.tensor([target] * rows))
    assert F.multilabel_margin_loss(x[0], pb.tensor([0, -1, 2])).item() == pytest.approx(0.0)
