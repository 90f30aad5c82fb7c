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
use crate::ops::{
    chains, distances, eig as eigen, ldl, least_squares, linalg, linalg_names, lu as factors, norms, reflectors,
};

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

/// A norm of matrices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MatrixNorm {
    /// The root of the sum of squares.
    Frobenius,
    /// The sum of the singular values.
    Nuclear,
    /// 2: the largest singular value; 1: the largest sum of a column's absolute values; infinity: of a row's. With a minus
    /// sign the smallest.
    Order(f64),
}

impl MatrixNorm {
    fn value(self) -> Value {
        match self {
            MatrixNorm::Frobenius => Value::Str("fro".into()),
            MatrixNorm::Nuclear => Value::Str("nuc".into()),
            MatrixNorm::Order(p) => Value::Float(p),
        }
    }
}

/// A norm of each matrix.
///
/// ```
/// use pullback::linalg::{self, MatrixNorm};
/// let a = pullback::Tensor::from([[3.0, 0.0], [0.0, -4.0]]);
/// assert_eq!(linalg::matrix_norm(&a, MatrixNorm::Frobenius)?.to_scalar()?.as_f64(), 5.0);
/// assert_eq!(linalg::matrix_norm(&a, MatrixNorm::Order(1.0))?.to_scalar()?.as_f64(), 4.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn matrix_norm(a: &Tensor, norm: MatrixNorm) -> Result<Tensor> {
    norms::matrix_norm(a, &norm.value(), &[-2, -1], false, None)
}

/// A norm of each matrix times that of its inverse; for the order 2 the ratio of the largest and the smallest singular value.
///
/// ```
/// use pullback::linalg::{self, MatrixNorm};
/// let a = pullback::Tensor::from([[4.0, 0.0], [0.0, 1.0]]);
/// assert_eq!(linalg::cond(&a, MatrixNorm::Order(2.0))?.to_scalar()?.as_f64(), 4.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn cond(a: &Tensor, norm: MatrixNorm) -> Result<Tensor> {
    least_squares::cond(a, &norm.value())
}

/// How many singular values are above rounding, relative to the largest.
pub fn matrix_rank(a: &Tensor) -> Result<Tensor> {
    least_squares::matrix_rank(a, None, false, None, None)
}

/// The pseudoinverse. Singular values that are 0 but for rounding count as 0.
///
/// ```
/// use pullback::{Tensor, linalg};
/// let inverse = linalg::pinv(&Tensor::from([[2.0], [0.0]]))?;
/// assert_eq!(inverse.to_vec::<f64>()?, [0.5, 0.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn pinv(a: &Tensor) -> Result<Tensor> {
    least_squares::pinv(a, None, false, None, None)
}

/// What [`lstsq`] gives.
#[derive(Debug, Clone)]
pub struct LeastSquares {
    /// The X of smallest norm among those with the smallest `|A X - B|`.
    pub solution: Tensor,
    /// The sums of squares of the columns of `A X - B`; empty unless A has more rows than columns and full rank.
    pub residuals: Tensor,
    /// How many singular values are above rounding, of each matrix.
    pub rank: Tensor,
    /// In descending order.
    pub singular_values: Tensor,
}

/// The least-squares solution of `A X = B`.
///
/// ```
/// use pullback::{Tensor, linalg};
/// let a = Tensor::from([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]);
/// let line = linalg::lstsq(&a, &Tensor::from([1.0, 3.0, 5.0]))?.solution;
/// assert!(line.sub(&Tensor::from([1.0, 2.0]))?.abs()?.amax(&[], false)?.to_scalar()?.as_f64() < 1e-12);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn lstsq(a: &Tensor, b: &Tensor) -> Result<LeastSquares> {
    let [solution, residuals, rank, singular_values] = tensors(least_squares::lstsq(a, b, None, Some("gelsd"))?)?;
    Ok(LeastSquares { solution, residuals, rank, singular_values })
}

/// Factors of `A = P L U`: a permutation, a lower triangle with ones on the diagonal, and an upper triangle.
///
/// ```
/// use pullback::{Tensor, linalg};
/// let a = Tensor::from([[1.0, 2.0], [4.0, 4.0]]);
/// let (p, l, u) = linalg::lu(&a)?;
/// assert_eq!(p.matmul(&l)?.matmul(&u)?.to_vec::<f64>()?, a.to_vec::<f64>()?);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn lu(a: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    tensors(factors::lu_parts(a, true)?).map(|[p, l, u]| (p, l, u))
}

/// The factors of [`lu`] in one matrix, and the exchanges of rows: for [`lu_solve`].
///
/// ```
/// use pullback::{Tensor, linalg};
/// let (factors, pivots) = linalg::lu_factor(&Tensor::from([[2.0, 0.0], [0.0, 4.0]]))?;
/// let x = linalg::lu_solve(&factors, &pivots, &Tensor::from([[2.0], [2.0]]))?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 0.5]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// # Errors
/// `Runtime` if a matrix is singular.
pub fn lu_factor(a: &Tensor) -> Result<(Tensor, Tensor)> {
    tensors(factors::lu_factor(a, true)?).map(|[factors, pivots]| (factors, pivots))
}

/// The solution of `A X = B` from what [`lu_factor`] gives for A.
pub fn lu_solve(factors: &Tensor, pivots: &Tensor, b: &Tensor) -> Result<Tensor> {
    self::factors::lu_solve(factors, pivots, b, true, false)
}

