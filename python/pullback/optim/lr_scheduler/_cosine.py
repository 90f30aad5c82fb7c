"""Schedules along a cosine (Loshchilov and Hutter, https://arxiv.org/abs/1608.03983)."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from ._base import LRScheduler, of_groups, rates


class CosineAnnealingLR(LRScheduler):
    """From the first rate to `eta_min` along half a cosine in `T_max` epochs, and back again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    @rates
    def get_lr(self) -> list[Any]:
        epoch, low = self.last_epoch, self.eta_min
        if self._is_initial:
            return of_groups(self.optimizer)
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The height before was 0: there is nothing to multiply.
            up = (1 - math.cos(math.pi / self.T_max)) / 2
            groups = self.optimizer.param_groups
            return [group["lr"] + (lr - low) * up for lr, group in zip(self.base_lrs, groups, strict=True)]
        factor = self._height(epoch) / self._height(epoch - 1)
        return [factor * (group["lr"] - low) + low for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._height(self.last_epoch)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate to `eta_min` along half a cosine in `T_0` epochs, then again from the first rate in `T_mult`
    times as many, and so on. `step` takes fractions of epochs too.

    Raises:
        ValueError: if `T_0` or `T_mult` is no positive integer.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i: float = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    @rates
    def get_lr(self) -> list[Any]:
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """The rates of the next epoch, or of `epoch`, which may be a fraction.

        Raises:
            ValueError: if `epoch` is negative.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        with self._within_step():
            rates = self.get_lr()
        self._apply(rates)

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
