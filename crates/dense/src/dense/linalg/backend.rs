//! The entry points of `faer`: everything generic in it is compiled here and nowhere else.

use super::scalar::RealScalar;
use super::triangular::Triangle;
use crate::dense::matmul;
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::svd::{self, ComputeSvdVectors, SvdParams};
use faer::linalg::triangular_solve as solve;
use faer::traits::ComplexField;
use faer::{Auto, Conj, MatMut, MatRef, Par};
use num_complex::Complex;

/// Triangular systems.
pub trait Substitution: Sized {
    /// Solves `t · x = b` in place for b of n rows and `cols` columns, neither 0.
    ///
    /// # Safety
    /// The triangle must be readable, `b` writable and apart from it.
    unsafe fn substitute(n: usize, cols: usize, t: Triangle<Self>, b: matmul::MatMut<Self>);
}

macro_rules! substitution {
    ($($t:ty),*) => {$(
        impl Substitution for $t {
            unsafe fn substitute(n: usize, cols: usize, t: Triangle<$t>, b: matmul::MatMut<$t>) {
                // SAFETY: by the contract.
                unsafe { substitute(n, cols, t, b) }
            }
        }
    )*};
}
substitution!(f32, f64, Complex<f32>, Complex<f64>);

/// # Safety
/// As [`Substitution::substitute`].
unsafe fn substitute<T: ComplexField>(n: usize, cols: usize, t: Triangle<T>, b: matmul::MatMut<T>) {
    // SAFETY: by the contract.
    let (a, b) = unsafe {
        (MatRef::from_raw_parts(t.a.ptr, n, n, t.a.rs, t.a.cs), MatMut::from_raw_parts_mut(b.ptr, n, cols, b.rs, b.cs))
    };
    let conj = if t.conj { Conj::Yes } else { Conj::No };
    // On one thread: its blocks depend on the sizes alone.
    match (t.upper, t.unit) {
        (false, false) => solve::solve_lower_triangular_in_place_with_conj(a, conj, b, Par::Seq),
        (false, true) => solve::solve_unit_lower_triangular_in_place_with_conj(a, conj, b, Par::Seq),
        (true, false) => solve::solve_upper_triangular_in_place_with_conj(a, conj, b, Par::Seq),
        (true, true) => solve::solve_unit_upper_triangular_in_place_with_conj(a, conj, b, Par::Seq),
    }
}

/// Large decompositions of real matrices with elements of size about 1. Results are to be checked.
pub trait Backend: RealScalar {
    /// Eigenvalues and eigenvectors of a symmetric matrix, row-major, of which the lower triangle is read; vector i
    /// becomes row i of `vectors`. False if it does not converge.
    fn eigh(n: usize, a: &[Self], values: &mut [Self], vectors: &mut [Self]) -> bool;

    /// Singular values of a row-major m × n matrix. `ut` becomes uᵀ with `u_cols` rows, `vt` becomes vᵀ with
    /// `v_cols` rows (min(m, n), or all). `careful` avoids divide and conquer. False if it does not converge.
    fn svd(
        shape: (usize, usize),
        a: &[Self],
        s: &mut [Self],
        ut: (&mut [Self], usize),
        vt: (&mut [Self], usize),
        careful: bool,
    ) -> bool;

    /// Eigenvalues, by parts, of a row-major matrix. Row i of `vectors` is the vector of a real value; for a complex
    /// one it is the real part, and row i + 1 the imaginary one. False if it does not converge.
    fn eig(n: usize, a: &[Self], re: &mut [Self], im: &mut [Self], vectors: &mut [Self]) -> bool;

    /// Eigenvalues of a complex row-major matrix; vector i becomes row i of `vectors`. False if it does not converge.
    fn eig_complex(n: usize, a: &[Complex<Self>], values: &mut [Complex<Self>], vectors: &mut [Complex<Self>]) -> bool;
}

macro_rules! backend {
    ($($t:ty),*) => {$(
        impl Backend for $t {
            fn eigh(n: usize, a: &[$t], values: &mut [$t], vectors: &mut [$t]) -> bool {
                let need = evd::self_adjoint_evd_scratch::<$t>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
                let mut memory = MemBuffer::new(need);
                evd::self_adjoint_evd::<$t>(
                    MatRef::from_row_major_slice(a, n, n),
                    DiagMut::from_slice_mut(values),
                    Some(MatMut::from_column_major_slice_mut(vectors, n, n)),
                    Par::Seq,
                    MemStack::new(&mut memory),
                    Default::default(),
                )
                .is_ok()
            }

            fn svd(
                (m, n): (usize, usize),
                a: &[$t],
                s: &mut [$t],
                (ut, u_cols): (&mut [$t], usize),
                (vt, v_cols): (&mut [$t], usize),
                careful: bool,
            ) -> bool {
                let mut params = <SvdParams as Auto<$t>>::auto();
                if careful {
                    params.recursion_threshold = usize::MAX;
                }
                let kind = |cols: usize| if cols == m.min(n) { ComputeSvdVectors::Thin } else { ComputeSvdVectors::Full };
                let need = svd::svd_scratch::<$t>(m, n, kind(u_cols), kind(v_cols), Par::Seq, params.into());
                let mut memory = MemBuffer::new(need);
                svd::svd::<$t>(
                    MatRef::from_row_major_slice(a, m, n),
                    DiagMut::from_slice_mut(s),
                    Some(MatMut::from_column_major_slice_mut(ut, m, u_cols)),
                    Some(MatMut::from_column_major_slice_mut(vt, n, v_cols)),
                    Par::Seq,
                    MemStack::new(&mut memory),
                    params.into(),
                )
                .is_ok()
            }

            fn eig(n: usize, a: &[$t], re: &mut [$t], im: &mut [$t], vectors: &mut [$t]) -> bool {
                use ComputeEigenvectors::{No, Yes};
                let mut memory = MemBuffer::new(evd::evd_scratch::<$t>(n, No, Yes, Par::Seq, Default::default()));
                evd::evd_real::<$t>(
                    MatRef::from_row_major_slice(a, n, n),
                    DiagMut::from_slice_mut(re),
                    DiagMut::from_slice_mut(im),
                    None,
                    Some(MatMut::from_column_major_slice_mut(vectors, n, n)),
                    Par::Seq,
                    MemStack::new(&mut memory),
                    Default::default(),
                )
                .is_ok()
            }

            fn eig_complex(
                n: usize,
                a: &[Complex<$t>],
                values: &mut [Complex<$t>],
                vectors: &mut [Complex<$t>],
            ) -> bool {
                use ComputeEigenvectors::{No, Yes};
                let need = evd::evd_scratch::<Complex<$t>>(n, No, Yes, Par::Seq, Default::default());
                let mut memory = MemBuffer::new(need);
                evd::evd_cplx::<$t>(
                    MatRef::from_row_major_slice(a, n, n),
                    DiagMut::from_slice_mut(values),
                    None,
                    Some(MatMut::from_column_major_slice_mut(vectors, n, n)),
                    Par::Seq,
                    MemStack::new(&mut memory),
                    Default::default(),
                )
                .is_ok()
            }
        }
    )*};
}
backend!(f32, f64);
