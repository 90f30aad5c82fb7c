"""Parametrizations: orthogonal matrices, weights by length and direction, weights over their largest singular value."""

from __future__ import annotations

from ... import Tensor, dot, mv, no_grad, randn
from .. import functional as F
from ..modules.module import Module
from ..parameter import is_lazy
from ._norms import norm_except_dim
from ._orthogonal import _Orthogonal as _Orthogonal
from .parametrize import register_parametrization

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _tensor_of(module: Any, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Makes a matrix orthogonal, or its rows or columns orthonormal: Q = base @ map(X).

    `orthogonal_map` is "matrix_exp", "cayley" or "householder"; by default the first for square matrices and the last
    for
    others. Without `use_trivialization` there is no base.

    >>> import pullback
    >>> m = pullback.nn.utils.parametrizations.orthogonal(pullback.nn.Linear(4, 3))
    >>> pullback.allclose(m.weight @ m.weight.mT, pullback.eye(3), atol=1e-5)
    True

    Raises ValueError for a name that is no tensor, fewer than two dimensions, or another map.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int = 0) -> Any:
    """Makes a weight g * v / |v|, with one length g for each index of `dim`, or one in all with None.

    The tensors are `parametrizations.weight.original0` (g) and `original1` (v). State dicts of the old `weight_norm`
    load.

    >>> import pullback
    >>> m = pullback.nn.utils.parametrizations.weight_norm(pullback.nn.Linear(4, 3))
    >>> m.parametrizations.weight.original0.shape
    pullback.Size([3, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *rest: Any) -> None:
        for old, new in (("_g", "original0"), ("_v", "original1")):
            key = f"{prefix}{name}{old}"
            if key in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    _u: Any
    _v: Any

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        n = weight.ndim
        if not -n <= dim < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{n}, {n - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % n
        self.eps = eps
        if n > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight)
            for name, size in zip(("_u", "_v"), matrix.size(), strict=True):
                self.register_buffer(name, F.normalize(randn(size, dtype=weight.dtype), dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1) if weight.ndim > 2 or self.dim else weight

    def _power_method(self, matrix: Tensor, count: int) -> None:
        with no_grad():
            for _ in range(count):
                self._u.copy_(F.normalize(mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        # Copies, since the next forward writes to the buffers.
        u, v = self._u.clone(), self._v.clone()
        return weight / dot(u, mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Makes a weight that tensor over its largest singular value, which power iterations estimate in training.

    >>> import pullback
    >>> m = pullback.nn.utils.parametrizations.spectral_norm(pullback.nn.Linear(4, 3))
    >>> for _ in range(200):
    ...     _ = m.weight
    >>> round(pullback.linalg.svdvals(m.weight).max().item(), 3)
    1.0

    Raises:
        ValueError: for a name that is no tensor, or a number of iterations that is not positive.
        IndexError: for a dimension that the weight does not have.
    """
    weight = _tensor_of(module, name)
    if is_lazy(weight):
        raise ValueError("spectral_norm(): the module is lazy; call it once before")
    if dim is None:
        from ..modules.conv import _ConvTransposeNd

        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
