"""The contract of optimisers: groups, gradients, hooks, saving, copies, options."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

import pullback as pb
from pullback import optim
from pullback.optim import functional
from pullback.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)

# Muon, which steps matrices alone, has a file of its own.
ELSEWHERE = ("LBFGS", "Muon", "Optimizer")
CLASSES = [getattr(optim, name) for name in optim.__all__ if name[0].isupper() and name not in ELSEWHERE]


def leaf(*values: float) -> Any:
    return pb.tensor(values, requires_grad=True)


# ---------------------------------------------------------------- construction
def test_parameters_that_are_refused() -> None:
    w = leaf(1.0)
    with pytest.raises(TypeError, match="iterable of Tensors or dicts, but got Tensor"):
        optim.SGD(w)
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.SGD([])
    with pytest.raises(TypeError, match="can only optimize Tensors, but one of the params is builtins.int"):
        optim.SGD([1])
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        optim.SGD([w * 2])
    with pytest.raises(TypeError, match="ordered collections"):
        optim.SGD([{"params": {w}}])
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.SGD([{"params": [w]}, {"params": [w]}])
    with pytest.raises(TypeError, match="must be a dict"):
        optim.SGD([w]).add_param_group([w])  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([w, w])
    kept = w * 2
    kept.retain_grad()
    optim.SGD([kept])


@pytest.mark.parametrize("make", CLASSES)
def test_numbers_that_are_refused(make: Any) -> None:
    options = inspect.signature(make).parameters
    bad: list[dict[str, Any]] = [{"lr": -1.0}, {"lr": float("nan")}]
    bad += [{name: -1.0} for name in ("weight_decay", "momentum", "rho", "alpha") if name in options]
    bad += [{"eps": (None, -1.0) if make is optim.Adafactor else -1.0}] if "eps" in options else []
    bad += [{"beta2_decay": 0.5}] if "beta2_decay" in options else []
    bad += [{"betas": (1.0, 0.9)}, {"betas": (0.9, -0.1)}] if "betas" in options else []
    bad += [{"etas": (1.2, 0.5)}] if "etas" in options else []
    bad += [{"lr": pb.ones(2)}]
    if make is optim.ASGD:
        bad.remove({"alpha": -1.0})
    for case in bad:
        with pytest.raises(ValueError, match=r"Invalid|1-element|should be [<>]= 0"):
            make([leaf(1.0)], **case)
    if "fused" in options:
        with pytest.raises(RuntimeError, match="does not support `differentiable`"):
            make([leaf(1.0)], fused=True, differentiable=True)
        with pytest.raises(RuntimeError, match="cannot be `True` together"):
            make([leaf(1.0)], fused=True, foreach=True)


def test_more_numbers_that_are_refused() -> None:
    w = leaf(1.0)
    with pytest.raises(ValueError, match="Nesterov momentum"):
        optim.SGD([w], nesterov=True)
    with pytest.raises(ValueError, match="lr as a Tensor"):
        optim.Adam([w], lr=pb.tensor(0.1), foreach=True)
    with pytest.raises(ValueError, match=r"betas\[0\] as a Tensor"):
        optim.AdamW([w], betas=(pb.tensor(0.9), pb.tensor(0.99)), foreach=True)
    kept = optim.AdamW([w], betas=(pb.full((1, 1), 0.5), pb.tensor(0.25))).param_groups[0]["betas"]
    assert [b.shape for b in kept] == [(), ()] and [b.item() for b in kept] == [0.5, 0.25]
    with pytest.raises(ValueError, match="both floats or both Tensors"):
        optim.Adam([w], betas=(0.9, pb.tensor(0.9)))
    with pytest.raises(ValueError, match="must be 1-element"):
        optim.Adam([w], betas=(pb.ones(2), pb.tensor(0.9)))


@pytest.mark.parametrize("make", CLASSES)
def test_the_row_of_the_table_has_the_defaults_of_the_class(make: Any) -> None:
    of_class = {name: p.default for name, p in inspect.signature(make).parameters.items()}
    for name, value in make.rule.options.items():
        if (make, name) != (optim.AdamW, "decoupled_weight_decay"):
            assert of_class[name] == value, name
    made = getattr(functional, make.__name__.lower())()
    assert made.rule == make.rule
    if not make.rule.has_kernel:
        return
    read, kept = pb._core.optim._algorithms()[make.rule.name]
    assert set(read) <= set(make.rule.options) and tuple(make.rule.scalars(make.rule.options)) in (kept, ("step",))


# ---------------------------------------------------------------- steps
def test_groups_have_their_own_options() -> None:
    a, b = leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([{"params": a, "lr": 0.5}, {"params": [b]}], lr=0.1)
    a.grad, b.grad = pb.ones(1), pb.ones(1)
    optimizer.step()
    assert (a.item(), pytest.approx(b.item())) == (0.5, 0.9)
    c = leaf(1.0)
    optimizer.add_param_group({"params": [c], "lr": 2.0})
    c.grad = pb.ones(1)
    optimizer.step()
    assert c.item() == -1.0 and [g["lr"] for g in optimizer.param_groups] == [0.5, 0.1, 2.0]


@pytest.mark.parametrize("make", CLASSES)
def test_parameters_without_a_gradient_stay(make: Any) -> None:
    a, b = leaf(1.0, 2.0), leaf(1.0)
    optimizer = make([a, b], lr=0.1)
    a.grad = pb.ones(2)
    optimizer.step()
    assert b.tolist() == [1.0] and a.tolist() != [1.0, 2.0]
    if make is not optim.Adagrad:
        assert not optimizer.state.get(b)
    b.grad = pb.ones(1)
    optimizer.step()
    assert b.tolist() != [1.0]


@pytest.mark.parametrize("flags", [{"foreach": True}, {"foreach": False}, {"fused": True}, {"capturable": True}])
@pytest.mark.parametrize("make", CLASSES)
def test_ways_of_computing_give_the_same(make: Any, flags: dict[str, Any]) -> None:
    if not set(flags) <= set(inspect.signature(make).parameters):
        pytest.skip("not an option of this class")
    results = []
    for more in ({}, flags):
        w = leaf(1.0, -2.0, 3.0)
        optimizer = make([w], lr=0.1, **more)
        for k in range(3):
            w.grad = pb.tensor([1.0, 0.5, -k])
            optimizer.step()
        results.append(w.tolist())
    assert results[0] == results[1]


def test_the_first_momentum_is_not_dampened() -> None:
    a, b = leaf(0.0), leaf(0.0)
    optimizer = optim.SGD([a, b], lr=1.0, momentum=0.5, dampening=0.25)
    a.grad = pb.ones(1)
    optimizer.step()
    b.grad = pb.ones(1)
    optimizer.step()
    assert optimizer.state[a]["momentum_buffer"].item() == 0.5 + 0.75
    assert optimizer.state[b]["momentum_buffer"].item() == 1.0
    assert (a.item(), b.item()) == (-2.25, -1.0)


def test_closures_run_with_gradients() -> None:
    w = leaf(1.0)
    optimizer = optim.Adam([w], lr=0.1)

    def closure() -> Any:
        assert pb.is_grad_enabled()
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with pb.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert w.item() == pytest.approx(0.9)
    with pytest.raises(TypeError, match="needs a closure"):
        optim.LBFGS([w]).step()


def test_zero_grad() -> None:
    w = leaf(1.0, 2.0)
    optimizer = optim.SGD([w])
    (w * w).sum().backward(create_graph=True)
    g = w.grad
    optimizer.zero_grad(set_to_none=False)
    assert w.grad is g and g.tolist() == [0.0, 0.0] and g.grad_fn is None
    optimizer.zero_grad()
    assert w.grad is None
    optimizer.zero_grad()


def test_gradients_with_a_graph_are_numbers() -> None:
    w = leaf(1.0)
    (w**3).sum().backward(create_graph=True)
    optimizer = optim.SGD([w], lr=1.0)
    optimizer.step()
    assert w.item() == -2.0 and w.is_leaf


def test_rates_that_are_tensors() -> None:
    w, lr = leaf(1.0), pb.tensor(0.5)
    optimizer = optim.Adam([w], lr=lr, betas=(pb.tensor(0.9), pb.tensor(0.99)))
    w.grad = pb.ones(1)
    optimizer.step()
    assert w.item() == pytest.approx(0.5, abs=1e-6)
    lr.fill_(0.25)
    optimizer.step()
    assert w.item() == pytest.approx(0.25, abs=1e-6)


def test_default_dtype_decides_what_counts_steps() -> None:
    pb.set_default_dtype(pb.float64)
    try:
        w = leaf(1.0)
        w.grad = pb.ones(1)
        optimizer, fused = optim.Adam([w]), optim.Adam([w], fused=True)
        optimizer.step()
        fused.step()
        assert (optimizer.state[w]["step"].dtype, fused.state[w]["step"].dtype) == (pb.float64, pb.float32)
    finally:
        pb.set_default_dtype(pb.float32)


def test_differentiable_steps_refuse_leaves() -> None:
    w = leaf(1.0)
    w.grad = pb.ones(1)
    with pytest.raises(RuntimeError, match="pullback.optim.functional"):
        optim.Adam([w], differentiable=True).step()


@pytest.mark.parametrize("make", CLASSES)
def test_differentiable_steps_are_recorded(make: Any) -> None:
    if "differentiable" not in inspect.signature(make).parameters:
        pytest.skip("not an option of this class")

    def run(start: Any, lr: Any) -> Any:
        w = start.clone()
        optimizer = make([w], lr=lr, differentiable=True)
        for _ in range(3):
            (w.grad,) = pb.autograd.grad((w**2).sum(), w, create_graph=True)
            optimizer.step()
        return (w**2).sum()

    start = pb.tensor([1.0, -0.7], dtype=pb.float64, requires_grad=True)
    if make in (optim.Rprop, optim.ASGD):
        # Their rates are kept as numbers.
        assert pb.autograd.gradcheck(lambda s: run(s, 0.1), (start,))
    else:
        lr = pb.tensor(0.1, dtype=pb.float64, requires_grad=True)
        assert pb.autograd.gradcheck(run, (start, lr))


# ---------------------------------------------------------------- hooks
def test_step_hooks() -> None:
    w = leaf(1.0)
    w.grad = pb.ones(1)
    optimizer = optim.SGD([w], lr=0.1)
    seen: list[Any] = []
    handles = [
        register_optimizer_step_pre_hook(lambda o, a, k: seen.append("all before")),
        optimizer.register_step_pre_hook(lambda o, a, k: seen.append(("before", o is optimizer, len(a), k))),
        optimizer.register_step_post_hook(lambda o, a, k: seen.append("after")),
        register_optimizer_step_post_hook(lambda o, a, k: seen.append("all after")),
    ]
    optimizer.step()
    assert seen == ["all before", ("before", True, 1, {}), "after", "all after"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 4
    with optimizer.register_step_pre_hook(lambda o, a, k: ((o, lambda: 7), {})):
        assert optimizer.step() == 7
    with optimizer.register_step_pre_hook(lambda o, a, k: 3), pytest.raises(RuntimeError, match="tuple of"):
        optimizer.step()
    assert optimizer.step() is None


def test_state_dict_hooks() -> None:
    w = leaf(1.0)
    optimizer = optim.SGD([w], lr=0.1)
    order: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda o: order.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: order.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "extra": 1})
    saved = optimizer.state_dict()
    assert saved["extra"] == 1 and order == ["first", "second"]

    def raised(o: Any, d: Any) -> Any:
        return {**d, "param_groups": [{**d["param_groups"][0], "lr": 9.0}]}

    optimizer.register_load_state_dict_pre_hook(raised)
    optimizer.register_load_state_dict_post_hook(lambda o: order.append("loaded"))
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 9.0 and order[-1] == "loaded"
    assert saved["param_groups"][0]["lr"] == 0.1


# ---------------------------------------------------------------- saving
def trained(make: Any, **options: Any) -> tuple[Any, list[Any]]:
    params = [leaf(1.0, 2.0), leaf(3.0)]
    optimizer = make(params, lr=0.1, **options)
    for p in params:
        p.grad = pb.ones(p.shape)
    optimizer.step()
    return optimizer, params


@pytest.mark.parametrize("make", CLASSES)
def test_copies_continue_as_the_original(make: Any) -> None:
    optimizer, params = trained(make)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        theirs = other.param_groups[0]["params"]
        for p in theirs:
            p.grad = pb.ones(p.shape) * 2
        other.step()
        fresh = [p.detach().clone().requires_grad_() for p in params]
        again = make(fresh, lr=0.1)
        again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        for p in fresh:
            p.grad = pb.ones(p.shape) * 2
        again.step()
        assert [p.tolist() for p in theirs] == [p.tolist() for p in fresh]
        assert repr(other) == repr(optimizer)
        with other.register_step_pre_hook(lambda o, a, k: None):
            other.step()


def test_rates_of_loaded_states_are_as_exact_as_before() -> None:
    """ASGD's rate is a tensor of single precision, and takes the dtype of the parameter when it is loaded."""

    def run(params: list[Any], optimizer: Any, count: int) -> None:
        for _ in range(count):
            for p in params:
                p.grad = (p.detach() - 1) * 0.5
            optimizer.step()

    params = [pb.tensor([0.37, 2.0], dtype=pb.float64, requires_grad=True)]
    optimizer = optim.ASGD(params, lr=0.1, lambd=0.02, alpha=0.5, t0=3.0)
    run(params, optimizer, 3)
    again = [params[0].detach().clone().requires_grad_()]
    other = optim.ASGD(again, lr=0.7)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    run(params, optimizer, 4)
    run(again, other, 4)
    assert again[0].tolist() == params[0].tolist()
    assert [state["eta"].item() for o in (optimizer, other) for state in o.state.values()] == [0.09930726885795593] * 2


