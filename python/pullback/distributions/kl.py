"""Kullback-Leibler divergences: `∫ p log(p / q)`."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, pi
from typing import Any, TypeVar

import pullback as pb

from .._warnings import warn
from . import _composed as c
from . import _continuous as r
from . import _discrete as d
from ._gamma import Beta, Dirichlet, Gamma
from .distribution import ExponentialFamily
from .multivariate_normal import LowRankMultivariateNormal, MultivariateNormal, _batch_lowrank_mahalanobis
from .multivariate_normal import _batch_mahalanobis as _mahalanobis
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_F = TypeVar("_F")
_REGISTRY: dict[tuple[type, type], Any] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[_F], _F]:
    """A decorator: `function(p, q)` is the divergence of distributions of these classes, and of those below them, which
    may be bases that distributions of another library share.

    Raises:
        TypeError: if one of them is not a class.
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type):
            raise TypeError(f"register_kl(): expected a Distribution subclass but got {kind}")

    def register(function: _F) -> _F:
        _REGISTRY[type_p, type_q] = function
        return function

    return register


def _find(p: type, q: type) -> Any:
    """The function of the classes next to these; warns if p and q do not agree about which these are."""
    far = [(p.__mro__.index(a), q.__mro__.index(b), f) for (a, b), f in _REGISTRY.items() if _fits(p, a, q, b)]
    if not far:
        return None
    first, second = min(far, key=lambda m: m[:2])[2], min(far, key=lambda m: m[1::-1])[2]
    if first is not second:
        pair = f"{p.__name__}, {q.__name__}"
        warn(f"Ambiguous kl_divergence({pair}). Please register_kl({pair})", RuntimeWarning)
    return first


def _fits(p: type, a: type, q: type, b: type) -> bool:
    return issubclass(p, a) and issubclass(q, b)


def kl_divergence(p: Any, q: Any) -> Any:
    """The Kullback-Leibler divergence of q from p, of each member of the batch.

    >>> D = pullback.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)

    Raises:
        NotImplementedError: if there is no formula for these classes.
    """
    function = _find(type(p), type(q))
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}; "
            "register_kl() one"
        )
    return function(p, q)


# KL(p || q) is the cross entropy, an expectation under p of a few functions of x, less the entropy of p.


