"""Muon: steps along the nearest orthogonal matrix."""

from __future__ import annotations

import math
from typing import Any

from .. import Tensor, bfloat16, float32
from . import _rules
from ._ruled import Ruled
from ._rules import Options, Rule, State, fit, is_zero, mean
from .optimizer import Group, ParamsT

__all__ = ["Muon"]
_COEFFICIENTS = (3.4445, -4.775, 2.0315)


def _orthogonalized(g: Tensor, options: Options) -> Tensor:
    """A matrix with nearly the singular vectors of `g` and singular values near 1, by steps of an odd polynomial."""
    a, b, c = options["ns_coefficients"]
    wide = g.size(0) <= g.size(1)
    x = _rounded(g if wide else g.mT)
    x = _rounded(x / _rounded(x.norm()).clamp(min=options["eps"]))
    for _ in range(options["ns_steps"]):
        gram = _rounded(x @ x.mT)
        x = _rounded(a * x + _rounded(b * gram + c * (gram @ gram)) @ x)
    return (x if wide else x.mT).to(g.dtype)


def _rounded(x: Tensor) -> Tensor:
    """Numbers of bfloat16, in float32, in which sums of products are exact enough."""
    return x.to(bfloat16).to(float32)


def _scale(options: Options, p: Tensor) -> float:
    rows, columns = p.shape[-2:]
    if options["adjust_lr_fn"] == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1.0, rows / columns))


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    _check_shape(p)
    lr, momentum = options["lr"], options["momentum"]
    buffer = mean(state["momentum_buffer"], g, 1 - momentum)
    way = mean(g, buffer, momentum) if options["nesterov"] else buffer
    p = p if is_zero(options["weight_decay"]) else p * fit(1 - lr * options["weight_decay"], p)
    return p - _orthogonalized(way, options) * fit(lr * _scale(options, p), p), {"momentum_buffer": buffer}


def _check_shape(p: Tensor) -> None:
    if p.dim() != 2:
        raise ValueError(
            f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}; give the others to "
            "AdamW"
        )


def _check(options: Options) -> None:
    _rules.check_lr(options)
    _rules.at_least_zero(options, momentum="momentum value", weight_decay="weight_decay value")
    if options["ns_steps"] >= 100:
        raise ValueError(f"Number of steps must be less than 100, got {options['ns_steps']}; argument 'ns_steps' is 5")
    if len(options["ns_coefficients"]) != 3:
        raise ValueError(f"argument 'ns_coefficients' must have 3 numbers, got {len(options['ns_coefficients'])}")
    if options["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
        raise ValueError(
            f"Adjust learning rate function {options['adjust_lr_fn']} is not supported; argument 'adjust_lr_fn' must "
            "be None, 'original' or 'match_rms_adamw'"
        )


RULE = Rule(
    name="muon",
    options={
        **{"lr": 1e-3, "weight_decay": 0.1, "momentum": 0.95, "nesterov": True},
        **{"ns_coefficients": _COEFFICIENTS, "eps": 1e-7, "ns_steps": 5, "adjust_lr_fn": None},
    },
    formula=_formula,
    states=lambda options: ("momentum_buffer",),
    scalars=lambda options: {},
    check=_check,
    has_kernel=False,
)


class Muon(Ruled):
    r"""Muon (Jordan et al., https://kellerjordan.github.io/posts/muon/), for matrices: the step is along the nearly
    orthogonal matrix O that `ns_steps` steps x ← ax + (bxxᵀ + c(xxᵀ)²)x, computed in bfloat16, make of the momentum,

        b ← momentum·b + (1 - momentum)·g,   p ← (1 - lr · weight_decay)·p - lr · scale · O

    The scale is √max(1, rows/columns), or with `adjust_lr_fn="match_rms_adamw"` 0.2 √max(rows, columns)
    (https://arxiv.org/abs/2502.16982).

    >>> import pullback
    >>> w = pullback.eye(2).requires_grad_()
    >>> optimizer = pullback.optim.Muon([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w.diagonal() < 1).all())
    True

    Raises:
        ValueError: if a number is out of its range, or a parameter is no matrix.
    """

    rule = RULE
    _later = {}

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = _COEFFICIENTS,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        options = {
            **{"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov},
            **{"ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn},
        }
        super().__init__(params, options)

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            _check_shape(p)
            if p.is_complex():
                raise RuntimeError("Muon does not support complex parameters")

    def _begin(self, group: Group, p: Tensor, entry: dict[str, Any]) -> None:
        if p.grad is not None and p.grad.is_sparse:
            raise RuntimeError("Muon does not support sparse gradients")
        super()._begin(group, p, entry)
