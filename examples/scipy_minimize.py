"""SciPy's optimizers with exact derivatives: a mixture of two bells is fitted to data by Newton's method.

python examples/scipy_minimize.py
"""

import numpy as np
from scipy.optimize import minimize

import pullback
from pullback.func import as_scipy

rng = np.random.default_rng(0)
DATA = pullback.from_numpy(np.concatenate([rng.normal(-2.0, 0.6, 700), rng.normal(1.5, 1.1, 300)]))


def negative_log_likelihood(p: dict[str, pullback.Tensor]) -> pullback.Tensor:
    """Of the data under two bells, whose weights are a softmax and whose widths are exponentials."""
    z = (DATA[:, None] - p["center"]) / p["log_width"].exp()
    return -(p["logit"].log_softmax(0) - p["log_width"] - z**2 / 2).logsumexp(1).mean()


def main() -> None:
    start = {
        "center": pullback.tensor([-1.0, 1.0], dtype=pullback.float64),
        "log_width": pullback.zeros(2, dtype=pullback.float64),
        "logit": pullback.zeros(2, dtype=pullback.float64),
    }
    f = as_scipy(negative_log_likelihood, start)
    found = minimize(f, f.x0, jac=f.jac, hess=f.hess, method="trust-exact")
    fit = f.tree(found.x)
    weights = fit["logit"].softmax(0)
    for k in range(2):
        width = fit["log_width"][k].exp()
        print(f"bell {k}: center {fit['center'][k]:.2f}, width {width:.2f}, weight {weights[k]:.2f}")
    print(f"{found.nit} steps, {found.nhev} matrices of second derivatives")
    pullback.testing.assert_close(
        fit["center"], pullback.tensor([-2.0, 1.5], dtype=pullback.float64), rtol=0, atol=0.15
    )
    pullback.testing.assert_close(weights, pullback.tensor([0.7, 0.3], dtype=pullback.float64), rtol=0, atol=0.05)
    assert found.success and np.abs(found.jac).max() < 1e-4


if __name__ == "__main__":
    main()
