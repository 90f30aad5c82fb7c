//! Batches of triangular systems.

use super::batch::{self, MatrixBatch, match_scalar};
use super::shapes;
use super::triangular::{self, Triangle};
use crate::base::{Result, Shape};
use crate::dense::Array;
use crate::dense::matmul::MatMut;

/// The solution of `a·x = b` (`left`) or `x·a = b` for triangular `a` [..., n, n], of which only the named triangle is
/// read; `unitriangular` takes the diagonal as ones. `b` is [..., n, k], or [..., k, n] for `left = false`. Leading
/// dimensions broadcast. A zero on the diagonal gives infinities and NaN.
pub fn solve_triangular(a: &Array, b: &Array, upper: bool, left: bool, unitriangular: bool) -> Result<Array> {
    let shape = shapes::solve_triangular(a.form(), b.form(), left)?;
    let (n, rows, cols) = (a.shape()[a.rank() - 1], shape[shape.rank() - 2], shape[shape.rank() - 1]);
    let lead = Shape::new(&shape[..shape.rank() - 2]);
    let a = a.expand(&batch::with(&lead, &[n, n]))?;
    let b = b.expand(&shape)?;
    match_scalar!(a.dtype(), T => {
        let mut x = batch::new_array::<T>(b.shape().clone())?;
        let out = batch::output::<T>(&mut x, 2);
        let (matrix, rhs) = (MatrixBatch::<T>::new(&a), MatrixBatch::<T>::new(&b));
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