def test_state_dicts_that_do_not_fit_are_refused() -> None:
    optimizer, _ = trained(optim.Adam)
    saved = optimizer.state_dict()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optim.Adam([{"params": [leaf(1.0)]}, {"params": [leaf(1.0)]}]).load_state_dict(saved)
    with pytest.raises(ValueError, match="doesn't match the size"):
        optim.Adam([leaf(1.0)]).load_state_dict(saved)


def test_loaded_states_take_the_dtype_of_parameters() -> None:
    optimizer, _ = trained(optim.Adam)
    params = [pb.ones(2, dtype=pb.float64, requires_grad=True), pb.ones(1, dtype=pb.bfloat16, requires_grad=True)]
    other = optim.Adam(params)
    other.load_state_dict(optimizer.state_dict())
    assert [other.state[p]["exp_avg"].dtype for p in params] == [pb.float64, pb.bfloat16]
    assert other.state[params[0]]["step"].dtype == pb.float32
    for p in params:
        p.grad = pb.ones(p.shape, dtype=p.dtype)
    other.step()
    assert other.state[params[1]]["step"].item() == 2.0


def test_counts_of_old_programs_become_tensors() -> None:
    optimizer, params = trained(optim.Adam)
    saved = optimizer.state_dict()
    saved["state"] = {k: {**v, "step": 5} for k, v in saved["state"].items()}
    del saved["param_groups"][0]["amsgrad"], saved["param_groups"][0]["maximize"]
    optimizer.load_state_dict(saved)
    optimizer.step()
    assert optimizer.state[params[0]]["step"].item() == 6.0 and optimizer.param_groups[0]["maximize"] is False


