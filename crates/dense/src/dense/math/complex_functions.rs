//! Elementary functions of complex numbers. Branch cuts and the values at zeros, infinities and NaN are those of C99's
//! annex G; formulas after Kahan, "Branch cuts for complex elementary functions" (1987).

use super::complex::{Cplx, Z};
use super::real::Real;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LN_10};

#[inline(always)]
fn zero<R: Real>() -> R {
    R::of(0.0)
}
#[inline(always)]
fn nan<R: Real>() -> R {
    R::of(f64::NAN)
}
#[inline(always)]
fn z<R: Real>(re: R, im: R) -> Z<R> {
    Z { re, im }
}

/// i x
#[inline(always)]
fn times_i<R: Real>(x: Z<R>) -> Z<R> {
    z(-x.im, x.re)
}
/// -i x
#[inline(always)]
fn over_i<R: Real>(x: Z<R>) -> Z<R> {
    z(x.im, -x.re)
}

/// The imaginary part of conj(u) v.
#[inline(always)]
fn cross<R: Real>(u: Z<R>, v: Z<R>) -> R {
    u.re * v.im - u.im * v.re
}
/// The real part of conj(u) v.
#[inline(always)]
fn inner<R: Real>(u: Z<R>, v: Z<R>) -> R {
    u.re * v.re + u.im * v.im
}

/// With the largest part scaled to 1; the cut lies on the negative real axis.
pub(super) fn sqrt<R: Real>(x: Z<R>) -> Z<R> {
    let infinity = R::of(f64::INFINITY);
    if x.im.is_inf() {
        return z(infinity, x.im);
    }
    if x.re.is_inf() {
        let rest = if x.im.is_nan() { x.im } else { zero() };
        return if x.re.is_negative() { z(rest, infinity.copysign(x.im)) } else { z(x.re, rest.copysign(x.im)) };
    }
    if x.is_nan() {
        return z(nan(), nan());
    }
    let (re, im) = (x.re.abs(), x.im.abs());
    let s = re.max(im);
    if s.is_zero() {
        return z(s, x.im);
    }
    let (a, b) = (re / s, im / s);
    let t = ((a.hypot(b) + a) * 0.5).sqrt() * s.sqrt();
    let other = im / (t * 2.0);
    if x.re.is_negative() { z(other, t.copysign(x.im)) } else { z(t, other.copysign(x.im)) }
}

/// The product of `scale(re)` and the point of the unit circle at the angle `im`, where `scale` grows as `exp` does: what
/// is too large alone need not be so with the factors.
#[inline(always)]
fn turned<R: Real>(re: R, (cosine, sine): (R, R), im: R) -> Z<R> {
    if (cosine.is_inf() || sine.is_inf()) && re.is_finite() {
        // Both are exp(|re|) / 2 here, up to a sign.
        let half = (re.abs() * 0.5).exp();
        let by = |f: R, c: R| R::of(1.0).copysign(f) * c * half * half * 0.5;
        return z(by(cosine, im.cos()), by(sine, im.sin()));
    }
    z(cosine * im.cos(), sine * im.sin())
}

pub(super) fn exp<R: Real>(x: Z<R>) -> Z<R> {
    if x.im.is_zero() {
        return z(x.re.exp(), x.im);
    }
    if !x.im.is_finite() {
        return match (x.re.is_inf(), x.re.is_negative()) {
            (true, true) => z(zero(), zero::<R>().copysign(x.im)),
            (true, false) => z(x.re, nan()),
            _ => z(nan(), nan()),
        };
    }
    let e = x.re.exp();
    if e.is_inf() && x.re.is_finite() {
        let half = (x.re * 0.5).exp();
        return z(x.im.cos() * half * half, x.im.sin() * half * half);
    }
    z(e * x.im.cos(), e * x.im.sin())
}
pub(super) fn exp2<R: Real>(x: Z<R>) -> Z<R> {
    exp(x * LN_2)
}
pub(super) fn expm1<R: Real>(x: Z<R>) -> Z<R> {
    if x.im.is_zero() {
        return z(x.re.expm1(), x.im);
    }
    if !x.re.is_finite() || x.re.gt(R::of(1.0)) {
        let e = exp(x);
        return z(e.re - 1.0, e.im);
    }
    let s = (x.im * 0.5).sin();
    z(x.re.expm1() * x.im.cos() - s * s * 2.0, x.re.exp() * x.im.sin())
}

