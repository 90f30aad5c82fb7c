//! Linear algebra on the last two dimensions; those before them are batches, which broadcast. All of these have derivatives
//! of any order.
//!
//! ```
//! use pullback::{Tensor, grad, linalg};
//! let a = Tensor::from([[4.0, 1.0], [1.0, 3.0]]);
//! let b = Tensor::from([1.0, 2.0]);
//! let x = linalg::solve(&a, &b)?;
//! assert!(a.matmul(&x)?.sub(&b)?.abs()?.amax(&[], false)?.to_scalar()?.as_f64() < 1e-12);
//! let (values, _vectors) = linalg::eigh(&a)?;
//! assert!((values.sum_all()?.to_scalar()?.as_f64() - 7.0).abs() < 1e-12);
//! let slope = grad(|a| linalg::slogdet(a).map(|(_, log)| log), &a)?; // the transposed inverse
//! assert!((slope.index((0, 0))?.to_scalar()?.as_f64() - 3.0 / 11.0).abs() < 1e-12);
//! # Ok::<(), pullback::Error>(())
//! ```

use crate::base::{Error, Result};
use crate::core::Tensor;
use crate::ops::value::setting::Driver;
use crate::ops::value::{Named, Value};
use crate::ops::{linalg, norms};

fn tensors<const N: usize>(named: Named) -> Result<[Tensor; N]> {
    let tensor = |v| if let Value::Tensor(t) = v { Some(t) } else { None };
    let found: Vec<Tensor> = named.items.into_iter().filter_map(tensor).collect();
    found.try_into().map_err(|all: Vec<Tensor>| Error::internal(format!("got {} tensors, expected {N}", all.len())))
}

/// The lower triangular factor of positive definite matrices: `A = L Lᴴ`.
///
/// # Errors
/// `LinAlg` if a matrix is not positive definite.
pub fn cholesky(a: &Tensor) -> Result<Tensor> {
    linalg::cholesky(a, false)
}

/// The solution of `A X = B`; `b` is a vector, a matrix or a batch of either.
///
/// # Errors
/// `LinAlg` if a matrix is singular.
pub fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    linalg::solve(a, b, true)
}

/// The solution of `A X = B` for triangular matrices, upper or lower ones. The other triangle is not read.
pub fn solve_triangular(a: &Tensor, b: &Tensor, upper: bool) -> Result<Tensor> {
    linalg::solve_triangular(a, b, upper, true, false)
}

/// The inverse of square matrices.
///
/// # Errors
/// `LinAlg` if a matrix is singular.
pub fn inv(a: &Tensor) -> Result<Tensor> {
    linalg::inv(a)
}

/// The determinant of square matrices.
pub fn det(a: &Tensor) -> Result<Tensor> {
    linalg::det(a)
}

/// The sign of the determinant of square matrices, and the logarithm of its absolute value.
pub fn slogdet(a: &Tensor) -> Result<(Tensor, Tensor)> {
    tensors(linalg::slogdet(a)?).map(|[sign, log]| (sign, log))
}

/// The reduced factors of `A = Q R`.
pub fn qr(a: &Tensor) -> Result<(Tensor, Tensor)> {
    tensors(linalg::qr(a, "reduced")?).map(|[q, r]| (q, r))
}

/// Eigenvalues, ascending, and eigenvectors of Hermitian matrices. The lower triangle is read.
pub fn eigh(a: &Tensor) -> Result<(Tensor, Tensor)> {
    tensors(linalg::eigh(a, "L")?).map(|[values, vectors]| (values, vectors))
}

/// The eigenvalues of Hermitian matrices, ascending. The lower triangle is read.
pub fn eigvalsh(a: &Tensor) -> Result<Tensor> {
    linalg::eigvalsh(a, "L")
}

/// The reduced singular value decomposition `A = U diag(S) Vᴴ`: `U`, `S`, descending, and `Vᴴ`.
pub fn svd(a: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    tensors(linalg::svd(a, false, Driver::None)?).map(|[u, s, vh]| (u, s, vh))
}

/// The singular values of matrices, descending.
pub fn svdvals(a: &Tensor) -> Result<Tensor> {
    linalg::svdvals(a, Driver::None)
}

/// The norm of order `ord` of vectors along `dims`; of the whole tensor for `&[]`.
pub fn vector_norm(x: &Tensor, ord: f64, dims: &[i64]) -> Result<Tensor> {
    let dims = (!dims.is_empty()).then_some(dims);
    norms::vector_norm(x, ord.into(), dims, false, None)
}
