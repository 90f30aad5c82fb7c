"""Distributions, transforms and pairs for divergences, the same for PyTorch and pullback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[[], Any]
# Draws of these depend on how many random words a sample takes, and give other numbers of the same law.
OTHER_NUMBERS = ("Poisson", "Binomial", "NegativeBinomial")
# Where PyTorch is wrong or imprecise: its modes of Kumaraswamy are NaN.
LEFT_OUT = {"Kumaraswamy": ("mode",)}


def distributions(torch: Any, dtype: Any) -> dict[str, Make]:
    """A distribution of each class, or several."""
    D = torch.distributions

    def t(*values: Any) -> Any:
        return torch.tensor(*values, dtype=dtype)

    table, cov = t([[0.1, 0.5, 0.9], [1, 2, 3]]), t([[2.0, 0.3], [0.3, 1.0]])
    a, b, pair = t([0.1, -1.0]), t([0.5, 0.7]), t([1.5, 3.0])
    return {
        "Normal": lambda: D.Normal(a, b),
        "Uniform": lambda: D.Uniform(a, pair),
        "Laplace": lambda: D.Laplace(a, b),
        "Cauchy": lambda: D.Cauchy(a, b),
        "Exponential": lambda: D.Exponential(pair),
        "ContinuousBernoulli": lambda: D.ContinuousBernoulli(t([0.1, 0.4999, 0.9])),
        "VonMises": lambda: D.VonMises(a, pair),
        "GeneralizedPareto": lambda: D.GeneralizedPareto(a, b, t([0.3, -0.4])),
        "Bernoulli": lambda: D.Bernoulli(b),
        "Bernoulli of logits": lambda: D.Bernoulli(logits=a),
        "Geometric": lambda: D.Geometric(b),
        "Categorical": lambda: D.Categorical(table),
        "Categorical of logits": lambda: D.Categorical(logits=table),
        "OneHotCategorical": lambda: D.OneHotCategorical(table),
        "OneHotCategoricalStraightThrough": lambda: D.OneHotCategoricalStraightThrough(table),
        "Multinomial": lambda: D.Multinomial(7, table),
        "Poisson": lambda: D.Poisson(t([0.2, 20.0])),
        "Binomial": lambda: D.Binomial(5, b),
        "NegativeBinomial": lambda: D.NegativeBinomial(t([3.0, 2.0]), b),
        "MultivariateNormal": lambda: D.MultivariateNormal(a, cov),
        "MultivariateNormal by precision": lambda: D.MultivariateNormal(t([[1.0, 2.0], [0, 1], [2, 3]]), None, cov),
        "MultivariateNormal by factors": lambda: D.MultivariateNormal(a, scale_tril=torch.stack([cov.tril()] * 2)),
        "LowRankMultivariateNormal": lambda: D.LowRankMultivariateNormal(a, t([[1.0], [2.0]]), b),
        "Independent": lambda: D.Independent(D.Normal(table, 0.5), 1),
        "LogNormal": lambda: D.LogNormal(a, b),
        "LogisticNormal": lambda: D.LogisticNormal(a, b),
        "HalfNormal": lambda: D.HalfNormal(b),
        "HalfCauchy": lambda: D.HalfCauchy(b),
        "Gumbel": lambda: D.Gumbel(a, b),
        "Weibull": lambda: D.Weibull(b, pair),
        "Pareto": lambda: D.Pareto(b, pair),
        "Kumaraswamy": lambda: D.Kumaraswamy(b, pair),
        "RelaxedBernoulli": lambda: D.RelaxedBernoulli(t(0.7), b),
        "RelaxedOneHotCategorical": lambda: D.RelaxedOneHotCategorical(t(0.7), table),
        "MixtureSameFamily": lambda: D.MixtureSameFamily(D.Categorical(b), D.Normal(a, b)),
        "MixtureSameFamily of vectors": lambda: D.MixtureSameFamily(
            D.Categorical(table[:, :2]), D.Independent(D.Normal(torch.stack([cov, 2 * cov]), t(0.5)), 1)
        ),
        "TransformedDistribution": lambda: D.TransformedDistribution(
            D.Normal(a, b), [D.AffineTransform(1, -2.0), D.SigmoidTransform()]
        ),
        "Gamma": lambda: D.Gamma(t([1.5, 0.2, 30.0]), t([0.7, 3.0, 2.0])),
        "Chi2": lambda: D.Chi2(pair),
        "InverseGamma": lambda: D.InverseGamma(pair, b),
        "Beta": lambda: D.Beta(t([1.5, 0.2]), t([0.7, 3.0])),
        "Dirichlet": lambda: D.Dirichlet(table),
        "StudentT": lambda: D.StudentT(pair, a, b),
        "FisherSnedecor": lambda: D.FisherSnedecor(pair, t([5.0, 3.0])),
        "LKJCholesky": lambda: D.LKJCholesky(3, b),
        "Wishart": lambda: D.Wishart(t([3.0, 5.0]), cov),
    }


PROPERTIES = ("mean", "mode", "variance", "stddev")
SHAPES = ((), (3,), (9, 2))


def facts(torch: Any, make: Make, name: str, values: list[Any] | None = None) -> dict[str, Any]:
    """What a distribution says of itself, and its samples after a seed; `values` are those to take densities of."""
    d = make()
    found: dict[str, Any] = {}

    def note(key: str, compute: Callable[[], Any]) -> None:
        try:
            x = compute()
        except Exception as e:
            found[key] = type(e).__name__
            return
        found[key] = [list(x.shape), x.detach().double().reshape(-1).tolist()]

    for key in PROPERTIES:
        if key not in LEFT_OUT.get(name, ()):
            note(key, lambda key=key: getattr(d, key))
    note("entropy", d.entropy)
    note("support", lambda: d.enumerate_support(False))
    for shape in SHAPES:
        torch.manual_seed(7)
        note(f"sample {shape}", lambda shape=shape: d.sample(shape))
    x = d.sample((3,)) if values is None else torch.tensor(values[1], dtype=d.sample().dtype).reshape(values[0])
    found["values"] = [list(x.shape), x.double().reshape(-1).tolist()]
    note("log_prob", lambda: d.log_prob(x))
    note("cdf", lambda: d.cdf(x))
    note("icdf", lambda: d.icdf(torch.tensor(0.3, dtype=torch.float64)))
    wide = d.expand((2, *d.batch_shape))
    torch.manual_seed(8)
    note("sample of expand", wide.sample)
    return found


def divergences(torch: Any) -> dict[str, Any]:
    """KL divergences of all pairs of families: values, or the name of the error."""
    families = distributions(torch, torch.float64)
    del families["MixtureSameFamily of vectors"]
    found: dict[str, Any] = {}
    for p, first in families.items():
        for q, second in families.items():
            if first().batch_shape != second().batch_shape:
                continue
            try:
                found[f"{p} || {q}"] = torch.distributions.kl_divergence(first(), second()).tolist()
            except NotImplementedError:
                pass
            except (RuntimeError, ValueError) as e:
                found[f"{p} || {q}"] = type(e).__name__
    return found


def transforms(torch: Any) -> dict[str, Any]:
    """Each transform of one tensor, its inverse there, and the logarithm of the volume."""
    T, t = torch.distributions.transforms, lambda *v: torch.tensor(*v, dtype=torch.float64)
    scale = t([2.0, -3.0, 1.0])
    some = {
        "exp": T.ExpTransform(),
        "sigmoid": T.SigmoidTransform(),
        "tanh": T.TanhTransform(),
        "softplus": T.SoftplusTransform(),
        "power": T.PowerTransform(t(2.0)),
        "abs": T.AbsTransform(),
        "affine": T.AffineTransform(1.0, scale),
        "affine of vectors": T.AffineTransform(1.0, scale, event_dim=1),
        "softmax": T.SoftmaxTransform(),
        "stick breaking": T.StickBreakingTransform(),
        "correlations": T.CorrCholeskyTransform(),
        "composed": T.ComposeTransform([T.AffineTransform(0.0, 2.0), T.StickBreakingTransform()]),
        "independent": T.IndependentTransform(T.ExpTransform(), 1),
        "reshape": T.ReshapeTransform((3,), (3, 1)),
        "cat": T.CatTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)], -1, [1, 2]),
        "stack": T.StackTransform([T.ExpTransform(), T.TanhTransform(), T.ExpTransform()], -1),
        "cumulative": T.CumulativeDistributionTransform(torch.distributions.Normal(t(0.0), t(1.0))),
    }
    x = t([[0.3, 0.2, 0.7], [1.2, 0.1, 2.0]])
    found: dict[str, Any] = {}
    for name, f in some.items():
        y = f(x)
        facts: list[Any] = [y.flatten().tolist(), f.inv(y).flatten().tolist()]
        try:
            volume = f.log_abs_det_jacobian(x, y)
            facts += [list(volume.shape), volume.flatten().tolist()]
        except NotImplementedError:
            facts += [None]
        shapes = [list(f.forward_shape(x.shape)), list(f.inverse_shape(y.shape))]
        found[name] = [*facts, *shapes, f.bijective, f.domain.event_dim, f.codomain.event_dim]
    for kind in "real positive nonnegative unit_interval simplex corr_cholesky real_vector".split():
        constraint = getattr(torch.distributions.constraints, kind)
        found[f"biject_to {kind}"] = torch.distributions.biject_to(constraint)(x).flatten().tolist()
        found[f"transform_to {kind}"] = torch.distributions.transform_to(constraint)(x).flatten().tolist()
    return found
