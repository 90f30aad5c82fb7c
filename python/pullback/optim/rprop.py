"""Rprop: step sizes from the signs of gradients alone."""

from __future__ import annotations

from typing import Any

from .. import Tensor, where
from . import _rules
from ._ruled import Ruled, full_like_parameter
from ._rules import Options, Rule, State, fit
from ._steps import step_function
from .optimizer import ParamsT

__all__ = ["Rprop", "rprop"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    (shrink, grow), (least, most) = options["etas"], options["step_sizes"]
    g = -g if options["maximize"] else g
    same = g * state["prev"]
    turned = same < 0
    size = state["step_size"]
    size = where(turned, size * fit(shrink, p), where(same > 0, size * fit(grow, p), size)).clamp(least, most)
    g = where(turned, 0.0, g)
    return p - g.sign() * size, {"step": state["step"] + 1, "prev": g, "step_size": size}


def _first(options: Options, p: Tensor, name: str) -> Any:
    if name == "prev":
        return _rules._like_parameter(options, p, name)
    lr = options["lr"]
    if isinstance(lr, Tensor) and not p.is_complex():
        return _rules._like_parameter(options, p, name) + fit(lr, p)
    return full_like_parameter(p, float(lr))


def _check(options: Options) -> None:
    _rules.check_lr(options)
    shrink, grow = options["etas"]
    if not 0.0 < shrink < 1.0 < grow:
        raise ValueError(
            f"Invalid eta values: {shrink}, {grow}; argument 'etas' must have one between 0 and 1 and one above 1, "
            "such as (0.5, 1.2)"
        )


RULE = Rule(
    name="rprop",
    options={"lr": 1e-2, "etas": (0.5, 1.2), "step_sizes": (1e-6, 50), "maximize": False},
    formula=_formula,
    states=lambda options: ("prev", "step_size"),
    first=_first,
    check=_check,
)


class Rprop(Ruled):
    r"""Rprop (Riedmiller and Braun, https://doi.org/10.1109/ICNN.1993.298623): each element has a step size, `lr` at
    first, which is multiplied by `etas[1]` while the gradient keeps its sign and by `etas[0]` when it turns; where it
    turns, the element waits for one step. Sizes stay within `step_sizes`. Gradients should be those of all data.

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.Rprop([w], lr=0.1)
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
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {
            **{"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach},
            **{"maximize": maximize, "differentiable": differentiable, "capturable": capturable},
        }
        super().__init__(params, options)


rprop = step_function(
    RULE,
    {"prevs": "prev", "step_sizes": "step_size", "state_steps": "step"},
    "foreach capturable maximize differentiable has_complex",
    "step_size_min step_size_max etaminus etaplus",
)