def test_names_of_parameters() -> None:
    a, b = leaf(1.0), leaf(2.0)
    optimizer = optim.SGD([("a", a), ("b", b)], lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="with/without names"):
        optim.SGD([("a", a), b])
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": [leaf(1.0)]})
    other = optim.SGD([("c", a), ("d", b)], lr=0.1)
    other.load_state_dict(optim.SGD([a, b]).state_dict())
    assert other.param_groups[0]["param_names"] == ["c", "d"]


# ---------------------------------------------------------------- derived classes
class Descent(Optimizer):
    def __init__(self, params: Any, lr: Any = required) -> None:
        super().__init__(params, {"lr": lr})

    @pb.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])


def test_derived_classes_have_hooks() -> None:
    w = leaf(1.0)
    w.grad = pb.ones(1)
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Descent([w])
    optimizer = Descent([w], lr=0.5)
    seen: list[int] = []
    optimizer.register_step_post_hook(lambda o, a, k: seen.append(1))
    optimizer.step()
    assert w.item() == 0.5 and seen == [1]
    with pytest.raises(NotImplementedError):
        Optimizer([w], {}).step()


def test_subclasses_of_ruled_classes() -> None:
    class Louder(optim.Adam):
        def step(self, closure: Any = None) -> Any:
            super().step(closure)
            return "stepped"

    w = leaf(1.0)
    w.grad = pb.ones(1)
    calls: list[int] = []
    optimizer = Louder([w], lr=0.1)
    optimizer.register_step_pre_hook(lambda o, a, k: calls.append(1))
    assert optimizer.step() == "stepped" and w.item() == pytest.approx(0.9)


