"""Schedules of learning rates, under PyTorch's names. Call `scheduler.step()` after `optimizer.step()`.

Each formula is written from the rate before, so that schedules can be chained and rates changed by hand in between;
some have a closed form too, which `step(epoch)` and `SequentialLR` use.

>>> import pullback
>>> w = pullback.zeros(1, requires_grad=True)
>>> optimizer = pullback.optim.SGD([w], lr=1.0)
>>> scheduler = pullback.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> rates = []
>>> for _ in range(5):
...     rates += scheduler.get_last_lr()
...     optimizer.step()
...     scheduler.step()
>>> rates
[1.0, 1.0, 0.5, 0.5, 0.25]
"""

from ..._members import adopt
from ._base import LRScheduler, _LRScheduler
from ._composed import ChainedScheduler, SequentialLR
from ._cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from ._cycles import CyclicLR, OneCycleLR
from ._factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from ._plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]

adopt(globals())