/// Factors of symmetric matrices `A = P L D Lᵀ Pᵀ` in one matrix, and the exchanges of rows: for [`ldl_solve`]. With
/// `hermitian` those of `P L D Lᴴ Pᵀ`. The lower triangle is read.
///
/// ```
/// use pullback::{Tensor, linalg};
/// let a = Tensor::from([[0.0, 1.0], [1.0, 0.0]]);
/// let (factors, pivots) = linalg::ldl_factor(&a, false)?;
/// let x = linalg::ldl_solve(&factors, &pivots, &Tensor::from([[2.0], [3.0]]), false)?;
/// assert_eq!(x.to_vec::<f64>()?, [3.0, 2.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// # Errors
/// `LinAlg` if a matrix is singular.
pub fn ldl_factor(a: &Tensor, hermitian: bool) -> Result<(Tensor, Tensor)> {
    tensors(ldl::ldl_factor(a, hermitian)?).map(|[factors, pivots]| (factors, pivots))
}

/// The solution of `A X = B` from what [`ldl_factor`] gives for A, with the same `hermitian`.
pub fn ldl_solve(factors: &Tensor, pivots: &Tensor, b: &Tensor, hermitian: bool) -> Result<Tensor> {
    ldl::ldl_solve(factors, pivots, b, hermitian)
}

/// The solution of `A X = B` from the lower factor that [`cholesky`] gives for A.
///
/// ```
/// use pullback::{Tensor, linalg};
/// let l = linalg::cholesky(&Tensor::from([[4.0]]))?;
/// assert_eq!(linalg::cholesky_solve(&Tensor::from([[2.0]]), &l)?.to_vec::<f64>()?, [0.5]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn cholesky_solve(b: &Tensor, l: &Tensor) -> Result<Tensor> {
    linalg_names::cholesky_solve(b, l, false)
}

/// The inverse of A from the lower factor that [`cholesky`] gives for A.
pub fn cholesky_inverse(l: &Tensor) -> Result<Tensor> {
    linalg_names::cholesky_inverse(l, false)
}

/// Eigenvalues and eigenvectors of norm 1 of square matrices; both complex.
pub fn eig(a: &Tensor) -> Result<(Tensor, Tensor)> {
    tensors(eigen::eig(a)?).map(|[values, vectors]| (values, vectors))
}

/// The eigenvalues of square matrices, complex.
pub fn eigvals(a: &Tensor) -> Result<Tensor> {
    eigen::eigvals(a)
}

/// The exponential of square matrices.
pub fn matrix_exp(a: &Tensor) -> Result<Tensor> {
    linalg::matrix_exp(a)
}

/// The product of `n` equal square matrices; for a negative `n`, of their inverse.
///
/// ```
/// use pullback::{Tensor, linalg};
/// assert_eq!(linalg::matrix_power(&Tensor::from([[2.0]]), -2)?.to_vec::<f64>()?, [0.25]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn matrix_power(a: &Tensor, n: i64) -> Result<Tensor> {
    chains::matrix_power(a, n)
}

/// The product of two or more matrices, in the order that costs least. The first and the last may be vectors.
///
/// ```
/// use pullback::{Tensor, linalg};
/// let (a, v) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([1.0, 1.0]));
/// assert_eq!(linalg::multi_dot(&[&a, &a, &v])?.to_vec::<f64>()?, [17.0, 37.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn multi_dot(matrices: &[&Tensor]) -> Result<Tensor> {
    chains::multi_dot(matrices.to_vec())
}

/// The reflectors of a QR decomposition below the diagonal of R, and their scales: for [`householder_product`].
pub fn geqrf(a: &Tensor) -> Result<(Tensor, Tensor)> {
    tensors(reflectors::geqrf(a)?).map(|[packed, scales]| (packed, scales))
}

/// The first columns of the product of Householder reflections `1 - τ v vᴴ`, whose vectors stand below the diagonal.
///
/// ```
/// use pullback::{Tensor, linalg};
/// let a = Tensor::from([[3.0, 1.0], [4.0, 2.0]]);
/// let (packed, scales) = linalg::geqrf(&a)?;
/// let q = linalg::householder_product(&packed, &scales)?;
/// let r = q.transpose(0, 1)?.matmul(&a)?;
/// assert!(r.index((1, 0))?.to_scalar()?.as_f64().abs() < 1e-12);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn householder_product(packed: &Tensor, scales: &Tensor) -> Result<Tensor> {
    reflectors::householder_product(packed, scales)
}

/// The inverse of a tensor as a matrix of its first `ind` dimensions by the others.
pub fn tensorinv(a: &Tensor, ind: i64) -> Result<Tensor> {
    chains::tensorinv(a, ind)
}

/// The X with `tensordot(A, X) = B` over all dimensions of X.
pub fn tensorsolve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    chains::tensorsolve(a, b, None)
}

/// The cross product of vectors of three elements along `dim`; the other dimensions broadcast.
///
/// ```
/// use pullback::{Tensor, linalg};
/// let z = linalg::cross(&Tensor::from([1.0, 0.0, 0.0]), &Tensor::from([0.0, 1.0, 0.0]), -1)?;
/// assert_eq!(z.to_vec::<f64>()?, [0.0, 0.0, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn cross(a: &Tensor, b: &Tensor, dim: i64) -> Result<Tensor> {
    distances::linalg_cross(a, b, dim)
}
