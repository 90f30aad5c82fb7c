//! Complex numbers in pointwise bodies.

use super::complex_functions as functions;
use super::fp::Fp;
use super::lane::{Lane, V};
use super::real::Real;
use super::select;
use num_complex::Complex;
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
    /// The divisor is scaled to a largest part of 1, so that its square neither overflows nor vanishes. A zero divides
    /// the parts, and infinities make zeros.
    #[inline(always)]
    fn div(self, y: Self) -> Self {
        let (zero, one) = (R::of(0.0), R::of(1.0));
        let s = y.re.abs().max(y.im.abs());
        let part = |p: R| select(s.is_inf(), select(p.is_inf(), one, zero).copysign(p), p / s);
        let (c, d) = (select(s.is_zero(), one, part(y.re)), select(s.is_zero(), zero, part(y.im)));
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

/// Methods that are the functions of these names.
macro_rules! elementary {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            functions::$name(self)
        }
    )*};
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
    #[inline(always)]
    fn rsqrt(self) -> Self {
        self.sqrt().recip()
    }
    elementary! { sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh sigmoid }
    #[inline(always)]
    fn pow(self, y: Self) -> Self {
        functions::pow(self, y)
    }
    #[inline(always)]
    fn logaddexp(self, y: Self) -> Self {
        functions::logaddexp(self, y)
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
