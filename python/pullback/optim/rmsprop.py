"""RMSprop: the gradient divided by the root of its running mean square."""

from __future__ import annotations

from .. import Tensor
from . import _rules
from ._ruled import Ruled
from ._rules import Options, Rule, State, downhill, fit, is_zero, mean, mean_square, root
from ._steps import step_function
from .optimizer import ParamsT

__all__ = ["RMSprop", "rmsprop"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    alpha, momentum = options["alpha"], options["momentum"]
    g = downhill(options, p, g)
    v = mean_square(state["square_avg"], g, alpha)
    new: State = {"step": state["step"] + 1, "square_avg": v}
    if options["centered"]:
        average = new["grad_avg"] = mean(state["grad_avg"], g, 1 - alpha)
        v = v - average * average
    way = g / (root(v) + fit(options["eps"], p))
    if not is_zero(momentum):
        way = new["momentum_buffer"] = state["momentum_buffer"] * fit(momentum, p) + way
    return p - way * fit(options["lr"], p), new


def _states(options: Options) -> tuple[str, ...]:
    buffer = () if is_zero(options["momentum"]) else ("momentum_buffer",)
    return ("square_avg", *buffer, *(("grad_avg",) if options["centered"] else ()))


def _check(options: Options) -> None:
    _rules.check_lr(options)
    _rules.at_least_zero(
        options,
        eps="epsilon value",
        momentum="momentum value",
        weight_decay="weight_decay value",
        alpha="alpha value",
    )


RULE = Rule(
    name="rmsprop",
    options={
        **{"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0, "momentum": 0},
        **{"centered": False, "maximize": False},
    },
    formula=_formula,
    states=_states,
    check=_check,
)


class RMSprop(Ruled):
    r"""RMSprop (Hinton, https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf): with the running
    mean v of the squared gradient,

        v ← αv + (1 - α)g²,   b ← momentum·b + g/(√v + eps),   p ← p - lr·b

    `centered` takes the square of the gradient's running mean from v (Graves, https://arxiv.org/abs/1308.0850).

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)

    Raises:
        ValueError: if a number is negative.
    """

    rule = RULE
    _later = {**Ruled._later, "momentum": 0, "centered": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            **{"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered},
            **{"weight_decay": weight_decay, "capturable": capturable, "foreach": foreach},
            **{"maximize": maximize, "differentiable": differentiable},
        }
        super().__init__(params, options)


rmsprop = step_function(
    RULE,
    {
        "square_avgs": "square_avg",
        "grad_avgs": "grad_avg",
        "momentum_buffer_list": "momentum_buffer",
        "state_steps": "step",
    },
    "foreach maximize differentiable capturable has_complex",
    "lr alpha eps weight_decay momentum centered",
)