pub(super) fn log<R: Real>(x: Z<R>) -> Z<R> {
    let (re, im) = (x.re.abs(), x.im.abs());
    let (big, small) = if re < im { (im, re) } else { (re, im) };
    let near_one = big.gt(R::of(0.5)) && big.lt(R::of(2.0));
    let size = if near_one { ((big - 1.0) * (big + 1.0) + small * small).log1p() * 0.5 } else { x.abs().log() };
    z(size, x.angle())
}
pub(super) fn log2<R: Real>(x: Z<R>) -> Z<R> {
    log(x) * (1.0 / LN_2)
}
pub(super) fn log10<R: Real>(x: Z<R>) -> Z<R> {
    log(x) * (1.0 / LN_10)
}
pub(super) fn log1p<R: Real>(x: Z<R>) -> Z<R> {
    let shifted = x + 1.0;
    if x.re.abs().lt(R::of(0.5)) && x.im.abs().lt(R::of(0.5)) {
        let square = x.re * (x.re + 2.0) + x.im * x.im;
        // Squares of the smallest numbers vanish; then the logarithm is what it is near 0.
        return z(if square.is_zero() { x.re } else { square.log1p() * 0.5 }, shifted.angle());
    }
    log(shifted)
}

/// The product of which one factor may be infinite, which is then infinite too.
fn product<R: Real>(x: Z<R>, y: Z<R>) -> Z<R> {
    let plain = x * y;
    if !(plain.re.is_nan() && plain.im.is_nan()) || !(x.is_inf() || y.is_inf()) {
        return plain;
    }
    // The direction of an infinite factor; NaN of the other one counts as 0.
    let boxed = |v: Z<R>| {
        let infinite = v.is_inf();
        let part = |p: R| match (infinite, p.is_inf()) {
            (true, true) => R::of(1.0).copysign(p),
            (true, false) => zero::<R>().copysign(p),
            _ if p.is_nan() => zero::<R>().copysign(p),
            _ => p,
        };
        z(part(v.re), part(v.im))
    };
    let direction = boxed(x) * boxed(y);
    direction * f64::INFINITY
}

pub(super) fn pow<R: Real>(x: Z<R>, y: Z<R>) -> Z<R> {
    if y.is_zero() {
        return x.lit(1.0);
    }
    if x.is_zero() && y.re.gt(zero()) && y.is_finite() {
        return x.lit(0.0);
    }
    exp(product(y, log(x)))
}
pub(super) fn logaddexp<R: Real>(x: Z<R>, y: Z<R>) -> Z<R> {
    let (hi, lo) = if x.re.lt(y.re) { (y, x) } else { (x, y) };
    if hi.is_nan() || lo.is_nan() {
        return z(nan(), nan());
    }
    if hi.re.is_inf() && hi.re == lo.re {
        return if hi.re.is_negative() { lo } else { log(exp(lo) + exp(hi)) };
    }
    hi + log1p(exp(lo - hi))
}

pub(super) fn sin<R: Real>(x: Z<R>) -> Z<R> {
    over_i(sinh(times_i(x)))
}
pub(super) fn cos<R: Real>(x: Z<R>) -> Z<R> {
    cosh(times_i(x))
}
pub(super) fn tan<R: Real>(x: Z<R>) -> Z<R> {
    over_i(tanh(times_i(x)))
}

pub(super) fn sinh<R: Real>(x: Z<R>) -> Z<R> {
    if x.im.is_zero() {
        return z(x.re.sinh(), x.im);
    }
    if !x.im.is_finite() {
        return match (x.re.is_zero(), x.re.is_inf()) {
            (true, _) => z(x.re, nan()),
            (_, true) => z(x.re.abs(), nan()),
            _ => z(nan(), nan()),
        };
    }
    turned(x.re, (x.re.sinh(), x.re.cosh()), x.im)
}
pub(super) fn cosh<R: Real>(x: Z<R>) -> Z<R> {
    if x.im.is_zero() {
        return z(x.re.cosh(), R::of(1.0).copysign(x.re) * x.im);
    }
    if !x.im.is_finite() {
        return match (x.re.is_zero(), x.re.is_inf()) {
            (true, _) => z(nan(), x.re),
            (_, true) => z(x.re.abs(), nan()),
            _ => z(nan(), nan()),
        };
    }
    if x.re.is_nan() {
        return z(nan(), nan());
    }
    turned(x.re, (x.re.cosh(), x.re.sinh()), x.im)
}
pub(super) fn tanh<R: Real>(x: Z<R>) -> Z<R> {
    let sign = R::of(1.0).copysign(x.re);
    if !x.im.is_finite() {
        return match (x.re.is_zero(), x.re.is_inf()) {
            (true, _) => z(x.re, nan()),
            (_, true) => z(sign, zero::<R>().copysign(x.im)),
            _ => z(nan(), nan()),
        };
    }
    if x.im.is_zero() {
        return z(x.re.tanh(), x.im);
    }
    if x.re.abs().gt(R::of(20.0)) {
        return z(sign, x.im.sin() * x.im.cos() * (x.re.abs() * -2.0).exp() * 4.0);
    }
    let (t, s) = (x.im.tan(), x.re.sinh());
    let beta = t * t + 1.0;
    let rho = (s * s + 1.0).sqrt();
    let d = beta * s * s + 1.0;
    if t.is_inf() {
        return z(rho / s, t.recip());
    }
    z(beta * rho * s / d, t / d)
}

