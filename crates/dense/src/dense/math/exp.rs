//! Exponentials. Polynomials are minimax fits of our own; the argument is reduced by multiples of ln 2 in two parts.

use super::fp::Fp;
use std::f64::consts::{LN_2, LOG2_E};

/// (exp(r) - 1 - r) / r² on |r| ≤ ln(2)/2.
const EXP_32: [f64; 5] = [0.49999993774, 0.1666651706, 0.041668316633, 0.0083692117251, 0.0013819705136];
const EXP_64: [f64; 10] = [
    0.50000000000000096245,
    0.16666666666666416271,
    0.041666666666533726331,
    0.0083333333334948552613,
    0.0013888888943601645897,
    0.00019841269504707756949,
    0.000024801492399598031397,
    2.75575864072210352e-6,
    2.7630709018578483771e-7,
    2.5001058312395912718e-8,
];

/// ln 2 in two parts; the first has few bits, so that its small multiples are exact.
#[inline(always)]
pub(super) fn ln2<T: Fp>() -> (T, T) {
    (T::either(0.693145751953125, 0.693147180559663), T::either(1.428606820309417232e-6, 2.8235290563031577122588e-13))
}

/// n and r with x = n ln 2 + r.
#[inline(always)]
fn reduce<T: Fp, const F: bool>(x: T) -> (T, T) {
    let n = x.fma::<F>(T::of(LOG2_E), T::ROUNDER) - T::ROUNDER;
    let (hi, lo) = ln2::<T>();
    let r = n.fma::<F>(-hi, x);
    (n, n.fma::<F>(-lo, r))
}

/// exp(r) - 1 for a reduced argument.
#[inline(always)]
fn expm1_reduced<T: Fp, const F: bool>(r: T) -> T {
    (r * r).fma::<F>(r.poly::<F, 5, 10>(&EXP_32, &EXP_64), r)
}

/// `p` 2^n for n beyond the range of normal exponents; rounds once.
#[inline(always)]
fn scale<T: Fp, const F: bool>(p: T, n: T) -> T {
    let half = n.fma::<F>(T::of(0.5), T::ROUNDER) - T::ROUNDER;
    p * T::exp2i(half) * T::exp2i(n - half)
}

#[inline(always)]
fn clamp<T: Fp>(x: T, lo: T, hi: T) -> T {
    // Comparisons in this order keep NaN.
    let x = if x > hi { hi } else { x };
    if x < lo { lo } else { x }
}

#[inline(always)]
pub fn exp<T: Fp, const F: bool>(x: T) -> T {
    exp_with::<T, F>(x, T::of(0.0), T::of(0.0))
}

/// 2^shift exp(x + lo) for a small correction `lo`.
#[inline(always)]
pub(super) fn exp_with<T: Fp, const F: bool>(x: T, lo: T, shift: T) -> T {
    let x = clamp(x, T::either(-104.5, -746.0), T::either(89.5, 711.0));
    let (n, r) = reduce::<T, F>(x);
    scale::<T, F>(expm1_reduced::<T, F>(r + lo) + T::of(1.0), n + shift)
}

/// exp(x) for x at most 0 and above the underflow threshold of normal numbers, or somewhat below 88 (708).
#[inline(always)]
pub(super) fn exp_normal<T: Fp, const F: bool>(x: T) -> T {
    let (n, r) = reduce::<T, F>(x);
    (expm1_reduced::<T, F>(r) + T::of(1.0)) * T::exp2i(n)
}

/// exp(x) - 1 for 0 ≤ x ≤ 40, where no scale can overflow.
#[inline(always)]
pub(super) fn expm1_small<T: Fp, const F: bool>(x: T) -> T {
    let (n, r) = reduce::<T, F>(x);
    let s = T::exp2i(n);
    s.fma::<F>(expm1_reduced::<T, F>(r), s - T::of(1.0))
}

#[inline(always)]
pub fn exp2<T: Fp, const F: bool>(x: T) -> T {
    let x = clamp(x, T::either(-151.0, -1076.0), T::either(129.0, 1025.0));
    let n = (x + T::ROUNDER) - T::ROUNDER;
    scale::<T, F>(expm1_reduced::<T, F>((x - n) * T::of(LN_2)) + T::of(1.0), n)
}

#[inline(always)]
pub fn expm1<T: Fp, const F: bool>(x: T) -> T {
    let a = clamp(x, T::of(-50.0), T::either(89.5, 711.0));
    let (n, r) = reduce::<T, F>(a);
    let half = n.fma::<F>(T::of(0.5), T::ROUNDER) - T::ROUNDER;
    let (s, t) = (T::exp2i(half), T::exp2i(n - half));
    // 2^n (1 + p) - 1 with 2^n = s t and the one scaled down, so that nothing overflows before the result does.
    let y = s.fma::<F>(expm1_reduced::<T, F>(r), s - T::exp2i(half - n)) * t;
    // Keeps the zero's sign.
    if x == T::of(0.0) { x } else { y }
}
