//! Batches of triangular systems.

use super::batch::{self, Input, match_scalar};
use super::triangular::{self, Triangle};
use crate::bail;
use crate::base::{Result, shape};
use crate::dense::Array;
use crate::dense::matmul::MatMut;

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
