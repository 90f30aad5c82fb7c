//! Complex numbers in pointwise bodies. Branch cuts and special values follow C99; formulas after Kahan,
//! "Branch cuts for complex elementary functions" (1987).

use super::fp::Fp;
use super::lane::{Lane, V};
use super::real::Real;
use num_complex::Complex;
use std::f64::consts::{LN_2, LN_10};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A complex variable of a body.
#[derive(Clone, Copy)]
pub struct Z<R> {
    pub re: R,
    pub im: R,
}

/// What a `complex` body can do with its variables.
pub trait Cplx:
    Copy
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Mul<f64, Output = Self>
    + Add<f64, Output = Self>
{
    /// The type of the real and imaginary parts.
    type Re: Real;
    fn new(re: Self::Re, im: Self::Re) -> Self;
    fn re(self) -> Self::Re;
    fn im(self) -> Self::Re;
    /// A real constant; the receiver only names the type.
    fn lit(self, x: f64) -> Self;
    fn conj(self) -> Self;
    fn abs(self) -> Self::Re;
    fn angle(self) -> Self::Re;
    /// z / |z|, or 0.
    fn sgn(self) -> Self;
    fn scale(self, k: Self::Re) -> Self;
    fn square(self) -> Self;
    fn recip(self) -> Self;
    fn sqrt(self) -> Self;
    fn rsqrt(self) -> Self;
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn expm1(self) -> Self;
    fn log(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn log1p(self) -> Self;
    fn pow(self, y: Self) -> Self;
    fn logaddexp(self, y: Self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;
    fn sigmoid(self) -> Self;
    fn is_nan(self) -> bool;
    fn is_inf(self) -> bool;
    fn is_finite(self) -> bool;
    fn is_zero(self) -> bool;
    #[inline(always)]
    fn eq(self, y: Self) -> bool {
        self == y
    }
    #[inline(always)]
    fn ne(self, y: Self) -> bool {
        self != y
    }
}

impl<T: Fp, const F: bool, const E: bool> Lane for Z<V<T, F, E>> {
    type Mem = Complex<T>;
    type Exact = Z<V<T, F, true>>;
    const HARD: bool = !E;
    #[inline(always)]
    fn load(x: Complex<T>) -> Self {
        Z { re: V::load(x.re), im: V::load(x.im) }
    }
    #[inline(always)]
    fn store(self) -> Complex<T> {
        Complex { re: self.re.store(), im: self.im.store() }
    }
    #[inline(always)]
    fn flag(self) -> bool {
        self.re.flag() | self.im.flag()
    }
}

impl<R: Real> PartialEq for Z<R> {
    #[inline(always)]
    fn eq(&self, y: &Self) -> bool {
        self.re == y.re && self.im == y.im
    }
}
impl<R: Real> Add for Z<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, y: Self) -> Self {
        Z { re: self.re + y.re, im: self.im + y.im }
    }
}
impl<R: Real> Sub for Z<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, y: Self) -> Self {
        Z { re: self.re - y.re, im: self.im - y.im }
    }
}
impl<R: Real> Mul for Z<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, y: Self) -> Self {
        Z { re: self.re * y.re - self.im * y.im, im: self.re * y.im + self.im * y.re }
    }
}
impl<R: Real> Div for Z<R> {
    type Output = Self;
    /// The divisor is scaled to a largest part of 1, so that its square neither overflows nor vanishes.
    #[inline(always)]
    fn div(self, y: Self) -> Self {
        let s = y.re.abs().max(y.im.abs());
        let (c, d) = (y.re / s, y.im / s);
        let q = (c * c + d * d) * s;
        Z { re: (self.re * c + self.im * d) / q, im: (self.im * c - self.re * d) / q }
    }
}
impl<R: Real> Neg for Z<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Z { re: -self.re, im: -self.im }
    }
}
impl<R: Real> Mul<f64> for Z<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, y: f64) -> Self {
        Z { re: self.re * y, im: self.im * y }
    }
}
impl<R: Real> Add<f64> for Z<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, y: f64) -> Self {
        Z { re: self.re + y, im: self.im }
    }
}

/// i z
#[inline(always)]
fn times_i<R: Real>(z: Z<R>) -> Z<R> {
    Z { re: -z.im, im: z.re }
}

