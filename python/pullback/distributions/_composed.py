"""Distributions made of others."""

from __future__ import annotations

from math import inf, log, nan, pi
from typing import Any

import pullback as pb

from . import constraints
from ._continuous import Cauchy, Exponential, Normal, Uniform, _Odds
from ._discrete import Categorical
from .distribution import Distribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
    Transform,
)
from .utils import _sum_rightmost, broadcast_all, clamp_probs, euler_constant

__all__ = [
    "ExpRelaxedCategorical",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "Kumaraswamy",
    "LogNormal",
    "LogisticNormal",
    "LogitRelaxedBernoulli",
    "MixtureSameFamily",
    "Pareto",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "TransformedDistribution",
    "Weibull",
]


class Independent(Distribution):
    """Takes the last `reinterpreted_batch_ndims` dimensions of the batch as part of the event.

    >>> base = pullback.distributions.Normal(pullback.zeros(3), 1.0)
    >>> pullback.distributions.Independent(base, 1).event_shape
    pullback.Size([3])
    """

    arg_constraints: Any = {}
    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(
        lambda self: not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support
    )
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: Any = None) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        inner = self.base_dist.support
        dims = self.reinterpreted_batch_ndims
        return constraints.independent(inner, dims) if dims else inner

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Independent, _instance)
        batch_shape = pb.Size(batch_shape)
        new.base_dist = self.base_dist.expand(batch_shape + self._event_shape[: self.reinterpreted_batch_ndims])
        return super().expand(batch_shape, new)

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The values of a distribution after one transform, or a list of them.

    >>> D = pullback.distributions
    >>> D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).cdf(pullback.tensor(1.0))
    tensor(0.5000)
    """

    arg_constraints: Any = {}
    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: Any = None) -> None:
        transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(transforms, list) or not all(isinstance(t, Transform) for t in transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        self.transforms, whole = transforms, ComposeTransform(transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        dims, taken = len(base_distribution.event_shape), whole.domain.event_dim
        if len(shape) < taken:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {taken}, but got {shape}; expand() it"
            )
        # Parameters of the transforms may broadcast the base.
        forward = whole.forward_shape(shape)
        needed = whole.inverse_shape(forward)
        if needed != shape:
            base_distribution = base_distribution.expand(needed[: len(needed) - dims])
        if taken > dims:
            base_distribution = Independent(base_distribution, taken - dims)
        self.base_dist = base_distribution
        cut = len(forward) - max(whole.codomain.event_dim, dims + whole.codomain.event_dim - taken)
        super().__init__(forward[:cut], forward[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        ours = next(c for c in type(self).__mro__ if c.__module__.startswith(__package__))
        new, batch_shape = self._get_checked_instance(ours, _instance), pb.Size(batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self._event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return super().expand(batch_shape, new)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self._event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    def _forward(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _backward(self, y: Any) -> Any:
        for transform in reversed(self.transforms):
            y = transform.inv(y)
        return y

    def sample(self, sample_shape: Any = ()) -> Any:
        with pb.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        y, dims, total = self._checked(value), len(self._event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            volume = transform.log_abs_det_jacobian(x, y)
            total, y = total - _sum_rightmost(volume, dims - transform.domain.event_dim), x
        return total + _sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _turned(self, share: Any) -> Any:
        """The share of values above instead of below, where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return share if isinstance(sign, int) and sign == 1 else sign * (share - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        value = self._backward(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._forward(self.base_dist.icdf(self._turned(value)))


class _Wrapped(TransformedDistribution):
    """Has the parameters of its base."""

    has_rsample: Any = True
    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)


class LogNormal(_Wrapped):
    """`exp` of a normal variable.

    >>> pullback.distributions.LogNormal(0.0, 1.0).mode
    tensor(0.3679)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale**2).exp())
    variance = property(lambda self: (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp())

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(_Wrapped):
    """A point of the simplex: the stick-breaking transform of normal variables, one more than they are."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        base = Normal(loc, scale, validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args)


class _Half(_Wrapped):
    """The absolute value of a symmetric variable."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    mode = property(lambda self: pb.zeros_like(self.scale))
    _of: Any = Normal

    def __init__(self, scale: Any, validate_args: Any = None) -> None:
        super().__init__(self._of(0, scale, validate_args=False), AbsTransform(), validate_args)

    def log_prob(self, value: Any) -> Any:
        value = pb.as_tensor(self._checked(value), dtype=self.scale.dtype)
        return pb.where(value >= 0, self.base_dist.log_prob(value) + log(2), -inf)

    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - log(2)


class HalfNormal(_Half):
    """The absolute value of a normal variable of mean 0."""

    mean = property(lambda self: self.scale * (2 / pi) ** 0.5)
    variance = property(lambda self: self.scale**2 * (1 - 2 / pi))


class HalfCauchy(_Half):
    """The absolute value of a Cauchy variable around 0."""

    mean = property(lambda self: pb.full_like(self.scale, inf))
    variance = property(lambda self: self.base_dist.variance)
    _of = Cauchy


class Gumbel(TransformedDistribution):
    """`loc - scale log(-log u)` of a uniform u, as maxima of many variables have.

    >>> pullback.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: pi / 6**0.5 * self.scale)
    variance = property(lambda self: self.stddev**2)

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = pb.finfo(self.loc.dtype)
        ends = pb.full_like(self.loc, info.tiny), pb.full_like(self.loc, 1 - info.eps)
        turn = AffineTransform(0, -pb.ones_like(self.scale))
        steps = [ExpTransform().inv, turn, ExpTransform().inv, AffineTransform(self.loc, -self.scale)]
        super().__init__(Uniform(*ends, validate_args=validate_args), steps, validate_args)

    def log_prob(self, value: Any) -> Any:
        y = (self.loc - self._checked(value)) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)


