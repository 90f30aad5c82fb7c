"""The table's row for an algorithm: its options, what it keeps, its formula in operators, and the kernel of the same
step.

The formula is what `optim.functional` runs, and what a class runs where derivatives or a transform follow the step; for
plain tensors the class calls the kernel, which reads and writes each element once. `tests/optim` holds both to the same
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .. import Tensor, is_complex, view_as_complex, view_as_real, where, zeros_like

Options: TypeAlias = Mapping[str, Any]
State: TypeAlias = dict[str, Any]
Formula: TypeAlias = Callable[[Options, Any, Any, State], tuple[Any, State]]


def _nothing(options: Options) -> None:
    """Accepts all options."""


def _like_parameter(options: Options, p: Tensor, name: str) -> Tensor:
    return zeros_like(p)


@dataclass(frozen=True)
class Rule:
    """An algorithm."""

    #: What the kernel, the class in lower case and the function in `optim.functional` are called.
    name: str
    #: The options of the formula, with their defaults.
    options: dict[str, Any]
    #: New parameter and state from the old ones and the gradient; real numbers only.
    formula: Formula
    #: The tensors of the parameter's shape that it keeps.
    states: Callable[[Options], tuple[str, ...]]
    #: The numbers that it keeps, with their first values.
    scalars: Callable[[Options], dict[str, float]] = field(default=lambda options: {"step": 0.0})
    #: The first value of such a tensor.
    first: Callable[[Options, Tensor, str], Tensor] = _like_parameter
    #: Raises for options that make no sense.
    check: Callable[[Options], None] = _nothing
    #: Whether there is a kernel of this name.
    has_kernel: bool = True

    def apply(self, options: Options, p: Tensor, g: Tensor, state: State) -> tuple[Tensor, State]:
        """The formula for one parameter. Complex numbers are pairs of real ones."""
        if not is_complex(p):
            return self.formula(options, p, g, state)
        names = self.states(options)
        parts = {name: view_as_real(x) if name in names else x for name, x in state.items()}
        p, state = self.formula(options, view_as_real(p), view_as_real(g), parts)
        whole = {name: view_as_complex(x) if name in names else x for name, x in state.items()}
        return view_as_complex(p), whole


# ---------------------------------------------------------------- what formulas are made of
def fit(x: Any, p: Tensor) -> Any:
    """A number for arithmetic with `p`: one that is a tensor takes its dtype, so that it does not widen it."""
    return x.to(p.dtype) if isinstance(x, Tensor) else x


def choose(condition: Any, a: Any, b: Any) -> Any:
    """`a` if the condition holds, which is known or a tensor."""
    return where(condition, a, b) if isinstance(condition, Tensor) else (a if condition else b)


def square_root(x: Any) -> Any:
    return x.sqrt() if isinstance(x, Tensor) else math.sqrt(x)


def root(x: Tensor) -> Any:
    """The root with derivative 0 at 0, where a parameter has had no gradient yet: the true one is infinite, and 0 times
    it would make the derivative of a whole run NaN.
    """
    none = x == 0
    return where(none, 0.0, where(none, 1.0, x).sqrt())


def mean(old: Tensor, new: Tensor, weight: Any) -> Any:
    """The running mean that takes in `new` with this weight."""
    return old + (new - old) * fit(weight, old)


def mean_square(old: Tensor, g: Tensor, beta: Any) -> Any:
    return old * fit(beta, g) + g * g * fit(1 - beta, g)


def downhill(options: Options, p: Tensor, g: Tensor) -> Tensor:
    """The gradient to descend along, with weight decay unless that is decoupled."""
    if options["maximize"]:
        g = -g
    decay = options.get("weight_decay", 0)
    return g if is_zero(decay) or options.get("decoupled_weight_decay") else g + p * fit(decay, p)


def shrunk(options: Options, p: Tensor) -> Any:
    """The parameter after decoupled weight decay."""
    decay = options["weight_decay"]
    if is_zero(decay) or not options.get("decoupled_weight_decay"):
        return p
    return p * fit(1 - options["lr"] * decay, p)


def is_zero(x: Any) -> bool:
    """Whether an option is known to be zero. One that is a tensor counts as not."""
    return not isinstance(x, Tensor) and x == 0


# ---------------------------------------------------------------- what options may be
def at_least_zero(options: Options, **what: str) -> None:
    """ValueError, with the words for it, if an option is negative or NaN."""
    for name, words in what.items():
        if not 0.0 <= options[name]:
            raise ValueError(f"Invalid {words}: {options[name]}; argument '{name}' must be 0 or more")


def betas_below_one(options: Options) -> None:
    for i, beta in enumerate(options["betas"]):
        if not 0.0 <= beta < 1.0:
            raise ValueError(
                f"Invalid beta parameter at index {i}: {beta}; argument 'betas' must have numbers from 0 to below 1, "
                "such as 0.9"
            )


def check_lr(options: Options) -> None:
    lr = options["lr"]
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    at_least_zero(options, lr="learning rate")