pub(super) fn asin<R: Real>(x: Z<R>) -> Z<R> {
    if !x.is_finite() {
        return over_i(asinh_at_infinity(times_i(x)));
    }
    let (u, v) = (sqrt(-x + 1.0), sqrt(x + 1.0));
    z(x.re.atan2(u.re * v.re - u.im * v.im), cross(u, v).asinh())
}
pub(super) fn acos<R: Real>(x: Z<R>) -> Z<R> {
    if !x.is_finite() {
        let other = asin(x);
        return z(-other.re + FRAC_PI_2, -other.im);
    }
    let (u, v) = (sqrt(-x + 1.0), sqrt(x + 1.0));
    z(u.re.atan2(v.re) * 2.0, cross(v, u).asinh())
}
pub(super) fn atan<R: Real>(x: Z<R>) -> Z<R> {
    over_i(atanh(times_i(x)))
}
pub(super) fn asinh<R: Real>(x: Z<R>) -> Z<R> {
    if x.is_finite() { over_i(asin(times_i(x))) } else { asinh_at_infinity(x) }
}
pub(super) fn acosh<R: Real>(x: Z<R>) -> Z<R> {
    if !x.is_finite() {
        let other = acos(x);
        return z(other.im.abs(), other.re.copysign(x.im));
    }
    let (u, v) = (sqrt(x + -1.0), sqrt(x + 1.0));
    z(inner(u, v).asinh(), u.im.atan2(v.re) * 2.0)
}

/// The inverse hyperbolic sine of what is not finite.
fn asinh_at_infinity<R: Real>(x: Z<R>) -> Z<R> {
    let (re, im) = (x.re, x.im);
    if im.is_inf() {
        let angle = match (re.is_nan(), re.is_inf()) {
            (true, _) => nan(),
            (_, true) => R::of(FRAC_PI_4),
            _ => R::of(FRAC_PI_2),
        };
        return z(im.abs().copysign(re), angle.copysign(im));
    }
    if re.is_inf() && !im.is_nan() || re.is_nan() && im.is_zero() {
        return z(re, zero::<R>().copysign(im));
    }
    z(if re.is_inf() { re } else { nan() }, nan())
}

pub(super) fn atanh<R: Real>(x: Z<R>) -> Z<R> {
    let (re, im) = (x.re.abs(), x.im.abs());
    if !x.is_finite() {
        let vanished = zero::<R>().copysign(x.re);
        return match (im.is_inf(), re.is_inf() && !im.is_nan()) {
            (true, _) | (_, true) => z(vanished, R::of(FRAC_PI_2).copysign(x.im)),
            _ if re.is_inf() || re.is_zero() => z(vanished, nan()),
            _ => z(nan(), nan()),
        };
    }
    if re.max(im).gt(R::of(1e15)) {
        return z(x.recip().re, R::of(FRAC_PI_2).copysign(x.im));
    }
    let one = R::of(1.0);
    let near = (one - re).hypot(im);
    let size = if near.lt(R::of(1e-6)) {
        // The square of the distance from the pole may vanish.
        ((re + 1.0).hypot(im).log() - near.log()) * 0.5
    } else {
        (re * 4.0 / (near * near)).log1p() * 0.25
    };
    let angle = (im * 2.0).atan2((one - re) * (re + 1.0) - im * im) * 0.5;
    z(size.copysign(x.re), angle.copysign(x.im))
}

/// Of the two forms the one whose exponential does not overflow.
pub(super) fn sigmoid<R: Real>(x: Z<R>) -> Z<R> {
    if x.re.is_negative() {
        let e = exp(x);
        return e / (e + 1.0);
    }
    (exp(-x) + 1.0).recip()
}
