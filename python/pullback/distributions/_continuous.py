"""Distributions of real numbers."""

from __future__ import annotations

from math import inf, log, nan, pi
from typing import Any

import pullback as pb

from . import constraints
from .distribution import Distribution, ExponentialFamily
from .utils import _standard_normal, broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits

__all__ = [
    "Cauchy",
    "ContinuousBernoulli",
    "Exponential",
    "GeneralizedPareto",
    "Laplace",
    "Normal",
    "Uniform",
    "VonMises",
]


class _Scaled(Distribution):
    """A standard variable, scaled and moved."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    mean = mode = property(lambda self: self.loc)

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    def _standard(self, value: Any) -> Any:
        return (self._checked(value) - self.loc) / self.scale

    def _empty(self, sample_shape: Any) -> Any:
        return pb.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)


class Normal(_Scaled, ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    >>> pullback.distributions.Normal(0.0, 1.0).log_prob(pullback.tensor(0.0))
    tensor(-0.9189)
    """

    _mean_carrier_measure = 0
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale**2)
    _natural_params = property(lambda self: (self.loc / self.variance, -0.5 / self.variance))

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with pb.no_grad():
            return pb.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.loc + _standard_normal(shape, self.loc.dtype, self.loc.device) * self.scale

    def log_prob(self, value: Any) -> Any:
        far = (self._checked(value) - self.loc) ** 2 / (2 * self.variance)
        return -far - self.scale.log() - 0.5 * log(2 * pi)

    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + pb.erf(self._standard(value) / 2**0.5))

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * pb.erfinv(2 * value - 1) * 2**0.5

    def entropy(self) -> Any:
        return self.scale.log() + 0.5 * (1 + log(2 * pi))

    def _log_normalizer(self, *natural_params: Any) -> Any:
        x, y = natural_params
        return 0.5 * pb.log(-pi / y) - x**2 / (4 * y)


