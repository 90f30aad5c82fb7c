"""Optimisers as pure functions: `init(params)` makes a state, `update(params, grads, state)` new parameters and state.

Nothing is changed in place, and all of it is operators. So a run of an optimiser has a derivative, by its learning rate
as by what it started from, and `vmap` runs many at once, over states as over options. Parameters, gradients and states
are pytrees of the same structure; options may be tensors without dimensions, but for those that decide what is
computed.

>>> import pullback
>>> from pullback.func import grad, vmap
>>> from pullback.optim import functional
>>> def after(lr, steps=3):
...     adam = functional.adam(lr=lr)
...     w = {"w": pullback.tensor([1.0, 2.0])}
...     state = adam.init(w)
...     for _ in range(steps):
...         w, state = adam.update(w, grad(lambda w: (w["w"] ** 2).sum())(w), state)
...     return (w["w"] ** 2).sum()
>>> vmap(after)(pullback.tensor([0.1, 0.2]))
tensor([3.3843, 2.1368])
>>> grad(after)(pullback.tensor(0.1))
tensor(-14.3107)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import Tensor, float64, tensor
from ..utils import pytree
from . import adadelta as _adadelta
from . import adafactor as _adafactor
from . import adagrad as _adagrad
from . import adam as _adam
from . import adamax as _adamax
from . import adamw as _adamw
from . import asgd as _asgd
from . import muon as _muon
from . import nadam as _nadam
from . import radam as _radam
from . import rmsprop as _rmsprop
from . import rprop as _rprop
from . import sgd as _sgd
from ._rules import Rule, State

__all__ = [
    *("FunctionalOptimizer", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "asgd", "muon"),
    *("nadam", "radam", "rmsprop", "rprop", "sgd"),
]


class FunctionalOptimizer(NamedTuple):
    """A rule with its options."""

    rule: Rule
    options: dict[str, Any]

    def init(self, params: Any) -> State:
        """The state before the first step: a dict of numbers, as tensors of dtype float64 without dimensions, and of
        trees like `params`.

        Raises:
            TypeError: if a leaf is no tensor of a floating point or complex dtype.
        """
        leaves, spec = pytree.tree_flatten(params)
        for leaf in leaves:
            if not isinstance(leaf, Tensor) or not (leaf.is_floating_point() or leaf.is_complex()):
                what = leaf.dtype if isinstance(leaf, Tensor) else type(leaf).__name__
                raise TypeError(f"{self.rule.name}: parameters must be floating point or complex tensors, got {what}")
        state: State = {name: _number(x) for name, x in self.rule.scalars(self.options).items()}
        for name in self.rule.states(self.options):
            first = [self.rule.first(self.options, leaf, name) for leaf in leaves]
            state[name] = pytree.tree_unflatten(first, spec)
        return state

    def update(self, params: Any, grads: Any, state: State, **options: Any) -> tuple[Any, State]:
        """Parameters and state after one step. `options` replace those that the optimiser was made with, for this step.

        Raises:
            ValueError: if parameters, gradients and state differ in structure.
            TypeError: for options that the optimiser does not have.
        """
        rule, chosen = self.rule, _merged(self.rule, self.options, options)
        leaves, spec = pytree.tree_flatten(params)
        trees: dict[str, list[Any]] = {"gradients": self._leaves("gradients", grads, spec)}
        names = rule.states(chosen)
        for name in names:
            if name not in state:
                raise ValueError(f"{rule.name}: the state has no {name!r}; it was made for other options")
            trees[name] = self._leaves(f"state[{name!r}]", state[name], spec)
        numbers = {name: state[name] for name in rule.scalars(chosen)}
        new_leaves: list[Any] = []
        new_states: dict[str, list[Any]] = {name: [] for name in names}
        new_numbers = dict(numbers)
        for i, p in enumerate(leaves):
            new, kept = rule.apply(chosen, p, trees["gradients"][i], numbers | {n: trees[n][i] for n in names})
            new_leaves.append(new)
            for name in names:
                new_states[name].append(kept[name])
            new_numbers = {name: kept[name] for name in numbers}
        after: State = dict(new_numbers)
        after.update((name, pytree.tree_unflatten(x, spec)) for name, x in new_states.items())
        return pytree.tree_unflatten(new_leaves, spec), after

    def _leaves(self, what: str, tree: Any, spec: Any) -> list[Any]:
        leaves, found = pytree.tree_flatten(tree)
        if found != spec:
            raise ValueError(f"{self.rule.name}: {what} must have the structure of the parameters, {spec}, got {found}")
        return leaves


def _number(x: Any) -> Tensor:
    return x.to(float64) if isinstance(x, Tensor) else tensor(float(x), dtype=float64)


def _merged(rule: Rule, options: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(more) - set(rule.options))
    if unknown:
        raise TypeError(f"{rule.name}() has no option {', '.join(unknown)}; there are {', '.join(rule.options)}")
    return {**options, **more}


def _known(option: Any) -> bool:
    return not any(isinstance(x, Tensor) for x in (option if isinstance(option, tuple) else (option,)))


def _maker(name: str, rule: Rule) -> Callable[..., FunctionalOptimizer]:
    def make(**options: Any) -> FunctionalOptimizer:
        chosen = _merged(rule, rule.options, options)
        # Tensors may be values of a transform, which nobody can look at.
        rule.check({n: x if _known(x) else rule.options[n] for n, x in chosen.items()})
        return FunctionalOptimizer(rule, chosen)

    parameters = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=x) for n, x in rule.options.items()]
    make.__name__ = make.__qualname__ = name
    make.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    make.__doc__ = f"The steps of the optimiser {name!r} as a pair of functions, `init` and `update`."
    return make


adadelta = _maker("adadelta", _adadelta.RULE)
adafactor = _maker("adafactor", _adafactor.RULE)
adagrad = _maker("adagrad", _adagrad.RULE)
adam = _maker("adam", _adam.RULE)
adamax = _maker("adamax", _adamax.RULE)
adamw = _maker("adamw", _adamw.RULE)
asgd = _maker("asgd", _asgd.RULE)
muon = _maker("muon", _muon.RULE)
nadam = _maker("nadam", _nadam.RULE)
radam = _maker("radam", _radam.RULE)
rmsprop = _maker("rmsprop", _rmsprop.RULE)
rprop = _maker("rprop", _rprop.RULE)
sgd = _maker("sgd", _sgd.RULE)
