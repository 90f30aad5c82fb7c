//! Sine, cosine and tangent for arguments that a few parts of π reduce exactly; beyond that a flag asks for the
//! scalar function. Polynomials are minimax fits of our own.

use super::fp::Fp;
use std::f64::consts::{FRAC_1_PI, FRAC_2_PI, FRAC_PI_2};

/// (sin(r)/r - 1) / r² in z = r² on |r| ≤ π/2.
const SIN_32: [f64; 4] = [-0.16666660452, 0.0083330877437, -0.00019811072588, 2.6088272798e-6];
const SIN_64: [f64; 8] = [
    -0.16666666666666665746,
    0.0083333333333332119621,
    -0.00019841269841215247738,
    2.7557319212117574865e-6,
    -2.5052106958299147737e-8,
    1.605894381187940546e-10,
    -7.6430938313172530828e-13,
    2.7222092582905749278e-15,
];
/// The same on |r| ≤ π/4, and (cos(r) - 1 + r²/2) / r⁴.
const SIN4_32: [f64; 3] = [-0.166666549321, 0.00833217626252, -0.000195169498837];
const SIN4_64: [f64; 6] = [
    -0.166666666666666324093,
    0.00833333333332245619646,
    -0.000198412698298168879573,
    0.00000275573136891147625539,
    -2.50507569777810773171e-8,
    1.58966975662466788533e-10,
];
const COS4_32: [f64; 3] = [0.0416666470052, -0.00138873720141, 2.44387780871e-5];
const COS4_64: [f64; 6] = [
    0.0416666666666666125386,
    -0.00138888888888759991729,
    0.0000248015872904864848004,
    -2.75573146069234249524e-7,
    2.08757541449351986612e-9,
    -1.1361091427335914988e-11,
];

/// x - q π/2. Without fused multiply-add the parts have few bits, so that their products with q are exact.
#[inline(always)]
fn minus_quarters<T: Fp, const F: bool>(x: T, q: T) -> T {
    if F {
        let r = q.fma::<F>(T::either(-1.5707963705062866, -FRAC_PI_2), x);
        let r = q.fma::<F>(T::either(4.371138828673793e-8, -6.123233995736766e-17), r);
        return q.fma::<F>(T::either(1.7151245100058819e-15, 1.4973849048591698e-33), r);
    }
    let r = x - q * T::either(1.5703125, 1.5707963109016418);
    let r = r - q * T::either(0.00048351287841796875, 1.5893254712295857e-8);
    let r = r - q * T::either(3.1385570764541626e-7, 6.123233932053594e-17);
    r - q * T::either(6.07710062827671e-11, 6.36831716351095e-25)
}

/// Arguments up to here are reduced exactly enough.
#[inline(always)]
fn too_large<T: Fp, const F: bool>(x: T) -> bool {
    x.abs() > if F { T::either(1e5, 1e9) } else { T::either(2e4, 1e7) }
}

/// sin(r) for |r| ≤ π/2.
#[inline(always)]
fn sin_reduced<T: Fp, const F: bool>(r: T) -> T {
    let z = r * r;
    (z * r).fma::<F>(z.poly::<F, 4, 8>(&SIN_32, &SIN_64), r)
}

/// The sine, and whether the argument is too large for it.
#[inline(always)]
pub fn sin<T: Fp, const F: bool>(x: T) -> (T, bool) {
    let rounded = x.fma::<F>(T::of(FRAC_1_PI), T::ROUNDER);
    let n = rounded - T::ROUNDER;
    let y = sin_reduced::<T, F>(minus_quarters::<T, F>(x, n + n)).flip_if_odd(rounded);
    // Keeps the zero's sign.
    (if x == T::of(0.0) { x } else { y }, too_large::<T, F>(x))
}

/// The cosine, and whether the argument is too large for it.
#[inline(always)]
pub fn cos<T: Fp, const F: bool>(x: T) -> (T, bool) {
    // With the odd number of quarters q = 2n + 1 nearest to x, cos(x) = -(-1)ⁿ sin(x - q π/2).
    let rounded = x.fma::<F>(T::of(FRAC_1_PI), T::of(-0.5)) + T::ROUNDER;
    let q = (rounded - T::ROUNDER).fma::<F>(T::of(2.0), T::of(1.0));
    let y = sin_reduced::<T, F>(minus_quarters::<T, F>(x, q));
    ((-y).flip_if_odd(rounded), too_large::<T, F>(x))
}

/// The tangent, and whether the argument is too large for it.
#[inline(always)]
pub fn tan<T: Fp, const F: bool>(x: T) -> (T, bool) {
    let rounded = x.fma::<F>(T::of(FRAC_2_PI), T::ROUNDER);
    let r = minus_quarters::<T, F>(x, rounded - T::ROUNDER);
    let z = r * r;
    let s = (z * r).fma::<F>(z.poly::<F, 3, 6>(&SIN4_32, &SIN4_64), r);
    let c = (z * z).fma::<F>(z.poly::<F, 3, 6>(&COS4_32, &COS4_64), z.fma::<F>(T::of(-0.5), T::of(1.0)));
    // tan(r + π/2) = -cos(r) / sin(r)
    let odd = T::of(1.0).flip_if_odd(rounded) < T::of(0.0);
    let (num, den) = if odd { (-c, s) } else { (s, c) };
    (if x == T::of(0.0) { x } else { num / den }, too_large::<T, F>(x))
}
