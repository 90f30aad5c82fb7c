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
    """Powers of each element along a new last dimension: from 0 up to `N - 1`.

    >>> import pullback
    >>> pullback.linalg.vander(pullback.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """

def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of two or more matrices, in the order that costs least. The first and the last may be vectors.

    >>> import pullback
    >>> pullback.linalg.multi_dot([pullback.ones(2, 3), pullback.ones(3, 2), pullback.ones(2)])
    tensor([6., 6.])
    """

def matrix_power(A: Tensor, n: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """The product of n equal square matrices; for a negative n, of their inverse.

    >>> import pullback
    >>> pullback.linalg.matrix_power(pullback.tensor([[2.0]]), -2)
    tensor([[0.2500]])
    """

def tensorinv(A: Tensor, ind: builtins.int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor as a matrix of its first `ind` dimensions by the others.

    >>> import pullback
    >>> pullback.linalg.tensorinv(pullback.tensor([[2.0]]), ind=1)
    tensor([[0.5000]])
    """

def tensorsolve(A: Tensor, B: Tensor, dims: _Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """The X with `tensordot(A, X, X.ndim) = B`, after the dimensions `dims` of A were moved to its end.

    >>> import pullback
    >>> pullback.linalg.tensorsolve(pullback.eye(4).reshape(2, 2, 2, 2), pullback.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """

def diagonal(A: Tensor, *, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
    """As `diagonal`, of the last two dimensions."""

def cross(input: Tensor, other: Tensor, *, dim: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors along a dimension; the others broadcast.

    >>> import pullback
    >>> pullback.linalg.cross(pullback.tensor([1.0, 0.0, 0.0]), pullback.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """

def eig(A: Tensor, *, out: Sequence[Tensor] | None = None) -> _return_linalg_eig:
    """Complex eigenvalues, in no order, and eigenvectors of norm 1 as columns. Derivatives need distinct values, and
    functions of the vectors that do not depend on their phases.

    >>> import pullback
    >>> pullback.linalg.eig(pullback.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.abs()
    tensor([1., 1.])
    """

def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex eigenvalues, in no order.

    >>> import pullback
    >>> pullback.linalg.eigvals(pullback.tensor([[2.0]]))
    tensor([2.+0.j])
    """

def ldl_factor(A: Tensor, *, hermitian: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_ldl_factor:
    """The factors of symmetric matrices `A = P L D Lᵀ Pᵀ`, with blocks of one or two rows in D, in one matrix, and the
    exchanges of rows: for `ldl_solve`. Of complex matrices that are `hermitian` they are those of `P L D Lᴴ Pᵀ`. The lower
    triangle is read; the format is LAPACK's, of `sytrf` and `hetrf`.

    >>> import pullback
    >>> pullback.linalg.ldl_factor(pullback.tensor([[2.0, 1.0], [1.0, -3.0]])).LD
    tensor([[ 2.0000,  0.0000],
            [ 0.5000, -3.5000]])
    """

def ldl_factor_ex(A: Tensor, *, hermitian: builtins.bool = False, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_ldl_factor_ex:
    """As `ldl_factor`, and `info`: 0, or which block of D is the first zero. With `check_errors` that raises.

    >>> import pullback
    >>> pullback.linalg.ldl_factor_ex(pullback.zeros(2, 2)).info
    tensor(1, dtype=pullback.int32)
    """

def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` from what `ldl_factor` gives for A, with the same `hermitian`.

    >>> import pullback
    >>> factors = pullback.linalg.ldl_factor(pullback.tensor([[2.0, 1.0], [1.0, -3.0]]))
    >>> pullback.linalg.ldl_solve(*factors, pullback.tensor([[4.0], [-5.0]]))
    tensor([[1.],
            [2.]])
    """

def pinv(A: Tensor, rcond: _Operand | None = None, hermitian: builtins.bool = False, *, atol: _Operand | None = None, rtol: _Operand | None = None, out: Tensor | None = None) -> Tensor:
    """The pseudoinverse: `1 / s` for singular values above `max(atol, rtol * largest)`, 0 for others. `rcond` is an old
    name of `rtol`. Of Hermitian matrices the lower triangle is read. Its derivative is that for a rank that stays, with
    values of 0 in place of those left out.

    >>> import pullback
    >>> pullback.linalg.pinv(pullback.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """

def matrix_rank(A: Tensor, tol: _Operand | None = None, hermitian: builtins.bool = False, *, atol: _Operand | None = None, rtol: _Operand | None = None, out: Tensor | None = None) -> Tensor:
    """How many singular values are above `max(atol, rtol * largest)`; `tol` is an old name of `atol`. Of Hermitian matrices
    the lower triangle is read.

    >>> import pullback
    >>> pullback.linalg.matrix_rank(pullback.ones(3, 3))
    tensor(1)
    """

def cond(A: Tensor, p: builtins.int | builtins.float | builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The ratio of the largest and the smallest singular value, or with an order of a matrix norm the norm of a matrix times
    that of its inverse.

    >>> import pullback
    >>> pullback.linalg.cond(pullback.tensor([[4.0, 0.0], [0.0, 1.0]]))
    tensor(4.)
    """

def lstsq(A: Tensor, B: Tensor, rcond: builtins.float | None = None, *, driver: builtins.str | None = None, out: Sequence[Tensor] | None = None) -> _return_linalg_lstsq:
    """The X of smallest norm with the smallest `|A X - B|`, squared residuals of its columns, rank and singular values. B is
    a matrix, or a vector for each matrix. Singular values below `rcond` times the largest count as 0.

    `driver` says what is given besides the solution, as in PyTorch: residuals if A has more rows than columns, for 'gels'
    (which takes the rank to be full) and, where all ranks are full, for 'gelsd' and 'gelss'; singular values for the
    latter two; the rank for all but 'gels'. The rest is empty.

    >>> import pullback
    >>> pullback.linalg.lstsq(pullback.tensor([[1.0], [0.0]]), pullback.tensor([2.0, 3.0])).solution
    tensor([2.])
    """

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

def lu_factor(A: Tensor, *, pivot: builtins.bool = True, out: Sequence[Tensor] | None = None) -> _return_linalg_lu_factor:
    """The factors of `A = P L U` in one matrix, L below the diagonal, and the row exchanges: for `lu_solve`.

    >>> import pullback
    >>> pullback.linalg.lu_factor(pullback.tensor([[1.0, 2.0], [4.0, 4.0]])).LU
    tensor([[4.0000, 4.0000],
            [0.2500, 1.0000]])
    """

def lu_factor_ex(A: Tensor, *, pivot: builtins.bool = True, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_lu_factor_ex:
    """As `lu_factor`, and `info`: 0, or which diagonal element of U is the first zero. With `check_errors` that raises.

    >>> import pullback
    >>> pullback.linalg.lu_factor_ex(pullback.zeros(2, 2)).info
    tensor(1, dtype=pullback.int32)
    """

def lu(A: Tensor, *, pivot: builtins.bool = True, out: Sequence[Tensor] | None = None) -> _return_linalg_lu:
    """`A = P L U` with a permutation P, a lower triangle L with ones on the diagonal, and an upper triangle U.

    >>> import pullback
    >>> pullback.linalg.lu(pullback.tensor([[1.0, 2.0], [4.0, 4.0]])).L
    tensor([[1.0000, 0.0000],
            [0.2500, 1.0000]])
    """

def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: builtins.bool = True, adjoint: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` (or `X A = B` unless `left`) from what `lu_factor` gives for A; of its adjoint if `adjoint`.

    >>> import pullback
    >>> factors = pullback.linalg.lu_factor(pullback.tensor([[2.0]]))
    >>> pullback.linalg.lu_solve(*factors, pullback.tensor([[4.0]]))
    tensor([[2.]])
    """

def solve_ex(A: Tensor, B: Tensor, *, left: builtins.bool = True, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_solve_ex:
    """As `solve`, and `info`: 0, or which pivot is the first zero. With `check_errors` that raises.

    >>> import pullback
    >>> pullback.linalg.solve_ex(pullback.zeros(1, 1), pullback.ones(1)).info
    tensor(1, dtype=pullback.int32)
    """

def inv_ex(A: Tensor, *, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_inv_ex:
    """As `inv`, and `info`: 0, or which pivot is the first zero. With `check_errors` that raises.

    >>> import pullback
    >>> pullback.linalg.inv_ex(pullback.tensor([[2.0]])).inverse
    tensor([[0.5000]])
    """

def cholesky_ex(A: Tensor, *, upper: builtins.bool = False, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> _return_linalg_cholesky_ex:
    """As `cholesky`, and `info`: 0, or the order of the first leading minor that is not positive definite. With
    `check_errors` that raises.

    >>> import pullback
    >>> pullback.linalg.cholesky_ex(pullback.tensor([[-4.0]])).info
    tensor(1, dtype=pullback.int32)
    """

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product, with 1-D operands taken as vectors and leading dimensions broadcast.

    >>> import pullback
    >>> pullback.matmul(pullback.ones(2, 3), pullback.ones(3)).shape
    pullback.Size([2])
    """

def vecdot(x: Tensor, y: Tensor, *, dim: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """Inner products of vectors along a dimension, the first conjugated; the other dimensions broadcast.

    >>> import pullback
    >>> pullback.linalg.vecdot(pullback.tensor([[1.0, 2.0], [3.0, 4.0]]), pullback.tensor([1.0, 10.0]))
    tensor([21., 43.])
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

def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of reflections `1 - τᵢ vᵢ vᵢᴴ`: vᵢ is column i of A below a 1, as `geqrf` gives them.

    >>> import pullback
    >>> pullback.linalg.householder_product(pullback.tensor([[0.0], [1.0]]), pullback.tensor([1.0]))
    tensor([[ 0.],
            [-1.]])
    """

class LinAlgError(builtins.RuntimeError):
    """A decomposition or a solve failed."""
