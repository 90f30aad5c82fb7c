//! Powers: y log2(x) needs more bits than the result has, so single precision works in double and double precision
//! in pairs of doubles.

use super::exp::exp_with;
use super::fp::{Fp, horner, pick};
use super::log::split;

/// log2(m) / s in z = s², s = (m - 1)/(m + 1), to 2⁻⁴⁵ on [√½, √2].
const LOG2_LIGHT: [f64; 6] = [
    2.88539008177784954,
    0.961796694114259349,
    0.577077942074695246,
    0.412209283884668996,
    0.319904321795408682,
    0.282920910485736742,
];
/// 2^r on |r| ≤ 1/2, to 2⁻³⁴.
const EXP2_LIGHT: [f64; 8] = [
    0.999999999961618928,
    0.693147180728674192,
    0.240226511987622174,
    0.0555041035297316366,
    0.00961802717172116874,
    0.00133339227502578746,
    0.000154693176386743064,
    0.0000152019234950904768,
];
/// (atanh(s)/s - 1 - s²/3) / s⁴ in z = s², to 2⁻⁶⁶ of atanh(s)/s for the same s.
const ATANH_TAIL: [f64; 7] = [
    0.20000000000001127361,
    0.142857142850500329459,
    0.11111111259925612323,
    0.0909089218620029868439,
    0.076933785613404120016,
    0.0662841098303423483161,
    0.0659814719311656968866,
];

/// |x|^y for a finite positive |x| in single precision.
#[inline(always)]
fn magnitude_single<const F: bool>(x: f64, y: f64) -> f64 {
    // Denormal numbers of single precision are normal in double.
    let (m, e) = x.split();
    let s = (m - 1.0) / (m + 1.0);
    let l = horner::<f64, F, 6>(s * s, &LOG2_LIGHT).fma::<F>(s, e) * y;
    let l = if l > 130.0 { 130.0 } else { l };
    let l = if l < -151.0 { -151.0 } else { l };
    let n = (l + f64::ROUNDER) - f64::ROUNDER;
    horner::<f64, F, 8>(l - n, &EXP2_LIGHT) * f64::exp2i(n)
}

/// The product and what its rounding lost.
#[inline(always)]
fn product<T: Fp, const F: bool>(a: T, b: T) -> (T, T) {
    let h = a * b;
    if F {
        return (h, a.fma::<F>(b, -h));
    }
    let halves = |x: T| {
        let c = x * T::either(4097.0, 134217729.0);
        let hi = c - (c - x);
        (hi, x - hi)
    };
    let ((ah, al), (bh, bl)) = (halves(a), halves(b));
    (h, ((ah * bh - h) + ah * bl + al * bh) + al * bl)
}

/// a + b as a pair, for |a| ≥ |b|.
#[inline(always)]
fn pair<T: Fp>(a: T, b: T) -> (T, T) {
    let s = a + b;
    (s, b - (s - a))
}

/// |x|^y for a finite positive |x| in double precision.
#[inline(always)]
fn magnitude_double<T: Fp, const F: bool>(x: T, y: T) -> T {
    let one = T::of(1.0);
    let (m, e) = split(x);
    // s = (m - 1)/(m + 1) as a pair.
    let (num, (dh, dl)) = (m - one, if m > one { pair(m, one) } else { pair(one, m) });
    let sh = num / dh;
    let (ph, pl) = product::<T, F>(sh, dh);
    let sl = ((num - ph) - pl - sh * dl) / dh;
    // atanh(s) = s + s³/3 + s⁵ (…), the first two terms as pairs.
    let (zh, zl) = product::<T, F>(sh, sh);
    let zl = zl + (sh + sh) * sl;
    let (ch, cl) = product::<T, F>(sh, zh);
    let cl = cl + sh * zl + sl * zh;
    let third = T::of(1.0 / 3.0);
    let (th, tl) = product::<T, F>(ch, third);
    let tl = tl + cl * third + ch * T::of(1.850371707708594e-17);
    let tail = ch * zh * horner::<T, F, 7>(zh, &ATANH_TAIL);
    let (ah, al) = pair(sh, th);
    let al = al + (sl + tl + tail);
    // ln(x) = e ln 2 + 2 atanh(s); e times the first part of ln 2 is exact.
    let (hi, lo) = (T::of(0.693147180559663), T::of(2.8235290563031577122588e-13));
    let (eh, two) = (e * hi, T::of(2.0));
    let (lh, ll) = if e == T::of(0.0) { (two * ah, two * al) } else { pair(eh, two * ah) };
    let ll = if e == T::of(0.0) { ll } else { ll + (two * al + e * lo) };
    let (lh, ll) = pair(lh, ll);
    let (h, l) = product::<T, F>(lh, y);
    let l = l + ll * y;
    // Out of range the low part may be no number.
    let far = h.abs() > T::of(800.0);
    exp_with::<T, F>(h, if far { T::of(0.0) } else { l }, T::of(0.0))
}

/// x^y with the special values of C99.
#[inline(always)]
pub fn pow<T: Fp, const F: bool>(x: T, y: T) -> T {
    if T::SINGLE {
        // All of it in double: loops of one width vectorise better.
        let (x, y) = (x.to_f64(), y.to_f64());
        return T::of(with_special_values(x, y, magnitude_single::<F>(x.abs(), y)));
    }
    with_special_values(x, y, magnitude_double::<T, F>(x.abs(), y))
}

/// x^y, given `r` = |x|^y for finite positive |x| and finite y.
#[inline(always)]
fn with_special_values<T: Fp>(x: T, y: T, r: T) -> T {
    let (zero, one, a) = (T::of(0.0), T::of(1.0), x.abs());
    // |x| is 0 or infinite, or y is infinite: the result is 0 or infinite, unless |x| is 1.
    let grows = (a > one) == (y > zero);
    // Compared with the largest number: comparisons with infinity merge into a class test, which has no vector form.
    let edge = (a == zero) | (a > T::MAX) | (y.abs() > T::MAX);
    let limit = pick(grows, T::INFINITY, zero);
    let r = pick(edge, limit, r);
    let r = pick(a == one, one, r);
    // The sign of an odd power; no real power of a negative number otherwise.
    let half = y * T::of(0.5);
    let (whole, even) = (y == y.trunc(), half == half.trunc());
    let r = pick(x.is_negative() & whole & !even, -r, r);
    let r = pick((x < zero) & !whole & (a <= T::MAX), T::NAN, r);
    let r = pick(x.is_number() & y.is_number(), r, T::NAN);
    pick((y == zero) | (x == one), one, r)
}

/// sqrt(x² + y²) without overflow.
#[inline(always)]
pub fn hypot<T: Fp, const F: bool>(x: T, y: T) -> T {
    let (a, b) = (x.abs(), y.abs());
    let r = if T::SINGLE {
        let (p, q) = (a.to_f64(), b.to_f64());
        T::of((p * p + q * q).sqrt())
    } else {
        let (big, small) = if a > b { (a, b) } else { (b, a) };
        let q = small / big;
        let r = big * q.fma::<F>(q, T::of(1.0)).sqrt();
        let r = if small == T::of(0.0) { big } else { r };
        if x.is_number() && y.is_number() { r } else { x + y }
    };
    if a == T::INFINITY || b == T::INFINITY { T::INFINITY } else { r }
}
