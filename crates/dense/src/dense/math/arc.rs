//! Inverse trigonometric functions. Polynomials are minimax fits of our own.

use super::fp::Fp;
use std::f64::consts::{FRAC_PI_2, PI};

/// (asin(r)/r - 1) / r² in z = r² on |r| ≤ 1/2.
const ASIN_32: [f64; 5] = [0.166667509372, 0.0749533458567, 0.0454675045594, 0.0241881504578, 0.0421581795231];
const ASIN_64: [f64; 12] = [
    0.166666666666656469157,
    0.0750000000029619998495,
    0.0446428568546843755019,
    0.0303819582476439575118,
    0.0223717760248003920551,
    0.0173594714056072410031,
    0.0138872515135075110305,
    0.0121574903410324178009,
    0.00657330944847744423656,
    0.0194164204948474164404,
    -0.0160649731517515363723,
    0.0318126320219965335909,
];
/// (atan(r)/r - 1) / r² in z = r² on |r| ≤ 1.
const ATAN_32: [f64; 9] = [
    -0.333333028282,
    0.199986636225,
    -0.14265484842,
    0.109587318863,
    -0.0842262427438,
    0.0582859278095,
    -0.031504656886,
    0.0110897395073,
    -0.00183268500539,
];
const ATAN_64: [f64; 20] = [
    -0.333333333333331286692,
    0.199999999999599064,
    -0.142857142830135608411,
    0.111111110189914288526,
    -0.0909090720291989949622,
    0.076922820704557061493,
    -0.0666642163649740644726,
    0.0588062933373515083691,
    -0.0525395957769524071151,
    0.0472378927298870587268,
    -0.0422295864419438460049,
    0.0367177870622647542852,
    -0.0300226517954272163532,
    0.0221292496854867066043,
    -0.0140353338960522233104,
    0.00729119111266036378189,
    -0.00293333777520852140464,
    0.000848323475018179369933,
    -0.000155825080232772233666,
    0.000013590424166269669049,
];

/// π/2 minus its rounded value.
#[inline(always)]
fn quarter_rest<T: Fp>() -> T {
    T::either(-4.371138828673793e-8, 6.123233995736766e-17)
}

/// asin(r) - r for the square z of r.
#[inline(always)]
fn asin_tail<T: Fp, const F: bool>(r: T, z: T) -> T {
    r * z * z.poly::<F, 5, 12>(&ASIN_32, &ASIN_64)
}

/// For |x| > 1/2, the root r of (1 - |x|)/2, of which asin(|x|) = π/2 - 2 asin(r); else |x|. And its square.
#[inline(always)]
fn fold<T: Fp, const F: bool>(x: T) -> (bool, T, T) {
    let a = x.abs();
    let far = a > T::of(0.5);
    let z = if far { a.fma::<F>(T::of(-0.5), T::of(0.5)) } else { a * a };
    (far, if far { z.sqrt() } else { a }, z)
}

#[inline(always)]
pub fn asin<T: Fp, const F: bool>(x: T) -> T {
    let (far, r, z) = fold::<T, F>(x);
    let tail = asin_tail::<T, F>(r, z);
    let near = r + tail;
    let y = if far { T::of(FRAC_PI_2) - (near + near - quarter_rest()) } else { near };
    y.copysign(x)
}

#[inline(always)]
pub fn acos<T: Fp, const F: bool>(x: T) -> T {
    let (far, r, z) = fold::<T, F>(x);
    let s = r + asin_tail::<T, F>(r, z);
    let two = s + s;
    let negative = x < T::of(0.0);
    // acos(|x|) = 2 asin(r) beyond one half, and π minus that on the other side.
    let folded = if negative { T::of(PI) - (two - (quarter_rest::<T>() + quarter_rest())) } else { two };
    let s = if negative { -s } else { s };
    if far { folded } else { T::of(FRAC_PI_2) - (s - quarter_rest()) }
}

/// atan(t) for 0 ≤ t ≤ 1.
#[inline(always)]
fn atan_unit<T: Fp, const F: bool>(t: T) -> T {
    let z = t * t;
    (t * z).fma::<F>(z.poly::<F, 9, 20>(&ATAN_32, &ATAN_64), t)
}

#[inline(always)]
pub fn atan<T: Fp, const F: bool>(x: T) -> T {
    let a = x.abs();
    let steep = a > T::of(1.0);
    let r = atan_unit::<T, F>(if steep { T::of(1.0) / a } else { a });
    (if steep { T::of(FRAC_PI_2) - (r - quarter_rest()) } else { r }).copysign(x)
}

#[inline(always)]
pub fn atan2<T: Fp, const F: bool>(y: T, x: T) -> T {
    let (a, b) = (x.abs(), y.abs());
    let steep = b > a;
    let (small, big) = if steep { (a, b) } else { (b, a) };
    let t = small / big;
    // 0/0 is the direction of an axis, ∞/∞ that of a diagonal.
    let t = if big == T::of(0.0) { big } else { t };
    let t = if small == T::INFINITY { T::of(1.0) } else { t };
    let r = atan_unit::<T, F>(t);
    // From the nearest half axis, whose angle is rounded once: those of opposite points differ by a sign and π.
    let behind = x.is_negative();
    let (axis, rest) = match (steep, behind) {
        (true, _) => (T::of(FRAC_PI_2), quarter_rest()),
        (_, true) => (T::of(PI), quarter_rest::<T>() + quarter_rest()),
        _ => (T::of(0.0), T::of(0.0)),
    };
    let r = (axis + (if steep == behind { r } else { -r } + rest)).copysign(y);
    // A comparison of NaN chose an operand without it.
    if x.is_number() && y.is_number() { r } else { x + y }
}
