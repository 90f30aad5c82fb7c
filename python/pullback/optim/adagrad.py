"""Adagrad: rates that fall with the gradients that there were."""

from __future__ import annotations

from .. import Tensor
from . import _rules
from ._ruled import Ruled, full_like_parameter
from ._rules import Options, Rule, State, downhill, fit, root
from ._steps import step_function
from .optimizer import ParamsT

__all__ = ["Adagrad", "adagrad"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    t = state["step"] + 1
    g = downhill(options, p, g)
    total = state["sum"] + g * g
    rate = options["lr"] / (1 + (t - 1) * options["lr_decay"])
    return p - g / (root(total) + fit(options["eps"], p)) * fit(rate, p), {"step": t, "sum": total}


def _check(options: Options) -> None:
    _rules.check_lr(options)
    _rules.at_least_zero(
        options,
        lr_decay="lr_decay value",
        weight_decay="weight_decay value",
        initial_accumulator_value="initial_accumulator_value value",
        eps="epsilon value",
    )


RULE = Rule(
    name="adagrad",
    options={
        **{"lr": 1e-2, "lr_decay": 0, "weight_decay": 0, "initial_accumulator_value": 0},
        **{"eps": 1e-10, "maximize": False},
    },
    formula=_formula,
    states=lambda options: ("sum",),
    first=lambda options, p, name: full_like_parameter(p, options["initial_accumulator_value"]),
    check=_check,
)


class Adagrad(Ruled):
    r"""Adagrad (Duchi, Hazan and Singer, https://jmlr.org/papers/v12/duchi11a.html): with the sum s of all squared
    gradients, which begins at `initial_accumulator_value`,

        s ← s + g²,   p ← p - lr/(1 + (t - 1)·lr_decay) · g/(√s + eps)

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)

    Raises:
        ValueError: if a number is negative.
    """

    rule = RULE
    _later = {**Ruled._later, "fused": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options = {
            **{"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay},
            **{"initial_accumulator_value": initial_accumulator_value, "foreach": foreach},
            **{"maximize": maximize, "differentiable": differentiable, "fused": fused},
        }
        super().__init__(params, options)
        # Unlike the others it keeps something from the beginning: programs may share or look at it.
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(group, p, self.state[p])

    def share_memory(self) -> None:
        """Moves the sums to memory that other processes see."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()


adagrad = step_function(
    RULE,
    {"state_sums": "sum", "state_steps": "step"},
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)
