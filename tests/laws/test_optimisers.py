"""Optimisers give the same in each of their forms, and schedules in theirs."""

from __future__ import annotations

import copy
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import pullback as pb
from pullback import func, nn, optim
from pullback.optim import lr_scheduler as lr
from support import strategies as s
from support.optimisers import OPTIONS

SINGLE = {"LBFGS", "Muon"}  # those without `foreach`, or for matrices only
CASES = [(name, options) for name, all_ in OPTIONS.items() if name not in SINGLE for options in all_]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[np.ndarray], int]:
    return draw(st.lists(s.arrays(s.shapes(0, 3, 0, 3)), min_size=1, max_size=4)), draw(s.seeds)


def steps(params: list[Any], optimiser: Any, first: int, last: int, seed: int) -> None:
    for t in range(first, last):
        for i, p in enumerate(params):
            # one of the parameters has no gradient now and then
            p.grad = None if (seed + t + i) % 5 == 0 else pb.tensor(s.numbers(seed + 31 * t + i, tuple(p.shape)))
        optimiser.step()


def made(name: str, arrays: list[np.ndarray], options: dict[str, Any], **more: Any) -> tuple[list[Any], Any]:
    params = [nn.Parameter(pb.tensor(a)) for a in arrays]
    return params, getattr(optim, name)(params, **{**options, **more})


@given(st.sampled_from(CASES), problems(), st.integers(1, 5))
def test_forms_agree(case: Any, problem: Any, count: int) -> None:
    """In one call for all parameters, in a loop over them, and with a group for each."""
    (name, options), (arrays, seed) = case, problem
    loop, one = made(name, arrays, options, foreach=False)
    steps(loop, one, 0, count, seed)
    together, many = made(name, arrays, options, foreach=True)
    steps(together, many, 0, count, seed)
    s.close(together, loop, "foreach", 1e-12, 1e-14)
    params = [nn.Parameter(pb.tensor(a)) for a in arrays]
    steps(params, getattr(optim, name)([{"params": [p]} for p in params], **options), 0, count, seed)
    s.close(params, loop, "a group for each", 1e-12, 1e-14)


def through_file(saved: Any) -> Any:
    file = io.BytesIO()
    pb.save(saved, file)
    file.seek(0)
    return pb.load(file)


@given(st.sampled_from(CASES), problems(), st.integers(0, 3), st.booleans())
def test_states_continue_where_they_were_saved(case: Any, problem: Any, count: int, filed: bool) -> None:
    (name, options), (arrays, seed) = case, problem
    params, optimiser = made(name, arrays, options)
    steps(params, optimiser, 0, count, seed)
    saved = through_file(optimiser.state_dict()) if filed else copy.deepcopy(optimiser.state_dict())
    again = [nn.Parameter(p.detach().clone()) for p in params]
    other = getattr(optim, name)(again, lr=0.777)
    other.load_state_dict(saved)
    steps(params, optimiser, count, count + 3, seed)
    steps(again, other, count, count + 3, seed)
    # NAdam's running product is single precision at first, and the parameters' after loading, as in PyTorch
    s.close(again, params, "continued", 1e-7, 1e-9)
    assert other.state_dict()["param_groups"] == optimiser.state_dict()["param_groups"]


@given(st.sampled_from([c for c in CASES if c[0].lower() in optim.functional.__all__]), problems(), st.integers(1, 4))
def test_pure_rules_agree(case: Any, problem: Any, count: int) -> None:
    (name, options), (arrays, seed) = case, problem
    params, optimiser = made(name, arrays, options)
    rule = getattr(optim.functional, name.lower())(**options)
    tree = [pb.tensor(a) for a in arrays]
    state = rule.init(tree)
    for t in range(count):
        grads = [pb.tensor(s.numbers(seed + 31 * t + i, a.shape)) for i, a in enumerate(arrays)]
        for p, g in zip(params, grads, strict=True):
            p.grad = g
        optimiser.step()
        tree, state = rule.update(tree, grads, state)
    s.close(tree, params, "pure", 1e-6, 1e-8)  # ASGD keeps numbers in single precision


