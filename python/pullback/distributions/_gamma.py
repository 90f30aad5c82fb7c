"""Distributions that are made of gamma variables."""

from __future__ import annotations

from math import inf, lgamma, log, nan, pi
from typing import Any

import pullback as pb

from . import constraints
from ._composed import _Wrapped
from .distribution import Distribution, ExponentialFamily
from .transforms import PowerTransform
from .utils import _standard_normal, broadcast_all

__all__ = ["Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "LKJCholesky", "StudentT"]


def _not_below(value: Any, low: float) -> Any:
    """At least `low`, with the derivative of the value everywhere."""
    kept = value.detach()
    return value + (kept.clamp(min=low) - kept)


def _tiny(value: Any) -> float:
    return pb.finfo(value.dtype).tiny


class Gamma(ExponentialFamily):
    """Density `rate^concentration x^(concentration - 1) exp(-rate x) / Γ(concentration)`.

    >>> pullback.distributions.Gamma(4.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate**2)
    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))

    def __init__(self, concentration: Any, rate: Any, validate_args: Any = None) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        value = pb._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return _not_below(value, _tiny(value))

    def log_prob(self, value: Any) -> Any:
        value = self._checked(pb.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))
        c, rate = self.concentration, self.rate
        return pb.xlogy(c, rate) + pb.xlogy(c - 1, value) - rate * value - c.lgamma()

    def cdf(self, value: Any) -> Any:
        return pb.special.gammainc(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Any:
        c = self.concentration
        return c - self.rate.log() + c.lgamma() + (1 - c) * c.digamma()

    def _log_normalizer(self, *natural_params: Any) -> Any:
        x, y = natural_params
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The sum of `df` squares of standard normal variables."""

    arg_constraints = {"df": constraints.positive}
    df = property(lambda self: 2 * self.concentration)

    def __init__(self, df: Any, validate_args: Any = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args)


class InverseGamma(_Wrapped):
    """The reciprocal of a gamma variable."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mode = property(lambda self: self.rate / (self.concentration + 1))

    def __init__(self, concentration: Any, rate: Any, validate_args: Any = None) -> None:
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args)

    @property
    def mean(self) -> Any:
        c = self.concentration
        return pb.where(c > 1, self.rate / (c - 1), inf)

    @property
    def variance(self) -> Any:
        c = self.concentration
        return pb.where(c > 2, self.rate**2 / ((c - 1) ** 2 * (c - 2)), inf)

    def entropy(self) -> Any:
        c = self.concentration
        return c + self.rate.log() + c.lgamma() - (1 + c) * c.digamma()


class Dirichlet(ExponentialFamily):
    """Points of the simplex with density proportional to the product of `x_i^(concentration_i - 1)`.

    >>> pullback.distributions.Dirichlet(pullback.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _natural_params = property(lambda self: (self.concentration,))
    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    def __init__(self, concentration: Any, validate_args: Any = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mode(self) -> Any:
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, True)
        corner = pb.nn.functional.one_hot(mode.argmax(-1), mode.shape[-1]).to(mode.dtype)
        return pb.where((self.concentration < 1).all(-1, True), corner, mode)

    @property
    def variance(self) -> Any:
        c = self.concentration
        total = c.sum(-1, True)
        return c * (total - c) / (total**2 * (total + 1))

    def sample(self, sample_shape: Any = ()) -> Any:
        c = self.concentration.expand(self._extended_shape(sample_shape)).detach()
        with pb.no_grad():
            parts = pb._standard_gamma(c.double())
            info = pb.finfo(c.dtype)
            return (parts / parts.sum(-1, True)).to(c.dtype).clamp(min=info.tiny, max=1 - info.eps / 2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        c, x = self.concentration.expand(self._extended_shape(sample_shape)), self.sample(sample_shape)
        kept = c.detach()
        # Zero, with the derivative of each component by its own concentration; the others make room for it.
        moved = pb._dirichlet_grad(x, kept, kept.sum(-1, True).expand_as(kept)) * (c - kept)
        return x + moved - x * moved.sum(-1, True)

    def log_prob(self, value: Any) -> Any:
        c = self.concentration
        return pb.xlogy(c - 1, self._checked(value)).sum(-1) - self._log_normalizer(c)

    def entropy(self) -> Any:
        c = self.concentration
        total, rest = c.sum(-1), c - 1
        return self._log_normalizer(c) + rest.sum(-1) * total.digamma() - (rest * c.digamma()).sum(-1)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        (x,) = natural_params
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """Density proportional to `x^(concentration1 - 1) (1 - x)^(concentration0 - 1)` in [0, 1].

    >>> pullback.distributions.Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self._dirichlet.mean[..., 0])
    mode = property(lambda self: self._dirichlet.mode[..., 0])
    variance = property(lambda self: self._dirichlet.variance[..., 0])
    _natural_params = property(lambda self: (self.concentration1, self.concentration0))

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None) -> None:
        both = pb.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        return self._dirichlet.sample(sample_shape)[..., 0]

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        return self._dirichlet.log_prob(pb.stack([value, 1 - value], -1))

    def entropy(self) -> Any:
        return self._dirichlet.entropy()

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return self._dirichlet._log_normalizer(pb.stack(natural_params, -1))


class StudentT(Distribution):
    """Student's distribution of `df` degrees of freedom, scaled and moved."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    mean = property(lambda self: pb.where(self.df > 1, self.loc, nan))
    mode = property(lambda self: self.loc)

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: Any = None) -> None:
        self._take(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    @property
    def variance(self) -> Any:
        df = self.df
        wide = pb.where(df > 1, inf, nan).to(df.dtype)
        return pb.where(df > 2, self.scale**2 * df / (df - 2), wide)

    def rsample(self, sample_shape: Any = ()) -> Any:
        normal = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * (normal * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    def _log_beta(self) -> Any:
        return (0.5 * self.df).lgamma() + lgamma(0.5) - (0.5 * (self.df + 1)).lgamma()

    def log_prob(self, value: Any) -> Any:
        df = self.df
        y = (self._checked(value) - self.loc) / self.scale
        return -0.5 * (df + 1) * (y**2 / df).log1p() - self.scale.log() - 0.5 * df.log() - self._log_beta()

    def entropy(self) -> Any:
        half = 0.5 * (self.df + 1)
        slope = half.digamma() - (0.5 * self.df).digamma()
        return self.scale.log() + half * slope + 0.5 * self.df.log() + self._log_beta()


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared variables, each over its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: Any = None) -> None:
        self._take(validate_args, df1=df1, df2=df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)

    @property
    def mean(self) -> Any:
        return pb.where(self.df2 > 2, self.df2 / (self.df2 - 2), nan)

    @property
    def mode(self) -> Any:
        return pb.where(self.df1 > 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2), nan)

    @property
    def variance(self) -> Any:
        a, b = self.df1, self.df2
        return pb.where(b > 4, 2 * b**2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4)), nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        above = self._gamma1.rsample(sample_shape)
        below = _not_below(self._gamma2.rsample(sample_shape), _tiny(above))
        return _not_below(above / below, _tiny(above))

    def log_prob(self, value: Any) -> Any:
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        ways = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return ways + a * ratio.log() + (a - 1) * self._checked(value).log() - (a + b) * (ratio * value).log1p()


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of size `dim`, by the onion method (Lewandowski et al., 2009).

    The density of the matrix is proportional to its determinant to the power of `concentration - 1`.

    >>> pullback.distributions.LKJCholesky(3, 0.5).sample((2,)).shape
    pullback.Size([2, 3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: Any = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def _shares(self) -> Any:
        """The law of the squared length of each row without its diagonal."""
        c = self.concentration.unsqueeze(-1)
        row = pb.arange(-1, self.dim - 1, dtype=c.dtype, device=c.device).clamp(min=0)
        return Beta(row + 0.5, c + 0.5 * (self.dim - 2) - 0.5 * row)

    def sample(self, sample_shape: Any = ()) -> Any:
        with pb.no_grad():
            squared = self._shares().sample(sample_shape).unsqueeze(-1)
            shape, tiny = self._extended_shape(sample_shape), _tiny(squared)
            normal = pb.randn(shape, dtype=squared.dtype, device=squared.device).tril(-1)
            lower = squared.sqrt() * normal / normal.norm(dim=-1, keepdim=True)
            first = pb.arange(self.dim, device=lower.device).unsqueeze(-1) == 0
            lower = lower.masked_fill(first, 0)
            return lower + (1 - (lower**2).sum(-1)).clamp(min=tiny).sqrt().diag_embed()

    def log_prob(self, value: Any) -> Any:
        c, n = self.concentration, self.dim - 1
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (c - 1).unsqueeze(-1) + self.dim - pb.arange(2, self.dim + 1, device=c.device)
        alpha = c + 0.5 * n
        volume = 0.5 * n * log(pi) + pb.mvlgamma(alpha - 0.5, n) - alpha.lgamma() * n
        return (order * diagonal.log()).sum(-1) - volume
