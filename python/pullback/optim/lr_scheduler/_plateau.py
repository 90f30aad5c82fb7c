"""A schedule by what is measured."""

from __future__ import annotations

from math import inf
from typing import Any, SupportsFloat

from ..._warnings import warn
from ..optimizer import Optimizer
from ._base import LRScheduler, check_optimizer, of_groups, put


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when a number has not become better for more than `patience` epochs.

    `mode` says which numbers are better, smaller (`"min"`) or larger ones (`"max"`), by more than `threshold`: a part
    of the best one (`"rel"`) or an amount (`"abs"`). After a change `cooldown` epochs do not count. Rates stay above
    `min_lr`, and changes below `eps` are left out.

    >>> import pullback
    >>> w = pullback.zeros(1, requires_grad=True)
    >>> optimizer = pullback.optim.SGD([w], lr=1.0)
    >>> scheduler = pullback.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in [1.0, 0.5, 0.6, 0.7]:
    ...     scheduler.step(loss)
    >>> optimizer.param_groups[0]["lr"]
    0.1

    Raises:
        ValueError: if `factor` is not below 1, or a mode is unknown.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0, got {factor}.")
        check_optimizer(optimizer)
        self.factor = factor
        self.optimizer = optimizer
        n = len(optimizer.param_groups)
        self.default_min_lr: float | None
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != n:
                raise ValueError(f"expected {n} min_lrs, got {len(min_lr)}")
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * n
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = of_groups(optimizer)
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Takes in the number of an epoch."""
        current = float(metrics)
        if epoch is not None:
            warn("the epoch parameter of scheduler.step() is deprecated", UserWarning)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = of_groups(self.optimizer)

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    f"being "
                    "added to the optimizer. Please modify the `min_lrs` field to match the length of the `optimizer` "
                    "param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                put(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs do not count now."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        if self.threshold_mode == "abs":
            return a < best - self.threshold if self.mode == "min" else a > best + self.threshold
        return a < best * (1.0 - self.threshold) if self.mode == "min" else a > best * (1.0 + self.threshold)

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in {"min", "max"}:
            raise ValueError(f"mode {mode} is unknown! It is 'min' or 'max'")
        if threshold_mode not in {"rel", "abs"}:
            raise ValueError(f"threshold mode {threshold_mode} is unknown! It is 'rel' or 'abs'")
        self.mode_worse = inf if mode == "min" else -inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)