def test_steps_of_other_programs_are_recorded_on_request() -> None:
    from pullback.optim.optimizer import _get_value, _use_grad_for_differentiable

    class Recorded(Optimizer):
        @_use_grad_for_differentiable
        def step(self, closure: Any = None) -> Any:
            for p in self.param_groups[0]["params"]:
                p.sub_(p.grad * self.param_groups[0]["lr"])

    for differentiable in (False, True):
        start = leaf(2.0)
        w = start.clone()
        w.retain_grad()
        w.grad = (start * 3).sum()[None]
        lr = pb.tensor(0.5, requires_grad=True)
        Recorded([w], {"lr": lr, "differentiable": differentiable}).step()
        assert w.tolist() == [-1.0] and pb.is_grad_enabled()
        (slope,) = pb.autograd.grad(w.sum(), start)
        assert slope.tolist() == ([1 - 1.5] if differentiable else [1.0])
    assert (_get_value(lr), _get_value(3)) == (0.5, 3)


@pytest.mark.parametrize(
    ("make", "option", "words"),
    [
        (lambda p: pb.optim.Adam(p, lr=-1), "lr", "Invalid learning rate: -1"),
        (lambda p: pb.optim.Adam(p, betas=(0.9, 1.0)), "betas", "Invalid beta parameter at index 1: 1.0"),
        (lambda p: pb.optim.Rprop(p, etas=(1.2, 0.5)), "etas", "Invalid eta values: 1.2, 0.5"),
        (lambda p: pb.optim.Adadelta(p, rho=1.5), "rho", "Invalid rho value: 1.5"),
        (lambda p: pb.optim.SGD(p, momentum=float("nan")), "momentum", "Invalid momentum value: nan"),
    ],
)
def test_what_an_option_may_be_is_said(make, option: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"{words}; argument '{option}' must "):
        make([pb.ones(2, requires_grad=True)])
