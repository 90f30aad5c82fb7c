"""AdamW: Adam whose weight decay does not go through the means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .. import Tensor
from . import adam
from ._means import BETAS
from ._steps import step_function
from .optimizer import ParamsT

__all__ = ["AdamW", "adamw"]

RULE = replace(adam.RULE, options={**adam.RULE.options, "weight_decay": 1e-2, "decoupled_weight_decay": True})


class AdamW(adam.Adam):
    r"""Adam with decoupled weight decay (Loshchilov and Hutter, https://arxiv.org/abs/1711.05101): before the step of
    `Adam`,

        p ← p - lr · weight_decay · p

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.AdamW([w], lr=0.1, weight_decay=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8500, 1.8000], requires_grad=True)

    Raises:
        ValueError: if a number is out of its range.
    """

    rule = RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = BETAS,
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options: dict[str, Any] = {
            **{"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad},
            **{"maximize": maximize, "foreach": foreach, "capturable": capturable},
            **{"differentiable": differentiable, "fused": fused, "decoupled_weight_decay": True},
        }
        super().__init__(params, **options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


adamw = step_function(
    RULE,
    {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step"},
    "foreach capturable differentiable fused grad_scale found_inf has_complex",
    "amsgrad beta1 beta2 lr weight_decay eps maximize",
    name="adamw",
)
