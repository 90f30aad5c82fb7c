"""Differentiable transforms of random variables, and the logarithms of their volume ratios.

>>> pullback.distributions.ExpTransform().inv(pullback.tensor(1.0))
tensor(0.)
"""

from __future__ import annotations

from math import log
from typing import Any

import pullback as pb

from . import constraints
from ._transform import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    StackTransform,
    Transform,
    _enough,
    _InverseTransform,  # noqa: F401
    _widened,
    identity_transform,
)
from .utils import _sum_rightmost, broadcast_all, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class _Plain(Transform):
    """Without parameters; rises unless it says otherwise."""

    domain: Any = constraints.real
    codomain: Any = constraints.positive
    bijective = True
    sign: Any = 1

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)


class ExpTransform(_Plain):
    """`exp(x)`."""

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


def _clipped(p: Any) -> Any:
    info = pb.finfo(p.dtype)
    return p.clamp(min=info.tiny, max=1 - info.eps)


class SigmoidTransform(_Plain):
    """`1 / (1 + exp(-x))`, kept away from 0 and 1."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return _clipped(x.sigmoid())

    def _inverse(self, y: Any) -> Any:
        y = _clipped(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -pb.nn.functional.softplus(-x) - pb.nn.functional.softplus(x)


class SoftplusTransform(_Plain):
    """`log(1 + exp(x))`."""

    def _call(self, x: Any) -> Any:
        return pb.nn.functional.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -pb.nn.functional.softplus(-x)


class TanhTransform(_Plain):
    """`tanh(x)`."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2 * (log(2) - x - pb.nn.functional.softplus(-2 * x))


class AbsTransform(_Plain):
    """`|x|`, whose inverse is the positive one."""

    bijective = False
    sign = Transform.sign

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


def _shape_of(value: Any) -> Any:
    return getattr(value, "shape", ())


def _same(a: Any, b: Any) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, pb.Tensor) else bool(same)


class PowerTransform(Transform):
    """`x ** exponent`."""

    domain = codomain = constraints.positive
    bijective = True
    sign = property(lambda self: self.exponent.sign())

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    def _call(self, x: Any) -> Any:
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return pb.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """`loc + scale x`, of events with `event_dim` dimensions.

    >>> pullback.distributions.AffineTransform(1.0, 2.0)(pullback.ones(2))
    tensor([3., 3.])
    """

    bijective = True
    event_dim = property(lambda self: self._event_dim)

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return _widened(constraints.real, self._event_dim)

    codomain = domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        scale = self.scale
        return scale.sign() if isinstance(scale, pb.Tensor) else (scale > 0) - (scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        scale = self.scale if isinstance(self.scale, pb.Tensor) else pb.full_like(x, self.scale)
        return _sum_rightmost(scale.abs().log().expand(x.shape), self._event_dim)

    def forward_shape(self, shape: Any) -> Any:
        return pb.broadcast_shapes(shape, _shape_of(self.loc), _shape_of(self.scale))

    inverse_shape = forward_shape


class CorrCholeskyTransform(Transform):
    """Vectors of `D (D - 1) / 2` numbers to Cholesky factors of correlation matrices of size D.

    The numbers, as tanh, are partial correlations (Lewandowski, Kurowicka and Joe, 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = pb.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=eps - 1, max=1 - eps), -1)
        left = (1 - r**2).sqrt().cumprod(-1)
        one = pb.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return (r + one) * pb.nn.functional.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = pb.nn.functional.pad(1 - (y * y).cumsum(-1)[..., :-1], [1, 0], value=1)
        return (tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(left, -1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), -2)
        return left.log().sum(-1) / 2 + TanhTransform().log_abs_det_jacobian(x, y).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _enough(len(shape), 1)
        d = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != shape[-1]:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {shape[-1]} is no D (D - 1) / 2")
        return (*shape[:-1], d, d)

    def inverse_shape(self, shape: Any) -> Any:
        _enough(len(shape), 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: {shape}")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class SoftmaxTransform(_Plain):
    """`softmax(x)` of vectors, to the simplex; its inverse is one of many."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = False
    sign = Transform.sign

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _enough(len(shape), 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(SoftmaxTransform):
    """Vectors to points of the simplex with one more coordinate, each a share of what those before have left.

    >>> pullback.distributions.StickBreakingTransform()(pullback.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    bijective = True

    def _moved(self, x: Any) -> Any:
        return x - pb.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Any) -> Any:
        share = _clipped(self._moved(x).sigmoid())
        pad = pb.nn.functional.pad
        return pad(share, [0, 1], value=1) * pad((1 - share).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        first = y[..., :-1]
        left = (1 - first.cumsum(-1)).clamp(min=pb.finfo(y.dtype).tiny)
        return first.log() - left.log() - self._moved(pb.zeros_like(first))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = self._moved(x)
        return (pb.nn.functional.logsigmoid(x) - x + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _enough(len(shape), 1)
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        _enough(len(shape), 1)
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(_Plain):
    """Square matrices to lower triangular ones, with the exponential of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain: Any = constraints.lower_cholesky
    bijective = False
    sign = Transform.sign

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(LowerCholeskyTransform):
    """Square matrices to positive definite ones, by `LowerCholeskyTransform`."""

    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        lower = super()._call(x)
        return lower @ lower.mT

    def _inverse(self, y: Any) -> Any:
        return super()._inverse(pb.linalg.cholesky(y))


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution of single numbers."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    domain = property(lambda self: self.distribution.support)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)
