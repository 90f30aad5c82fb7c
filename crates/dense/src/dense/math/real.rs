//! Floats in pointwise bodies.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// What a `float` body can do with its variables. `x * 2.0` and the like take a constant on the right.
pub trait Real:
    Copy
    + PartialEq
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// A constant; the receiver only names the type.
    fn lit(self, x: f64) -> Self;
    /// The constant `x`.
    fn of(x: f64) -> Self;
    /// `if cond { a } else { b }` without a branch; the receiver only names the type.
    #[inline(always)]
    fn select(self, cond: bool, a: Self, b: Self) -> Self {
        super::select(cond, a, b)
    }
    /// A function computed in double precision, one element at a time: for what has no vectorised body.
    fn wide(self, f: impl Fn(f64) -> f64) -> Self;
    fn wide2(self, y: Self, f: impl Fn(f64, f64) -> f64) -> Self;
    fn wide3(self, y: Self, z: Self, f: impl Fn(f64, f64, f64) -> f64) -> Self;
    fn mul_add(self, b: Self, c: Self) -> Self;
    fn recip(self) -> Self;
    fn square(self) -> Self;
    fn abs(self) -> Self;
    /// -1, 0 or 1; NaN stays.
    fn sign(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn sqrt(self) -> Self;
    fn rsqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    /// To the nearest integer, half to even.
    fn round(self) -> Self;

    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn expm1(self) -> Self;
    fn log(self) -> Self;
    fn log1p(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn pow(self, y: Self) -> Self;
    fn hypot(self, y: Self) -> Self;

    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    /// The angle of the point (x, `self`).
    fn atan2(self, x: Self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;

    /// 1 / (1 + exp(-x)), accurate in both tails.
    fn sigmoid(self) -> Self;
    /// log(sigmoid(x)).
    fn log_sigmoid(self) -> Self;
    /// log(1 + exp(x)).
    fn softplus(self) -> Self;
    /// log(exp(x) + exp(y)).
    fn logaddexp(self, y: Self) -> Self;

    fn erf(self) -> Self;
    fn erfc(self) -> Self;
    /// exp(x²) erfc(x).
    fn erfcx(self) -> Self;
    fn erfinv(self) -> Self;
    /// Quantile of the standard normal distribution.
    fn ndtri(self) -> Self;
    /// log of the standard normal distribution function.
    fn log_ndtr(self) -> Self;
    /// log(|Γ(x)|)
    fn lgamma(self) -> Self;
    /// Derivative of `lgamma`.
    fn digamma(self) -> Self;
    /// Derivative of `digamma`.
    fn trigamma(self) -> Self;
    /// `self`-th derivative of `digamma` at `x`.
    fn polygamma(self, x: Self) -> Self;
    /// Hurwitz zeta function with offset `q`.
    fn zeta(self, q: Self) -> Self;

    /// Remainder with the sign of the dividend, exact.
    fn fmod(self, y: Self) -> Self;
    /// Remainder with the sign of the divisor.
    fn remainder(self, y: Self) -> Self;
    /// The quotient rounded down, consistent with [`Real::remainder`].
    fn floor_div(self, y: Self) -> Self;
    /// The quotient rounded towards zero.
    #[inline(always)]
    fn trunc_div(self, y: Self) -> Self {
        (self / y).trunc()
    }
    /// The larger; NaN if either is.
    fn max(self, y: Self) -> Self;
    /// The smaller; NaN if either is.
    fn min(self, y: Self) -> Self;
    /// The larger; the other if one is NaN.
    fn fmax(self, y: Self) -> Self;
    /// The smaller; the other if one is NaN.
    fn fmin(self, y: Self) -> Self;
    /// The next float towards `y`.
    fn nextafter(self, y: Self) -> Self;

    fn is_nan(self) -> bool;
    fn is_inf(self) -> bool;
    fn is_finite(self) -> bool;
    /// Whether the sign bit is set.
    fn is_negative(self) -> bool;
    #[inline(always)]
    fn is_zero(self) -> bool {
        self == Self::of(0.0)
    }
    #[inline(always)]
    fn lt(self, y: Self) -> bool {
        self < y
    }
    #[inline(always)]
    fn le(self, y: Self) -> bool {
        self <= y
    }
    #[inline(always)]
    fn gt(self, y: Self) -> bool {
        self > y
    }
    #[inline(always)]
    fn ge(self, y: Self) -> bool {
        self >= y
    }
    #[inline(always)]
    fn eq(self, y: Self) -> bool {
        self == y
    }
    #[inline(always)]
    fn ne(self, y: Self) -> bool {
        self != y
    }
}
