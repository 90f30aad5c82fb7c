"""Running averages of weights."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback.optim import swa_utils

needs_modules = pytest.mark.skipif(not hasattr(pb.nn, "Module"), reason="there are no modules yet")


def test_functions_for_one_tensor() -> None:
    a, b = pb.tensor([1.0, 2.0]), pb.tensor([3.0, -2.0])
    assert pb.allclose(swa_utils.get_ema_avg_fn(0.9)(a, b, 5), pb.tensor([1.2, 1.6]))
    assert pb.allclose(swa_utils.get_swa_avg_fn()(a, b, 3), pb.tensor([1.5, 1.0]))
    for make in (swa_utils.get_ema_avg_fn, swa_utils.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match="Invalid decay value"):
            make(1.5)


def test_functions_for_many_tensors() -> None:
    for dtype in (pb.float64, pb.complex64, pb.int64):
        start, new = pb.tensor([10, 20]).to(dtype), pb.tensor([30, -20]).to(dtype)
        ema, mean = [start.clone()], [start.clone()]
        swa_utils.get_ema_multi_avg_fn(0.5)(ema, [new], 4)
        swa_utils.get_swa_multi_avg_fn()(mean, [new], pb.tensor(3))
        assert pb.allclose(ema[0], pb.tensor([20, 0]).to(dtype))
        assert pb.allclose(mean[0], pb.tensor([15, 10]).to(dtype))
    p = pb.ones(2, requires_grad=True)
    swa_utils.get_ema_multi_avg_fn(0.5)([p], [pb.zeros(2)], 1)
    assert p.tolist() == [0.5, 0.5] and p.is_leaf


def network() -> Any:
    return pb.nn.Sequential(pb.nn.Linear(3, 2), pb.nn.BatchNorm1d(2))


@needs_modules
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averaged_models(use_buffers: bool) -> None:
    model = network()
    averaged = swa_utils.AveragedModel(model, use_buffers=use_buffers)
    moving = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5))
    single = swa_utils.AveragedModel(model, avg_fn=swa_utils.get_ema_avg_fn(0.5))
    seen = []
    for k in range(3):
        with pb.no_grad():
            for p in model.parameters():
                p.add_(k + 1.0)
        seen.append([p.detach().clone() for p in model.parameters()])
        for one in (averaged, moving, single):
            one.update_parameters(model)
    for i, (p, q, r) in enumerate(zip(averaged.parameters(), moving.parameters(), single.parameters(), strict=True)):
        assert pb.allclose(p.detach(), sum(s[i] for s in seen) / 3)
        assert pb.allclose(q.detach(), seen[0][i] / 4 + seen[1][i] / 4 + seen[2][i] / 2)
        assert pb.allclose(r.detach(), q.detach())
    assert averaged.n_averaged.item() == 3
    averaged.eval()
    assert averaged(pb.ones(4, 3)).shape == (4, 2)
    again = swa_utils.AveragedModel(network())
    again.load_state_dict(averaged.state_dict())
    assert again.n_averaged.item() == 3
    with pytest.raises(AssertionError, match="Only one of"):
        swa_utils.AveragedModel(model, avg_fn=swa_utils.get_swa_avg_fn(), multi_avg_fn=lambda a, b, n: None)


@needs_modules
def test_statistics_of_batch_norm_are_computed_anew() -> None:
    model = network()
    data = [pb.randn(8, 3) for _ in range(4)]
    model.eval()
    swa_utils.update_bn([(x, None) for x in data], model)
    wanted = pb.stack([model[0](x).mean(0) for x in data]).mean(0)
    assert pb.allclose(model[1].running_mean, wanted, atol=1e-6)
    assert model[1].momentum == 0.1 and not model.training
    plain = pb.nn.Linear(3, 2)
    swa_utils.update_bn(data, plain)


def test_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        swa_utils.other()  # type: ignore[attr-defined]