def _log_mean(p: Any) -> Any:
    """The expectation of `log x`."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, r.Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, c.Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _uniform_log_mean(p.low, p.high)


def _uniform_log_mean(low: Any, high: Any) -> Any:
    return (pb.xlogy(high, high) - pb.xlogy(low, low)) / (high - low) - 1


def _decay(p: Any, loc: Any, scale: Any) -> Any:
    """The expectation of `exp(-(x - loc) / scale)`."""
    if isinstance(p, r.Normal):
        return pb.exp((loc - p.loc) / scale + 0.5 * (p.scale / scale) ** 2)
    if isinstance(p, r.Uniform):
        low, high = ((loc - end) / scale for end in (p.low, p.high))
        return (low.exp() - high.exp()) * scale / (p.high - p.low)
    order = p.concentration if isinstance(p, Gamma) else 1
    return (loc / scale).exp() * (1 + 1 / (p.rate * scale)) ** -order


def _outside(p: Any, low: Any, high: Any = None) -> Any:
    """Whether p gives weight to values that are not between `low` and `high`."""
    s = p.support
    out = pb.as_tensor(s.lower_bound) < low
    return out if high is None else out | (pb.as_tensor(getattr(s, "upper_bound", inf)) > high)


def _cross_normal(p: Any, q: Any) -> Any:
    return 0.5 * log(2 * pi) + q.scale.log() + (p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale**2)


def _cross_exponential(p: Any, q: Any) -> Any:
    return pb.where(_outside(p, 0), inf, q.rate * p.mean - q.rate.log())


def _cross_gamma(p: Any, q: Any) -> Any:
    a, rate = q.concentration, q.rate
    cross = a.lgamma() - a * rate.log() - (a - 1) * _log_mean(p) + rate * p.mean
    return pb.where(_outside(p, 0), inf, cross)


def _cross_gumbel(p: Any, q: Any) -> Any:
    return q.scale.log() + (p.mean - q.loc) / q.scale + _decay(p, q.loc, q.scale)


def _cross_uniform(p: Any, q: Any) -> Any:
    return pb.where(_outside(p, q.low, q.high), inf, (q.high - q.low).log())


def _cross_continuous_bernoulli(p: Any, q: Any) -> Any:
    cross = -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    return pb.where(_outside(p, 0, 1), inf, cross)


def _cross_pareto(p: Any, q: Any) -> Any:
    cross = (q.alpha + 1) * _log_mean(p) - q.alpha.log() - q.alpha * q.scale.log()
    return pb.where(_outside(p, q.scale), inf, cross)


def _cross_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    far = (a - 1) * _log_mean(p) + (b - 1) * _uniform_log_mean(1 - p.high, 1 - p.low)
    return pb.where(_outside(p, 0, 1), inf, q._log_normalizer(a, b) - far)


def _by_cross_entropy(cross: Any) -> Any:
    return lambda p, q: cross(p, q) - p.entropy()


def _infinite(p: Any, q: Any) -> Any:
    """p gives weight to values that q excludes."""
    like = next(getattr(p, name) for name in p.arg_constraints if hasattr(p, name))
    other = next(getattr(q, name) for name in q.arg_constraints if hasattr(q, name))
    return pb.full(pb.broadcast_shapes(p.batch_shape, q.batch_shape), inf, dtype=(like + other).dtype)


_CROSS: dict[Any, tuple[Any, tuple[Any, ...]]] = {
    r.Normal: (
        _cross_normal,
        (Beta, r.ContinuousBernoulli, r.Exponential, Gamma, c.Gumbel, r.Laplace, c.Pareto, r.Uniform),
    ),
    r.Exponential: (_cross_exponential, (Beta, r.ContinuousBernoulli, Gamma, c.Pareto, r.Uniform)),
    Gamma: (_cross_gamma, (Beta, r.Exponential, c.Pareto, r.Uniform)),
    c.Gumbel: (_cross_gumbel, (r.Exponential, Gamma, r.Normal, r.Uniform)),
    r.Uniform: (_cross_uniform, (Beta, r.ContinuousBernoulli)),
    r.ContinuousBernoulli: (_cross_continuous_bernoulli, (Beta, r.Uniform)),
    c.Pareto: (_cross_pareto, (r.Uniform,)),
    Beta: (_cross_beta, (r.Uniform,)),
}
for _q, (_cross, _ps) in _CROSS.items():
    for _p in _ps:
        register_kl(_p, _q)(_by_cross_entropy(_cross))
_UNIT, _POSITIVE = (Beta, r.ContinuousBernoulli, r.Uniform), (r.Exponential, Gamma, c.Pareto)
_NEVER: dict[Any, Any] = {
    Beta: (c.Pareto,),
    r.ContinuousBernoulli: (c.Pareto,),
    r.Exponential: (*_UNIT, c.Pareto),
    Gamma: (*_UNIT, c.Pareto),
    c.Gumbel: (*_UNIT, *_POSITIVE),
    r.Laplace: (*_UNIT, *_POSITIVE),
    r.Normal: (*_UNIT, *_POSITIVE),
    c.Pareto: _UNIT,
    d.Poisson: (d.Bernoulli, d.Binomial),
}
for _p, _qs in _NEVER.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)


@register_kl(r.Normal, r.Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(c.HalfNormal, c.HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(r.Normal, r.Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    far = p.loc - q.loc
    z = far / p.scale
    distance = (2 / pi) ** 0.5 * p.scale * pb.exp(-0.5 * z**2) + far * pb.erf(z / 2**0.5)
    return (2 * q.scale).log() + distance / q.scale - p.entropy()


@register_kl(r.Laplace, r.Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, far = p.scale / q.scale, (p.loc - q.loc).abs()
    return far / q.scale + ratio * pb.exp(-far / p.scale) - ratio.log() - 1


@register_kl(r.Cauchy, r.Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()


@register_kl(r.Exponential, r.Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(r.Uniform, r.Uniform)
def _uniform(p: Any, q: Any) -> Any:
    return pb.where((q.low > p.low) | (q.high < p.high), inf, ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(c.Gumbel, c.Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, far = p.scale / q.scale, (q.loc - p.loc) / q.scale
    decay = pb.exp(far + (1 + ratio).lgamma())
    return decay - ratio.log() - far + ratio * euler_constant - (1 + euler_constant)


@register_kl(c.Pareto, c.Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    return pb.where(p.scale < q.scale, inf, q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1)


@register_kl(r.ContinuousBernoulli, r.ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    return _cross_continuous_bernoulli(p, q) - p.entropy()


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return shapes + b * (p.rate / q.rate).log() + (q.rate - p.rate) * a / p.rate


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    slope = a.digamma() - a.sum(-1, True).digamma()
    return q._log_normalizer(b) - p._log_normalizer(a) + ((a - b) * slope).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(d.Bernoulli, d.Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    softplus = pb.nn.functional.softplus

    def of(a: Any, b: Any, sign: int) -> Any:
        term = a * (softplus(-sign * q.logits) - softplus(-sign * p.logits))
        return pb.where(a == 0, 0.0, pb.where(b == 0, inf, term))

    return of(p.probs, q.probs, 1) + of(1 - p.probs, 1 - q.probs, -1)


@register_kl(d.Bernoulli, d.Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return q.rate - p.probs * q.rate.log() - p.entropy()


@register_kl(d.Poisson, d.Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(d.Geometric, d.Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(d.Binomial, d.Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return pb.where(p.total_count > q.total_count, inf, p.total_count * each)


@register_kl(d.Categorical, d.Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = pb.where(q.probs == 0, inf, p.probs * (p.logits - q.logits))
    return pb.where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(d.OneHotCategorical, d.OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Any:
    """A Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed by Bregman divergences"
        )
    ours, theirs = tuple(p._natural_params), tuple(q._natural_params)
    slopes = pb.func.grad(lambda params: p._log_normalizer(*params).sum())(ours)
    result = q._log_normalizer(*theirs) - p._log_normalizer(*ours)
    for a, b, slope in zip(ours, theirs, slopes, strict=True):
        result = result - _sum_rightmost((b - a) * slope, len(q.event_shape))
    return result


