"""What all distributions have."""

from __future__ import annotations

from typing import Any

import pullback as pb

from .._warnings import warn
from . import constraints
from .utils import _Lazy, broadcast_all

__all__ = ["Distribution", "ExponentialFamily"]
TYPE_CHECKING = False


def _fails(mask: Any) -> bool:
    """Whether a mask does not hold everywhere, as far as its values are known: of all members under `vmap`."""
    if not isinstance(mask, pb.Tensor) or mask.is_meta:
        return mask is False
    mask = mask.detach().all()
    try:
        return not mask
    except RuntimeError:
        # A transform follows the mask; operators look at the values of all members: here is no element 1.
        try:
            pb.zeros(1).gather(0, (~mask).long().reshape(1))
        except (IndexError, RuntimeError):
            return True
        return False


class Distribution:
    """A law of random tensors: `batch_shape` of them, each of the shape `event_shape`.

    Parameters and values are checked against `arg_constraints` and `support` unless `validate_args` is False. Under
    `vmap` all members are checked together; values without data are not.

    >>> normal = pullback.distributions.Normal(pullback.zeros(3), 1.0)
    >>> normal.batch_shape, normal.event_shape, normal.sample((2,)).shape
    (pullback.Size([3]), pullback.Size([]), pullback.Size([2, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _taken: tuple[str, ...] = ()
    arg_constraints: Any = property(lambda self: _missing(self, "arg_constraints"))
    support: Any = property(lambda self: _missing(self, "support"))
    mean: Any = property(lambda self: _missing(self, "mean"))
    mode: Any = property(lambda self: _missing(self, "mode"))
    variance: Any = property(lambda self: _missing(self, "variance"))
    stddev: Any = property(lambda self: self.variance.sqrt())
    batch_shape: Any = property(lambda self: self._batch_shape)
    event_shape: Any = property(lambda self: self._event_shape)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions made from now on check their parameters and values."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args(): argument 'value' must be a bool, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None) -> None:
        self._batch_shape, self._event_shape = pb.Size(batch_shape), pb.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _take(self, validate_args: Any, **parameters: Any) -> None:
        """Keeps parameters that broadcast to the shape of the batch."""
        self._taken = tuple(parameters)
        self.__dict__.update(zip(parameters, broadcast_all(*parameters.values()), strict=True))
        Distribution.__init__(self, self.__dict__[next(iter(parameters))].shape, validate_args=validate_args)

    def _check_parameters(self) -> None:
        try:
            known = self.arg_constraints
        except NotImplementedError:
            text = (
                f"{type(self)} does not define `arg_constraints`; set `arg_constraints = {{}}`, or validate_args=False"
            )
            warn(text)
            return
        for name, constraint in known.items():
            lazy = name not in self.__dict__ and isinstance(getattr(type(self), name, None), _Lazy)
            if constraints.is_dependent(constraint) or lazy:
                continue
            value = getattr(self, name)
            if _fails(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, pb.Tensor):
            raise ValueError(f"The value argument to log_prob must be a Tensor, got {type(value).__name__}")
        shape, event = value.shape, self._event_shape
        if shape[len(shape) - len(event) :] != event or len(shape) < len(event):
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {event}.")
        whole = self._batch_shape + event
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(shape), reversed(whole), strict=False)):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {whole}.")
        try:
            support = self.support
        except NotImplementedError:
            text = f"{type(self)} does not define `support` to check values by; pass validate_args=False"
            warn(text)
            return
        if _fails(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _checked(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return pb.Size(sample_shape) + self._batch_shape + self._event_shape

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its batch broadcast to another shape; parameters become views."""
        ours = next(c for c in type(self).__mro__ if c.__module__.startswith(__package__))
        if ours in (Distribution, ExponentialFamily):
            raise NotImplementedError(f"{type(self).__name__} does not implement expand()")
        new, batch_shape = self._get_checked_instance(ours, _instance), pb.Size(batch_shape)
        sets = self.arg_constraints
        for name, value in self.__dict__.items():
            if name in new.__dict__:
                continue
            if name in sets or name in self._taken:
                dims = sets[name].event_dim if name in sets else 0
                value = value.expand(batch_shape + value.shape[value.dim() - dims :])
            elif isinstance(value, Distribution):
                value = value.expand(batch_shape)
            new.__dict__[name] = value
        new._batch_shape, new._validate_args = batch_shape, self._validate_args
        return new

    def sample(self, sample_shape: Any = ()) -> Any:
        """Random values of the shape `sample_shape + batch_shape + event_shape`, without derivatives."""
        with pb.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """The same with derivatives by the parameters."""
        return _missing(self, "rsample")

    def sample_n(self, n: int) -> Any:
        """`sample((n,))`."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, of each event."""
        return _missing(self, "log_prob")

    def cdf(self, value: Any) -> Any:
        """The probability of values up to `value`."""
        return _missing(self, "cdf")

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        return _missing(self, "icdf")

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution, along a new first dimension."""
        return _missing(self, "enumerate_support")

    def entropy(self) -> Any:
        """The expectation of `-log_prob`."""
        return _missing(self, "entropy")

    def perplexity(self) -> Any:
        """`exp(entropy())`."""
        return self.entropy().exp()

    def __repr__(self) -> str:
        own = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        shown = ", ".join(f"{name}: {v if v.numel() == 1 else v.size()}" for name, v in own)
        return f"{type(self).__name__}({shown})"


def _missing(self: Any, name: str) -> Any:
    raise NotImplementedError(f"{type(self).__name__} does not implement {name}")


class ExponentialFamily(Distribution):
    """Densities `exp(<t(x), θ> - F(θ) + k(x))`; the entropy comes from the normalizer F (Nielsen and Nock, 2010)."""

    _natural_params: Any = property(lambda self: _missing(self, "_natural_params"))
    _mean_carrier_measure: Any = property(lambda self: _missing(self, "_mean_carrier_measure"))

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return _missing(self, "_log_normalizer")

    def entropy(self) -> Any:
        params = tuple(self._natural_params)
        slopes = pb.func.grad(lambda p: self._log_normalizer(*p).sum())(params)
        result = self._log_normalizer(*params) - self._mean_carrier_measure
        for p, slope in zip(params, slopes, strict=True):
            result = result - (p * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result
