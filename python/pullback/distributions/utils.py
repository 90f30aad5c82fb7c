"""Parameters of distributions: broadcasting, probabilities and log-odds. All of it has derivatives and batches."""

from __future__ import annotations

from .. import Tensor, _core
from ..overrides import is_tensor_like

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    *"broadcast_all clamp_probs lazy_property logits_to_probs probs_to_logits tril_matrix_to_vec".split(),
    "vec_to_tril_matrix",
]
euler_constant = 0.5772156649015329

_functions: Any = _core.functions


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """The values as tensors of one shape; numbers get the dtype of the first tensor, or the default dtype.

    >>> import pullback
    >>> pullback.distributions.utils.broadcast_all(pullback.ones(2), 3)
    (tensor([1., 1.]), tensor([3., 3.]))

    Raises:
        ValueError: if a value is neither a number nor a tensor, nor of a class with `__torch_function__`.
    """
    if not all(is_tensor_like(v) or isinstance(v, (int, float, complex)) for v in values):
        kinds = ", ".join(type(v).__name__ for v in values)
        raise ValueError(
            "broadcast_all(): Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            f"__torch_function__, got {kinds}"
        )
    if not all(is_tensor_like(v) for v in values):
        tensors = [v for v in values if isinstance(v, Tensor)]
        dtype = tensors[0].dtype if tensors else _core.get_default_dtype()
        values = tuple(v if is_tensor_like(v) else _core.tensor(v, dtype=dtype) for v in values)
    return tuple(_functions["broadcast_tensors"](*values))


def clamp_probs(probs: Any) -> Any:
    """Probabilities, moved away from 0 and 1 by the precision of their dtype, so that their logarithms are finite."""
    eps = _core.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities of log-odds: of two outcomes each, or of those along the last dimension."""
    return _functions["sigmoid"](logits) if is_binary else _functions["softmax"](logits, -1)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Log-odds of probabilities: of two outcomes each, or of those along the last dimension."""
    clamped = clamp_probs(probs)
    if is_binary:
        return _functions["log"](clamped) - _functions["log1p"](-clamped)
    return _functions["log"](clamped)


class lazy_property:
    """A method as an attribute that is computed when it is first asked for, with gradients, and kept.

    >>> from pullback.distributions.utils import lazy_property
    >>> class Square:
    ...     def __init__(self, side):
    ...         self.side = side
    ...
    ...     @lazy_property
    ...     def area(self):
    ...         print("computed")
    ...         return self.side**2
    >>> square = Square(2)
    >>> square.area, square.area
    computed
    (4, 4)
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return _Lazy(self.wrapped)
        with _core.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _Lazy(property):
    """What a class shows of a lazy property."""


def _standard_normal(shape: Any, dtype: Any = None, device: Any = None) -> Any:
    return _functions["randn"](shape, dtype=dtype, device=device)


def _sum_rightmost(value: Any, dims: int) -> Any:
    return value.reshape((*value.shape[: value.dim() - dims], -1)).sum(-1) if dims else value


def _lower(n: int, diag: int, device: Any) -> tuple[Any, Any]:
    rows, columns = _functions["tril_indices"](n, n, diag, device=device)
    return rows, columns


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The elements up to the diagonal `diag` of each matrix, row by row.

    >>> pullback.distributions.utils.tril_matrix_to_vec(pullback.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])

    Raises:
        ValueError: if there is no such diagonal.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"tril_matrix_to_vec(): diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = _lower(n, diag, mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The matrices whose elements up to the diagonal `diag` are given row by row.

    >>> pullback.distributions.utils.vec_to_tril_matrix(pullback.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])

    Raises:
        ValueError: if no square matrix has so many of them.
    """
    size, n = vec.shape[-1], max(0, -diag)
    while (m := _below(n, diag)) < size:
        n += 1
    if m != size:
        raise ValueError(
            f"vec_to_tril_matrix(): The size of last dimension is {size} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    rows, columns = _lower(n, diag, vec.device)
    flat = vec.new_zeros((*vec.shape[:-1], n * n)).index_add(-1, rows * n + columns, vec)
    return flat.unflatten(-1, (n, n))


def _below(n: int, diag: int) -> int:
    return sum(min(max(row + diag + 1, 0), n) for row in range(n))
