"""Adadelta: rates from the steps that there were."""

from __future__ import annotations

from .. import Tensor
from . import _rules
from ._ruled import Ruled
from ._rules import Options, Rule, State, downhill, fit, mean_square
from ._steps import step_function
from .optimizer import ParamsT

__all__ = ["Adadelta", "adadelta"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    rho, eps = options["rho"], fit(options["eps"], p)
    g = downhill(options, p, g)
    v = mean_square(state["square_avg"], g, rho)
    way = (state["acc_delta"] + eps).sqrt() / (v + eps).sqrt() * g
    d = mean_square(state["acc_delta"], way, rho)
    return p - way * fit(options["lr"], p), {"step": state["step"] + 1, "square_avg": v, "acc_delta": d}


def _check(options: Options) -> None:
    _rules.check_lr(options)
    if not 0.0 <= options["rho"] <= 1.0:
        raise ValueError(f"Invalid rho value: {options['rho']}; argument 'rho' must be from 0 to 1, such as 0.9")
    _rules.at_least_zero(options, eps="epsilon value", weight_decay="weight_decay value")


RULE = Rule(
    name="adadelta",
    options={"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0, "maximize": False},
    formula=_formula,
    states=lambda options: ("square_avg", "acc_delta"),
    check=_check,
)


class Adadelta(Ruled):
    r"""Adadelta (Zeiler, https://arxiv.org/abs/1212.5701): with running means v and d of the squares of gradients and
    steps,

        v ← ρv + (1 - ρ)g²,   Δ = √(d + eps)/√(v + eps) · g,   d ← ρd + (1 - ρ)Δ²,   p ← p - lr·Δ

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.Adadelta([w], lr=100)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.6838, 1.6838], requires_grad=True)

    Raises:
        ValueError: if a number is out of its range.
    """

    rule = RULE
    _later = {**Ruled._later, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            **{"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize},
            **{"capturable": capturable, "foreach": foreach, "differentiable": differentiable},
        }
        super().__init__(params, options)


adadelta = step_function(
    RULE,
    {"square_avgs": "square_avg", "acc_deltas": "acc_delta", "state_steps": "step"},
    "capturable foreach differentiable has_complex",
    "lr rho eps weight_decay maximize",
)
