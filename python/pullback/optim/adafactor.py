"""Adafactor: mean squares of gradients that are kept by rows and columns."""

from __future__ import annotations

from typing import Any

from .. import Tensor, finfo, where
from . import _rules
from ._ruled import Ruled, by_formula
from ._rules import Options, Rule, State, choose, fit, is_zero, mean, square_root
from .optimizer import Group, ParamsT

__all__ = ["Adafactor"]
_NAMES = ("row_var", "col_var", "variance")


def _formula(options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
    lr, (eps1, eps2) = options["lr"], options["eps"]
    least = finfo(p.dtype).eps if eps1 is None else eps1
    g = -g if options["maximize"] else g
    t = state["step"] + 1
    weight = t ** options["beta2_decay"]
    most = 1 / square_root(t)
    size = lr if not isinstance(lr, Tensor) and not isinstance(t, Tensor) else fit(lr, p)
    size = choose(most < size, most, size)
    rate = _largest(_rms(p), eps2) * fit(size, p)
    p = p if is_zero(options["weight_decay"]) else p * fit(1 - lr * options["weight_decay"], p)
    new: State = {"step": t, **{name: state[name] for name in _NAMES}}
    if g.dim() > 1:
        rows = new["row_var"] = mean(state["row_var"], (g * g).mean(-1, keepdim=True), weight)
        columns = new["col_var"] = mean(state["col_var"], (g * g).mean(-2, keepdim=True), weight)
        square = rows @ columns / _largest(rows.mean(-2, keepdim=True), least)
    else:
        square = new["variance"] = mean(state["variance"], g * g, weight)
    way = g * _largest(square, least * least).rsqrt()
    return p - way * (rate / _largest(_rms(way) / options["d"], 1.0)), new


def _largest(x: Tensor, least: float) -> Tensor:
    return where(x < least, least, x)


def _rms(x: Tensor) -> Tensor:
    """The root of the mean square, with derivative 0 at 0."""
    return _rules.root((x * x).mean())  # type: ignore[no-any-return]


def _first(options: Options, p: Tensor, name: str) -> Tensor:
    """What is kept of a parameter; an empty tensor for what its number of dimensions does not ask for."""
    shape = list(p.shape)
    if (name == "variance") == (p.dim() > 1):
        return p.new_zeros(0)
    if name != "variance":
        shape[-1 if name == "row_var" else -2] = 1
    return p.new_zeros(shape)


def _check(options: Options) -> None:
    _rules.check_lr(options)
    if options["beta2_decay"] > 0:
        raise ValueError(f"beta2_decay should be <= 0, but got {options['beta2_decay']}")
    for i, eps in enumerate(options["eps"]):
        if (eps is not None or i == 1) and not 0.0 <= eps:
            raise ValueError(f"epsilon{i + 1} should be >= 0, but got {eps}")
    if not options["d"] >= 1.0:
        raise ValueError(f"Clipping threshold d should be >= 1, but got {options['d']}")
    _rules.at_least_zero(options, weight_decay="weight_decay value")


RULE = Rule(
    name="adafactor",
    options={
        **{"lr": 1e-2, "beta2_decay": -0.8, "eps": (None, 1e-3), "d": 1.0, "weight_decay": 0.0},
        "maximize": False,
    },
    formula=_formula,
    states=lambda options: _NAMES,
    first=_first,
    check=_check,
    has_kernel=False,
)


class Adafactor(Ruled):
    r"""Adafactor (Shazeer and Stern, https://arxiv.org/abs/1804.04235): for a matrix the mean squares R of the rows of
    the gradient and C of its columns stand for that of each element, `V = RC / mean(R)`. With `β = 1 - t^beta2_decay`
    in the running means,

        U = g/√V,   p ← p - max(eps₂, rms(p)) · min(lr, 1/√t) · U / max(1, rms(U)/d)

    V counts as at least the square of eps₁, by default that of the dtype. `weight_decay` takes `lr · weight_decay · p`
    first. Parameters of one dimension keep the mean square of each element. As in PyTorch, `lr` bounds the relative
    step.

    >>> import pullback
    >>> w = pullback.ones(2, 3, requires_grad=True)
    >>> optimizer = pullback.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()[0]
    tensor([0.9000, 0.9000, 0.9000])

    Raises:
        ValueError: if a number is out of its range.
        RuntimeError: for complex parameters.
    """

    rule = RULE
    _later = {"maximize": False, "foreach": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        options = {
            **{"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay},
            **{"foreach": foreach, "maximize": maximize},
        }
        super().__init__(params, options)

    def _begin(self, group: Group, p: Tensor, entry: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters; give their view_as_real()")
        super()._begin(group, p, entry)
        for name in ("variance",) if p.dim() > 1 else ("row_var", "col_var"):
            del entry[name]

    def _by_formula(self, group: Group, p: Tensor, g: Tensor, entry: dict[str, Any]) -> None:
        absent = {name: p.new_zeros(0) for name in _NAMES if name not in entry}
        by_formula(self.rule, group, p, g, {**absent, **entry})
