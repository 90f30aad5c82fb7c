"""Random covariance matrices."""

from __future__ import annotations

from math import log, nan
from typing import Any

import pullback as pb

from .._warnings import warn
from . import constraints
from ._gamma import Chi2
from .distribution import ExponentialFamily, _fails
from .multivariate_normal import _log_diagonal, _precision_to_scale_tril
from .utils import lazy_property

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """The sum of `df` outer products of normal vectors of this covariance, by Bartlett's decomposition."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: Any = None,
    ) -> None:
        forms = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: m for name, m in forms.items() if m is not None}
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        df = pb.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape, n = pb.broadcast_shapes(matrix.shape[:-2], df.shape), matrix.shape[-1]
        if _fails(df > n - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if _fails(df >= n):
            warn("Low df values detected. Singular samples are highly likely to occur.")
        self.df = df.expand(batch_shape)
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        super().__init__(batch_shape, matrix.shape[-2:], validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        else:
            of = pb.linalg.cholesky if name == "covariance_matrix" else _precision_to_scale_tril
            self._unbroadcasted_scale_tril = of(matrix)

    @lazy_property
    def scale_tril(self) -> Any:
        return self._unbroadcasted_scale_tril.expand(self._extended_shape())

    @lazy_property
    def covariance_matrix(self) -> Any:
        return (self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT).expand(self._extended_shape())

    @lazy_property
    def precision_matrix(self) -> Any:
        return pb.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._extended_shape())

    def _each(self, x: Any) -> Any:
        return x.reshape((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Any:
        return self._each(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self._event_shape[-1] - 1
        return self._each(pb.where(factor > 0, factor, nan)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        d = v.diagonal(dim1=-2, dim2=-1)
        return self._each(self.df) * (v**2 + d.unsqueeze(-1) * d.unsqueeze(-2))

    def _draw(self, sample_shape: Any) -> Any:
        tril, n = self._unbroadcasted_scale_tril, self._event_shape[-1]
        freedom = self.df.unsqueeze(-1) - pb.arange(n, dtype=tril.dtype, device=tril.device)
        diagonal = Chi2(freedom).rsample(sample_shape).sqrt().clamp(min=pb.finfo(tril.dtype).eps)
        shape = (*sample_shape, *self._batch_shape, n * (n - 1) // 2)
        below = pb.randn(shape, dtype=tril.dtype, device=tril.device)
        rows, columns = pb.tril_indices(n, n, -1, device=tril.device)
        flat = pb.zeros((*shape[:-1], n * n), dtype=tril.dtype, device=tril.device)
        noise = flat.index_add(-1, rows * n + columns, below).unflatten(-1, (n, n)) + diagonal.diag_embed()
        factor = tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int = 10) -> Any:
        sample_shape = pb.Size(sample_shape)
        # PyTorch takes its first sample for singular, and draws again.
        self._draw(sample_shape)
        sample = self._draw((sample_shape.numel(),))
        for _ in range(max_try_correction):
            regular = self.support.check(sample)
            if not _fails(regular):
                break
            sample = pb.where(regular[..., None, None], sample, self._draw((sample_shape.numel(),)))
        return sample.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        nu, n, tril = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        value = self._checked(value)
        trace = pb.cholesky_solve(value, tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        volume = nu * (n * log(2) / 2 + _log_diagonal(tril)) + pb.mvlgamma(nu / 2, n)
        return (nu - n - 1) / 2 * pb.linalg.slogdet(value).logabsdet - trace / 2 - volume

    def entropy(self) -> Any:
        nu, n = self.df, self._event_shape[-1]
        steps = pb.arange(n, dtype=nu.dtype, device=nu.device) / 2
        slope = ((nu / 2).unsqueeze(-1) - steps).digamma().sum(-1)
        size = (n + 1) * (n * log(2) / 2 + _log_diagonal(self._unbroadcasted_scale_tril))
        return size + pb.mvlgamma(nu / 2, n) - (nu - n - 1) / 2 * slope + nu * n / 2

    @property
    def _natural_params(self) -> Any:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Any) -> Any:
        x, y = natural_params
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (n * log(2) - pb.linalg.slogdet(-2 * x).logabsdet) + pb.mvlgamma(half, n)
