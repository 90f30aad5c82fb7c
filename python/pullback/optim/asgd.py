"""ASGD: gradient descent whose result is a mean over the run."""

from __future__ import annotations

from typing import Any

from .. import Tensor, where
from . import _rules
from ._ruled import Ruled
from ._rules import Options, Rule, State, choose, downhill, fit
from ._steps import step_function
from .optimizer import Group, ParamsT

__all__ = ["ASGD", "asgd"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    lr, lambd, eta, mu = options["lr"], options["lambd"], state["eta"], state["mu"]
    t = state["step"] + 1
    g = downhill(options, p, g)
    p = p * fit(1 - lambd * eta, p) - g * fit(eta, p)
    average = choose(mu == 1, p, state["ax"] + (p - state["ax"]) * fit(mu, p))
    since = t - options["t0"]
    return p, {
        "step": t,
        "eta": lr / (1 + lambd * lr * t) ** options["alpha"],
        "mu": 1 / (where(since > 1, since, 1.0) if isinstance(since, Tensor) else max(1, since)),
        "ax": average,
    }


def _check(options: Options) -> None:
    _rules.check_lr(options)
    _rules.at_least_zero(options, weight_decay="weight_decay value")


RULE = Rule(
    name="asgd",
    options={"lr": 1e-2, "lambd": 1e-4, "alpha": 0.75, "t0": 1e6, "weight_decay": 0, "maximize": False},
    formula=_formula,
    states=lambda options: ("ax",),
    scalars=lambda options: {"step": 0.0, "eta": options["lr"], "mu": 1.0},
    check=_check,
)


class ASGD(Ruled):
    r"""Averaged gradient descent (Polyak and Juditsky, https://doi.org/10.1137/0330046; the rates are Bottou's,
    https://leon.bottou.org/projects/sgd):

        p ← (1 - lambd·ηₜ)p - ηₜg,   ηₜ₊₁ = lr/(1 + lambd·lr·t)^alpha

    The mean of the parameter from step `t0` on is `state[parameter]["ax"]`.

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.ASGD([w], lr=0.1, lambd=0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)

    Raises:
        ValueError: if a number is negative.
    """

    rule = RULE
    _later = {**Ruled._later, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        options = {
            **{"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay},
            **{"foreach": foreach, "maximize": maximize},
            **{"differentiable": differentiable, "capturable": capturable},
        }
        super().__init__(params, options)

    def _begin(self, group: Group, p: Tensor, entry: dict[str, Any]) -> None:
        super()._begin({**group, "lr": float(group["lr"])}, p, entry)


asgd = step_function(
    RULE,
    {"axs": "ax", "mus": "mu", "etas": "eta", "state_steps": "step"},
    "foreach maximize differentiable capturable has_complex",
    "lambd lr t0 alpha weight_decay",
)
