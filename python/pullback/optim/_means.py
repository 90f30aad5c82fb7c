"""What Adam and the algorithms made of it do alike."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from . import _rules
from ._rules import Options, State, downhill, mean, mean_square, shrunk

BETAS = (0.9, 0.999)
MEANS = ("exp_avg", "exp_avg_sq")


def advanced(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, Tensor, Tensor, Tensor, Any]:
    """The decayed parameter, the gradient, the running means of it and its square, and the number of this step."""
    beta1, beta2 = options["betas"]
    g = downhill(options, p, g)
    return (
        shrunk(options, p),
        g,
        mean(state["exp_avg"], g, 1 - beta1),
        mean_square(state["exp_avg_sq"], g, beta2),
        state["step"] + 1,
    )


def check(options: Options) -> None:
    _rules.check_lr(options)
    _rules.at_least_zero(options, eps="epsilon value")
    _rules.betas_below_one(options)
    _rules.at_least_zero(options, weight_decay="weight_decay value")
