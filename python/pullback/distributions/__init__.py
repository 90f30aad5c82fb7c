"""Probability distributions with PyTorch's names: random numbers, densities, and derivatives of both.

>>> law = pullback.distributions.Normal(pullback.tensor([0.0, 1.0]), 1.0)
>>> law.log_prob(pullback.tensor(0.0))
tensor([-0.9189, -1.4189])
"""

# ruff: noqa: F403
import sys as _sys

from . import _composed, _continuous, _discrete, _gamma, distribution, kl, multivariate_normal
from . import constraint_registry as constraint_registry
from . import constraints as constraints
from . import transforms as transforms
from . import utils as utils
from . import wishart as wishart
from ._composed import *
from ._continuous import *
from ._discrete import *
from ._gamma import *
from .constraint_registry import *
from .distribution import *
from .kl import *
from .multivariate_normal import *
from .transforms import *
from .wishart import *

__all__ = [
    name
    for _home in (_composed, _continuous, _discrete, _gamma, constraint_registry, distribution, kl, multivariate_normal)
    for name in _home.__all__
    if name not in ("ConstraintRegistry", "ExpRelaxedCategorical", "LogitRelaxedBernoulli")
]
__all__ += [*transforms.__all__, *wishart.__all__]
# PyTorch has a module for each class: these have the names of several.
_HOMES = {
    _continuous: "cauchy continuous_bernoulli exponential generalized_pareto laplace normal uniform von_mises",
    _discrete: "bernoulli binomial categorical geometric multinomial negative_binomial one_hot_categorical poisson",
    _composed: "gumbel half_cauchy half_normal independent kumaraswamy log_normal logistic_normal "
    "mixture_same_family pareto relaxed_bernoulli relaxed_categorical transformed_distribution weibull",
    _gamma: "beta chi2 dirichlet fishersnedecor gamma inverse_gamma lkj_cholesky studentT",
    distribution: "exp_family",
    multivariate_normal: "lowrank_multivariate_normal",
}
for _home, _names in _HOMES.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _home
