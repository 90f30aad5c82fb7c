"""Rules as functions: the same steps as the classes, derivatives, batches, programs."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as pb
from pullback import optim
from pullback.func import grad, jvp, trace, vmap
from pullback.optim import functional
from support import optimisers

NAMES = [name for name in functional.__all__ if name != "FunctionalOptimizer"]
CLASSES = {name.lower(): name for name in optimisers.OPTIONS}
# Of a vector and a number, which Muon has no step for; its steps are compared as steps, their derivative below.
OF_VECTORS = [name for name in NAMES if name != "muon"]
CASES = [
    (name, i, dtype)
    for name in NAMES
    for i in range(len(optimisers.OPTIONS[CLASSES[name]]))
    for dtype in optimisers.dtypes(CLASSES[name])
    if dtype != "bfloat16"
]


@pytest.mark.parametrize(("name", "i", "dtype"), CASES)
def test_steps_are_those_of_the_class(name: str, i: int, dtype: str) -> None:
    options = optimisers.OPTIONS[CLASSES[name]][i]
    params = optimisers.parameters(pb, dtype, CLASSES[name])
    theirs = {"a": params[0].detach().clone(), "b": (params[1].detach().clone(),)}
    optimizer = getattr(optim, CLASSES[name])(params, **options)
    rule = getattr(functional, name)(**options)
    state = rule.init(theirs)
    for k in range(1, 7):
        optimisers.set_gradients(pb, params, dtype, k)
        grads = {"a": params[0].grad, "b": (params[1].grad,)}
        optimizer.step()
        theirs, state = rule.update(theirs, grads, state)
        tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-6, "atol": 1e-9}
        assert pb.allclose(theirs["a"], params[0].detach(), **tolerance)
        assert pb.allclose(theirs["b"][0], params[1].detach(), **tolerance)
        assert theirs["a"].dtype == params[0].dtype


def run(name: str, start: Any, lr: Any, steps: int = 5, **options: Any) -> Any:
    """The loss after some steps on a small network's loss."""
    x = pb.tensor([[0.5, -1.0], [1.5, 0.3], [-0.2, 0.8]], dtype=start.dtype)
    y = pb.tensor([0.3, -0.4, 0.9], dtype=start.dtype)

    def loss(w: Any) -> Any:
        return ((pb.tanh(x @ w["w"]) - y + w["b"]) ** 2).mean()

    rule = getattr(functional, name)(lr=lr, **options)
    w = {"w": start, "b": pb.zeros((), dtype=start.dtype)}
    state = rule.init(w)
    for _ in range(steps):
        w, state = rule.update(w, grad(loss)(w), state)
    return loss(w)


OPTIONS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1},
    "adam": {"amsgrad": True, "betas": (0.8, 0.9)},
    "rmsprop": {"momentum": 0.5, "centered": True},
    "asgd": {"t0": 2.0},
    "radam": {"betas": (0.8, 0.9)},
}


