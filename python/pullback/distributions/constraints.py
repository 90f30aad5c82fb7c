"""Sets that parameters and values of distributions lie in.

>>> from pullback.distributions import constraints
>>> constraints.interval(0, 1).check(pullback.tensor([0.5, 2.0]))
tensor([ True, False])
"""

from __future__ import annotations

from typing import Any

import pullback as pb

__all__ = [
    *"Constraint boolean cat corr_cholesky dependent dependent_property greater_than greater_than_eq".split(),
    *"independent integer_interval interval half_open_interval is_dependent less_than lower_cholesky".split(),
    *"lower_triangular MixtureSameFamilyConstraint multinomial nonnegative nonnegative_integer one_hot".split(),
    *"positive positive_semidefinite positive_definite positive_integer real real_vector simplex square".split(),
    *"stack symmetric unit_interval".split(),
]


class Constraint:
    """A set; `event_dim` dimensions at the end of a tensor are one member of it."""

    is_discrete: Any = False
    event_dim: Any = 0
    _shown: tuple[str, ...] = ()

    def check(self, value: Any) -> Any:
        """A mask of the members of the batch that lie in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{type(self).__name__.lstrip('_')}({shown})"


def _flat_all(mask: Any, dims: int) -> Any:
    """Whether a mask holds all over its last dimensions."""
    return mask.reshape((*mask.shape[: mask.dim() - dims], -1)).all(-1)


class _Dependent(Constraint):
    """A set that depends on other parameters."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._known = {"is_discrete": is_discrete, "event_dim": event_dim}

    def _ask(self, name: str) -> Any:
        if self._known[name] is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically; ask the constraint of an instance")
        return self._known[name]

    is_discrete = property(lambda self: self._ask("is_discrete"))
    event_dim = property(lambda self: self._ask("event_dim"))

    def __call__(self, *fn: Any, **known: Any) -> Any:
        """The same set with more known about it."""
        return _Dependent(**{**self._known, **known})

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint; check() the constraint of an instance")


class _DependentProperty(property, _Dependent):
    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, *fn: Any, **known: Any) -> Any:
        return _DependentProperty(*fn, **self._known)


def is_dependent(constraint: Any) -> bool:
    """Whether a set is known on instances alone."""
    return isinstance(constraint, _Dependent)


class _Over(Constraint):
    """Made of another set."""

    def __init__(self, base_constraint: Any) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)


class _IndependentConstraint(_Over):
    """Holds where another one holds all over some dimensions of the batch."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be an int >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Any) -> Any:
        mask = self.base_constraint.check(value)
        if mask.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _flat_all(mask, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Over):
    """Holds where it holds for every component of a mixture."""

    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value: Any) -> Any:
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        mask = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return _flat_all(mask, mask.dim() - value.dim() + self.event_dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(_Boolean):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return super().check(value).all(-1) & (value.sum(-1) == 1)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # not NaN


class _Lower(Constraint):
    _shown = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Upper(Constraint):
    _shown: tuple[str, ...] = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Between(Constraint):
    _shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _GreaterThan(_Lower):
    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_Lower):
    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _LessThan(_Upper):
    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Between):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & super().check(value)


class _IntegerGreaterThan(_GreaterThanEq):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & super().check(value)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(_Upper):
    is_discrete = True
    event_dim = 1
    _shown = ()

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return _flat_all(value.tril() == value, 2)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Any) -> Any:
        away = (pb.linalg.norm(value.detach(), dim=-1) - 1).abs()
        return super().check(value) & (away <= 10 * value.size(-1) * pb.finfo(value.dtype).eps).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return pb.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=pb.bool, device=value.device)


class _Symmetric(_Square):
    def _check_square(self, value: Any) -> Any:
        return _flat_all(pb.isclose(value, value.mT, atol=1e-6), 2)

    def check(self, value: Any) -> Any:
        return self._check_square(value) if value.shape[-2] == value.shape[-1] else super().check(value)


class _PositiveSemidefinite(_Symmetric):
    def _check_square(self, value: Any) -> Any:
        return super()._check_square(value) & (pb.linalg.eigvalsh(value.detach()) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def _check_square(self, value: Any) -> Any:
        return super()._check_square(value) & (pb.linalg.cholesky_ex(value.detach()).info == 0)


class _Several(Constraint):
    def __init__(self, cseq: Any, dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        if not all(isinstance(c, Constraint) for c in self.cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def _ask_dim(self, value: Any) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Several):
    """Sets for parts of a dimension that follow each other."""

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Any) -> Any:
        self._ask_dim(value)
        used = value.narrow(self.dim, 0, sum(self.lengths))
        parts = zip(self.cseq, used.split(self.lengths, self.dim), strict=True)
        return pb.cat([c.check(part) for c, part in parts], self.dim)


class _Stack(_Several):
    """A set for each index of a dimension."""

    @property
    def event_dim(self) -> Any:
        most = max(c.event_dim for c in self.cseq)
        return most + (self.dim + most < 0)

    def check(self, value: Any) -> Any:
        self._ask_dim(value)
        return pb.stack([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim), strict=False)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
