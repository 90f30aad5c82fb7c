//! Cholesky factors.
//!
//! Ours beside `faer`, whose time is 1: 0.62 to 0.72 for 64 of 4 × 4, 0.92 to 1.18 for 64 of 8 × 8, 0.66 to 1.13 at n = 32 and
//! 128, 1.08 to 1.26 at 512 and 1024, where ours also clears and turns triangles. Small ones are the common ones.

use super::batch::{self, MatrixBatch, match_scalar};
use super::scalar::{RealScalar, Scalar, sub_product};
use super::triangular::{self, Triangle};
use crate::base::Result;
use crate::dense::Array;
use crate::dense::matmul::simd::per_isa;
use crate::dense::matmul::{Mat, MatMut};

/// Sizes that are eliminated row by row.
const BASE: usize = 16;

/// The Cholesky factor of Hermitian positive-definite matrices `a` [..., n, n], and `info` [...] of dtype int32: 0,
/// or the order of the first leading minor that is not positive-definite (the factor is then unspecified).
///
/// Lower (`a = l·lᴴ`) or upper (`a = uᴴ·u`); only that triangle of `a` is read, the other one of the result is zero.
pub fn cholesky(a: &Array, upper: bool) -> Result<(Array, Array)> {
    batch::check_square("linalg.cholesky", a.form())?;
    match_scalar!(a.dtype(), T => run::<T>(a, upper))
}

fn run<T: Scalar>(a: &Array, upper: bool) -> Result<(Array, Array)> {
    let input = MatrixBatch::<T>::new(a);
    let n = input.rows;
    let mut factor = batch::new_array::<T>(a.shape().clone())?;
    let mut info = batch::new_array::<i32>(batch::lead(a))?;
    let (out, out_info) = (batch::output::<T>(&mut factor, 2), batch::output::<i32>(&mut info, 0));
    batch::for_each(batch::count(a), n * n * n / 3 / 4, |i| {
        // SAFETY: each item is written by one task.
        unsafe {
            let (u, info) = (out.at(i), &mut out_info.at(i)[0]);
            let from = if upper { input.at(i) } else { input.at(i).transposed() };
            load_upper(n, from, !upper, u);
            *info = factorise(n, MatMut { ptr: u.as_mut_ptr(), rs: n as isize, cs: 1 }).map_or(0, |j| j as i32 + 1);
            if upper { zero_below(n, u) } else { adjoint_in_place(n, u) }
        }
    });
    Ok((factor, info))
}

/// The upper triangle of a matrix (conjugated if asked) over zeros.
unsafe fn load_upper<T: Scalar>(n: usize, a: Mat<T>, conj: bool, out: &mut [T]) {
    for i in 0..n {
        for j in i..n {
            // SAFETY: inside the matrix.
            let x = unsafe { a.at(i, j) };
            out[i * n + j] = if conj { x.conj() } else { x };
        }
    }
}

/// Clears what lies below the diagonal.
fn zero_below<T: Scalar>(n: usize, a: &mut [T]) {
    for i in 1..n {
        a[i * n..i * n + i].fill(T::zero());
    }
}

/// Turns an upper triangle into the lower triangle of its adjoint.
fn adjoint_in_place<T: Scalar>(n: usize, a: &mut [T]) {
    for i in 0..n {
        for j in i + 1..n {
            a[j * n + i] = a[i * n + j].conj();
            a[i * n + j] = T::zero();
        }
    }
}

/// Overwrites the upper triangle of `a` with `u` where `a = uᴴ·u`; the index of the first bad pivot if there is one.
///
/// # Safety
/// `a` must be n × n, writable, with contiguous rows.
unsafe fn factorise<T: Scalar>(n: usize, a: MatMut<T>) -> Option<usize> {
    // SAFETY: by the contract; blocks are disjoint.
    unsafe {
        if n <= BASE {
            let mut bad = n;
            eliminate(n, a, &mut bad);
            return (bad < n).then_some(bad);
        }
        let half = (n / 2).next_multiple_of(8);
        let bad = factorise(half, a);
        if bad.is_some() {
            return bad;
        }
        let (right, rest) = (a.offset(0, half), a.offset(half, half));
        let u = Mat { ptr: a.ptr.cast_const(), rs: a.rs, cs: 1 };
        triangular::solve(half, n - half, Triangle { a: u, upper: true, unit: false, conj: false }.adjoint(), right);
        subtract_gram(n - half, half, Mat { ptr: right.ptr.cast_const(), rs: right.rs, cs: 1 }, rest);
        factorise(n - half, rest).map(|j| j + half)
    }
}

/// `c -= bᴴ·b` on the upper triangle (and some blocks below it) for b of k × n.
unsafe fn subtract_gram<T: Scalar>(n: usize, k: usize, b: Mat<T>, c: MatMut<T>) {
    // SAFETY: by the contract of `factorise`.
    unsafe {
        if n <= 64 {
            return sub_product((n, n, k), (b.transposed(), true), (b, false), c);
        }
        let half = (n / 2).next_multiple_of(16);
        let right = b.offset(0, half);
        subtract_gram(half, k, b, c);
        sub_product((half, n - half, k), (b.transposed(), true), (right, false), c.offset(0, half));
        subtract_gram(n - half, k, right, c.offset(half, half));
    }
}

per_isa! {
    /// Elimination row by row; `bad` becomes the index of the first pivot that is not positive.
    unsafe fn eliminate<T: Scalar>(n: usize, a: MatMut<T>, bad: &mut usize) = scalar eliminate_body
}

#[inline(always)]
unsafe fn eliminate_body<T: Scalar>(n: usize, a: MatMut<T>, bad: &mut usize) {
    for j in 0..n {
        // SAFETY: rows j and i are different rows of the matrix.
        unsafe {
            let row = std::slice::from_raw_parts_mut(a.offset(j, j).ptr, n - j);
            let pivot = row[0].re();
            // Not `<= 0`: NaN is bad too.
            if pivot.partial_cmp(&<T::Real as crate::base::Element>::zero()) != Some(std::cmp::Ordering::Greater) {
                *bad = j;
                return;
            }
            let d = pivot.sqrt();
            row[0] = T::of_real(d);
            for x in &mut row[1..] {
                *x = x.over_real(d);
            }
            for i in j + 1..n {
                let x = row[i - j].conj();
                let below = std::slice::from_raw_parts_mut(a.offset(i, i).ptr, n - i);
                for (y, &r) in below.iter_mut().zip(&row[i - j..]) {
                    *y -= x * r;
                }
            }
        }
    }
}
