//! Triangular systems.

use super::scalar::{Scalar, sub_product};
use crate::dense::matmul::simd::per_isa;
use crate::dense::matmul::{Mat, MatMut};

/// Rows that are eliminated one by one; above, blocks are products.
const BASE: usize = 16;
/// Columns that the elimination holds in cache.
const PANEL: usize = 256;

/// A triangle of a strided matrix and how to read it.
#[derive(Clone, Copy)]
pub struct Triangle<T> {
    pub a: Mat<T>,
    pub upper: bool,
    /// The diagonal is one whatever is stored.
    pub unit: bool,
    /// Read the conjugate.
    pub conj: bool,
}

impl<T: Scalar> Triangle<T> {
    /// The conjugate transpose.
    pub fn adjoint(self) -> Self {
        Triangle { a: self.a.transposed(), upper: !self.upper, unit: self.unit, conj: !self.conj }
    }
    pub fn transposed(self) -> Self {
        Triangle { a: self.a.transposed(), upper: !self.upper, ..self }
    }
    fn at(self, i: usize) -> Self {
        // SAFETY: the callers stay inside the matrix.
        Triangle { a: unsafe { self.a.offset(i, i) }, ..self }
    }
}

/// Solves `t · x = b` in place for b of n rows and `cols` columns; rows of b are contiguous. A zero on the diagonal
/// gives infinities and NaN.
///
/// # Safety
/// The triangle must be readable, `b` writable and apart from it.
pub unsafe fn solve<T: Scalar>(n: usize, cols: usize, t: Triangle<T>, b: MatMut<T>) {
    if n == 0 || cols == 0 {
        return;
    }
    // SAFETY: by the contract; the parts are disjoint blocks of rows.
    unsafe {
        if n <= BASE {
            return eliminate(n, cols, t, b);
        }
        let half = (n / 2).next_multiple_of(8);
        let (top, bottom) = (b, b.offset(half, 0));
        let read = |x: MatMut<T>| Mat { ptr: x.ptr.cast_const(), rs: x.rs, cs: x.cs };
        if t.upper {
            solve(n - half, cols, t.at(half), bottom);
            let off = t.a.offset(0, half);
            sub_product((half, cols, n - half), (off, t.conj), (read(bottom), false), top);
            solve(half, cols, t, top);
        } else {
            solve(half, cols, t, top);
            let off = t.a.offset(half, 0);
            sub_product((n - half, cols, half), (off, t.conj), (read(top), false), bottom);
            solve(n - half, cols, t.at(half), bottom);
        }
    }
}

per_isa! {
    /// Substitution, row by row.
    unsafe fn eliminate<T: Scalar>(n: usize, cols: usize, t: Triangle<T>, b: MatMut<T>) = scalar eliminate_body
}

#[inline(always)]
unsafe fn eliminate_body<T: Scalar>(n: usize, cols: usize, t: Triangle<T>, b: MatMut<T>) {
    let mut start = 0;
    while start < cols {
        let width = PANEL.min(cols - start);
        for step in 0..n {
            let i = if t.upper { n - 1 - step } else { step };
            // SAFETY: i and j are different rows below n; the panel lies inside.
            unsafe {
                let row = std::slice::from_raw_parts_mut(b.offset(i, start).ptr, width);
                let (from, to) = if t.upper { (i + 1, n) } else { (0, i) };
                for j in from..to {
                    let x = read(t, i, j);
                    let other = std::slice::from_raw_parts(b.offset(j, start).ptr.cast_const(), width);
                    for (r, &o) in row.iter_mut().zip(other) {
                        *r -= x * o;
                    }
                }
                if !t.unit {
                    let d = read(t, i, i);
                    for r in row.iter_mut() {
                        *r = r.over(d);
                    }
                }
            }
        }
        start += width;
    }
}

#[inline(always)]
unsafe fn read<T: Scalar>(t: Triangle<T>, i: usize, j: usize) -> T {
    // SAFETY: by the contract of `solve`.
    let x = unsafe { t.a.at(i, j) };
    if t.conj { x.conj() } else { x }
}

/// Solves `x · t = b` in place for b of `rows` × n, contiguous.
///
/// # Safety
/// As [`solve`].
pub unsafe fn solve_right<T: Scalar>(rows: usize, n: usize, t: Triangle<T>, b: &mut [T]) {
    let mut flipped = vec![T::zero(); rows * n];
    transpose(rows, n, b, &mut flipped);
    // SAFETY: by the contract.
    unsafe { solve(n, rows, t.transposed(), MatMut { ptr: flipped.as_mut_ptr(), rs: rows as isize, cs: 1 }) };
    transpose(n, rows, &flipped, b);
}

/// The transpose of a row-major m × n matrix.
pub fn transpose<T: Copy>(m: usize, n: usize, a: &[T], out: &mut [T]) {
    if m == 0 || n == 0 {
        return;
    }
    for (j, row) in out.chunks_exact_mut(m).enumerate() {
        for (i, x) in row.iter_mut().enumerate() {
            *x = a[i * n + j];
        }
    }
}
