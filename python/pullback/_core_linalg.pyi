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

from ._core import Size, Tensor, _A, _Argnums, _Array, _Device, _F, _Index, _Ints, _Item, _Leaf, _Number, _Operand, _P, _Q, _S, _Slice, _T, _Ts, _device, _dtype, _layout, _memory_format, _return__lu_with_info, _return_aminmax, _return_cummax, _return_cummin, _return_frexp, _return_geqrf, _return_histogram, _return_kthvalue, _return_linalg_cholesky_ex, _return_linalg_eig, _return_linalg_eigh, _return_linalg_inv_ex, _return_linalg_ldl_factor, _return_linalg_ldl_factor_ex, _return_linalg_lstsq, _return_linalg_lu, _return_linalg_lu_factor, _return_linalg_lu_factor_ex, _return_linalg_qr, _return_linalg_slogdet, _return_linalg_solve_ex, _return_linalg_svd, _return_lu_unpack, _return_max, _return_median, _return_min, _return_mode, _return_nanmedian, _return_qr, _return_sort, _return_svd, _return_topk, _return_triangular_solve, device, dtype

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

def vander(x: Tensor, *, N: builtins.int | None = None) -> Tensor:
    """Powers of each element along a new last dimension: from 0 up to `N - 1`."""

def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of two or more matrices, in the order that costs least. The first and the last may be vectors."""

def matrix_power(A: Tensor, n: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """The product of n equal square matrices; for a negative n, of their inverse."""

def tensorinv(A: Tensor, ind: builtins.int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor as a matrix of its first `ind` dimensions by the others."""

