//! Decompositions of matrices and what follows from them, batched over leading dimensions, for float32, float64,
//! complex64 and complex128.
//!
//! Cholesky, LU, QR and triangular solves are ours: blocked, with rows as the unit of work and the `gemm` crate for
//! the products. Eigenvalues and singular values of large real matrices come from `faer`, whose results are checked
//! ([`guard`]); small and complex matrices, and what fails the check, go to our own slower routines.

mod backend;
mod batch;
mod cholesky;
mod eigh;
mod guard;
mod jacobi;
mod lu;
mod qr;
mod scalar;
mod svd;
mod triangular;
mod tridiagonal;

pub use cholesky::cholesky;
pub use eigh::{eigh, eigvalsh};
pub use lu::{check_inverse, inv, inv_ex, lu, lu_solve, pivot_sign, pivots_to_permutation, solve, solve_ex};
pub use qr::qr;
pub use svd::{svd, svdvals};

use super::Array;
use super::matmul::MatMut;
use crate::bail;
use crate::base::{Result, shape};
use batch::{Input, match_scalar};
use triangular::Triangle;

/// The solution of `a·x = b` (`left`) or `x·a = b` for triangular `a` [..., n, n], of which only the named triangle is
/// read; `unitriangular` takes the diagonal as ones. `b` is [..., n, k], or [..., k, n] for `left = false`. Leading
/// dimensions broadcast. A zero on the diagonal gives infinities and NaN.
pub fn solve_triangular(a: &Array, b: &Array, upper: bool, left: bool, unitriangular: bool) -> Result<Array> {
    const OP: &str = "linalg.solve_triangular";
    batch::check_square(OP, a)?;
    batch::check_same(OP, a, b)?;
    let n = a.shape()[a.rank() - 1];
    let (rows, cols) = (b.shape()[b.rank() - 2], b.shape()[b.rank() - 1]);
    if n != if left { rows } else { cols } {
        let equation = if left { "AX = B" } else { "XA = B" };
        bail!(Runtime, "{OP}: Incompatible shapes of A and B for the equation {equation} ({n}x{n} and {rows}x{cols})");
    }
    let lead = shape::broadcast2(OP, &batch::lead(a), &batch::lead(b))?;
    let a = a.expand(&batch::with(&lead, &[n, n]))?;
    let b = b.expand(&batch::with(&lead, &[rows, cols]))?;
    match_scalar!(a.dtype(), T => {
        let mut x = batch::new_array::<T>(b.shape().clone())?;
        let out = batch::output::<T>(&mut x, 2);
        let (matrix, rhs) = (Input::<T>::new(&a), Input::<T>::new(&b));
        batch::for_each(batch::count(&a), n * rows * cols / 4, |i| {
            let t = Triangle { a: matrix.at(i), upper, unit: unitriangular, conj: false };
            // SAFETY: each item is written by one task.
            unsafe {
                let x = out.at(i);
                batch::copy_in(rows, cols, rhs.at(i), x);
                if left {
                    triangular::solve(n, cols, t, MatMut { ptr: x.as_mut_ptr(), rs: cols as isize, cs: 1 });
                } else {
                    triangular::solve_right(rows, n, t, x);
                }
            }
        });
        Ok(x)
    })
}

#[cfg(test)]
mod tests;
