//! Logarithms. Mantissa and exponent are split at √½; polynomials are minimax fits of our own.

use super::exp::ln2;
use super::fp::Fp;
use std::f64::consts::{LOG2_E, LOG10_E};

/// (ln(1+f) - f + f²/2) / f³ on [√½ - 1, √2 - 1].
const LOG_32: [f64; 7] =
    [0.33333799409, -0.25001703035, 0.19967369347, -0.16567368204, 0.14859641066, -0.14334258428, 0.089461245166];
/// (atanh(s)/s - 1) / s² in z = s², s = f / (2 + f) for the same f.
const LOG_64: [f64; 7] = [
    0.33333333333333653374,
    0.19999999999716713589,
    0.14285714369511879323,
    0.11111099430669333235,
    0.09091775786458745221,
    0.076571658822445404293,
    0.073967539610933564935,
];

/// e ln 2 + ln(1 + f) + c for a reduced f and a small c.
#[inline(always)]
fn log_reduced<T: Fp, const F: bool>(f: T, e: T, c: T) -> T {
    let (hi, lo) = ln2::<T>();
    if T::SINGLE {
        let f2 = f * f;
        let tail = (f2 * f).fma::<F>(f.poly::<F, 7, 7>(&LOG_32, &LOG_32), f2 * T::of(-0.5) + c);
        return e.fma::<F>(hi, f + e.fma::<F>(lo, tail));
    }
    let s = f / (f + T::of(2.0));
    let z = s * s;
    let r = z * z.poly::<F, 7, 7>(&LOG_64, &LOG_64) * T::of(2.0);
    let half = T::of(0.5) * f * f;
    let inner = s.fma::<F>(half + r, e.fma::<F>(lo, c));
    e.fma::<F>(hi, f - (half - inner))
}

/// Mantissa in [√½, √2) and exponent of a positive number, denormal ones too.
#[inline(always)]
pub(super) fn split<T: Fp>(x: T) -> (T, T) {
    let tiny = x < T::TINY;
    let (m, e) = (if tiny { x * T::either(8388608.0, 4503599627370496.0) } else { x }).split();
    (m, e - if tiny { T::either(23.0, 52.0) } else { T::of(0.0) })
}

/// What a logarithm gives where the argument is not positive and finite.
#[inline(always)]
pub(super) fn at_edges<T: Fp>(x: T, y: T) -> T {
    let y = if x == T::of(0.0) { -T::INFINITY } else { y };
    let y = if x == T::INFINITY { x } else { y };
    if x >= T::of(0.0) { y } else { T::NAN }
}

#[inline(always)]
pub fn log<T: Fp, const F: bool>(x: T) -> T {
    let (m, e) = split(x);
    at_edges(x, log_reduced::<T, F>(m - T::of(1.0), e, T::of(0.0)))
}

#[inline(always)]
pub fn log1p<T: Fp, const F: bool>(x: T) -> T {
    let one = T::of(1.0);
    let u = one + x;
    // What the addition lost.
    let lost = if x < one { x - (u - one) } else { one - (u - x) };
    let (m, e) = u.split();
    let y = at_edges(u, log_reduced::<T, F>(m - one, e, lost / u));
    if x == T::of(0.0) { x } else { y }
}

#[inline(always)]
pub fn log2<T: Fp, const F: bool>(x: T) -> T {
    let (m, e) = split(x);
    let l = log_reduced::<T, F>(m - T::of(1.0), T::of(0.0), T::of(0.0));
    at_edges(x, l.fma::<F>(T::of(LOG2_E), e))
}

#[inline(always)]
pub fn log10<T: Fp, const F: bool>(x: T) -> T {
    let (m, e) = split(x);
    let l = log_reduced::<T, F>(m - T::of(1.0), T::of(0.0), T::of(0.0));
    let (hi, lo) =
        (T::either(0.301025390625, 0.30102999566361177), T::either(4.6050389811952137e-6, 3.6942390771589305366e-13));
    at_edges(x, e.fma::<F>(hi, l.fma::<F>(T::of(LOG10_E), e * lo)))
}
