//! Eigenvalues and eigenvectors of Hermitian matrices.

use super::backend::Backend;
use super::batch::{self, MatrixBatch, match_scalar};
use super::scalar::{RealScalar, Scalar};
use super::{checks, tridiagonal};
use crate::bail;
use crate::base::{Element, Result};
use crate::dense::Array;
use crate::dense::matmul::Mat;
use std::any::Any;

/// Real matrices from this size on go to the divide-and-conquer routine.
const LARGE: usize = 32;

/// What `info` says when an input is not finite.
pub const NOT_FINITE: i32 = -1;

/// Eigenvalues [..., n], ascending and real, and orthonormal eigenvectors [..., n, n] (as columns) of Hermitian
/// matrices `a` [..., n, n], of which only the lower (or upper) triangle is read.
///
/// # Errors
/// `LinAlg` if an element is not finite or the iteration does not converge.
pub fn eigh(a: &Array, upper: bool) -> Result<(Array, Array)> {
    const OP: &str = "linalg.eigh";
    batch::check_square(OP, a.form())?;
    match_scalar!(a.dtype(), T => {
        let (values, vectors, info) = run::<T>(a, upper)?;
        check_convergence(OP, a, &info)?;
        Ok((values, vectors))
    })
}

/// The eigenvalues that [`eigh`] gives.
pub fn eigvalsh(a: &Array, upper: bool) -> Result<Array> {
    Ok(eigh(a, upper)?.0)
}

/// The error that `info` stands for.
pub fn check_convergence(op: &str, a: &Array, info: &Array) -> Result<()> {
    match batch::first_failure(info) {
        None => Ok(()),
        Some((i, NOT_FINITE)) => bail!(
            LinAlg,
            "{op}: {}The algorithm failed to converge because the input matrix contained non-finite values.",
            batch::batch_text(a, i)
        ),
        Some((i, _)) => bail!(
            LinAlg,
            "{op}: {}The algorithm failed to converge because the input matrix is ill-conditioned or has too many \
             repeated values.",
            batch::batch_text(a, i)
        ),
    }
}

fn run<T: Scalar>(a: &Array, upper: bool) -> Result<(Array, Array, Array)> {
    let input = MatrixBatch::<T>::new(a);
    let (n, lead) = (input.rows, batch::lead(a));
    let mut values = batch::new_array::<T::Real>(batch::with(&lead, &[n]))?;
    let mut vectors = batch::new_array::<T>(a.shape().clone())?;
    let mut info = batch::new_array::<i32>(lead)?;
    let out_values = batch::output::<T::Real>(&mut values, 1);
    let out_vectors = batch::output::<T>(&mut vectors, 2);
    let out_info = batch::output::<i32>(&mut info, 0);
    batch::for_each(batch::count(a), 6 * n * n * n, |i| {
        // SAFETY: each item is written by one task.
        unsafe {
            let (s, v) = (out_values.at(i), out_vectors.at(i));
            load(n, input.at(i), upper, v);
            out_info.at(i)[0] = one(n, v, s);
        }
    });
    Ok((values, vectors, info))
}

/// Both triangles from one.
unsafe fn load<T: Scalar>(n: usize, a: Mat<T>, upper: bool, out: &mut [T]) {
    for i in 0..n {
        for j in 0..=i {
            // SAFETY: inside the matrix.
            let x = unsafe { if upper { a.at(j, i).conj() } else { a.at(i, j) } };
            out[j * n + i] = x.conj();
            out[i * n + j] = if i == j { T::of_real(x.re()) } else { x };
        }
    }
}

/// Decomposes one matrix in place, with `info` as result.
fn one<T: Scalar>(n: usize, a: &mut [T], values: &mut [T::Real]) -> i32 {
    let Some(max) = checks::largest(a) else {
        return NOT_FINITE;
    };
    let e = checks::scale_to_one(a, max);
    let ok = (n >= LARGE && by_backend(n, a, values)) || {
        let copy = a.to_vec();
        tridiagonal::eigh(n, a, values) && (n < LARGE || is_right(n, &copy, a, values))
    };
    checks::times_power(values, -e);
    i32::from(!ok)
}

/// Through `faer` if the elements are real; `a` is changed only if the result is right.
fn by_backend<T: Scalar>(n: usize, a: &mut [T], values: &mut [T::Real]) -> bool {
    fn run<R: Backend>(n: usize, a: &mut [R], values: &mut [R]) -> bool {
        let mut rows = vec![R::zero(); n * n];
        if !R::eigh(n, a, values, &mut rows) {
            return false;
        }
        let mut vectors = vec![R::zero(); n * n];
        super::triangular::transpose(n, n, &rows, &mut vectors);
        let right = is_right(n, a, &vectors, values);
        if right {
            a.copy_from_slice(&vectors);
        }
        right
    }
    match real_slices::<T>(a, values) {
        Some(Slices::Single(a, values)) => run(n, a, values),
        Some(Slices::Double(a, values)) => run(n, a, values),
        None => false,
    }
}

/// Slices whose element type is known.
pub enum Slices<'a> {
    Single(&'a mut [f32], &'a mut [f32]),
    Double(&'a mut [f64], &'a mut [f64]),
}

/// Names the type of real elements; `None` for complex ones.
pub fn real_slices<'a, T: Scalar>(a: &'a mut [T], b: &'a mut [T::Real]) -> Option<Slices<'a>> {
    /// The same slice, if `A` is `B`.
    fn same<A: Element, B: Element>(a: &mut [A]) -> Option<&mut [B]> {
        let probe: &dyn Any = &A::zero();
        // SAFETY: the types are the same.
        probe.is::<B>().then(|| unsafe { std::slice::from_raw_parts_mut(a.as_mut_ptr().cast(), a.len()) })
    }
    if T::DTYPE == f32::DTYPE {
        Some(Slices::Single(same(a)?, same(b)?))
    } else if T::DTYPE == f64::DTYPE {
        Some(Slices::Double(same(a)?, same(b)?))
    } else {
        None
    }
}

/// Whether `a = v·diag(values)·vᴴ` with orthonormal columns in v, by a test vector.
fn is_right<T: Scalar>(n: usize, a: &[T], v: &[T], values: &[T::Real]) -> bool {
    let x = checks::test_vector::<T>(n);
    let mut y = checks::apply(n, n, v, &x, true);
    y.iter_mut().zip(values).for_each(|(y, &s)| *y = y.scale(s));
    let size = values.iter().fold(0.0, |m: f64, &s| m.max(s.to_f64().abs()));
    let gap = checks::distance(&checks::apply(n, n, a, &x, false), &checks::apply(n, n, v, &y, false));
    gap <= checks::tolerance::<T>(n) * size && checks::is_orthonormal(n, n, v)
}
