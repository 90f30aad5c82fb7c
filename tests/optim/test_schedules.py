"""Schedules beyond their numbers: saving, order of calls, rates that are tensors, what is refused."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest

import pullback as pb
from pullback.optim import SGD, Adagrad, Adam, lr_scheduler, swa_utils
from pullback.optim.lr_scheduler import LambdaLR, LRScheduler, StepLR
from support import optimisers

RESUMED = [name for name in optimisers.SCHEDULES if name != "CyclicLR scale"]


def optimizer_of(**options: Any) -> Any:
    return SGD([pb.zeros(1, requires_grad=True)], **{"lr": 1.0, **options})


@pytest.mark.parametrize("name", RESUMED)
def test_saved_schedules_continue(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = optimisers.optimizer_for(pb, name)
        schedule = optimisers.SCHEDULES[name](optimisers.Module(pb), first)
        for epoch in range(7):
            first.step()
            optimisers.advance(schedule, name, epoch)
        second = optimisers.optimizer_for(pb, name)
        resumed = optimisers.SCHEDULES[name](optimisers.Module(pb), second)
        saved = copy.deepcopy((first.state_dict(), schedule.state_dict()))
        second.load_state_dict(saved[0])
        resumed.load_state_dict(saved[1])
        for epoch in range(7, 15):
            for optimizer, one in ((first, schedule), (second, resumed)):
                optimizer.step()
                optimisers.advance(one, name, epoch)
            assert optimisers.snapshot(first) == optimisers.snapshot(second)
            assert schedule.get_last_lr() == resumed.get_last_lr()
    pickle.dumps({k: v for k, v in saved[1].items() if k != "_scale_fn_ref"})


def test_callables_are_saved_by_their_attributes() -> None:
    class Factor:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, epoch: int) -> float:
            return self.by

    schedule = LambdaLR(optimizer_of(), Factor(0.5))
    saved = schedule.state_dict()
    assert saved["lr_lambdas"] == [{"by": 0.5}]
    other = LambdaLR(optimizer_of(), Factor(0.1))
    other.load_state_dict(saved)
    assert other.lr_lambdas[0].by == 0.5 and saved["lr_lambdas"] == [{"by": 0.5}]  # type: ignore[attr-defined]
    cyclic = lr_scheduler.CyclicLR(optimizer_of(momentum=0.9), 0.1, 1.0, scale_fn=Factor(0.5))
    again = lr_scheduler.CyclicLR(optimizer_of(momentum=0.9), 0.1, 1.0, scale_fn=Factor(0.7))
    again.load_state_dict(cyclic.state_dict())
    assert again.scale_fn(3) == 0.5


def test_the_order_of_calls_is_checked() -> None:
    schedule = StepLR(optimizer_of(), 2)
    with pytest.warns(UserWarning, match=r"before `optimizer.step\(\)`"):
        schedule.step()
    optimizer = optimizer_of()
    schedule = StepLR(optimizer, 2)
    optimizer.step()
    schedule.step()
    optimizer = optimizer_of()
    schedule = StepLR(optimizer, 2)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        schedule.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()


def test_steps_that_are_functions() -> None:
    optimizer = optimizer_of()
    calls: list[int] = []
    optimizer.step = lambda: calls.append(1)
    schedule = StepLR(optimizer, 1, gamma=0.5)
    optimizer.step()
    schedule.step()
    assert calls == [1] and schedule.get_last_lr() == [0.5]


def test_going_to_an_epoch() -> None:
    optimizer = optimizer_of()
    schedule = StepLR(optimizer, 2, gamma=0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match="deprecated"):
        schedule.step(5)
    assert optimizer.param_groups[0]["lr"] == 0.25 and schedule.last_epoch == 5
    restarts = lr_scheduler.CosineAnnealingWarmRestarts(optimizer_of(), T_0=4, T_mult=2)
    restarts.step(5.5)
    assert (restarts.T_cur, restarts.T_i, restarts.last_epoch) == (1.5, 8, 5)
    with pytest.raises(ValueError, match="non-negative epoch"):
        restarts.step(-1)


def test_a_rate_that_is_a_tensor_stays_one() -> None:
    lr = pb.tensor(1.0)
    optimizer = Adam([pb.zeros(1, requires_grad=True)], lr=lr)
    schedule = StepLR(optimizer, 1, gamma=0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == 0.5
    (last,) = schedule.get_last_lr()
    last.fill_(9.0)
    assert lr.item() == 0.5


def test_resuming_needs_the_first_rate() -> None:
    with pytest.raises(KeyError, match="initial_lr"):
        StepLR(optimizer_of(), 2, last_epoch=3)
    optimizer = optimizer_of()
    optimizer.param_groups[0]["initial_lr"] = 1.0
    assert StepLR(optimizer, 2, last_epoch=3).last_epoch == 4


def test_derived_schedules() -> None:
    class Halved(LRScheduler):
        def get_lr(self) -> list[Any]:
            return [lr / 2**self.last_epoch for lr in self.base_lrs]

    optimizer = optimizer_of()
    schedule = Halved(optimizer)
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.5]
    with pytest.raises(NotImplementedError):
        LRScheduler(optimizer)


def test_an_optimizer_with_a_schedule_is_freed_and_copied() -> None:
    import gc
    import weakref

    optimizer = optimizer_of(momentum=0.9)
    schedule = StepLR(optimizer, 2)
    held = weakref.ref(optimizer)
    pickle.loads(pickle.dumps(optimizer)).step()
    del optimizer, schedule
    gc.collect()
    assert held() is None


def test_a_group_that_was_added_after_a_plateau() -> None:
    optimizer = optimizer_of()
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    listed = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.1])
    optimizer.add_param_group({"params": [pb.zeros(1, requires_grad=True)]})
    for _ in range(2):
        plateau.step(pb.tensor(1.0))
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.1]
    listed.step(1.0)
    with pytest.raises(RuntimeError, match="number of param groups"):
        listed.step(1.0)


S = lr_scheduler
REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda o: StepLR(None, 2), TypeError, "is not an Optimizer"),  # type: ignore[arg-type]
    (lambda o: S.LambdaLR(o, [lambda e: 1.0] * 2), ValueError, "Expected 1 lr_lambdas, but got 2"),
    (lambda o: S.MultiplicativeLR(o, 3), TypeError, "should be a function"),
    (lambda o: S.ConstantLR(o, factor=2.0), ValueError, "between 0 and 1"),
    (lambda o: S.LinearLR(o, start_factor=0.0), ValueError, "greater than 0"),
    (lambda o: S.LinearLR(o, end_factor=1.5), ValueError, "between 0 and 1"),
    (lambda o: S.CosineAnnealingWarmRestarts(o, T_0=0), ValueError, "positive integer T_0"),
    (lambda o: S.CosineAnnealingWarmRestarts(o, T_0=1, T_mult=0), ValueError, "T_mult >= 1"),
    (lambda o: S.SequentialLR(o, [], []), ValueError, "at least one scheduler"),
    (lambda o: S.SequentialLR(o, [StepLR(o, 2)], [3]), ValueError, "one more than the number of milestone"),
    (lambda o: S.SequentialLR(o, [StepLR(optimizer_of(), 2)], []), ValueError, "same optimizer"),
    (lambda o: S.ChainedScheduler([S.ReduceLROnPlateau(o)]), ValueError, "ReduceLROnPlateau"),
    (lambda o: S.ChainedScheduler([object()]), TypeError, "optimizer"),  # type: ignore[list-item]
    (lambda o: S.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
    (lambda o: S.ReduceLROnPlateau(o, mode="up"), ValueError, "mode up is unknown"),
    (lambda o: S.ReduceLROnPlateau(o, threshold_mode="up"), ValueError, "threshold mode up is unknown"),
    (lambda o: S.ReduceLROnPlateau(o, min_lr=[0.1, 0.2]), ValueError, "expected 1 min_lrs, got 2"),
    (lambda o: S.CyclicLR(o, 0.1, 1.0, mode="square"), ValueError, "mode is invalid"),
    (lambda o: S.CyclicLR(o, [0.1, 0.2], 1.0), ValueError, "same length as optimizer.param_groups"),
    (
        lambda o: S.CyclicLR(Adagrad([pb.zeros(1, requires_grad=True)]), 0.1, 1.0),
        ValueError,
        "must support momentum or beta1",
    ),
    (lambda o: S.OneCycleLR(o, 1.0), ValueError, "total_steps OR"),
    (lambda o: S.OneCycleLR(o, 1.0, total_steps=0), ValueError, "positive integer total_steps"),
    (lambda o: S.OneCycleLR(o, 1.0, total_steps=5, pct_start=2.0), ValueError, "between 0 and 1 pct_start"),
    (lambda o: S.OneCycleLR(o, 1.0, total_steps=5, anneal_strategy="up"), ValueError, "anneal_strategy"),
    (lambda o: swa_utils.SWALR(o, 0.1, anneal_strategy="up"), ValueError, "anneal_strategy"),
    (lambda o: swa_utils.SWALR(o, 0.1, anneal_epochs=-1), ValueError, "anneal_epochs"),
]


@pytest.mark.parametrize("i", range(len(REFUSED)))
def test_what_is_refused(i: int) -> None:
    make, kind, words = REFUSED[i]
    with pytest.raises(kind, match=words):
        make(optimizer_of())


def test_more_steps_than_there_are() -> None:
    optimizer = optimizer_of(momentum=0.9)
    schedule = S.OneCycleLR(optimizer, 1.0, total_steps=3)
    with pytest.raises(ValueError, match="Tried to step 4 times"):
        for _ in range(4):
            optimizer.step()
            schedule.step()
