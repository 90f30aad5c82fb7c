"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from .. import Tensor
from . import _means, _rules
from ._means import BETAS, MEANS
from ._ruled import Ruled
from ._rules import Options, Rule, State, fit, root
from ._steps import step_function
from .optimizer import ParamsT

__all__ = ["NAdam", "nadam"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    (beta1, beta2), lr, slower = options["betas"], options["lr"], options["momentum_decay"]
    p, g, m, v, t = _means.advanced(options, p, g, state)
    mu = beta1 * (1 - 0.5 * 0.96 ** (t * slower))
    mu_next = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * slower))
    product = state["mu_product"] * mu
    under = root(v / fit(1 - beta2**t, p)) + fit(options["eps"], p)
    p = p - g / under * fit(lr * (1 - mu) / (1 - product), p)
    p = p - m / under * fit(lr * mu_next / (1 - product * mu_next), p)
    return p, {"step": t, "mu_product": product, "exp_avg": m, "exp_avg_sq": v}


def _check(options: Options) -> None:
    _means.check(options)
    _rules.at_least_zero(options, momentum_decay="momentum_decay value")


RULE = Rule(
    name="nadam",
    options={
        **{"lr": 2e-3, "betas": BETAS, "eps": 1e-8, "weight_decay": 0, "momentum_decay": 4e-3},
        **{"decoupled_weight_decay": False, "maximize": False},
    },
    formula=_formula,
    states=lambda options: MEANS,
    scalars=lambda options: {"step": 0.0, "mu_product": 1.0},
    check=_check,
)


class NAdam(Ruled):
    r"""NAdam (Dozat, https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ): with m and v as in `Adam` and

        μₜ = β₁(1 - 0.96^(t·momentum_decay)/2),   Πₜ = μ₁ ⋯ μₜ

    the step is along `μₜ₊₁·m/(1 - Πₜ₊₁) + (1 - μₜ)·g/(1 - Πₜ)`, divided by `√(v/(1 - β₂ᵗ)) + eps`.

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8944, 1.8944], requires_grad=True)

    Raises:
        ValueError: if a number is out of its range.
    """

    rule = RULE
    _later = {**Ruled._later, "capturable": False, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = BETAS,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            **{"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay},
            **{"momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay},
            **{"maximize": maximize, "foreach": foreach},
            **{"capturable": capturable, "differentiable": differentiable},
        }
        super().__init__(params, options)


nadam = step_function(
    RULE,
    {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "mu_products": "mu_product", "state_steps": "step"},
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps",
)
