"""Running averages of a model's weights: stochastic weight averaging (https://arxiv.org/abs/1803.05407) and exponential
moving averages.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import Tensor, no_grad
from .lr_scheduler._base import LRScheduler, per_group, rates
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Tensors: TypeAlias = Sequence[Tensor]
Average: TypeAlias = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage: TypeAlias = Callable[[Tensors, Tensors, Any], None]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay}: argument 'decay' must be from 0 to 1, such as 0.999")


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """A function that moves averages of many tensors towards new values: `decay` of the old, the rest of the new."""
    _check_decay(decay)

    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, _: Any) -> None:
        with no_grad():
            for average, new in zip(ema_param_list, current_param_list, strict=True):
                if average.is_floating_point():
                    average.lerp_(new, 1 - decay)
                else:
                    average.copy_(average * decay + new * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """A function that takes new values into means of `num_averaged` values."""

    def swa_update(averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: Any) -> None:
        with no_grad():
            weight = 1 / (float(num_averaged) + 1)
            for average, new in zip(averaged_param_list, current_param_list, strict=True):
                if average.is_floating_point():
                    average.lerp_(new, weight)
                else:
                    average.copy_(average + (new - average) * weight)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """As `get_ema_multi_avg_fn`, for one tensor; gives the new average."""
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            new: Tensor = decay * ema_param + (1 - decay) * current_param
            return new

    return ema_update


def get_swa_avg_fn() -> Average:
    """As `get_swa_multi_avg_fn`, for one tensor; gives the new mean."""

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            new: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
            return new

    return swa_update


def _module() -> Any:
    """The class of modules, which is loaded when somebody averages one."""
    from importlib import import_module

    return import_module("pullback.nn").Module


def _averaged_model() -> Any:
    class AveragedModel(_module()):  # type: ignore[misc]
        """A copy of a model whose parameters are averages of those that `update_parameters` was given: equal weights by
        default, or those of `avg_fn(average, new, number)` or `multi_avg_fn(averages, news, number)`. With
        `use_buffers` buffers are averaged too, otherwise copied.

        Raises:
            ValueError: if both functions are given.
        """

        def __init__(
            self,
            model: Any,
            device: Any = None,
            avg_fn: Average | None = None,
            multi_avg_fn: MultiAverage | None = None,
            use_buffers: bool = False,
        ) -> None:
            from .. import int64, tensor

            super().__init__()
            if avg_fn is not None and multi_avg_fn is not None:
                raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
            self.module = deepcopy(model)
            if device is not None:
                self.module = self.module.to(device)
            self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
            self.avg_fn = avg_fn
            self.multi_avg_fn = multi_avg_fn
            self.use_buffers = use_buffers

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.module(*args, **kwargs)

        def update_parameters(self, model: Any) -> None:
            """Takes a model's present parameters into the averages."""
            _update(self, model)

    AveragedModel.__module__, AveragedModel.__qualname__ = __name__, "AveragedModel"
    return AveragedModel


def _update(averaged: Any, model: Any) -> None:
    def parts(of: Any) -> list[Any]:
        kept = of.buffers() if averaged.use_buffers else ()
        return [x.detach() for x in itertools.chain(of.parameters(), kept)]

    ours, theirs = parts(averaged.module), parts(model)
    number = averaged.n_averaged
    if int(number) == 0:
        for average, new in zip(ours, theirs, strict=True):
            average.copy_(new)
    elif averaged.multi_avg_fn is None and averaged.avg_fn is not None:
        for average, new in zip(ours, theirs, strict=True):
            average.copy_(averaged.avg_fn(average, new, number))
    elif ours:
        by_dtype: dict[Any, tuple[list[Any], list[Any]]] = {}
        for average, new in zip(ours, theirs, strict=True):
            averages, news = by_dtype.setdefault(average.dtype, ([], []))
            averages.append(average)
            news.append(new)
        update = averaged.multi_avg_fn or get_swa_multi_avg_fn()
        for averages, news in by_dtype.values():
            update(averages, news, number)
    if not averaged.use_buffers:
        for average, new in zip(averaged.module.buffers(), model.buffers(), strict=True):
            average.detach().copy_(new.detach())
    averaged.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Computes the running statistics of a model's batch-norm layers anew, from one pass over `loader`, whose batches,
    or the first parts of them, the model is called with.
    """
    from importlib import import_module

    norms = import_module("pullback.nn.modules.batchnorm")._BatchNorm
    momenta = {}
    for module in model.modules():
        if isinstance(module, norms):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # the mean over all batches
    for batch in loader:
        x = batch[0] if isinstance(batch, list | tuple) else batch
        model(x if device is None else x.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes from the rates of the groups to `swa_lr` in `anneal_epochs` epochs, along a cosine (`"cos"`) or a line
    (`"linear"`), and stays there.

    >>> import pullback
    >>> w = pullback.zeros(1, requires_grad=True)
    >>> optimizer = pullback.optim.SGD([w], lr=1.0)
    >>> scheduler = pullback.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.5]

    Raises:
        ValueError: if the strategy is unknown, or the number of epochs negative.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The part of the way after a part of the time."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    @rates
    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        last = max(1, self.anneal_epochs)
        before, now = (self.anneal_func(max(0, min(1, t / last))) for t in (step - 1, step))
        out = []
        for group in self.optimizer.param_groups:
            lr, goal = group["lr"], group["swa_lr"]
            # The rate that it came from, so that rates changed in between count.
            start = goal if before == 1 else (lr - before * goal) / (1 - before)
            out.append(goal * now + start * (1 - now))
        return out


if TYPE_CHECKING:
    from ..nn import Module

    class AveragedModel(Module):
        module: Any
        n_averaged: Tensor
else:

    def __getattr__(name: str) -> Any:
        if name != "AveragedModel":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = _averaged_model()
        return globals()[name]
