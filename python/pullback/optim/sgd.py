"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from .. import Tensor, set_grad_enabled, zeros_like
from . import _rules
from ._ruled import Ruled, by_formula, by_kernel
from ._rules import Options, Rule, State, choose, downhill, fit, is_zero
from .optimizer import Group, ParamsT

__all__ = ["SGD", "sgd"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    lr, momentum, t = options["lr"], options["momentum"], state["step"]
    g = downhill(options, p, g)
    if is_zero(momentum):
        return p - g * fit(lr, p), {"step": t + 1}
    keep = choose(t == 0, 1.0, 1 - options["dampening"])
    buffer = state["momentum_buffer"] * fit(momentum, p) + g * fit(keep, p)
    way = g + buffer * fit(momentum, p) if options["nesterov"] else buffer
    return p - way * fit(lr, p), {"step": t + 1, "momentum_buffer": buffer}


def _check(options: Options) -> None:
    _rules.check_lr(options)
    _rules.at_least_zero(options, momentum="momentum value", weight_decay="weight_decay value")
    if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
        raise ValueError("Nesterov momentum requires a momentum and zero dampening")


RULE = Rule(
    name="sgd",
    options={
        **{"lr": 1e-3, "momentum": 0, "dampening": 0, "weight_decay": 0},
        **{"nesterov": False, "maximize": False},
    },
    formula=_formula,
    states=lambda options: () if is_zero(options["momentum"]) else ("momentum_buffer",),
    check=_check,
)


class SGD(Ruled):
    r"""Gradient descent: with `g` the gradient plus `weight_decay` times the parameter,

        b ← momentum·b + (1 - dampening)·g,   p ← p - lr·b

    where b begins as g. With `nesterov` the step is along `g + momentum·b`, as Sutskever et al. write it
    (https://proceedings.mlr.press/v28/sutskever13.html); as in PyTorch, `lr` is outside of b. `maximize` goes uphill.

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)

    Raises:
        ValueError: if a number is negative, or `nesterov` is asked for without momentum or with dampening.
    """

    rule = RULE
    _later = {**Ruled._later, "nesterov": False, "fused": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options = {
            **{"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay},
            **{"nesterov": nesterov, "maximize": maximize, "foreach": foreach},
            **{"differentiable": differentiable, "fused": fused},
        }
        super().__init__(params, options)

    def _update(self, group: Group) -> None:
        if group["momentum"] == 0:
            params = [p for p in group["params"] if p.grad is not None]
            self._advance(group, params, [p.grad for p in params], [{}] * len(params))
            return
        # No step is counted: a parameter that has no buffer is at its first one, which nothing dampens.
        lists: list[tuple[list[Any], list[Any], list[Any]]] = [([], [], []), ([], [], [])]
        first, later = lists
        state, damped = self.state, group["dampening"] != 0
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            entry, to = state[p], later
            if entry.get("momentum_buffer") is None:
                entry["momentum_buffer"] = self.rule.first(group, p, "momentum_buffer")
                to = first if damped else later
            to[0].append(p)
            to[1].append(grad)
            to[2].append(entry)
        if first[0]:
            self._advance({**group, "dampening": 0}, *first)
        self._advance(group, *later)

    def _by_formula(self, group: Group, p: Tensor, g: Tensor, entry: dict[str, Any]) -> None:
        counted = {**entry, "step": _Count()}
        super()._by_formula(group, p, g, counted)


class _Count:
    """Stands for a count of steps that nobody keeps; dampening has been seen to already."""

    def item(self) -> float:
        return 1.0

    def fill_(self, value: float) -> None:
        """Forgets the number."""


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """A step of parameters along gradients, in place. A buffer that is None is made: it is the gradient then."""
    if found_inf is not None and found_inf.item() != 0:
        return
    options = {
        **{"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay},
        **{"nesterov": nesterov, "maximize": maximize},
    }
    with set_grad_enabled(False):
        for i, (p, g) in enumerate(zip(params, d_p_list, strict=True)):
            g = g if grad_scale is None else g / grad_scale
            buffer = momentum_buffer_list[i] if momentum != 0 else None
            first = momentum != 0 and buffer is None
            if first:
                buffer = momentum_buffer_list[i] = zeros_like(p)
            entry: dict[str, Any] = {} if buffer is None else {"momentum_buffer": buffer}
            chosen = {**options, "dampening": 0 if first else dampening}
            if not by_kernel(RULE, chosen, [p], [g], [entry]):
                by_formula(RULE, chosen, p, g, {**entry, "step": _Count()})
