"""What schedules have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

from ... import Tensor
from ..._warnings import warn
from ..optimizer import Group, Optimizer

#: What is not saved of a schedule.
_APART = ("optimizer",)


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An option as a list with an entry for each group."""
    groups = optimizer.param_groups
    values = value if isinstance(value, list | tuple) else [value] * len(groups)
    if len(values) != len(groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} values, "
            f"param_groups has {len(groups)}."
        )
    return [copied(x) for x in values]


def copied(x: Any) -> Any:
    return x.clone() if isinstance(x, Tensor) else x


def of_groups(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    return [copied(group[key]) for group in optimizer.param_groups]


def put(group: Group, key: str, value: Any) -> None:
    """Sets an option of a group. A tensor stays the same tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(float(value))
    else:
        group[key] = value


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _counted(optimizer: Optimizer) -> None:
    """From now on the optimizer notes that it was called, so that a schedule can tell that it came first."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    # The object holds this function, which must not hold the object.
    held, given = ref(optimizer), optimizer.step
    method: Any = getattr(given, "__func__", None)

    @functools.wraps(given if method is None else method)
    def step(*args: Any, **kwargs: Any) -> Any:
        this: Any = held()
        this._opt_called = True
        return given_step(*args, **kwargs) if method is None else method(this, *args, **kwargs)

    # A function that a program put in the place of the method holds what it likes.
    given_step: Any = given if method is None else None
    del given
    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]


class LRScheduler:
    """The base of schedules: derive from it and define `get_lr`, which gives a rate for each group.

    In `get_lr`, `self.last_epoch` is the number of the step, `self.base_lrs` are the rates that the groups began with,
    and `self._is_initial` says that the schedule has just been made.

    Raises:
        TypeError: if `optimizer` is none.
        KeyError: if `last_epoch` says that the schedule continues, and the groups have no `initial_lr`.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _get_closed_form_lr: Callable[[], list[Any]]
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0; load the optimizer's state_dict before, or begin with last_epoch=-1"
                )
        self.base_lrs = of_groups(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _counted(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` continues from: all attributes but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key not in _APART}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continues from what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates of the groups since the last step."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of the next step, from those of the groups; `step` calls it."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def step(self, epoch: int | None = None) -> None:
        """The rates of the next epoch. `epoch`, which PyTorch has deprecated, goes to any epoch by the closed form,
        where there is one.
        """
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn("the epoch parameter of scheduler.step() is deprecated; call step() once for each epoch", UserWarning)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization; make "
                "the scheduler after that, and call `optimizer.step()` before `lr_scheduler.step()`",
                UserWarning,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order, or "
                "the first value of the learning rate schedule is skipped",
                UserWarning,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._within_step():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        self._apply(rates)

    def _apply(self, rates: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            put(group, "lr", lr)
        self._last_lr = of_groups(self.optimizer)

    @contextmanager
    def _within_step(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning)

    def _scaled(self, factor: float) -> list[Any]:
        """The present rates times a number."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """The name that `LRScheduler` had."""


def rates(get_lr: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """A `get_lr` that warns who calls it for the present rates."""

    @functools.wraps(get_lr)
    def warned(self: LRScheduler) -> list[Any]:
        self._warn_outside_step()
        return get_lr(self)

    return warned
