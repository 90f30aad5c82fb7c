"""What a multivariate normal distribution is made with."""

from .. import _core, linalg
from .._absent import absent

__all__: list[str] = []
__getattr__ = absent(__name__, __all__, classes=True)


def _precision_to_scale_tril(P: _core.Tensor) -> _core.Tensor:
    """The lower triangular matrix L with L Lᵀ = P⁻¹, of each matrix.

    >>> import pullback
    >>> from pullback.distributions.multivariate_normal import _precision_to_scale_tril
    >>> _precision_to_scale_tril(pullback.tensor([[4.0, 0.0], [0.0, 0.25]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 2.0000]])

    Raises LinAlgError if a matrix is not positive definite.
    """
    # With the order of rows and columns turned round, the Cholesky factor of P is the upper factor U of P = U Uᵀ.
    upper = linalg.cholesky(P.flip(-2, -1)).flip(-2, -1)
    one = _core.functions["eye"](P.shape[-1], dtype=P.dtype, device=P.device)
    scale: _core.Tensor = linalg.solve_triangular(upper.mT, one, upper=False)
    return scale
