//! What keeps decompositions from being silently wrong: scaling into the middle of the range, and checks of results
//! with a test vector.

use super::scalar::{RealScalar, Scalar};
use crate::base::Element;

/// The largest |re| or |im| of the elements, `None` if one is not finite.
pub fn largest<T: Scalar>(a: &[T]) -> Option<T::Real> {
    let mut max = <T::Real as Element>::zero();
    let mut finite = true;
    for &x in a {
        finite &= x.is_finite();
        max = max.max(x.re().abs()).max(x.im().abs());
    }
    finite.then_some(max)
}

/// Multiplies by 2^e; exact unless a result is denormal.
pub fn times_power<T: Scalar>(a: &mut [T], e: i32) {
    // In steps, for 2^e itself may be out of range.
    let mut left = e;
    while left != 0 {
        let step = left.clamp(-120, 120);
        let factor = T::Real::exp2i(step);
        a.iter_mut().for_each(|x| *x = x.scale(factor));
        left -= step;
    }
}

/// Scales by a power of two such that the largest element is between 1 and 2; the exponent used. The elements must be
/// finite, `max` the largest.
pub fn scale_to_one<T: Scalar>(a: &mut [T], max: T::Real) -> i32 {
    if max == <T::Real as Element>::zero() {
        return 0;
    }
    let e = -max.exponent();
    times_power(a, e);
    e
}

/// [`scale_to_one`] where squares could leave the range; otherwise, and with elements that are not finite, nothing.
pub fn scale_extreme<T: Scalar>(a: &mut [T]) -> i32 {
    let safe = T::Real::TINY.exponent() / -3;
    match largest(a) {
        Some(max) if max.exponent().abs() > safe => scale_to_one(a, max),
        _ => 0,
    }
}

/// A fixed vector of numbers between 1/2 and 1 with irregular signs.
pub fn test_vector<T: Scalar>(n: usize) -> Vec<T> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let x = 0.5 + (state >> 12) as f64 / (1u64 << 53) as f64;
            T::of_real(T::Real::of_f64(if state & 1024 == 0 { x } else { -x }))
        })
        .collect()
}

/// `a·x`, or `aᴴ·x`, for a row-major m × n matrix.
pub fn apply<T: Scalar>(m: usize, n: usize, a: &[T], x: &[T], adjoint: bool) -> Vec<T> {
    let mut y = vec![T::zero(); if adjoint { n } else { m }];
    for i in 0..m {
        let row = &a[i * n..(i + 1) * n];
        if adjoint {
            for (y, &r) in y.iter_mut().zip(row) {
                *y += r.conj() * x[i];
            }
        } else {
            for (&r, &x) in row.iter().zip(x) {
                y[i] += r * x;
            }
        }
    }
    y
}

/// The largest difference of two vectors; infinite if there is a NaN.
pub fn distance<T: Scalar>(a: &[T], b: &[T]) -> f64 {
    let mut max = 0.0f64;
    for (&x, &y) in a.iter().zip(b) {
        let d = (x - y).modulus();
        if !d.finite() {
            return f64::INFINITY;
        }
        max = max.max(d.to_f64());
    }
    max
}

/// What a product of `n` terms of size about 1 may be off by.
pub fn tolerance<T: Scalar>(n: usize) -> f64 {
    50.0 * T::Real::EPS.to_f64() * (n.max(4) as f64)
}

/// Whether the columns of a row-major m × n matrix are orthonormal, by a test vector.
pub fn is_orthonormal<T: Scalar>(m: usize, n: usize, q: &[T]) -> bool {
    let x = test_vector::<T>(n);
    let back = apply(m, n, q, &apply(m, n, q, &x, false), true);
    distance(&x, &back) <= tolerance::<T>(m.max(n))
}