@register_kl(c.Independent, c.Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL between Independent distributions with different reinterpreted_batch_ndims")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(c.TransformedDistribution, c.TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL between TransformedDistributions with different transforms or event shapes")
    return kl_divergence(p.base_dist, q.base_dist)


def _roots(p: Any) -> tuple[Any, ...]:
    """Matrices whose products with their transposes add up to the covariance."""
    if isinstance(p, MultivariateNormal):
        return (p._unbroadcasted_scale_tril,)
    return p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()


def _square(matrix: Any) -> Any:
    return (matrix**2).sum((-2, -1))


def _whitened(q: Any, root: Any) -> Any:
    """`tr(Σ⁻¹ S Sᵀ)` with the covariance Σ of q."""
    if isinstance(q, MultivariateNormal):
        solved: Any = pb.linalg.solve_triangular(q._unbroadcasted_scale_tril, root, upper=False)
        return _square(solved)
    factor, diag = q._parts()
    part: Any = pb.linalg.solve_triangular(q._capacitance_tril, factor.mT / diag.unsqueeze(-2), upper=False)
    return _square(root * diag.rsqrt().unsqueeze(-1)) - _square(part @ root)


def _vectors(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed: "
            f"{p.event_shape} and {q.event_shape}"
        )
    far = q.loc - p.loc
    if isinstance(q, MultivariateNormal):
        distance = _mahalanobis(q._unbroadcasted_scale_tril, far)
    else:
        distance = _batch_lowrank_mahalanobis(q.cov_factor, q.cov_diag, far, q._capacitance_tril)
    spread = sum(_whitened(q, root) for root in _roots(p))
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + distance - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_vectors)
