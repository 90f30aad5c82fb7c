# Made by `python -m pullback._stubs` from the operator table. Do not edit.

import builtins
import numpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import (
    Any, Concatenate, Generic, Literal, NamedTuple, NoReturn, ParamSpec, SupportsIndex, TypeAlias, TypeVar, overload
)
from typing_extensions import Self, TypeIs, TypeVarTuple, Unpack
from ._core_autograd_graph import Node
from ._core_utils_hooks import RemovableHandle

from ._core import Size, Tensor, _A, _Argnums, _Array, _Device, _F, _Index, _Ints, _Item, _Leaf, _Number, _Operand, _P, _Q, _S, _Slice, _T, _Ts, _device, _dtype, _layout, _memory_format, _return_aminmax, _return_cummax, _return_cummin, _return_histogram, _return_kthvalue, _return_linalg_eigh, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_svd, _return_max, _return_median, _return_min, _return_mode, _return_nanmedian, _return_sort, _return_topk, device, dtype

__all__ = [
    "LinAlgError",
    "cholesky",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "norm",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "vector_norm",
]

def diagonal(A: Tensor, *, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """As `diagonal`, of the last two dimensions."""

def cholesky(A: Tensor, *, upper: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The triangular factor of Hermitian positive definite matrices: `A = L Lᴴ`, or `Uᴴ U` if `upper`.

    >>> import pullback
    >>> pullback.linalg.cholesky(pullback.tensor([[4.0]]))
    tensor([[2.]])
    """

def solve(A: Tensor, B: Tensor, *, left: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` (or `X A = B` unless `left`). B is a matrix, or a batch of vectors.

    >>> import pullback
    >>> pullback.linalg.solve(pullback.tensor([[2.0]]), pullback.tensor([4.0]))
    tensor([2.])
    """

def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices. Singular ones raise `LinAlgError`.

    >>> import pullback
    >>> pullback.linalg.inv(pullback.tensor([[2.0]]))
    tensor([[0.5000]])
    """

def solve_triangular(A: Tensor, B: Tensor, *, upper: builtins.bool, left: builtins.bool = True, unitriangular: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` (or `X A = B` unless `left`) for triangular A; the other triangle is not read.

    >>> import pullback
    >>> pullback.linalg.solve_triangular(pullback.tensor([[2.0]]), pullback.tensor([[4.0]]), upper=True)
    tensor([[2.]])
    """

def qr(A: Tensor, mode: builtins.str = 'reduced', *, out: Sequence[Tensor] | None = None) -> _return_linalg_qr:
    """`A = Q R` with orthonormal columns of Q and upper triangular R; mode 'reduced', 'complete' or 'r'.

    >>> import pullback
    >>> pullback.linalg.qr(pullback.tensor([[2.0]])).R.abs()
    tensor([[2.]])
    """

def eigh(A: Tensor, UPLO: builtins.str = 'L', *, out: Sequence[Tensor] | None = None) -> _return_linalg_eigh:
    """Eigenvalues (ascending) and orthonormal eigenvectors of Hermitian matrices, of which one triangle is read.

    >>> import pullback
    >>> pullback.linalg.eigh(pullback.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """

def eigvalsh(A: Tensor, UPLO: builtins.str = 'L', *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues (ascending) of Hermitian matrices."""

def svd(A: Tensor, full_matrices: builtins.bool = True, *, driver: builtins.str | None = None, out: Sequence[Tensor] | None = None) -> _return_linalg_svd:
    """`A = U diag(S) Vh` with singular values in descending order. Derivatives of U and Vh need distinct values.

    >>> import pullback
    >>> pullback.linalg.svd(pullback.tensor([[3.0]])).S
    tensor([3.])
    """

def svdvals(A: Tensor, *, driver: builtins.str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values in descending order."""

def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_linalg_slogdet:
    """Sign of the determinant and logarithm of its absolute value.

    >>> import pullback
    >>> pullback.linalg.slogdet(pullback.tensor([[1.0]])).logabsdet
    tensor(0.)
    """

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices.

    >>> import pullback
    >>> pullback.linalg.det(pullback.tensor([[2.0]]))
    tensor(2.)
    """

def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential `Σ Aᵏ / k!` of square matrices.

    >>> import pullback
    >>> pullback.linalg.matrix_exp(pullback.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product, with 1-D operands taken as vectors and leading dimensions broadcast.

    >>> import pullback
    >>> pullback.matmul(pullback.ones(2, 3), pullback.ones(3)).shape
    pullback.Size([2])
    """

def norm(A: Tensor, ord: builtins.int | builtins.float | builtins.str | None = None, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """A norm: of all elements as a vector, or by `ord` of vectors (one dim) or matrices (two dims).

    >>> import pullback
    >>> pullback.linalg.norm(pullback.tensor([3.0, 4.0]))
    tensor(5.)
    """

def vector_norm(x: Tensor, ord: _Number = 2, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """`sum(|x|^ord)^(1/ord)` over dimensions, or over all.

    >>> import pullback
    >>> pullback.linalg.vector_norm(pullback.tensor([3.0, 4.0]), 1)
    tensor(7.)
    """

def matrix_norm(A: Tensor, ord: builtins.int | builtins.float | builtins.str | None = None, dim: _Ints = (-2, -1), keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """A matrix norm over two dimensions: 'fro', 'nuc', or of order 1, 2, inf or their negatives."""

class LinAlgError(builtins.RuntimeError):
    """A decomposition or a solve failed."""