def cosine(t: int, base: float, low: float, top: int) -> float:
    return low + (base - low) * (1 + math.cos(math.pi * t / top)) / 2


Schedule = tuple[Callable[[Any], Any], Callable[[int, float], float]]


@st.composite
def schedules(draw: st.DrawFn, without: tuple[str, ...] = ()) -> Schedule:
    """A schedule, and its learning rate at step t in closed form."""
    n, gamma = draw(st.integers(1, 6)), draw(st.floats(0.3, 1.1))
    start, end, power = draw(st.floats(0.1, 1.0)), draw(st.floats(0.1, 1.0)), draw(st.floats(0.5, 2.0))
    milestones = sorted(draw(st.lists(st.integers(1, 9), max_size=4)))
    table: dict[str, Schedule] = {
        "step": (lambda o: lr.StepLR(o, n, gamma), lambda t, b: b * gamma ** (t // n)),
        "multistep": (
            lambda o: lr.MultiStepLR(o, milestones, gamma),
            lambda t, b: b * gamma ** sum(0 < m <= t for m in milestones),
        ),
        "exponential": (lambda o: lr.ExponentialLR(o, gamma), lambda t, b: b * gamma**t),
        "constant": (lambda o: lr.ConstantLR(o, start, n), lambda t, b: b * start if t < n else b),
        "linear": (
            lambda o: lr.LinearLR(o, start, end, n),
            lambda t, b: b * (start + (end - start) * min(t, n) / n),
        ),
        "polynomial": (lambda o: lr.PolynomialLR(o, n, power), lambda t, b: b * (1 - min(t, n) / n) ** power),
        "cosine": (lambda o: lr.CosineAnnealingLR(o, n, 0.01), lambda t, b: cosine(t, b, 0.01, n)),
        "restarts": (lambda o: lr.CosineAnnealingWarmRestarts(o, n, 1, 0.01), lambda t, b: cosine(t % n, b, 0.01, n)),
        "lambda": (lambda o: lr.LambdaLR(o, lambda t: gamma**t + t), lambda t, b: b * (gamma**t + t)),
        "multiplicative": (lambda o: lr.MultiplicativeLR(o, lambda t: gamma), lambda t, b: b * gamma**t),
        "triangles": (
            lambda o: lr.CyclicLR(o, 0.05, 0.45, n, cycle_momentum=False),
            lambda t, b: 0.05 + 0.4 * (1 - abs(t / n - 2 * math.floor(1 + t / (2 * n)) + 1)),
        ),
    }
    return table[draw(st.sampled_from(sorted(set(table) - set(without))))]


def rates(optimiser: Any) -> list[float]:
    return [g["lr"] for g in optimiser.param_groups]


def optimiser_with(bases: list[float]) -> Any:
    return optim.SGD([{"params": [nn.Parameter(pb.zeros(1))], "lr": b} for b in bases])


@given(schedules(), st.lists(st.floats(0.1, 1.0), min_size=1, max_size=3), st.integers(0, 12))
def test_schedules_are_their_closed_forms(schedule: Schedule, bases: list[float], count: int) -> None:
    make, closed = schedule
    optimiser = optimiser_with(bases)
    scheduler = make(optimiser)
    for t in range(count):
        np.testing.assert_allclose(rates(optimiser), [closed(t, b) for b in bases], 1e-9, 1e-12)
        assert scheduler.get_last_lr() == rates(optimiser)
        optimiser.step()
        scheduler.step()


@given(schedules(), st.integers(0, 6), st.integers(1, 6))
def test_schedules_continue_where_they_were_saved(schedule: Schedule, before: int, after: int) -> None:
    make, _ = schedule
    optimiser = optimiser_with([0.5, 0.2])
    scheduler = make(optimiser)

    def run(optimiser: Any, scheduler: Any, n: int) -> list[list[float]]:
        out = []
        for _ in range(n):
            optimiser.step()
            scheduler.step()
            out.append(rates(optimiser))
        return out

    run(optimiser, scheduler, before)
    other = optimiser_with([0.5, 0.2])
    resumed = make(other)
    resumed.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    other.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    np.testing.assert_allclose(run(other, resumed, after), run(optimiser, scheduler, after), 1e-12)


# CyclicLR leaves another learning rate to those behind it, as in PyTorch.
@given(schedules(without=("triangles",)), schedules(without=("multiplicative",)), st.integers(1, 5), st.integers(1, 10))
def test_schedules_in_sequence(first: Schedule, second: Schedule, milestone: int, count: int) -> None:
    """Up to the milestone the first, and from there the second as if it began."""
    optimiser = optimiser_with([0.5])
    scheduler = lr.SequentialLR(optimiser, [first[0](optimiser), second[0](optimiser)], [milestone])
    for t in range(count):
        want = first[1](t, 0.5) if t < milestone else second[1](t - milestone, 0.5)
        np.testing.assert_allclose(rates(optimiser), [want], 1e-9, 1e-12)
        optimiser.step()
        scheduler.step()


@given(
    st.lists(s.arrays(s.shapes(0, 3, 1, 4)), min_size=1, max_size=4),
    st.floats(0.05, 6),
    st.sampled_from([1, 2, 3, math.inf]),
    st.none() | st.booleans(),
)
def test_clipping_is_one_factor_for_all(arrays: list[np.ndarray], limit: float, p: float, foreach: bool | None) -> None:
    params = [nn.Parameter(pb.zeros(a.shape, dtype=pb.float64)) for a in arrays]
    for x, a in zip(params, arrays, strict=True):
        x.grad = pb.tensor(a)
    flat = np.concatenate([a.reshape(-1) for a in arrays])
    norm = np.linalg.norm(flat, p) if flat.size else 0.0
    got = nn.utils.clip_grad_norm_(params, limit, norm_type=p, foreach=foreach)
    s.close(got, norm, "norm")
    factor = min(1.0, limit / (norm + 1e-6))
    s.close([x.grad for x in params], [a * factor for a in arrays], "clipped")
    nn.utils.clip_grad_value_(params, 0.5, foreach=foreach)
    s.close([x.grad for x in params], [(a * factor).clip(-0.5, 0.5) for a in arrays], "clipped by value")


@given(
    st.sampled_from([c for c in CASES if c[0].lower() in optim.functional.__all__]),
    s.arrays(st.just((2, 3))),
    st.integers(1, 4),
)
def test_derivatives_of_runs_agree(case: Any, start: np.ndarray, count: int) -> None:
    """By the start: forward, reverse and in batches. The gradients are those of a loss, so that all depends on it."""
    (name, options), first = case, pb.tensor(start)
    rule = getattr(optim.functional, name.lower())(**options)

    def loss(w: Any) -> Any:
        return (pb.tanh(w) * w + 0.1 * w**2).sum()

    def run(w: Any) -> Any:
        state = rule.init(w)
        for _ in range(count):
            w, state = rule.update(w, func.grad(loss)(w), state)
        return loss(w)

    along = pb.linspace(-1.0, 1.0, 6, dtype=pb.float64).view(2, 3)
    slope = func.grad(run)(first)
    s.close([func.jvp(run, (first,), (along,))[1]], [(slope * along).sum()], "forward", 1e-8, 1e-10)
    batch = pb.stack([first, along, first + along])
    s.close([func.vmap(run)(batch)], [pb.stack([run(w) for w in batch])], "a batch", 1e-8, 1e-10)
    s.close([func.vmap(func.grad(run))(batch)[0]], [slope], "gradients of a batch", 1e-8, 1e-10)
