"""Functions of linear algebra that PyTorch had once: they say what to use instead."""

from . import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

INSTEAD = {
    "eig": "linalg.eig(A) gives complex eigenvalues and eigenvectors, linalg.eigvals(A) the eigenvalues alone",
    "lstsq": "linalg.lstsq(A, B) takes the matrix first",
    "matrix_rank": "linalg.matrix_rank(A, hermitian=...) is the same",
    "solve": "linalg.solve(A, B) takes the matrix first; linalg.lu_factor(A) gives its factors",
    "symeig": "linalg.eigh(A, UPLO='U') gives values and vectors, linalg.eigvalsh(A, UPLO='U') the values alone",
}


def _gone(name: str) -> RuntimeError:
    why = "This function was deprecated since version 1.9 and is now removed"
    return RuntimeError(f"{name}(): {why}. {INSTEAD[name]}.")


def eig(self: Tensor, eigenvectors: bool = False, *, e: "Any" = None, v: "Any" = None) -> "NoReturn":
    """Raises RuntimeError: `linalg.eig` is there instead."""
    raise _gone("eig")


def lstsq(input: Tensor, A: Tensor, *, out: "Any" = None) -> "NoReturn":
    """Raises RuntimeError: `linalg.lstsq` is there instead."""
    raise _gone("lstsq")


def matrix_rank(input: Tensor, tol: "Any" = None, symmetric: bool = False, *, out: "Any" = None) -> "NoReturn":
    """Raises RuntimeError: `linalg.matrix_rank` is there instead."""
    raise _gone("matrix_rank")


def solve(input: Tensor, A: Tensor, *, out: "Any" = None) -> "NoReturn":
    """Raises RuntimeError: `linalg.solve` is there instead."""
    raise _gone("solve")


def symeig(input: Tensor, eigenvectors: bool = False, upper: bool = True, *, out: "Any" = None) -> "NoReturn":
    """Raises RuntimeError: `linalg.eigh` is there instead."""
    raise _gone("symeig")