/// -i z
#[inline(always)]
fn over_i<R: Real>(z: Z<R>) -> Z<R> {
    Z { re: z.im, im: -z.re }
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

impl<R: Real> Cplx for Z<R> {
    type Re = R;
    #[inline(always)]
    fn new(re: R, im: R) -> Self {
        Z { re, im }
    }
    #[inline(always)]
    fn re(self) -> R {
        self.re
    }
    #[inline(always)]
    fn im(self) -> R {
        self.im
    }
    #[inline(always)]
    fn lit(self, x: f64) -> Self {
        Z { re: R::of(x), im: R::of(0.0) }
    }
    #[inline(always)]
    fn conj(self) -> Self {
        Z { re: self.re, im: -self.im }
    }
    #[inline(always)]
    fn abs(self) -> R {
        self.re.hypot(self.im)
    }
    #[inline(always)]
    fn angle(self) -> R {
        self.im.atan2(self.re)
    }
    #[inline(always)]
    fn sgn(self) -> Self {
        if self.is_zero() { self.lit(0.0) } else { self.scale(self.abs().recip()) }
    }
    #[inline(always)]
    fn scale(self, k: R) -> Self {
        Z { re: self.re * k, im: self.im * k }
    }
    #[inline(always)]
    fn square(self) -> Self {
        Z { re: (self.re - self.im) * (self.re + self.im), im: self.re * self.im * 2.0 }
    }
    #[inline(always)]
    fn recip(self) -> Self {
        self.lit(1.0) / self
    }
    /// With the largest part scaled to 1; the cut lies on the negative real axis.
    fn sqrt(self) -> Self {
        let (x, y) = (self.re.abs(), self.im.abs());
        let s = x.max(y);
        if s.is_zero() || s.is_inf() {
            let im = if self.im.is_inf() { self.im } else { R::of(0.0).copysign(self.im) };
            let up = self.im.is_inf() || self.re.is_nan() || !self.re.is_negative();
            return match (s.is_zero(), up) {
                (true, _) => Z { re: R::of(0.0), im: self.im },
                (_, true) => Z { re: s, im: if self.im.is_nan() { self.im } else { im } },
                _ => Z { re: if self.im.is_nan() { self.im } else { R::of(0.0) }, im: s.copysign(self.im) },
            };
        }
        let (a, b) = (x / s, y / s);
        let root = s.sqrt();
        let t = ((a.hypot(b) + a) * 0.5).sqrt() * root;
        let other = y / (t * 2.0);
        if self.re.is_negative() {
            Z { re: other, im: t.copysign(self.im) }
        } else {
            Z { re: t, im: other.copysign(self.im) }
        }
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        self.sqrt().recip()
    }
    fn exp(self) -> Self {
        let e = self.re.exp();
        // exp(inf + 0i) is inf + 0i, and exp(-inf + yi) vanishes for any y.
        let im = if self.im.is_zero() { self.im } else { e * self.im.sin() };
        if e.is_zero() && !self.im.is_finite() {
            return Z { re: R::of(0.0), im: R::of(0.0) };
        }
        Z { re: if self.im.is_zero() { e } else { e * self.im.cos() }, im }
    }
    fn exp2(self) -> Self {
        (self * LN_2).exp()
    }
    fn expm1(self) -> Self {
        let (s, e) = ((self.im * 0.5).sin(), self.re.exp());
        let im = if self.im.is_zero() { self.im } else { e * self.im.sin() };
        let re = self.re.expm1() * self.im.cos() - s * s * 2.0;
        Z { re: if self.im.is_zero() { self.re.expm1() } else { re }, im }
    }
    fn log(self) -> Self {
        let (x, y) = (self.re.abs(), self.im.abs());
        let (big, small) = if x < y { (y, x) } else { (x, y) };
        let near_one = big.gt(R::of(0.5)) && big.lt(R::of(2.0));
        let re = if near_one { ((big - 1.0) * (big + 1.0) + small * small).log1p() * 0.5 } else { self.abs().log() };
        Z { re, im: self.angle() }
    }
    fn log2(self) -> Self {
        self.log() * (1.0 / LN_2)
    }
    fn log10(self) -> Self {
        self.log() * (1.0 / LN_10)
    }
    fn log1p(self) -> Self {
        let shifted = self + 1.0;
        if self.re.abs().lt(R::of(0.5)) && self.im.abs().lt(R::of(0.5)) {
            let re = (self.re * (self.re + 2.0) + self.im * self.im).log1p() * 0.5;
            return Z { re, im: shifted.angle() };
        }
        shifted.log()
    }
    fn pow(self, y: Self) -> Self {
        if y.is_zero() {
            return self.lit(1.0);
        }
        if self.is_zero() {
            return if y.re.gt(R::of(0.0)) { self.lit(0.0) } else { self.lit(f64::NAN).scale(R::of(1.0)) };
        }
        (y * self.log()).exp()
    }
    fn logaddexp(self, y: Self) -> Self {
        let (hi, lo) = if self.re.lt(y.re) { (y, self) } else { (self, y) };
        if hi.re.is_inf() && hi == lo {
            return hi;
        }
        hi + (lo - hi).exp().log1p()
    }
    fn sin(self) -> Self {
        over_i(times_i(self).sinh())
    }
    fn cos(self) -> Self {
        times_i(self).cosh()
    }
    fn tan(self) -> Self {
        over_i(times_i(self).tanh())
    }
    fn sinh(self) -> Self {
        if self.im.is_zero() {
            return Z { re: self.re.sinh(), im: self.im };
        }
        let re = if self.re.is_zero() { self.re } else { self.re.sinh() * self.im.cos() };
        Z { re, im: self.re.cosh() * self.im.sin() }
    }
    fn cosh(self) -> Self {
        if self.im.is_zero() || self.re.is_zero() {
            let re = if self.im.is_zero() { self.re.cosh() } else { self.im.cos() };
            return Z { re, im: self.re * self.im };
        }
        Z { re: self.re.cosh() * self.im.cos(), im: self.re.sinh() * self.im.sin() }
    }
    fn tanh(self) -> Self {
        if self.re.abs().gt(R::of(20.0)) && self.im.is_finite() {
            let im = (self.im * 2.0).sin() * (self.re.abs() * -2.0).exp() * 2.0;
            return Z { re: R::of(1.0).copysign(self.re), im };
        }
        let t = self.im.tan();
        let beta = t * t + 1.0;
        let s = self.re.sinh();
        let rho = (s * s + 1.0).sqrt();
        let d = beta * s * s + 1.0;
        if t.is_inf() {
            return Z { re: rho / s, im: t.recip() };
        }
        Z { re: beta * rho * s / d, im: t / d }
    }
    fn asin(self) -> Self {
        let (u, v) = (((-self) + 1.0).sqrt(), (self + 1.0).sqrt());
        Z { re: self.re.atan2(u.re * v.re - u.im * v.im), im: cross(u, v).asinh() }
    }
    fn acos(self) -> Self {
        let (u, v) = (((-self) + 1.0).sqrt(), (self + 1.0).sqrt());
        Z { re: u.re.atan2(v.re) * 2.0, im: cross(v, u).asinh() }
    }
    fn atan(self) -> Self {
        over_i(times_i(self).atanh())
    }
    fn asinh(self) -> Self {
        over_i(times_i(self).asin())
    }
    fn acosh(self) -> Self {
        let (u, v) = ((self + -1.0).sqrt(), (self + 1.0).sqrt());
        Z { re: inner(u, v).asinh(), im: u.im.atan2(v.re) * 2.0 }
    }
    fn atanh(self) -> Self {
        let (x, y) = (self.re.abs(), self.im.abs());
        if x.max(y).gt(R::of(1e15)) {
            let re = self.recip().re;
            let quarter = R::of(std::f64::consts::FRAC_PI_2).copysign(self.im);
            return Z { re: if re.is_nan() { R::of(0.0).copysign(self.re) } else { re }, im: quarter };
        }
        let q = (R::of(1.0) - x) * (R::of(1.0) - x) + y * y;
        let re = (x * 4.0 / q).log1p() * 0.25;
        let im = (y * 2.0).atan2((R::of(1.0) - x) * (x + 1.0) - y * y) * 0.5;
        Z { re: re.copysign(self.re), im: im.copysign(self.im) }
    }
    fn sigmoid(self) -> Self {
        ((-self).exp() + 1.0).recip()
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.re.is_nan() || self.im.is_nan()
    }
    #[inline(always)]
    fn is_inf(self) -> bool {
        self.re.is_inf() || self.im.is_inf()
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self.re.is_zero() && self.im.is_zero()
    }
}