class Weibull(TransformedDistribution):
    """`scale` times an exponential variable to the power of `1 / concentration`."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    concentration_reciprocal = property(lambda self: self.concentration.reciprocal())
    mean = property(lambda self: self.scale * self._moment(1))
    mode = property(lambda self: self.scale * (1 - 1 / self.concentration) ** self.concentration_reciprocal)
    variance = property(lambda self: self.scale**2 * (self._moment(2) - self._moment(1) ** 2))

    def __init__(self, scale: Any, concentration: Any, validate_args: Any = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(pb.ones_like(self.scale), validate_args)
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args)

    def _moment(self, n: int) -> Any:
        return (1 + n * self.concentration_reciprocal).lgamma().exp()

    def entropy(self) -> Any:
        r = self.concentration_reciprocal
        return euler_constant * (1 - r) + (self.scale * r).log() + 1


class Pareto(TransformedDistribution):
    """Density `alpha scale^alpha / x^(alpha + 1)` from `scale` on."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    mode = property(lambda self: self.scale)

    def __init__(self, scale: Any, alpha: Any, validate_args: Any = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        steps = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(Exponential(self.alpha, validate_args), steps, validate_args)

    @property
    def mean(self) -> Any:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Any:
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()


class Kumaraswamy(TransformedDistribution):
    """Distribution function `1 - (1 - x^concentration1)^concentration0` in [0, 1]."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self.mean**2)

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None) -> None:
        self.concentration1, self.concentration0 = a, b = broadcast_all(concentration1, concentration0)
        steps = [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal())]
        super().__init__(Uniform(pb.zeros_like(b), pb.ones_like(b), validate_args), steps, validate_args)

    def _moment(self, n: int) -> Any:
        first, b = 1 + n / self.concentration1, self.concentration0
        return b * (first.lgamma() + b.lgamma() - (first + b).lgamma()).exp()

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1)
        return pb.where(inside, ((a - 1) / (a * b - 1)) ** a.reciprocal(), nan)

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class LogitRelaxedBernoulli(_Odds):
    """The log-odds of `RelaxedBernoulli`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self.temperature = temperature
        self._take(validate_args, **self._one_of(probs, logits))

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(pb.rand(shape, dtype=p.dtype, device=p.device))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        far = logits - value * self.temperature
        return self.temperature.log() + far - 2 * far.exp().log1p()


class _Relaxed(TransformedDistribution):
    has_rsample = True
    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


class RelaxedBernoulli(_Relaxed):
    """Numbers in (0, 1) near a Bernoulli variable, with derivatives by the probability (Maddison et al., 2017).

    >>> pullback.distributions.RelaxedBernoulli(pullback.tensor(0.5), pullback.tensor([0.3])).rsample().shape
    pullback.Size([1])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        # The base has seen the arguments.
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(Distribution):
    """The logarithms of `RelaxedOneHotCategorical`."""

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args)

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    def rsample(self, sample_shape: Any = ()) -> Any:
        logits = self.logits
        u = clamp_probs(pb.rand(self._extended_shape(sample_shape), dtype=logits.dtype, device=logits.device))
        return ((logits - (-u.log()).log()) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Any) -> Any:
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, self._checked(value))
        scores = (logits - value * self.temperature).log_softmax(-1).sum(-1)
        return scores + pb.full_like(self.temperature, float(n)).lgamma() + (n - 1) * self.temperature.log()


class RelaxedOneHotCategorical(_Relaxed):
    """Points of the simplex near its corners, with derivatives by the probabilities: Gumbel-softmax.

    >>> half = pullback.tensor(0.5)
    >>> pullback.distributions.RelaxedOneHotCategorical(half, pullback.ones(4)).rsample().shape
    pullback.Size([4])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)


class MixtureSameFamily(Distribution):
    """Draws one of the distributions along the last dimension of a batch, by a `Categorical`, and then from it.

    >>> D = pullback.distributions
    >>> parts = D.Normal(pullback.tensor([-1.0, 1.0]), 0.5)
    >>> D.MixtureSameFamily(D.Categorical(pullback.ones(2)), parts).mean
    tensor(0.)
    """

    arg_constraints: Any = {}
    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: Any = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of distributions.Distribution")
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(mixed), reversed(batch), strict=False)):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                f"`component_distribution.batch_shape`({batch})"
            )
        self._num_component, parts = mixture_distribution._num_events, component_distribution.batch_shape[-1]
        if self._num_component != parts:
            raise ValueError(
                f"`mixture_distribution component` ({self._num_component}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({parts})"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = pb.Size(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        return super().expand(batch_shape, new)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _average(self, of_parts: Any) -> Any:
        """The mean over the components, by their probabilities."""
        dims = self._event_ndims
        probs = self._mixture_distribution.probs
        return (probs.reshape(probs.shape + (1,) * dims) * of_parts).sum(-1 - dims)

    @property
    def mean(self) -> Any:
        return self._average(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        parts = self._component_distribution
        return self._average(parts.variance) + self._average((parts.mean - self._pad(self.mean)) ** 2)

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, value: Any) -> Any:
        shares = self._component_distribution.cdf(self._pad(value))
        return (shares * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Any:
        log_probs = self._component_distribution.log_prob(self._pad(self._checked(value)))
        return (log_probs + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with pb.no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            parts = self._component_distribution.sample(sample_shape)
            dim = len(pb.Size(sample_shape)) + len(self._batch_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand((*parts.shape[:dim], 1, *self._event_shape))
            return parts.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
