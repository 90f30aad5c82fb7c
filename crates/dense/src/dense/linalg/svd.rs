//! Singular values and vectors.

use super::backend::Backend;
use super::batch::{self, MatrixBatch, match_scalar};
use super::eigh::{NOT_FINITE, Slices, check_convergence, real_slices};
use super::scalar::{RealScalar, Scalar};
use super::shapes;
use super::{checks, jacobi, triangular};
use crate::base::{Element, Result};
use crate::dense::Array;

/// Real matrices whose smaller side is at least this go to the bidiagonal routine.
const LARGE: usize = 24;

/// `a` [..., m, n] = u·diag(s)·vh with orthonormal columns in `u` and rows in `vh`, singular values [..., k]
/// descending, k = min(m, n). Thin: u [..., m, k], vh [..., k, n]; `full_matrices`: u [..., m, m], vh [..., n, n].
///
/// # Errors
/// `LinAlg` if an element is not finite or the iteration does not converge.
pub fn svd(a: &Array, full_matrices: bool) -> Result<(Array, Array, Array)> {
    const OP: &str = "linalg.svd";
    batch::check(OP, a.form())?;
    match_scalar!(a.dtype(), T => {
        let (u, s, vh, info) = run::<T>(a, full_matrices)?;
        check_convergence(OP, a, &info)?;
        Ok((u, s, vh))
    })
}

/// The singular values that [`svd`] gives.
pub fn svdvals(a: &Array) -> Result<Array> {
    Ok(svd(a, false)?.1)
}

/// The factors of one matrix: u is m × `u_cols`, vh is `v_rows` × n, both row-major.
pub struct SvdFactors<'a, T: Scalar> {
    pub u: &'a mut [T],
    pub u_cols: usize,
    pub s: &'a mut [T::Real],
    pub vh: &'a mut [T],
    pub v_rows: usize,
}

fn run<T: Scalar>(a: &Array, full: bool) -> Result<(Array, Array, Array, Array)> {
    let input = MatrixBatch::<T>::new(a);
    let (m, n, lead) = (input.rows, input.cols, batch::lead(a));
    let k = m.min(n);
    let [u, s, vh] = shapes::svd(a.form(), full)?;
    let (u_cols, v_rows) = (u[u.rank() - 1], vh[vh.rank() - 2]);
    let (mut u, mut s) = (batch::new_array::<T>(u)?, batch::new_array::<T::Real>(s)?);
    let mut vh = batch::new_array::<T>(vh)?;
    let mut info = batch::new_array::<i32>(lead)?;
    let (out_u, out_s) = (batch::output::<T>(&mut u, 2), batch::output::<T::Real>(&mut s, 1));
    let (out_v, out_info) = (batch::output::<T>(&mut vh, 2), batch::output::<i32>(&mut info, 0));
    batch::for_each(batch::count(a), 12 * m * n * k, |i| {
        let mut work = vec![T::zero(); m * n];
        // SAFETY: each item is written by one task.
        unsafe {
            batch::copy_in(m, n, input.at(i), &mut work);
            let out = SvdFactors { u: out_u.at(i), u_cols, s: out_s.at(i), vh: out_v.at(i), v_rows };
            out_info.at(i)[0] = one(m, n, &mut work, out);
        }
    });
    Ok((u, s, vh, info))
}

/// Decomposes one row-major matrix, with `info` as result.
fn one<T: Scalar>(m: usize, n: usize, a: &mut [T], mut out: SvdFactors<T>) -> i32 {
    let Some(max) = checks::largest(a) else {
        return NOT_FINITE;
    };
    let e = checks::scale_to_one(a, max);
    let large = m.min(n) >= LARGE;
    // Divide and conquer may lose vectors of clustered values; the check finds it, and the slower way does not.
    let careless_then_careful = [false, true];
    let ok = (large && careless_then_careful.into_iter().any(|careful| by_backend(m, n, a, &mut out, careful)))
        || (jacobi::svd(m, n, a, &mut out) && is_right(m, n, a, &out));
    checks::times_power(out.s, -e);
    i32::from(!ok)
}

/// Through `faer` if the elements are real; true if the result is right.
fn by_backend<T: Scalar>(m: usize, n: usize, a: &mut [T], out: &mut SvdFactors<T>, careful: bool) -> bool {
    fn run<R: Backend>(m: usize, n: usize, a: &[R], s: &mut [R], ut: &mut [R], vt: &mut [R], careful: bool) -> bool {
        let (u_cols, v_cols) = (ut.len() / m, vt.len() / n);
        R::svd((m, n), a, s, (ut, u_cols), (vt, v_cols), careful)
    }
    let mut ut = vec![T::zero(); m * out.u_cols];
    let mut unused = Vec::new();
    let done = match (
        real_slices::<T>(a, out.s),
        real_slices::<T>(&mut ut, &mut unused),
        real_slices::<T>(out.vh, &mut Vec::new()),
    ) {
        (Some(Slices::Single(a, s)), Some(Slices::Single(ut, _)), Some(Slices::Single(vt, _))) => {
            run(m, n, a, s, ut, vt, careful)
        }
        (Some(Slices::Double(a, s)), Some(Slices::Double(ut, _)), Some(Slices::Double(vt, _))) => {
            run(m, n, a, s, ut, vt, careful)
        }
        _ => false,
    };
    triangular::transpose(out.u_cols, m, &ut, out.u);
    done && is_right(m, n, a, out)
}

/// Whether `a = u·diag(s)·vh` with orthonormal factors and descending values, by test vectors.
fn is_right<T: Scalar>(m: usize, n: usize, a: &[T], out: &SvdFactors<T>) -> bool {
    let k = m.min(n);
    if k == 0 {
        return true;
    }
    let x = checks::test_vector::<T>(n);
    let mut y = checks::apply(out.v_rows, n, out.vh, &x, false);
    y.resize(out.u_cols, T::zero());
    y.iter_mut().enumerate().for_each(|(i, y)| *y = if i < k { y.scale(out.s[i]) } else { T::zero() });
    let gap = checks::distance(&checks::apply(m, n, a, &x, false), &checks::apply(m, out.u_cols, out.u, &y, false));
    let mut v = vec![T::zero(); n * out.v_rows];
    triangular::transpose(out.v_rows, n, out.vh, &mut v);
    let zero = <T::Real as Element>::zero();
    gap <= checks::tolerance::<T>(m.max(n)) * out.s[0].to_f64()
        && out.s.windows(2).all(|w| w[0] >= w[1])
        && out.s[k - 1] >= zero
        && checks::is_orthonormal(m, out.u_cols, out.u)
        && checks::is_orthonormal(n, out.v_rows, &v)
}
