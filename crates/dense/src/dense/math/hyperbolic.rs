//! Hyperbolic functions, their inverses, and the logistic function.

use super::exp::{exp_with, expm1_small};
use super::fp::Fp;
use super::log::log1p;
use std::f64::consts::LN_2;

/// (sinh(x)/x - 1) / x² in z = x² on |x| ≤ 1.
const SINH_32: [f64; 4] = [0.166666664897, 0.00833335054528, 0.000198360744752, 2.81739968813e-6];
const SINH_64: [f64; 7] = [
    0.166666666666666674151,
    0.00833333333333314099064,
    0.000198412698414364646135,
    0.00000275573191556622730784,
    2.50521233533973785237e-8,
    1.60572434776598919235e-10,
    7.75922598764829567558e-13,
];

#[inline(always)]
pub fn tanh<T: Fp, const F: bool>(x: T) -> T {
    let (a, top) = (x.abs(), T::either(9.2, 19.5));
    let a = if a > top { top } else { a };
    let e = expm1_small::<T, F>(a + a);
    (e / (e + T::of(2.0))).copysign(x)
}

#[inline(always)]
pub fn sinh<T: Fp, const F: bool>(x: T) -> T {
    let a = x.abs();
    let z = a * a;
    let near = (z * a).fma::<F>(z.poly::<F, 4, 7>(&SINH_32, &SINH_64), a);
    let half = exp_with::<T, F>(a, T::of(0.0), T::of(-1.0));
    let far = half - T::of(0.25) / half;
    (if a > T::of(1.0) { far } else { near }).copysign(x)
}

#[inline(always)]
pub fn cosh<T: Fp, const F: bool>(x: T) -> T {
    let half = exp_with::<T, F>(x.abs(), T::of(0.0), T::of(-1.0));
    half + T::of(0.25) / half
}

/// Beyond this the square overflows, and 2x is all that matters.
#[inline(always)]
fn huge<T: Fp>() -> T {
    T::either(1e18, 1e150)
}

#[inline(always)]
pub fn asinh<T: Fp, const F: bool>(x: T) -> T {
    let a = x.abs();
    let big = a > huge();
    let z = a * a;
    let u = a + z / (T::of(1.0) + (T::of(1.0) + z).sqrt());
    let y = log1p::<T, F>(if big { a } else { u });
    (if big { y + T::of(LN_2) } else { y }).copysign(x)
}

#[inline(always)]
pub fn acosh<T: Fp, const F: bool>(x: T) -> T {
    let big = x > huge();
    let t = x - T::of(1.0);
    let u = t + t.fma::<F>(t, t + t).sqrt();
    let y = log1p::<T, F>(if big { x } else { u });
    let y = if big { y + T::of(LN_2) } else { y };
    if x >= T::of(1.0) { y } else { T::NAN }
}

#[inline(always)]
pub fn atanh<T: Fp, const F: bool>(x: T) -> T {
    let a = x.abs();
    (log1p::<T, F>((a + a) / (T::of(1.0) - a)) * T::of(0.5)).copysign(x)
}

/// exp(-|x|)
#[inline(always)]
fn exp_neg_abs<T: Fp, const F: bool>(x: T) -> T {
    exp_with::<T, F>(-x.abs(), T::of(0.0), T::of(0.0))
}

#[inline(always)]
pub fn sigmoid<T: Fp, const F: bool>(x: T) -> T {
    let e = exp_neg_abs::<T, F>(x);
    (if x < T::of(0.0) { e } else { T::of(1.0) }) / (T::of(1.0) + e)
}

/// ln(1 + exp(-|x|))
#[inline(always)]
pub fn log1p_exp_neg_abs<T: Fp, const F: bool>(x: T) -> T {
    log1p::<T, F>(exp_neg_abs::<T, F>(x))
}
