"""Adamax: Adam with the largest gradient in the place of the mean square."""

from __future__ import annotations

from .. import Tensor, maximum
from . import _means
from ._means import BETAS
from ._ruled import Ruled
from ._rules import Options, Rule, State, downhill, fit, mean
from ._steps import step_function
from .optimizer import ParamsT

__all__ = ["Adamax", "adamax"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    beta1, beta2 = options["betas"]
    t = state["step"] + 1
    g = downhill(options, p, g)
    m = mean(state["exp_avg"], g, 1 - beta1)
    u = maximum(state["exp_inf"] * fit(beta2, p), g.abs() + fit(options["eps"], p))
    return p - m / u * fit(options["lr"] / (1 - beta1**t), p), {"step": t, "exp_avg": m, "exp_inf": u}


RULE = Rule(
    name="adamax",
    options={"lr": 2e-3, "betas": BETAS, "eps": 1e-8, "weight_decay": 0, "maximize": False},
    formula=_formula,
    states=lambda options: ("exp_avg", "exp_inf"),
    check=_means.check,
)


class Adamax(Ruled):
    r"""Adamax (section 7 of https://arxiv.org/abs/1412.6980): with the running mean m of the gradient,

        u ← max(β₂u, |g| + eps),   p ← p - lr/(1 - β₁ᵗ) · m/u

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)

    Raises:
        ValueError: if a number is out of its range.
    """

    rule = RULE
    _later = {**Ruled._later, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = BETAS,
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        options = {
            **{"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach},
            **{"maximize": maximize, "differentiable": differentiable, "capturable": capturable},
        }
        super().__init__(params, options)


adamax = step_function(
    RULE,
    {"exp_avgs": "exp_avg", "exp_infs": "exp_inf", "state_steps": "step"},
    "foreach maximize differentiable capturable has_complex",
    "eps beta1 beta2 lr weight_decay",
)
