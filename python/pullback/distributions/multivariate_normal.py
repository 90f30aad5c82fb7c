"""Normal vectors."""

from __future__ import annotations

from math import log, pi
from typing import Any

import pullback as pb

from .. import _core, linalg
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]


def _batch_mv(matrix: Any, vector: Any) -> Any:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(scale_tril: Any, x: Any) -> Any:
    """`|L⁻¹ x|²`; samples beyond the batch of L become columns of one system."""
    beyond = x.dim() + 1 - scale_tril.dim()
    columns = x.reshape((-1, *x.shape[beyond:])).movedim(0, -1)
    squares: Any = linalg.solve_triangular(scale_tril, columns, upper=False) ** 2
    return squares.sum(-2).movedim(-1, 0).reshape(x.shape[:-1])


def _log_diagonal(tril: Any) -> Any:
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


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


class _NormalVector(Distribution):
    """Has `loc`, and a covariance in some form."""

    support = constraints.real_vector
    has_rsample = True
    mean = mode = property(lambda self: self.loc)

    def _full(self, matrix: Any, dims: int = 2) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape * dims)

    def _density(self, far: Any, half_log_det: Any) -> Any:
        return -0.5 * (self._event_shape[0] * log(2 * pi) + far) - half_log_det

    def entropy(self) -> Any:
        return (0.5 * self._event_shape[0] * (1 + log(2 * pi)) + self._half_log_det()).expand(self._batch_shape)


class MultivariateNormal(_NormalVector):
    """Normal vectors of mean `loc`, and with one of a covariance, its inverse, or its lower Cholesky factor.

    >>> law = pullback.distributions.MultivariateNormal(pullback.zeros(2), 4 * pullback.eye(2))
    >>> law.scale_tril
    tensor([[2., 0.],
            [0., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: Any = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        forms = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: m for name, m in forms.items() if m is not None}
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
                f" Given were: {', '.join(given) or 'none'}."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = pb.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        else:
            of = linalg.cholesky if name == "covariance_matrix" else _precision_to_scale_tril
            self._unbroadcasted_scale_tril = of(matrix)

    @lazy_property
    def scale_tril(self) -> Any:
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        return self._full(pb.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def variance(self) -> Any:
        return self._full((self._unbroadcasted_scale_tril**2).sum(-1), 1)

    def _half_log_det(self) -> Any:
        return _log_diagonal(self._unbroadcasted_scale_tril)

    def rsample(self, sample_shape: Any = ()) -> Any:
        eps = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Any) -> Any:
        far = _batch_mahalanobis(self._unbroadcasted_scale_tril, self._checked(value) - self.loc)
        return self._density(far, self._half_log_det())


def _add_one(matrix: Any) -> Any:
    return matrix + pb.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def _batch_capacitance_tril(factor: Any, diag: Any) -> Any:
    return linalg.cholesky(_add_one((factor.mT / diag.unsqueeze(-2)) @ factor))


def _batch_lowrank_logdet(factor: Any, diag: Any, capacitance_tril: Any) -> Any:
    return 2 * _log_diagonal(capacitance_tril) + diag.log().sum(-1)


def _batch_lowrank_mahalanobis(factor: Any, diag: Any, x: Any, capacitance_tril: Any) -> Any:
    inner = _batch_mv(factor.mT / diag.unsqueeze(-2), x)
    return (x**2 / diag).sum(-1) - _batch_mahalanobis(capacitance_tril, inner)


class LowRankMultivariateNormal(_NormalVector):
    """Normal vectors with the covariance `cov_factor @ cov_factor.T + diag(cov_diag)`; systems have its rank."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: Any = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = pb.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as e:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from e
        self.loc, self.cov_diag = loc.expand((*batch_shape, -1)), cov_diag.expand((*batch_shape, -1))
        self.cov_factor = cov_factor.expand((*batch_shape, -1, -1))
        super().__init__(batch_shape, event_shape, validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)

    @lazy_property
    def variance(self) -> Any:
        return self._full((self._unbroadcasted_cov_factor**2).sum(-1) + self._unbroadcasted_cov_diag, 1)

    @lazy_property
    def scale_tril(self) -> Any:
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        return self._full(root * linalg.cholesky(_add_one(scaled @ scaled.mT)))

    @lazy_property
    def covariance_matrix(self) -> Any:
        factor = self._unbroadcasted_cov_factor
        return self._full(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Any:
        diag = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2)
        part: Any = linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._full(diag.reciprocal().diag_embed() - part.mT @ part)

    def _parts(self) -> tuple[Any, Any]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _half_log_det(self) -> Any:
        return 0.5 * _batch_lowrank_logdet(*self._parts(), self._capacitance_tril)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape, (factor, diag) = self._extended_shape(sample_shape), self._parts()
        low = _standard_normal(shape[:-1] + factor.shape[-1:], self.loc.dtype, self.loc.device)
        eps = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(factor, low) + diag.sqrt() * eps

    def log_prob(self, value: Any) -> Any:
        diff = self._checked(value) - self.loc
        far = _batch_lowrank_mahalanobis(*self._parts(), diff, self._capacitance_tril)
        return self._density(far, self._half_log_det())
