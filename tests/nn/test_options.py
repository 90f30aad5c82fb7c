"""Options and edges of modules whose results are those that PyTorch gives (recorded numbers)."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from typing import Any

import pytest

import pullback
from pullback import nn
from pullback.func import functional_call, vmap
from pullback.nn import functional as F
from pullback.testing import assert_close

D = pullback.float64


def test_memory_formats_of_modules() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, (2, 3)), nn.BatchNorm2d(4), nn.Linear(2, 2))
    weight = net[0].weight
    before = weight.detach().clone()
    assert net.to(memory_format=pullback.channels_last) is net
    assert net[0].weight is weight and weight.stride() == (18, 1, 9, 3) and weight.equal(before)
    assert net.to(D)[0].weight.dtype is D and weight.stride() == (18, 1, 9, 3)
    deep = nn.Conv3d(3, 4, 2).to(memory_format=pullback.channels_last_3d)
    assert deep.weight.is_contiguous(memory_format=pullback.channels_last_3d)


def test_dicts_of_parameters_sort_plain_mappings() -> None:
    one = pullback.ones(1)
    assert list(nn.ParameterDict({"z": one, "a": one}).state_dict()) == ["a", "z"]
    assert list(nn.ParameterDict(OrderedDict(z=one, a=one))) == ["z", "a"]
    assert list(nn.ParameterDict([("z", one), ("a", one)])) == ["z", "a"]
    with pytest.raises(AttributeError, match="'b'"):
        nn.ParameterDict({"a": one})["b"]


def test_cosines_broadcast_first() -> None:
    x = pullback.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=D)
    y = pullback.tensor([1.0, -1.0, 2.0], dtype=D)
    want = [0.8574929257125441, -0.9191450300180579, 0.9486832980505137]
    assert_close(F.cosine_similarity(x, y, dim=0), pullback.tensor(want, dtype=D))
    assert_close(F.cosine_similarity(x, y, dim=1), pullback.tensor([0.5455447255899811, 0.511766315719159], dtype=D))
    a = pullback.tensor([0.1, 0.2], dtype=D, requires_grad=True)
    F.cosine_similarity(a, pullback.tensor([3.0, 4.0], dtype=D), dim=0, eps=1.0).backward()
    assert_close(a.grad, pullback.tensor([0.5016130089900093, 0.6032260179800185], dtype=D))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: F.smooth_l1_loss(x, x[:1]), "target size"),
        (lambda x: F.dropout2d(x), "dropout2d: Received a 2D input"),
        (lambda x: F.dropout2d(x[None]), "dropout2d: Received a 3D input"),
        (lambda x: F.dropout3d(x), "dropout3d: Received a 2D input"),
    ],
)
def test_what_is_seldom_meant_warns(call: Any, text: str) -> None:
    with pytest.warns(UserWarning, match=text):
        call(pullback.ones(2, 3))


def test_what_is_meant_does_not_warn() -> None:
    x = pullback.ones(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.softmax(x, 1), F.mse_loss(x, x), F.kl_div(x, x, reduction="batchmean"), pullback.feature_dropout(x, 0.5, True)
        F.dropout2d(x[None, None]), F.dropout3d(x[None, None, None])


def test_gaussian_losses_are_batched() -> None:
    x, t, var = (pullback.rand(3, 4, dtype=D) + 0.1 for _ in range(3))
    loss = nn.GaussianNLLLoss()
    want = pullback.stack([loss(*members) for members in zip(x, t, var, strict=True)])
    assert_close(vmap(loss)(x, t, var), want)
    with pytest.raises(ValueError, match="negative"):
        loss(x, t, -var)


def test_modules_before_init_say_so() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            pass

    for use in (repr, nn.Module.eval, lambda m: list(m.parameters())):
        with pytest.raises(AttributeError, match="_modules|_parameters"):
            use(Early())


def test_relu6_is_a_hardtanh() -> None:
    m = nn.ReLU6()
    assert isinstance(m, nn.Hardtanh) and (m.min_val, m.max_val, repr(m)) == (0.0, 6.0, "ReLU6()")
    assert repr(copy.deepcopy(nn.ReLU6(inplace=True))) == "ReLU6(inplace=True)"


def test_dimensions_of_weight_norm_are_checked() -> None:
    for norm in (nn.utils.weight_norm, nn.utils.parametrizations.weight_norm):
        with pytest.raises(IndexError, match=r"\[-2, 1\], but got 2"):
            norm(nn.Linear(2, 3), dim=2)
        assert norm(nn.Linear(2, 3), dim=-2).weight.shape == (3, 2)


@pytest.mark.parametrize(
    ("dicts", "options", "error"),
    [
        (3, {}, ValueError),
        (({}, 3), {}, ValueError),
        ({"q.weight": pullback.ones(1)}, {"strict": True}, RuntimeError),
        ({"q.weight": pullback.ones(1)}, {}, AttributeError),
    ],
)
def test_tensors_that_belong_nowhere(dicts: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        functional_call(nn.Linear(1, 1), dicts, pullback.ones(1), **options)


def test_functional_modules_have_tensors_of_their_own() -> None:
    from pullback import functorch

    net = nn.BatchNorm1d(2)
    f, params, buffers = functorch.make_functional_with_buffers(net)
    f(params, buffers, pullback.rand(4, 2))
    assert net.running_mean.tolist() == [0.0, 0.0] and buffers[0].tolist() != [0.0, 0.0]
    assert all(p is not q for p, q in zip(params, net.parameters(), strict=True))
    _, params, _ = functorch.combine_state_for_ensemble([nn.Linear(1, 1), nn.Linear(1, 1)])
    assert not any(p.requires_grad for p in params)
    with pytest.raises(RuntimeError, match="make_functional_with_buffers"):
        functorch.make_functional(net)
