"""What distributions promise: densities, derivatives, checks, batches, transforms of functions."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pullback as pb
import pullback.distributions as D
from pullback.distributions import constraints
from support import distributions_cases as cases

F64 = pb.float64
FAMILIES = cases.distributions(pb, F64)


def t(*values: Any) -> Any:
    return pb.tensor(*values, dtype=F64)


SCIPY: dict[str, tuple[Any, Any]] = {
    "Normal": (D.Normal(0.3, t(1.7)), stats.norm(0.3, 1.7)),
    "Uniform": (D.Uniform(-1.0, t(2.5)), stats.uniform(-1, 3.5)),
    "Laplace": (D.Laplace(0.3, t(1.7)), stats.laplace(0.3, 1.7)),
    "Cauchy": (D.Cauchy(0.3, t(1.7)), stats.cauchy(0.3, 1.7)),
    "Exponential": (D.Exponential(t(1.7)), stats.expon(scale=1 / 1.7)),
    "LogNormal": (D.LogNormal(0.3, t(0.7)), stats.lognorm(0.7, scale=np.exp(0.3))),
    "HalfNormal": (D.HalfNormal(t(1.7)), stats.halfnorm(scale=1.7)),
    "HalfCauchy": (D.HalfCauchy(t(1.7)), stats.halfcauchy(scale=1.7)),
    "Gumbel": (D.Gumbel(0.3, t(1.7)), stats.gumbel_r(0.3, 1.7)),
    "Weibull": (D.Weibull(1.7, t(2.5)), stats.weibull_min(2.5, scale=1.7)),
    "Pareto": (D.Pareto(1.7, t(2.5)), stats.pareto(2.5, scale=1.7)),
    "Gamma": (D.Gamma(2.5, t(1.7)), stats.gamma(2.5, scale=1 / 1.7)),
    "Chi2": (D.Chi2(t(2.5)), stats.chi2(2.5)),
    "InverseGamma": (D.InverseGamma(2.5, t(1.7)), stats.invgamma(2.5, scale=1.7)),
    "Beta": (D.Beta(2.5, t(1.7)), stats.beta(2.5, 1.7)),
    "StudentT": (D.StudentT(2.5, 0.3, t(1.7)), stats.t(2.5, 0.3, 1.7)),
    "FisherSnedecor": (D.FisherSnedecor(2.5, t(5.0)), stats.f(2.5, 5)),
    "VonMises": (D.VonMises(t(0.3), t(1.7)), stats.vonmises(1.7, 0.3)),
    "GeneralizedPareto": (D.GeneralizedPareto(0.3, 1.7, t(0.2)), stats.genpareto(0.2, 0.3, 1.7)),
    "Kumaraswamy": (D.Kumaraswamy(1.0, t(1.7)), stats.beta(1, 1.7)),
    "Poisson": (D.Poisson(t(2.5)), stats.poisson(2.5)),
    "Binomial": (D.Binomial(7, t(0.3)), stats.binom(7, 0.3)),
    "NegativeBinomial": (D.NegativeBinomial(3, t(0.3)), stats.nbinom(3, 0.7)),
    "Geometric": (D.Geometric(t(0.3)), stats.geom(0.3, loc=-1)),
    "Bernoulli": (D.Bernoulli(t(0.3)), stats.bernoulli(0.3)),
}


@pytest.mark.parametrize("name", SCIPY)
def test_densities_and_moments(name: str) -> None:
    ours, theirs = SCIPY[name]
    pb.manual_seed(0)
    x = ours.sample((50,))
    log_density = theirs.logpmf if hasattr(theirs.dist, "pmf") else theirs.logpdf
    np.testing.assert_allclose(ours.log_prob(x), log_density(x.numpy()), rtol=1e-8, atol=1e-10)
    for ask in ("cdf", "entropy"):
        try:
            got = ours.cdf(x) if ask == "cdf" else ours.entropy()
        except NotImplementedError:
            continue
        np.testing.assert_allclose(got, theirs.cdf(x.numpy()) if ask == "cdf" else theirs.entropy(), rtol=1e-6)
    if "Cauchy" not in name and name != "VonMises":
        np.testing.assert_allclose(float(ours.mean), theirs.mean(), rtol=1e-9)
        np.testing.assert_allclose(float(ours.variance), theirs.var(), rtol=1e-9)
    # The samples follow the law.
    pb.manual_seed(1)
    many = ours.sample((4000,)).numpy()
    if not hasattr(theirs.dist, "pmf"):
        assert stats.kstest(many, theirs.cdf).pvalue > 1e-3
    else:
        assert abs(many.mean() - theirs.mean()) < 5 * theirs.std() / 4000**0.5


LEAVES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "Normal": (D.Normal, (t([0.1, 0.2]), t([1.0, 2.0]))),
    "Uniform": (D.Uniform, (t([0.1, 0.2]), t([1.0, 2.0]))),
    "Laplace": (D.Laplace, (t([0.1, 0.2]), t([1.0, 2.0]))),
    "Cauchy": (D.Cauchy, (t([0.1, 0.2]), t([1.0, 2.0]))),
    "Exponential": (D.Exponential, (t([0.1, 2.0]),)),
    "Gumbel": (D.Gumbel, (t([0.1, 0.2]), t([1.0, 2.0]))),
    "Weibull": (D.Weibull, (t([0.5, 0.2]), t([1.0, 2.0]))),
    "LogNormal": (D.LogNormal, (t([0.5, 0.2]), t([1.0, 2.0]))),
    "MultivariateNormal": (
        lambda m, s: D.MultivariateNormal(m, s @ s.mT),
        (t([0.1, 0.2]), t([[1.0, 2.0], [0.3, 1.0]])),
    ),
    "LowRank": (D.LowRankMultivariateNormal, (t([0.5, 0.2]), t([[1.0], [2.0]]), t([1.0, 2.0]))),
    "RelaxedOneHot": (D.RelaxedOneHotCategorical, (t(0.5), t([0.4, 0.6]))),
    "ContinuousBernoulli": (D.ContinuousBernoulli, (t([0.3, 0.8]),)),
    "LogisticNormal": (D.LogisticNormal, (t([0.3, 0.8]), t([0.3, 0.8]))),
}


@pytest.mark.parametrize("name", LEAVES)
def test_samples_and_densities_have_derivatives(name: str) -> None:
    make, leaves = LEAVES[name]
    x = make(*leaves).sample((2,))

    def drawn(*parameters: Any) -> Any:
        pb.manual_seed(5)
        return make(*parameters).rsample((2,))

    inputs = tuple(p.clone().requires_grad_() for p in leaves)
    assert pb.autograd.gradcheck(drawn, inputs, check_forward_ad=True)
    assert pb.autograd.gradcheck(lambda *p: make(*p).log_prob(x), inputs)
    jacobian = pb.func.jacfwd(drawn, randomness="same")(*leaves)
    pb.testing.assert_close(pb.func.jacrev(drawn)(*leaves), jacobian)


@pytest.mark.parametrize("name", FAMILIES)
def test_under_vmap(name: str) -> None:
    d = FAMILIES[name]()
    x = d.expand((3, *d.batch_shape)).sample()
    pb.testing.assert_close(pb.vmap(d.log_prob)(x), pb.stack([d.log_prob(v) for v in x]))
    if name not in ("VonMises", "Wishart"):
        some = pb.vmap(lambda v: d.sample() + 0 * v.sum(), randomness="different")(x)
        assert (some.shape == x.shape and not (some[0] == some[1]).all()) or d.has_enumerate_support


def test_parameters_of_members() -> None:
    loc, scale, x = pb.randn(4, 3, dtype=F64), pb.rand(4, 3, dtype=F64) + 0.1, pb.randn(4, 3, dtype=F64)
    got = pb.vmap(lambda m, s, x: D.Independent(D.Normal(m, s), 1).log_prob(x))(loc, scale, x)
    pb.testing.assert_close(got, D.Normal(loc, scale).log_prob(x).sum(-1))
    root = pb.randn(4, 3, 3, dtype=F64)
    cov = root @ root.mT + pb.eye(3, dtype=F64)
    got = pb.vmap(lambda m, c, x: D.MultivariateNormal(m, c).log_prob(x))(loc, cov, x)
    pb.testing.assert_close(got, D.MultivariateNormal(loc, cov).log_prob(x))
    slopes = pb.vmap(pb.func.grad(lambda s, x: D.Normal(0.0, s).log_prob(x).sum()))(scale, x)
    pb.testing.assert_close(slopes, x**2 / scale**3 - 1 / scale)
    gammas = pb.vmap(lambda s: D.Gamma(s, 1.0).rsample(), randomness="different")(scale)
    assert gammas.shape == (4, 3) and (gammas > 0).all()


def test_gamma_variables_under_transforms() -> None:
    alpha = t([0.5, 2.0])
    pb.manual_seed(5)
    alone = [(pb.manual_seed(5), pb._standard_gamma(a.expand(3)))[1] for a in alpha]
    pb.manual_seed(5)
    assert pb.vmap(lambda a: pb._standard_gamma(a.expand(3)), randomness="same")(alpha).equal(pb.stack(alone))
    with pytest.raises(RuntimeError, match=r"random operation while in randomness error mode: _standard_gamma\(\)"):
        pb.vmap(lambda a: pb._standard_gamma(a))(alpha)
    same = pb.vmap(lambda x: pb._standard_gamma(alpha) + x, randomness="same")(t([0.0, 0.0]))
    assert same[0].equal(same[1])
    many = pb.vmap(lambda x: pb._standard_gamma(alpha) + x, randomness="different")(t([0.0, 0.0]))
    assert not (many[0] == many[1]).any()
    pb.manual_seed(3)
    x, slope = pb.func.jvp(pb._standard_gamma, (alpha,), (pb.ones_like(alpha),))
    pb.testing.assert_close(slope, pb._standard_gamma_grad(alpha, x))
    nested = pb.vmap(pb.vmap(pb._standard_gamma, randomness="different"), randomness="different")(t([[1.0], [2.0]]))
    assert nested.shape == (2, 1)
    assert pb.func.eval_shape(pb._standard_gamma)(alpha).shape == (2,)
    with pytest.raises(RuntimeError, match="must be positive, got -1"):
        pb._standard_gamma(t(-1.0))
    with pytest.raises(NotImplementedError, match="derivative"):
        pb.func.grad(pb.func.grad(lambda a: pb._standard_gamma(a)))(t(2.0))


@pytest.mark.parametrize("alpha", [1e-3, 0.3, 1.0, 4.0, 60.0, 3e3, 2e5])
@pytest.mark.parametrize("quantile", [1e-6, 0.01, 0.5, 0.9, 1 - 1e-9])
def test_how_gamma_variables_move(alpha: float, quantile: float) -> None:
    law, h = stats.gamma, 1e-4 * alpha
    x = law.ppf(quantile, alpha)
    if x < 1e-250:
        return
    want = (law.ppf(quantile, alpha + h) - law.ppf(quantile, alpha - h)) / (2 * h)
    np.testing.assert_allclose(pb._standard_gamma_grad(t(alpha), t(float(x))).item(), want, rtol=3e-5)
    np.testing.assert_allclose(pb.special.gammainc(t(alpha), t(float(x))).item(), quantile, rtol=1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.5), (1.0, 1.0), (2.0, 30.0), (70.0, 0.4), (500.0, 800.0)])
@pytest.mark.parametrize("quantile", [1e-4, 0.3, 0.8, 0.9999])
def test_how_beta_variables_move(a: float, b: float, quantile: float) -> None:
    law, h = stats.beta, 1e-4 * a
    x = float(law.ppf(quantile, a, b))
    if 1 - x < 1e-9:
        return
    want = (law.ppf(quantile, a + h, b) - law.ppf(quantile, a - h, b)) / (2 * h) / (1 - x)
    np.testing.assert_allclose(pb._dirichlet_grad(t(x), t(a), t(a + b)).item(), want, rtol=1e-4)


def test_incomplete_gamma_function() -> None:
    a, x = t([0.5, 2.0, 40.0, 900.0]), t([0.7, 3.0, 30.0, 950.0])
    assert pb.autograd.gradcheck(pb.special.gammainc, (a.requires_grad_(), x.requires_grad_()))
    assert pb.igamma(t([0.0, 1.0, 0.0]), t([1.0, 0.0, 0.0])).tolist()[:2] == [1, 0]
    assert pb.special.gammainc(t(-1.0), t(1.0)).isnan()


def test_wrong_parameters_and_values() -> None:
    with pytest.raises(ValueError, match=r"Expected parameter scale .* to satisfy the constraint GreaterThan"):
        D.Normal(0.0, pb.tensor([1.0, -1.0]))
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    with pytest.raises(ValueError, match=r"to be within the support \(Boolean\(\)\)"):
        D.Bernoulli(0.5).log_prob(pb.tensor(0.5))
    with pytest.raises(ValueError, match="right-most size of value must match event_shape"):
        D.MultivariateNormal(pb.zeros(2), pb.eye(2)).log_prob(pb.zeros(3))
    with pytest.raises(ValueError, match="not broadcastable with batch_shape"):
        D.Normal(pb.zeros(2), 1.0).log_prob(pb.zeros(3))
    with pytest.raises(ValueError, match="must be a Tensor"):
        D.Normal(0.0, 1.0).log_prob(0.0)
    with pytest.raises(ValueError, match="Either `probs` or `logits` must be specified, but not both"):
        D.Categorical(pb.ones(2), pb.ones(2))
    with pytest.raises(ValueError, match="Exactly one of covariance_matrix or precision_matrix or scale_tril"):
        D.MultivariateNormal(pb.zeros(2))
    with pytest.raises(ValueError, match="constraint PositiveDefinite"):
        D.MultivariateNormal(pb.zeros(2), -pb.eye(2))
    with pytest.raises(ValueError, match="positive but found invalid"):
        D.Geometric(pb.zeros(1))
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.StudentT(1.0))
    with pytest.raises(NotImplementedError, match="Categorical does not implement cdf"):
        D.Categorical(pb.ones(2)).cdf(pb.tensor(0))


def test_checks_look_at_all_members() -> None:
    def density(scale: Any) -> Any:
        return D.Normal(0.0, scale).log_prob(scale)

    for f in (density, pb.func.grad(density)):
        pb.vmap(f)(t([1.0, 2.0]))
        with pytest.raises(ValueError, match="Expected parameter scale"):
            pb.vmap(f)(t([1.0, -2.0]))
    assert pb.func.eval_shape(density)(t([1.0])).shape == (1,)
    assert D.Normal(pb.zeros(2, device="meta"), 1.0).log_prob(pb.zeros(2, device="meta")).shape == (2,)
    program = pb.func.trace(density)(t([1.0, 2.0]))
    assert program is not None


def test_default_of_checks() -> None:
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).scale == -1
        with pytest.raises(ValueError, match="Expected parameter"):
            D.Normal(0.0, -1.0, validate_args=True)
        with pytest.raises(ValueError, match="must be a bool"):
            D.Distribution.set_default_validate_args(2)  # type: ignore[arg-type]
    finally:
        D.Distribution.set_default_validate_args(True)


class Shifted(D.Normal):
    def __init__(self, by: float, validate_args: Any = None) -> None:
        self.by = by
        super().__init__(by, pb.ones(2), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Shifted, _instance)
        new.by = self.by
        return super().expand(batch_shape, new)


class Unexpanded(D.Normal):
    def __init__(self) -> None:
        super().__init__(0.0, 1.0)


class Bare(D.Distribution):
    def sample(self, sample_shape: Any = ()) -> Any:
        return pb.zeros(sample_shape)


def test_classes_of_programs() -> None:
    wide = Shifted(2.0).expand((3, 2))
    assert type(wide) is Shifted and wide.by == 2 and wide.batch_shape == (3, 2) == wide.loc.shape
    with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
        Unexpanded().expand((2,))
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        bare = Bare()
    with pytest.raises(NotImplementedError, match="Bare does not implement log_prob"):
        bare.log_prob(pb.zeros(1))
    with pytest.raises(NotImplementedError, match="expand"):
        bare.expand((2,))

    @D.register_kl(Shifted, D.Normal)
    def _shifted(p: Any, q: Any) -> Any:
        return "mine"

    assert D.kl_divergence(Shifted(1.0), D.Normal(0.0, 1.0)) == "mine"
    with pytest.raises(TypeError, match="expected a Distribution subclass"):
        D.register_kl(D.Normal(0.0, 1.0), D.Normal)

    @D.register_kl(D.Normal, Shifted)
    def _other(p: Any, q: Any) -> Any:
        return "other"

    with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
        D.kl_divergence(Shifted(1.0), Shifted(0.0))


@pytest.mark.parametrize("name", FAMILIES)
def test_shapes_copies_and_pickles(name: str) -> None:
    d = FAMILIES[name]()
    assert str(d).startswith(type(d).__name__)
    wide = d.expand((4, *d.batch_shape))
    assert wide.batch_shape == (4, *d.batch_shape) and wide.event_shape == d.event_shape and type(wide) is type(d)
    x = wide.sample((2,))
    assert x.shape == (2, *wide.batch_shape, *d.event_shape) and not x.requires_grad
    pb.testing.assert_close(wide.log_prob(x), d.log_prob(x))
    for same in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        pb.testing.assert_close(same.log_prob(x), d.log_prob(x))
    assert d.support.check(x).all()
    with pytest.warns(FutureWarning, match="sample_n"):
        assert d.sample_n(2).shape == (2, *d.batch_shape, *d.event_shape)


@pytest.mark.parametrize(
    "family",
    [D.Normal, D.Gamma, D.Bernoulli, D.Exponential, D.Dirichlet, D.Poisson, D.ContinuousBernoulli, D.Wishart],
)
def test_exponential_families(family: Any) -> None:
    make: Any = {
        D.Dirichlet: lambda: family(t([[0.5, 2.0, 3.0]])),
        D.Wishart: lambda: family(t([4.0]), t([[2.0, 0.3], [0.3, 1.0]])),
        D.Normal: lambda: family(t([0.3]), t([2.0])),
        D.Gamma: lambda: family(t([0.3]), t([2.0])),
    }.get(family, lambda: family(t([0.3])))
    d = make()
    if family not in (D.Dirichlet, D.Poisson, D.Wishart, D.ContinuousBernoulli):
        pb.testing.assert_close(D.ExponentialFamily.entropy(d), d.entropy())
    if family is not D.Wishart:
        zero = D.kl._kl_expfamily_expfamily(d, make())
        pb.testing.assert_close(zero, pb.zeros_like(zero), atol=1e-12, rtol=0.0)


def test_divergences_by_sampling() -> None:
    pb.manual_seed(0)
    for p, q in [
        (D.Normal(0.0, t(1.0)), D.Laplace(1.0, t(2.0))),
        (D.Gamma(t(2.0), t(1.0)), D.Gumbel(1.0, t(2.0))),
        (D.Beta(t(2.0), t(3.0)), D.Normal(0.3, t(2.0))),
        (D.Uniform(0.1, t(0.9)), D.Beta(t(2.0), t(3.0))),
    ]:
        x = p.sample((40000,))
        ratio = p.log_prob(x) - q.log_prob(x)
        assert abs(ratio.mean() - D.kl_divergence(p, q)) < 5 * ratio.std() / 200


def transforms() -> Iterator[Any]:
    yield from (D.ExpTransform(), D.SigmoidTransform(), D.TanhTransform(), D.SoftplusTransform())
    yield D.AffineTransform(1.0, t([2.0, -1.0, 3.0]))
    yield D.ComposeTransform([D.AffineTransform(0.0, 0.5), D.ExpTransform()])
    yield D.StackTransform([D.ExpTransform(), D.TanhTransform(), D.AffineTransform(0.0, 2.0)], -1)
    yield D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [2, 1])


@pytest.mark.parametrize("f", list(transforms()), ids=lambda f: type(f).__name__)
def test_volumes_are_those_of_the_derivative(f: Any) -> None:
    x = t([0.3, -0.2, 0.7])
    slope = pb.func.jacrev(f)(x).diagonal().abs().log()
    pb.testing.assert_close(f.log_abs_det_jacobian(x, f(x)), slope)
    pb.testing.assert_close(f.inv(f(x)), x)
    pb.testing.assert_close(pb.vmap(f)(x.expand(2, 3)), f(x).expand(2, 3))
    cached = f.with_cache()
    y = cached(x)
    if not isinstance(f, D.ComposeTransform):
        assert cached.inv(y) is x and cached(x) is y and f.with_cache(0) is f
    assert f.inv.inv is f and f == f and f != D.PowerTransform(t(2.0)) and repr(f)


@pytest.mark.parametrize("f", [D.StickBreakingTransform(), D.transforms.CorrCholeskyTransform()])
def test_volumes_of_vectors(f: Any) -> None:
    x = t([0.3, -0.2, 0.7])

    def free(x: Any) -> Any:
        y = f(x)
        return y[:-1] if y.dim() == 1 else D.utils.tril_matrix_to_vec(y, -1)

    volume = pb.linalg.slogdet(pb.func.jacrev(free)(x)).logabsdet
    pb.testing.assert_close(f.log_abs_det_jacobian(x, f(x)), volume)
    pb.testing.assert_close(f.inv(f(x)), x)
    assert f.codomain.check(f(x)) and f.forward_shape((3,)) == f(x).shape


def test_wrong_transforms() -> None:
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)
    with pytest.raises(ValueError, match="different numbers of elements"):
        D.ReshapeTransform((3,), (2, 2))
    with pytest.raises(ValueError, match="Too few dimensions"):
        D.IndependentTransform(D.ExpTransform(), 1)(pb.tensor(1.0))
    with pytest.raises(ValueError, match="transforms must be a Transform or a list"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), [1])
    with pytest.raises(NotImplementedError, match="Cannot transform _Boolean"):
        D.biject_to(constraints.boolean)
    with pytest.raises(TypeError, match="Constraint subclass or instance"):
        D.biject_to.register(3, lambda c: c)


@pytest.mark.parametrize(
    ("constraint", "inside", "outside"),
    [
        (constraints.real, 1.0, float("nan")),
        (constraints.positive, 1.0, 0.0),
        (constraints.nonnegative, 0.0, -1.0),
        (constraints.less_than(2.0), 1.0, 2.0),
        (constraints.interval(0.0, 1.0), 1.0, 1.5),
        (constraints.half_open_interval(0.0, 1.0), 0.0, 1.0),
        (constraints.integer_interval(0, 3), 3.0, 2.5),
        (constraints.nonnegative_integer, 3.0, -1.0),
        (constraints.positive_integer, 3.0, 0.0),
        (constraints.boolean, 1.0, 2.0),
        (constraints.simplex, [0.2, 0.8], [0.2, 0.9]),
        (constraints.one_hot, [0.0, 1.0], [1.0, 1.0]),
        (constraints.multinomial(3), [1.0, 2.0], [2.0, 2.0]),
        (constraints.real_vector, [1.0, 2.0], [1.0, float("nan")]),
        (constraints.lower_triangular, [[1.0, 0.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 1.0]]),
        (constraints.lower_cholesky, [[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, -1.0]]),
        (constraints.corr_cholesky, [[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.6]]),
        (constraints.symmetric, [[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [1.0, 1.0]]),
        (constraints.positive_definite, [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]),
        (constraints.positive_semidefinite, [[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]),
        (constraints.square, [[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0]]),
        (constraints.cat([constraints.positive, constraints.boolean], -1), [2.0, 1.0], [0.0, 2.0]),
        (constraints.stack([constraints.positive, constraints.boolean], -1), [2.0, 1.0], [-1.0, 2.0]),
    ],
    ids=str,
)
def test_constraints(constraint: Any, inside: Any, outside: Any) -> None:
    assert constraint.check(pb.tensor(inside)).all() and not constraint.check(pb.tensor(outside)).any()
    assert pb.vmap(constraint.check)(pb.tensor([inside])).all()
    assert repr(constraint).endswith(")")
    with pytest.raises(ValueError, match="dependent constraint"):
        constraints.dependent.check(pb.ones(1))
    with pytest.raises(NotImplementedError, match="determined statically"):
        _ = constraints.dependent.event_dim


def test_forward_mode_and_mixtures() -> None:
    def loss(parameters: Any) -> Any:
        mixture = D.Categorical(logits=parameters["logits"])
        parts = D.Independent(D.Normal(parameters["loc"], parameters["loc"].exp()), 1)
        return -D.MixtureSameFamily(mixture, parts).log_prob(t([[0.1, 0.2], [0.3, -0.4]])).mean()

    at = {"logits": t([0.1, 0.2, 0.3]), "loc": pb.arange(6, dtype=F64).reshape(3, 2) / 6}
    reverse = pb.func.grad(loss)(at)
    tangent = pb.func.jvp(loss, (at,), (at,))[1]
    pb.testing.assert_close(tangent, sum((reverse[k] * at[k]).sum() for k in at))


def test_singular_wisharts_are_drawn_again() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        d = D.Wishart(pb.tensor([1.3]), pb.eye(2))
        assert d.support.check(d.sample((50,))).float().mean() > 0.95
    with pytest.raises(ValueError, match="expected to be greater than ndim - 1"):
        D.Wishart(pb.tensor(1.0), pb.eye(3))


def test_kl_of_a_base_that_is_no_distribution() -> None:
    """Libraries register a divergence for the base of their own distributions."""

    class Base:
        pass

    class Mine(D.Distribution, Base):
        arg_constraints = {}

    @D.register_kl(Base, Base)
    def _(p: Base, q: Base) -> str:
        return "ours"

    one: Any = D.kl_divergence(Mine(), Mine())
    assert one == "ours"