@pytest.mark.parametrize("name", OF_VECTORS)
def test_a_run_has_the_derivative_of_differences(name: str) -> None:
    start = pb.tensor([0.4, -0.6], dtype=pb.float64)
    lr = pb.tensor(0.05, dtype=pb.float64)
    options = OPTIONS.get(name, {})

    def of(start: Any, lr: Any) -> Any:
        return run(name, start, lr, **options)

    h = 1e-6
    by_lr = (of(start, lr + h) - of(start, lr - h)) / (2 * h)
    assert grad(of, argnums=1)(start, lr).item() == pytest.approx(by_lr.item(), rel=1e-4, abs=1e-8)
    way = pb.tensor([0.7, -0.2], dtype=pb.float64)
    along = (of(start + h * way, lr) - of(start - h * way, lr)) / (2 * h)
    assert (grad(of)(start, lr) @ way).item() == pytest.approx(along.item(), rel=1e-4, abs=1e-8)
    _, tangent = jvp(lambda s: of(s, lr), (start,), (way,))
    assert tangent.item() == pytest.approx(along.item(), rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("name", OF_VECTORS)
def test_batches_of_options_are_a_loop(name: str) -> None:
    start, options = pb.tensor([0.4, -0.6]), OPTIONS.get(name, {})
    rates = pb.tensor([0.01, 0.05, 0.2])
    batched = vmap(lambda lr: run(name, start, lr, **options))(rates)
    looped = pb.stack([run(name, start, lr, **options) for lr in rates])
    assert pb.allclose(batched, looped, rtol=1e-5, atol=1e-6)
    of_grad = vmap(grad(lambda lr: run(name, start, lr, **options)))(rates)
    looped = pb.stack([grad(lambda lr: run(name, start, lr, **options))(lr) for lr in rates])
    assert pb.allclose(of_grad, looped, rtol=1e-3, atol=1e-5)


def test_other_options_are_batched_too() -> None:
    w = {"w": pb.tensor([1.0, -2.0])}

    def after(decay: Any, beta: Any, eps: Any) -> Any:
        rule = functional.adamw(lr=0.1, betas=(beta, 0.99), weight_decay=decay, eps=eps)
        p, state = w, rule.init(w)
        for k in range(4):
            p, state = rule.update(p, {"w": pb.tensor([0.5, -1.0 * k])}, state)
        return p["w"]

    columns = (pb.tensor([0.0, 0.1]), pb.tensor([0.5, 0.9]), pb.tensor([1e-8, 1e-2]))
    looped = pb.stack([after(*(c[i] for c in columns)) for i in range(2)])
    assert pb.allclose(vmap(after)(*columns), looped, rtol=1e-5)


def test_an_ensemble_of_states() -> None:
    """States are stacked and updated as parameters are."""
    rule = functional.adam(lr=0.1)
    members = [{"w": pb.tensor([float(i), 1.0])} for i in range(3)]
    together = {"w": pb.stack([m["w"] for m in members])}
    state = vmap(rule.init)(together)
    states = [rule.init(m) for m in members]
    for k in range(3):
        grads = {"w": pb.sin(together["w"] + k)}
        together, state = vmap(rule.update)(together, grads, state)
        for i, m in enumerate(members):
            members[i], states[i] = rule.update(m, {"w": pb.sin(m["w"] + k)}, states[i])
    assert pb.allclose(together["w"], pb.stack([m["w"] for m in members]))
    assert state["step"].tolist() == [3.0, 3.0, 3.0]


def test_a_step_is_a_program() -> None:
    rule = functional.adam(lr=0.1)
    w = {"w": pb.tensor([1.0, -2.0])}
    state = rule.init(w)
    program = trace(rule.update)(w, w, state)
    for _ in range(3):
        new, after = program(w, w, state)
        again, _ = rule.update(w, w, state)
        assert pb.allclose(new["w"], again["w"])
        w, state = new, after
    assert state["step"].item() == 3


def test_nothing_is_changed() -> None:
    rule = functional.sgd(lr=0.5, momentum=0.9)
    w = pb.ones(3)
    state = rule.init(w)
    new, after = rule.update(w, pb.ones(3), state)
    assert w.tolist() == [1.0] * 3 and state["momentum_buffer"].tolist() == [0.0] * 3
    assert new.tolist() == [0.5] * 3 and after["momentum_buffer"].tolist() == [1.0] * 3
    faster, _ = rule.update(w, pb.ones(3), state, lr=1.0)
    assert faster.tolist() == [0.0] * 3


def test_elements_that_never_had_a_gradient_have_a_derivative() -> None:
    """The root of a mean square that is 0 has none, which must not spoil what it is multiplied with."""
    for name in ("adam", "nadam", "radam", "adagrad", "rmsprop", "adadelta"):

        def after(w: Any, name: str = name) -> Any:
            rule = getattr(functional, name)(lr=0.1)
            state = rule.init(w)
            for _ in range(7):
                w, state = rule.update(w, grad(lambda w: (pb.relu(w) ** 2).sum())(w), state)
            return w.sum()

        derivative = grad(after)(pb.tensor([-1.0, 1.0], dtype=pb.float64))
        assert derivative.isfinite().all() and derivative[0].item() == 1.0, name


def test_what_is_refused() -> None:
    rule = functional.adam()
    w = {"a": pb.ones(2)}
    state = rule.init(w)
    with pytest.raises(TypeError, match="no option speed; there are lr, betas"):
        functional.adam(speed=1)
    with pytest.raises(TypeError, match="no option speed"):
        rule.update(w, w, state, speed=1)
    with pytest.raises(ValueError, match="Invalid learning rate"):
        functional.adam(lr=-1.0)
    with pytest.raises(ValueError, match="gradients must have the structure"):
        rule.update(w, [pb.ones(2)], state)
    with pytest.raises(ValueError, match="made for other options"):
        rule.update(w, w, state, amsgrad=True)
    with pytest.raises(TypeError, match="floating point or complex tensors"):
        rule.init({"a": pb.arange(3)})
    with pytest.raises(TypeError, match="got float"):
        rule.init({"a": 1.0})
