"""Steps of lists of parameters and states, and the optimisers without a kernel."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
from typing import Any

import pytest

import pullback as pb
from pullback import optim
from pullback.func import grad, vmap
from pullback.optim import functional
from support import optimisers

NAMES = ["adam", "adamw", "adagrad", "adadelta", "adamax", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd"]
CLASSES = {name.lower(): name for name in optimisers.OPTIONS}
#: Which list has which state.
LISTS = {
    **{"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step"},
    **{"state_sums": "sum", "square_avgs": "square_avg", "acc_deltas": "acc_delta", "exp_infs": "exp_inf"},
    **{"axs": "ax", "mus": "mu", "etas": "eta", "mu_products": "mu_product", "grad_avgs": "grad_avg", "prevs": "prev"},
    **{"momentum_buffer_list": "momentum_buffer", "step_sizes": "step_size"},
}


def split(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a class as a step function has them."""
    out = dict(options)
    for name, parts in (
        ("betas", ("beta1", "beta2")),
        ("etas", ("etaminus", "etaplus")),
        ("step_sizes", ("step_size_min", "step_size_max")),
    ):
        if name in out:
            out.update(zip(parts, out.pop(name), strict=True))
    return out


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("name", "i"), [(n, i) for n in NAMES for i in range(len(optimisers.OPTIONS[CLASSES[n]]))])
def test_steps_of_lists_are_those_of_the_class(name: str, i: int, dtype: str) -> None:
    step = getattr(importlib.import_module(f"pullback.optim.{name}"), name)
    assert step.__name__ == name
    ours, theirs = (optimisers.parameters(pb, dtype) for _ in range(2))
    optimizer = getattr(optim, CLASSES[name])(theirs, **optimisers.OPTIONS[CLASSES[name]][i])
    twin = getattr(optim, CLASSES[name])(ours, **optimisers.OPTIONS[CLASSES[name]][i])
    known = set(inspect.signature(step).parameters)
    options = {k: v for k, v in split(optimizer.param_groups[0]).items() if k in known and k != "params"}
    for k in range(1, 5):
        for params in (ours, theirs):
            optimisers.set_gradients(pb, params, dtype, k)
        optimizer.step()
        if k == 1 and name != "sgd":
            # The first states come from a step of a class of its own.
            twin.step()
            continue
        lists = {n: [twin.state[p].get(key) for p in ours] for n, key in LISTS.items() if n in known}
        for n in LISTS:
            if n in known and name != "sgd" and lists[n][0] is None:
                lists[n] = []
        with pb.no_grad():
            step(ours, [p.grad for p in ours], **lists, **options)
        for p, buffer in zip(ours, lists.get("momentum_buffer_list", []), strict=False):
            twin.state[p]["momentum_buffer"] = buffer
    for p, q in zip(ours, theirs, strict=True):
        assert pb.allclose(p, q, rtol=1e-12, atol=1e-14)


def test_scaled_and_overflown_gradients() -> None:
    from pullback.optim.adam import adam

    options = {"amsgrad": False, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.0, "eps": 1e-8}
    for more, expected in (({"found_inf": pb.tensor(1.0)}, 1.0), ({"grad_scale": pb.tensor(4.0)}, 0.9)):
        w, m, v, t = pb.ones(1), pb.zeros(1), pb.zeros(1), pb.tensor(0.0)
        adam([w], [pb.tensor([4.0])], [m], [v], [], [t], maximize=False, **options, **more)
        assert w.item() == pytest.approx(expected) and m.item() == pytest.approx(0.1 if expected < 1 else 0.0)
        assert t.item() == (1 if expected < 1 else 0)
    with pytest.raises(ValueError, match="2 tensors for 1 param"):
        adam([w], [w], [m, m], [v], [], [t], maximize=False, **options)
    with pytest.raises(TypeError, match="missing"):
        adam([w], [w], [m], [v], [], [t])


def test_muon_refuses_what_is_no_matrix() -> None:
    matrix = pb.ones(2, 2, requires_grad=True)
    with pytest.raises(ValueError, match="only supports 2D"):
        optim.Muon([pb.ones(2, requires_grad=True)])
    with pytest.raises(ValueError, match="only supports 2D"):
        optim.Muon([matrix]).add_param_group({"params": [pb.ones(1, 1, 1, requires_grad=True)]})
    with pytest.raises(RuntimeError, match="complex"):
        optim.Muon([matrix.detach().to(pb.complex64).requires_grad_()])
    for bad in (
        {"lr": -1.0},
        {"adjust_lr_fn": "other"},
        {"ns_steps": 100},
        {"momentum": -0.1},
        {"ns_coefficients": (1, 2)},
    ):
        with pytest.raises(ValueError, match=r"Invalid|learning rate function|steps|3 numbers"):
            optim.Muon([matrix], **bad)


def test_muon_steps_along_orthogonal_matrices() -> None:
    pb.manual_seed(0)
    for shape in ((6, 3), (3, 6), (5, 5)):
        w = pb.zeros(shape, requires_grad=True)
        w.grad = pb.randn(shape)
        optim.Muon([w], lr=1.0, weight_decay=0.0, ns_steps=8).step()
        sizes = pb.linalg.svd(w.detach())[1] / max(1.0, shape[0] / shape[1]) ** 0.5
        assert sizes.min().item() > 0.6 and sizes.max().item() < 1.3


def test_copies_of_muon_continue_as_the_original() -> None:
    w = pb.eye(3).requires_grad_()
    optimizer = optim.Muon([w], lr=0.1)
    w.grad = pb.arange(9.0).reshape(3, 3).sin()
    optimizer.step()
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (twin,) = other.param_groups[0]["params"]
        assert pb.equal(other.state[twin]["momentum_buffer"], optimizer.state[w]["momentum_buffer"])
        twin.grad = pb.ones(3, 3)
        other.step()
        assert not pb.equal(twin, w)


@pytest.mark.parametrize("name", ["adafactor", "muon"])
def test_matrices_under_transforms(name: str) -> None:
    at = pb.arange(6.0, dtype=pb.float64).reshape(2, 3).sin()

    def after(lr: Any) -> Any:
        rule = getattr(functional, name)(lr=lr)
        w, state = {"w": at}, rule.init({"w": at})
        for _ in range(3):
            w, state = rule.update(w, grad(lambda w: (w["w"] ** 2).sum())(w), state)
        return (w["w"] ** 2).sum()

    rates = pb.tensor([0.01, 0.02, 0.05], dtype=pb.float64)
    assert pb.allclose(vmap(after)(rates), pb.stack([after(r) for r in rates]))
    if name == "adafactor":
        h = 1e-6
        slope = (after(rates[1] + h) - after(rates[1] - h)) / (2 * h)
        assert grad(after)(rates[1]).item() == pytest.approx(slope.item(), rel=1e-4)
