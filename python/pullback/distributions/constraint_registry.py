"""Transforms from unconstrained tensors to the sets of `constraints`.

>>> D = pullback.distributions
>>> D.transform_to(D.constraints.positive)(pullback.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

from typing import Any

from . import constraints as c
from . import transforms as t

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Finds the transform that leads to a constraint, by its class."""

    def __init__(self) -> None:
        self._registry: dict[Any, Any] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Makes `factory(constraint)` the transform for constraints of this class; without `factory`, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, c.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, c.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        if type(constraint) not in self._registry:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints; register() a transform"
            )
        return self._registry[type(constraint)](constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()
"""Bijections, and transforms that reach the whole set but may have more dimensions."""


def _interval(k: Any) -> Any:
    low, high = k.lower_bound, k.upper_bound
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return t.SigmoidTransform()
    return t.ComposeTransform([t.SigmoidTransform(), t.AffineTransform(low, high - low)])


def _after_exp(loc: Any, scale: int) -> Any:
    return t.ComposeTransform([t.ExpTransform(), t.AffineTransform(loc, scale)])


for _to in (biject_to, transform_to):
    _to.register(c.real, lambda k: t.identity_transform)
    _to.register(c.greater_than, lambda k: _after_exp(k.lower_bound, 1))
    _to.register(c.greater_than_eq, lambda k: _after_exp(k.lower_bound, 1))
    _to.register(c.less_than, lambda k: _after_exp(k.upper_bound, -1))
    _to.register(c.interval, _interval)
    _to.register(c.half_open_interval, _interval)
    _to.register(c.corr_cholesky, lambda k: t.CorrCholeskyTransform())
    _to.register(
        c.independent,
        lambda k, to=_to: t.IndependentTransform(to(k.base_constraint), k.reinterpreted_batch_ndims),
    )
    _to.register(c.cat, lambda k, to=_to: t.CatTransform([to(part) for part in k.cseq], k.dim, k.lengths))
    _to.register(c.stack, lambda k, to=_to: t.StackTransform([to(part) for part in k.cseq], k.dim))
biject_to.register(c.simplex, lambda k: t.StickBreakingTransform())
transform_to.register(c.simplex, lambda k: t.SoftmaxTransform())
transform_to.register(c.lower_cholesky, lambda k: t.LowerCholeskyTransform())
transform_to.register(c.positive_definite, lambda k: t.PositiveDefiniteTransform())
transform_to.register(c.positive_semidefinite, lambda k: t.PositiveDefiniteTransform())