def tensorsolve(A: Tensor, B: Tensor, dims: _Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """The X with `tensordot(A, X, X.ndim) = B`, after the dimensions `dims` of A were moved to its end."""

def diagonal(A: Tensor, *, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
    """As `diagonal`, of the last two dimensions."""

def cross(input: Tensor, other: Tensor, *, dim: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors along a dimension; the others broadcast."""

def eig(A: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_linalg_eig:
    """Complex eigenvalues, in no order, and eigenvectors of norm 1 as columns. Derivatives need distinct values, and
    functions of the vectors that do not depend on their phases.
    """

def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex eigenvalues, in no order."""

def ldl_factor(A: Tensor, *, hermitian: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_ldl_factor:
    """The factors of symmetric matrices `A = P L D Lᵀ Pᵀ`, with blocks of one or two rows in D, in one matrix, and the
    exchanges of rows: for `ldl_solve`. Of complex matrices that are `hermitian` they are those of `P L D Lᴴ Pᵀ`. The lower
    triangle is read; the format is LAPACK's, of `sytrf` and `hetrf`.
    """

def ldl_factor_ex(A: Tensor, *, hermitian: builtins.bool = False, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_ldl_factor_ex:
    """As `ldl_factor`, and `info`: 0, or which block of D is the first zero. With `check_errors` that raises."""

def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` from what `ldl_factor` gives for A, with the same `hermitian`."""

def pinv(A: Tensor, rcond: _Operand | None = None, hermitian: builtins.bool = False, *, atol: _Operand | None = None, rtol: _Operand | None = None, out: Tensor | None = None) -> Tensor:
    """The pseudoinverse: `1 / s` for singular values above `max(atol, rtol * largest)`, 0 for others. `rcond` is an old
    name of `rtol`. Of Hermitian matrices the lower triangle is read. Its derivative is that for a rank that stays, with
    values of 0 in place of those left out.
    """

def matrix_rank(A: Tensor, tol: _Operand | None = None, hermitian: builtins.bool = False, *, atol: _Operand | None = None, rtol: _Operand | None = None, out: Tensor | None = None) -> Tensor:
    """How many singular values are above `max(atol, rtol * largest)`; `tol` is an old name of `atol`. Of Hermitian matrices
    the lower triangle is read.
    """

def cond(A: Tensor, p: builtins.int | builtins.float | builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The ratio of the largest and the smallest singular value, or with an order of a matrix norm the norm of a matrix times
    that of its inverse.
    """

def lstsq(A: Tensor, B: Tensor, rcond: builtins.float | None = None, *, driver: builtins.str | None = None, out: Sequence[Tensor] | None = None) -> _return_linalg_lstsq:
    """The X of smallest norm with the smallest `|A X - B|`, squared residuals of its columns, rank and singular values. B is
    a matrix, or a vector for each matrix. Singular values below `rcond` times the largest count as 0.

    `driver` says what is given besides the solution, as in PyTorch: residuals if A has more rows than columns, for 'gels'
    (which takes the rank to be full) and, where all ranks are full, for 'gelsd' and 'gelss'; singular values for the
    latter two; the rank for all but 'gels'. The rest is empty.
    """

def cholesky(A: Tensor, *, upper: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The triangular factor of Hermitian positive definite matrices: `A = L Lᴴ`, or `Uᴴ U` if `upper`."""

def solve(A: Tensor, B: Tensor, *, left: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` (or `X A = B` unless `left`). B is a matrix, or a batch of vectors."""

def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices. Singular ones raise `LinAlgError`."""

def solve_triangular(A: Tensor, B: Tensor, *, upper: builtins.bool, left: builtins.bool = True, unitriangular: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` (or `X A = B` unless `left`) for triangular A; the other triangle is not read."""

def qr(A: Tensor, mode: builtins.str = 'reduced', *, out: Sequence[Tensor] | None = None) -> _return_linalg_qr:
    """`A = Q R` with orthonormal columns of Q and upper triangular R; mode 'reduced', 'complete' or 'r'."""

def eigh(A: Tensor, UPLO: builtins.str = 'L', *, out: Sequence[Tensor] | None = None) -> _return_linalg_eigh:
    """Eigenvalues (ascending) and orthonormal eigenvectors of Hermitian matrices, of which one triangle is read."""

def eigvalsh(A: Tensor, UPLO: builtins.str = 'L', *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues (ascending) of Hermitian matrices."""

def svd(A: Tensor, full_matrices: builtins.bool = True, *, driver: builtins.str | None = None, out: Sequence[Tensor] | None = None) -> _return_linalg_svd:
    """`A = U diag(S) Vh` with singular values in descending order. Derivatives of U and Vh need distinct values."""

def svdvals(A: Tensor, *, driver: builtins.str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values in descending order."""

def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_linalg_slogdet:
    """Sign of the determinant and logarithm of its absolute value."""

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices."""

def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential `Σ Aᵏ / k!` of square matrices."""

def lu_factor(A: Tensor, *, pivot: builtins.bool = True, out: Sequence[Tensor] | None = None) -> _return_linalg_lu_factor:
    """The factors of `A = P L U` in one matrix, L below the diagonal, and the row exchanges: for `lu_solve`."""

def lu_factor_ex(A: Tensor, *, pivot: builtins.bool = True, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_lu_factor_ex:
    """As `lu_factor`, and `info`: 0, or which diagonal element of U is the first zero. With `check_errors` that raises."""

def lu(A: Tensor, *, pivot: builtins.bool = True, out: Sequence[Tensor] | None = None) -> _return_linalg_lu:
    """`A = P L U` with a permutation P, a lower triangle L with ones on the diagonal, and an upper triangle U."""

def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: builtins.bool = True, adjoint: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` (or `X A = B` unless `left`) from what `lu_factor` gives for A; of its adjoint if `adjoint`."""

def solve_ex(A: Tensor, B: Tensor, *, left: builtins.bool = True, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_solve_ex:
    """As `solve`, and `info`: 0, or which pivot is the first zero. With `check_errors` that raises."""

def inv_ex(A: Tensor, *, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_inv_ex:
    """As `inv`, and `info`: 0, or which pivot is the first zero. With `check_errors` that raises."""

def cholesky_ex(A: Tensor, *, upper: builtins.bool = False, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_cholesky_ex:
    """As `cholesky`, and `info`: 0, or the order of the first leading minor that is not positive definite. With
    `check_errors` that raises.
    """

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product, with 1-D operands taken as vectors and leading dimensions broadcast."""

def vecdot(x: Tensor, y: Tensor, *, dim: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """Inner products of vectors along a dimension, the first conjugated; the other dimensions broadcast."""

def norm(A: Tensor, ord: builtins.int | builtins.float | builtins.str | None = None, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """A norm: of all elements as a vector, or by `ord` of vectors (one dim) or matrices (two dims)."""

def vector_norm(x: Tensor, ord: _Number = 2, dim: _Ints | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """`sum(|x|^ord)^(1/ord)` over dimensions, or over all."""

def matrix_norm(A: Tensor, ord: builtins.int | builtins.float | builtins.str | None = None, dim: _Ints = (-2, -1), keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """A matrix norm over two dimensions: 'fro', 'nuc', or of order 1, 2, inf or their negatives."""

def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of reflections `1 - τᵢ vᵢ vᵢᴴ`: vᵢ is column i of A below a 1, as `geqrf` gives them."""

class LinAlgError(builtins.RuntimeError):
    """A decomposition or a solve failed."""