class Laplace(_Scaled):
    """Density `exp(-|x - loc| / scale) / (2 scale)`."""

    variance = property(lambda self: 2 * self.scale**2)
    stddev = property(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = self._empty(sample_shape).uniform_(pb.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * pb.log1p(-u.abs())

    def log_prob(self, value: Any) -> Any:
        return -(2 * self.scale).log() - self._standard(value).abs()

    def cdf(self, value: Any) -> Any:
        z = self._standard(value)
        return 0.5 - 0.5 * z.sign() * pb.expm1(-z.abs())

    def icdf(self, value: Any) -> Any:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * pb.log1p(-2 * side.abs())

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()


class Cauchy(_Scaled):
    """Density `1 / (π scale (1 + ((x - loc) / scale)²))`; it has no mean."""

    mean = property(lambda self: pb.full_like(self.loc, nan))
    variance = property(lambda self: pb.full_like(self.loc, inf))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.loc + self._empty(sample_shape).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Any:
        return -log(pi) - self.scale.log() - (self._standard(value) ** 2).log1p()

    def cdf(self, value: Any) -> Any:
        return pb.atan(self._standard(value)) / pi + 0.5

    def icdf(self, value: Any) -> Any:
        return pb.tan(pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        return log(4 * pi) + self.scale.log()


class Uniform(Distribution):
    """Density `1 / (high - low)` in [low, high).

    >>> pullback.distributions.Uniform(0.0, 4.0).log_prob(pullback.tensor(1.0)).exp()
    tensor(0.2500)
    """

    has_rsample = True
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        self._take(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> Any:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = pb.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        inside = (self.low <= self._checked(value)) & (value < self.high)
        return inside.to(self.low.dtype).log() - self.entropy()

    def cdf(self, value: Any) -> Any:
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()


class Exponential(ExponentialFamily):
    """Density `rate exp(-rate x)` for x >= 0.

    >>> pullback.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    mean = stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: pb.zeros_like(self.rate))
    variance = property(lambda self: self.rate**-2)
    _natural_params = property(lambda self: (-self.rate,))

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        self._take(validate_args, rate=rate)

    def rsample(self, sample_shape: Any = ()) -> Any:
        like = self.rate
        return pb.empty(self._extended_shape(sample_shape), dtype=like.dtype, device=like.device).exponential_() / like

    def log_prob(self, value: Any) -> Any:
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value: Any) -> Any:
        return 1 - pb.exp(-self.rate * self._checked(value))

    def icdf(self, value: Any) -> Any:
        return -pb.log1p(-value) / self.rate

    def entropy(self) -> Any:
        return 1 - self.rate.log()

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return -(-natural_params[0]).log()


class _Odds(Distribution):
    """Has `probs` or `logits` of two outcomes; the other one is computed when it is asked for."""

    _given = ""
    _param = property(lambda self: self.__dict__[self._given])
    param_shape = property(lambda self: self._param.shape)

    def _one_of(self, probs: Any, logits: Any) -> dict[str, Any]:
        if (probs is None) == (logits is None):
            raise ValueError(
                f"{type(self).__name__}: Either `probs` or `logits` must be specified, but not both; leave one out"
            )
        self._given = "logits" if probs is None else "probs"
        return {self._given: logits if probs is None else probs}

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, is_binary=True)


class ContinuousBernoulli(_Odds, ExponentialFamily):
    """Density proportional to `probs^x (1 - probs)^(1 - x)` in [0, 1] (Loaiza-Ganem and Cunningham, 2019).

    Between `lims`, where the formulas cancel, series are used.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    stddev = property(lambda self: self.variance.sqrt())
    _natural_params = property(lambda self: (self.logits,))

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501), validate_args: Any = None
    ) -> None:
        self._lims = lims
        self._take(validate_args, **self._one_of(probs, logits))
        if probs is not None:
            self.probs = clamp_probs(self.probs)

    @lazy_property
    def probs(self) -> Any:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _parts(self) -> tuple[Any, Any, Any]:
        """Where the formulas hold, probabilities that are safe for them, and their log-odds."""
        outside = self._outside()
        cut = pb.where(outside, self.probs, self._lims[0])
        return outside, cut, cut.log() - (-cut).log1p()

    def _cont_bern_log_norm(self) -> Any:
        outside, cut, odds = self._parts()
        low = cut <= 0.5
        below, above = pb.where(low, cut, 0.0), pb.where(low, 1.0, cut)
        x = (self.probs - 0.5) ** 2
        exact = odds.abs().log() - pb.where(low, (-2 * below).log1p(), (2 * above - 1).log())
        return pb.where(outside, exact, log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Any:
        outside, cut, odds = self._parts()
        x = self.probs - 0.5
        return pb.where(outside, cut / (2 * cut - 1) - 1 / odds, 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    @property
    def variance(self) -> Any:
        outside, cut, odds = self._parts()
        x = (self.probs - 0.5) ** 2
        exact = cut * (cut - 1) / (1 - 2 * cut) ** 2 + odds**-2
        return pb.where(outside, exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(pb.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        loss = pb.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._cont_bern_log_norm() - loss

    def cdf(self, value: Any) -> Any:
        outside, cut, _ = self._parts()
        exact = (cut ** self._checked(value) * (1 - cut) ** (1 - value) + cut - 1) / (2 * cut - 1)
        inside = pb.where(outside, exact, value)
        return pb.where(value <= 0, pb.zeros_like(value), pb.where(value >= 1, pb.ones_like(value), inside))

    def icdf(self, value: Any) -> Any:
        outside, cut, odds = self._parts()
        return pb.where(outside, ((-cut + value * (2 * cut - 1)).log1p() - (-cut).log1p()) / odds, value)

    def entropy(self) -> Any:
        rest = (-self.probs).log1p()
        return self.mean * (rest - self.probs.log()) - self._cont_bern_log_norm() - rest

    def _log_normalizer(self, *natural_params: Any) -> Any:
        x = natural_params[0]
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = pb.where(outside, x, self._lims[0] - 0.5)
        return pb.where(outside, cut.expm1().abs().log() - cut.abs().log(), x / 2 + x**2 / 24 - x**4 / 2880)


class VonMises(Distribution):
    """Angles around `loc`: density `exp(concentration cos(x - loc)) / (2π I₀(concentration))`.

    Samples by the rejection method of Best and Fisher (1979).
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    mean = mode = property(lambda self: self.loc)

    def __init__(self, loc: Any, concentration: Any, validate_args: Any = None) -> None:
        self._take(validate_args, loc=loc, concentration=concentration)

    def log_prob(self, value: Any) -> Any:
        k = self.concentration
        return k * (pb.cos(self._checked(value) - self.loc) - 1) - log(2 * pi) - pb.special.i0e(k).log()

    @lazy_property
    def variance(self) -> Any:
        return 1 - pb.special.i1e(self.concentration) / pb.special.i0e(self.concentration)

    @lazy_property
    def _proposal_r(self) -> Any:
        k = self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return pb.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Any:
        with pb.no_grad():
            k, r, loc = self.concentration.double(), self._proposal_r, self.loc.double()
            x = pb.empty(self._extended_shape(sample_shape), dtype=pb.float64, device=loc.device)
            done = pb.zeros(x.shape, dtype=pb.bool, device=loc.device)
            while not done.all():
                u1, u2, u3 = pb.rand((3, *x.shape), dtype=pb.float64, device=loc.device)
                z = pb.cos(pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                x, done = pb.where(accept, (u3 - 0.5).sign() * f.acos(), x), done | accept
            return ((x + pi + loc) % (2 * pi) - pi).to(self.loc.dtype)


class GeneralizedPareto(Distribution):
    """Density `(1 + concentration (x - loc) / scale)^(-1 / concentration - 1) / scale` from `loc` on."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    mode = property(lambda self: self.loc)

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: Any = None) -> None:
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    def _safe(self) -> tuple[Any, Any]:
        """Where the law is exponential, and concentrations that formulas of other laws may divide by."""
        zero = self.concentration.abs() <= 1e-8
        return zero, pb.where(zero, 1.0, self.concentration)

    def _standard(self, value: Any) -> Any:
        return (self._checked(value) - self.loc) / self.scale

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, pb.where(self.concentration < 0, end, inf))

    @property
    def mean(self) -> Any:
        exists = self.concentration < 1
        return pb.where(exists, self.loc + self.scale / (1 - pb.where(exists, self.concentration, 0.5)), nan)

    @property
    def variance(self) -> Any:
        exists = self.concentration < 0.5
        c = pb.where(exists, self.concentration, 0.25)
        return pb.where(exists, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(pb.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Any:
        zero, c = self._safe()
        z = self._standard(value)
        power = 1 / c + 1
        return -self.scale.log() - pb.where(zero, z, pb.where(power == 0, power, power * (c * z).log1p()))

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of values from `value` on."""
        zero, c = self._safe()
        z = self._standard(value)
        return -pb.where(zero, z, (c * z).log1p() / c)

    def log_cdf(self, value: Any) -> Any:
        """`log(cdf(value))`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        zero, c = self._safe()
        rest = (-value).log1p()
        return self.loc + self.scale * pb.where(zero, -rest, (-c * rest).expm1() / c)

    def entropy(self) -> Any:
        return self.scale.log() + self.concentration + 1
