"""RAdam: Adam that waits until it knows the mean square."""

from __future__ import annotations

from .. import Tensor
from . import _means
from ._means import BETAS, MEANS
from ._ruled import Ruled
from ._rules import Options, Rule, State, choose, fit, root, square_root
from ._steps import step_function
from .optimizer import ParamsT

__all__ = ["RAdam", "radam"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    (beta1, beta2), lr = options["betas"], options["lr"]
    p, g, m, v, t = _means.advanced(options, p, g, state)
    correction2 = 1 - beta2**t
    most = 2 / (1 - beta2) - 1
    rho = most - 2 * t * beta2**t / correction2
    known = rho > 5
    # Where it is not known, any number with which the formula makes sense.
    rho = choose(known, rho, 6.0)
    rectified = (rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho) * correction2
    factor = square_root(choose(known, rectified, 1.0))
    way = choose(known, m / (root(v) + fit(options["eps"], p)) * fit(factor, p), m)
    return p - way * fit(lr / (1 - beta1**t), p), {"step": t, "exp_avg": m, "exp_avg_sq": v}


RULE = Rule(
    name="radam",
    options={
        **{"lr": 1e-3, "betas": BETAS, "eps": 1e-8, "weight_decay": 0},
        **{"decoupled_weight_decay": False, "maximize": False},
    },
    formula=_formula,
    states=lambda options: MEANS,
    check=_means.check,
)


class RAdam(Ruled):
    r"""RAdam (Liu et al., https://arxiv.org/abs/1908.03265): with m and v as in `Adam`, ρ∞ = 2/(1 - β₂) - 1 and
    ρ = ρ∞ - 2tβ₂ᵗ/(1 - β₂ᵗ), the step is along `m/(1 - β₁ᵗ)` until ρ is above 5, and then along

        m/(1 - β₁ᵗ) · √(1 - β₂ᵗ)/(√v + eps) · √((ρ - 4)(ρ - 2)ρ∞ / ((ρ∞ - 4)(ρ∞ - 2)ρ))

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)

    Raises:
        ValueError: if a number is out of its range.
    """

    rule = RULE
    _later = {**Ruled._later, "capturable": False, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = BETAS,
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            **{"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize},
            **{"foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay},
            **{"differentiable": differentiable},
        }
        super().__init__(params, options)


radam = step_function(
    RULE,
    {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "state_steps": "step"},
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
    "beta1 beta2 lr weight_decay eps",
)
