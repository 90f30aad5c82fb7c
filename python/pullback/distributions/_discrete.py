"""Distributions of counts, categories and other discrete values."""

from __future__ import annotations

from math import nan
from typing import Any

import pullback as pb

from . import constraints
from ._continuous import _Odds
from .distribution import Distribution, ExponentialFamily, _fails
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Geometric",
    "Multinomial",
    "NegativeBinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
]


def _cross_entropy(logits: Any, value: Any) -> Any:
    return pb.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")


def _all_values(values: Any, batch_shape: Any, expand: bool) -> Any:
    values = values.reshape((-1,) + (1,) * len(batch_shape))
    return values.expand((-1, *batch_shape)) if expand else values


class Bernoulli(_Odds, ExponentialFamily):
    """1 with the probability `probs`, else 0.

    >>> pullback.distributions.Bernoulli(pullback.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    _natural_params = property(lambda self: (self.probs.logit(),))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self._take(validate_args, **self._one_of(probs, logits))

    @property
    def mode(self) -> Any:
        p = self.probs
        return pb.where(p == 0.5, nan, (p >= 0.5).to(p.dtype))

    def sample(self, sample_shape: Any = ()) -> Any:
        with pb.no_grad():
            return pb.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        return -_cross_entropy(*broadcast_all(self.logits, self._checked(value)))

    def entropy(self) -> Any:
        return _cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = pb.arange(2, dtype=self._param.dtype, device=self._param.device)
        return _all_values(values, self._batch_shape, expand)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return natural_params[0].exp().log1p()


class Geometric(_Odds):
    """How many trials of probability `probs` fail before the first success."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: pb.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self._take(validate_args, **self._one_of(probs, logits))
        if self._validate_args and probs is not None and _fails(self.probs > 0):
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to be "
                f"positive but found invalid values:\n{self.probs}"
            )

    def sample(self, sample_shape: Any = ()) -> Any:
        with pb.no_grad():
            p = self.probs
            u = pb.empty(self._extended_shape(sample_shape), dtype=p.dtype, device=p.device)
            return (u.uniform_(pb.finfo(p.dtype).tiny, 1).log() / (-p).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        value, p = broadcast_all(self._checked(value), self.probs)
        fails = pb.where((p == 1) & (value == 0), 0.0, p)
        return value * (-fails).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return _cross_entropy(self.logits, self.probs) / self.probs


class Categorical(_Odds):
    """The indices of the last dimension, with probabilities proportional to `probs`, or to `exp(logits)`.

    >>> pullback.distributions.Categorical(pullback.tensor([1.0, 3.0])).log_prob(pullback.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    mean = variance = property(lambda self: pb.full_like(self._param[..., 0], nan))
    mode = property(lambda self: self.probs.argmax(-1))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        ((name, given),) = self._one_of(probs, logits).items()
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    def sample(self, sample_shape: Any = ()) -> Any:
        sample_shape = pb.Size(sample_shape)
        with pb.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = pb.multinomial(rows, sample_shape.numel(), True)
            return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        index = self._checked(value).long().unsqueeze(-1)
        index, log_probs = pb.broadcast_tensors(index, self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=pb.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return _all_values(pb.arange(self._num_events, device=self._param.device), self._batch_shape, expand)


class OneHotCategorical(Distribution):
    """The categories of `Categorical` as vectors that are 1 at one place.

    >>> pullback.distributions.OneHotCategorical(pullback.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)
    mean = probs
    mode = property(lambda self: self._hot(self._categorical.mode))
    variance = property(lambda self: self.probs * (1 - self.probs))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args)

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    def _hot(self, index: Any) -> Any:
        return pb.nn.functional.one_hot(index, self._event_shape[0]).to(self._param.dtype)

    def sample(self, sample_shape: Any = ()) -> Any:
        return self._hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        return self._categorical.log_prob(self._checked(value).argmax(-1))

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self._event_shape[0]
        values = pb.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose samples pass their gradients on to the probabilities (Bengio et al., 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Poisson(ExponentialFamily):
    """Counts of events that come at the rate `rate`."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    _natural_params = property(lambda self: (self.rate.log(),))

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        self._take(validate_args, rate=rate)

    def sample(self, sample_shape: Any = ()) -> Any:
        with pb.no_grad():
            return pb.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        rate, value = broadcast_all(self.rate, self._checked(value))
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return natural_params[0].exp()


class _Trials(_Odds):
    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        ((name, given),) = self._one_of(probs, logits).items()
        count, given = broadcast_all(total_count, given)
        self._take(validate_args, total_count=count.to(given.dtype), **{name: given})


class Binomial(_Trials):
    """How many of `total_count` trials of probability `probs` succeed.

    >>> pullback.distributions.Binomial(4, pullback.tensor(0.5)).log_prob(pullback.tensor(2.0)).exp()
    tensor(0.3750)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().minimum(self.total_count))
    variance = property(lambda self: self.mean * (1 - self.probs))

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with pb.no_grad():
            return pb.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (self._checked(value) + 1).lgamma() - (n - value + 1).lgamma()
        # The maximum of logits and 0, with the derivative 1/2 at 0.
        above = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        return ways + value * logits - n * (above + (-logits.abs()).exp().log1p())

    def _count(self, method: str) -> int:
        count = int(self.total_count.max())
        if count != self.total_count.min():
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`; give one count for all")
        return count

    def entropy(self) -> Any:
        self._count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        count = self._count("enumerate_support")
        values = pb.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        return _all_values(values, self._batch_shape, expand)


class NegativeBinomial(_Trials):
    """How many trials of probability `probs` succeed before `total_count` of them have failed."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    @property
    def _gamma(self) -> Any:
        from ._gamma import Gamma

        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Any:
        with pb.no_grad():
            return pb.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        n, sigmoid = self.total_count, pb.nn.functional.logsigmoid
        all_trials = n + self._checked(value)
        ways = all_trials.lgamma() - (1 + value).lgamma() - n.lgamma()
        return n * sigmoid(-self.logits) + value * sigmoid(self.logits) + ways.masked_fill(all_trials == 0, 0)


class Multinomial(Distribution):
    """How often each category is drawn in `total_count` draws."""

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.mean * (1 - self.probs))

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported; give an int")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args)

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Any = ()) -> Any:
        with pb.no_grad():
            drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
            counts = pb.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype, device=drawn.device)
            return counts.scatter_add(-1, drawn, pb.ones_like(drawn)).to(self.probs.dtype)

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        logits = logits.masked_fill((value == 0) & (logits == -pb.inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Any:
        n = self.total_count
        binomial = Binomial(n, self.probs)
        support = binomial.enumerate_support(False)[1:]
        weights = binomial.log_prob(support).exp()
        spread = (weights * (support + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - pb.tensor(n + 1.0, dtype=self.probs.dtype).lgamma() + spread
