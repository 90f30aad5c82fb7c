"""Schedules that go up and down (Smith, https://arxiv.org/abs/1506.01186 and https://arxiv.org/abs/1708.07120)."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from functools import partial
from typing import Any

from ..optimizer import Group, Optimizer
from ._base import LRScheduler, check_optimizer, per_group, put, rates


class _WithMomentum(LRScheduler):
    """Moves momentum, or the first beta, against the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, base: Any, most: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled; "
                "give cycle_momentum=False"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        lower, upper = per_group("base_momentum", optimizer, base), per_group("max_momentum", optimizer, most)
        if last_epoch == -1:
            for low, high, group in zip(lower, upper, optimizer.param_groups, strict=True):
                self._put_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lower, upper

    def _put_momentum(self, group: Group, value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


def _triangular(x: float) -> float:
    return 1.0


def _triangular2(x: float) -> float:
    return float(1 / 2.0 ** (x - 1))


def _exp_range(gamma: float, x: float) -> float:
    return float(gamma**x)


class CyclicLR(_WithMomentum):
    """From `base_lr` up to `max_lr` in `step_size_up` steps and down again in `step_size_down`, over and over.

    `mode` scales the cycles: not at all (`"triangular"`), by half each (`"triangular2"`), or by `gamma**step`
    (`"exp_range"`); `scale_fn` scales them by a function of the cycle or of the step (`scale_mode`: `"cycle"`,
    `"iterations"`). With `cycle_momentum` the momentum goes the other way, between `max_momentum` and `base_momentum`.

    Raises:
        ValueError: if the mode is unknown, or there is no momentum to cycle.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                put(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"mode is invalid and scale_fn is None: {mode!r}")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom: Any = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        modes: dict[str, tuple[Callable[[float], float], str]] = {
            "triangular": (_triangular, "cycle"),
            "triangular2": (_triangular2, "cycle"),
            "exp_range": (partial(_exp_range, self.gamma), "iterations"),
        }
        self._scale_fn_ref, self.scale_mode = modes[self.mode]

    def scale_fn(self, x: float) -> float:
        """What the height of a cycle is multiplied by."""
        scale = self._scale_fn_ref if self._scale_fn_custom is None else self._scale_fn_custom
        return float(scale(x))

    @rates
    def get_lr(self) -> list[Any]:
        """The rates of this step; sets the momentum too."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            lower, upper = self.base_momentums, self.max_momentums
            for low, high, group in zip(lower, upper, self.optimizer.param_groups, strict=True):
                self._put_momentum(group, high - (high - low) * part * scale)
        return [low + (high - low) * part * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` continues from. Of a `scale_fn` its attributes are saved, and of a function
        nothing.
        """
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        scale = state.pop("_scale_fn_custom")  # the last key in PyTorch's
        plain = scale is None or isinstance(scale, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else scale.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        saved = state_dict.get("_scale_fn_custom")
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)
        self._init_scale_fn()


class OneCycleLR(_WithMomentum):
    """One cycle over the whole run: from `max_lr/div_factor` up to `max_lr` in a part `pct_start` of the steps, then
    down to `max_lr/(div_factor·final_div_factor)`; with `three_phase` by way of the first rate. Call `step` after each
    batch.

    `anneal_strategy` is `"cos"` or `"linear"`. With `cycle_momentum` the momentum goes the other way, from
    `max_momentum` to `base_momentum` and back. There are `total_steps`, or `epochs` of `steps_per_epoch`.

    >>> import pullback
    >>> w = pullback.zeros(1, requires_grad=True)
    >>> optimizer = pullback.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> scheduler = pullback.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> round(optimizer.param_groups[0]["lr"], 6)
    0.04

    Raises:
        ValueError: if the number of steps is not given, or something is out of its range.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for most, group in zip(per_group("max_lr", optimizer, max_lr), optimizer.param_groups, strict=True):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    @rates
    def get_lr(self) -> list[Any]:
        """The rates of this step; sets the momentum too.

        Raises:
            ValueError: after the last step.
        """
        at = self.last_epoch
        if at > self.total_steps:
            raise ValueError(f"Tried to step {at} times. The specified number of total steps is {self.total_steps}")
        begin, phase = 0.0, self._schedule_phases[0]
        for following in self._schedule_phases[1:]:
            if at <= phase["end_step"]:
                break
            begin, phase = phase["end_step"], following
        part = (at - begin) / (phase["end_step"] - begin)
        out = []
        for group in self.optimizer.param_groups:
            out.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._put_momentum(group, self._anneal_func(*ends, part))
        return out


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    given = given if total_steps is None else {"total_steps": total_steps}
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def _phases(part: float, steps: int, three: bool) -> list[dict[str, Any]]:
    """Where phases end, and between which options of a group they go."""

    def phase(end: float, lr: tuple[str, str], momentum: tuple[str, str]) -> dict[str, Any]:
        names = {"start_momentum": momentum[0], "end_momentum": momentum[1]}
        return {"end_step": end, "start_lr": lr[0], "end_lr": lr[1], **names}

    low, high = "base_momentum", "max_momentum"
    up = phase(float(part * steps) - 1, ("initial_lr", "max_lr"), (high, low))
    if not three:
        return [up, phase(steps - 1, ("max_lr", "min_lr"), (low, high))]
    back = phase(float(2 * part * steps) - 2, ("max_lr", "initial_lr"), (low, high))
    return [up, back, phase(steps - 1, ("initial_lr", "min_lr"), (high, high))]
