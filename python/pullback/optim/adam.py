"""Adam: steps of a size that does not depend on the gradient's."""

from __future__ import annotations

from .. import Tensor, maximum
from . import _means
from ._means import BETAS, MEANS
from ._ruled import Ruled
from ._rules import Options, Rule, State, fit, root, square_root
from ._steps import step_function
from .optimizer import ParamsT

__all__ = ["Adam", "adam"]


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    beta1, beta2 = options["betas"]
    p, g, m, v, t = _means.advanced(options, p, g, state)
    new: State = {"step": t, "exp_avg": m, "exp_avg_sq": v}
    if options["amsgrad"]:
        v = new["max_exp_avg_sq"] = maximum(state["max_exp_avg_sq"], v)
    under = root(v) / fit(square_root(1 - beta2**t), p) + fit(options["eps"], p)
    return p - m / under * fit(options["lr"] / (1 - beta1**t), p), new


def _check(options: Options) -> None:
    for i, beta in enumerate(options["betas"]):
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
    _means.check(options)
    if len({isinstance(beta, Tensor) for beta in options["betas"]}) == 2:
        raise ValueError("betas must be either both floats or both Tensors")
    if options.get("foreach") and not options.get("capturable"):
        for name, x in zip(("lr", "betas[0]", "betas[1]"), (options["lr"], *options["betas"]), strict=True):
            if isinstance(x, Tensor):
                raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")


def _scalars(betas: tuple[float | Tensor, float | Tensor]) -> tuple[float | Tensor, ...]:
    """Tensors of one element without dimensions, as they are kept in groups."""
    return tuple(beta.squeeze() if isinstance(beta, Tensor) and beta.dim() else beta for beta in betas)


RULE = Rule(
    name="adam",
    options={
        **{"lr": 1e-3, "betas": BETAS, "eps": 1e-8, "weight_decay": 0},
        **{"amsgrad": False, "maximize": False, "decoupled_weight_decay": False},
    },
    formula=_formula,
    states=lambda options: (*MEANS, "max_exp_avg_sq") if options["amsgrad"] else MEANS,
    check=_check,
)


class Adam(Ruled):
    r"""Adam (Kingma and Ba, https://arxiv.org/abs/1412.6980): with running means m and v of the gradient and its
    square,

        m ← β₁m + (1 - β₁)g,   v ← β₂v + (1 - β₂)g²,   p ← p - lr · m/(1 - β₁ᵗ) / (√(v/(1 - β₂ᵗ)) + eps)

    `amsgrad` divides by the largest v so far (https://arxiv.org/abs/1904.09237). `weight_decay` is added to the
    gradient, or with `decoupled_weight_decay` taken from the parameter, as `AdamW` does.

    All parameters of a group are updated in one call, with or without `foreach` and `fused`; `capturable` changes
    nothing here. With `differentiable` the step is recorded, and parameters must not be leaves that require grad.

    >>> import pullback
    >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = pullback.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)

    Raises:
        ValueError: if a number is out of its range.
    """

    rule = RULE
    _later = {
        **Ruled._later,
        **{"amsgrad": False, "capturable": False, "decoupled_weight_decay": False, "fused": None},
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = BETAS,
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        options = {
            **{"lr": lr, "betas": _scalars(betas), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad},
            **{"maximize": maximize, "foreach": foreach, "capturable": capturable},
            **{"differentiable": differentiable, "fused": fused},
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, options)


adam = step_function(
    RULE,
    {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step"},
    "foreach capturable differentiable fused grad_scale found_inf has_complex decoupled_weight_decay",
    "amsgrad beta1 beta2 lr weight_decay eps maximize",
)
