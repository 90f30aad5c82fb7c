//! Decompositions of matrices and what follows from them, batched over leading dimensions, for float32, float64,
//! complex64 and complex128.
//!
//! Cholesky, LU, QR and triangular solves are ours: blocked, with rows as the unit of work and the `gemm` crate for
//! the products. Eigenvalues and singular values of large real matrices, and the eigenvalues of all that are not Hermitian,
//! come from `faer`, whose results are checked ([`checks`]); small and complex matrices, and what fails the check, go to our
//! own slower routines.

mod backend;
mod batch;
mod checks;
mod cholesky;
mod detached;
mod eig;
mod eigh;
mod exponential;
mod jacobi;
mod ldl;
mod lu;
mod qr;
mod scalar;
pub mod shapes;
mod svd;
mod systems;
mod triangular;
mod tridiagonal;

pub use detached::{
    cholesky, eig, eigh, eigvalsh, geqrf, householder_product, inv, inv_ex, ldl, lu, lu_solve, matrix_exp, qr, solve,
    solve_ex, solve_triangular, svd, svdvals,
};
pub use ldl::{Order, ldl_order};
pub use lu::{check_inverse, check_pivots, pivot_sign, pivots_to_permutation};

#[cfg(test)]
mod tests;
