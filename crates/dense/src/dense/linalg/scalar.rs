//! Elements of matrices that can be decomposed: real and complex, single and double.

use super::backend::Substitution;
use crate::dense::matmul::{Mat, MatMut, ProductElement};
use num_complex::Complex;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A real or complex element.
pub trait Scalar:
    ProductElement
    + Substitution
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    type Real: RealScalar;
    const COMPLEX: bool;
    fn conj(self) -> Self;
    fn re(self) -> Self::Real;
    fn im(self) -> Self::Real;
    fn of_real(x: Self::Real) -> Self;
    fn scale(self, x: Self::Real) -> Self;
    /// The quotient, without avoidable overflow.
    fn over(self, d: Self) -> Self;
    fn over_real(self, d: Self::Real) -> Self;
    /// The modulus, without avoidable overflow.
    fn modulus(self) -> Self::Real;
    /// The square of the modulus.
    fn norm_sqr(self) -> Self::Real;
    /// |re| + |im|: what pivots are chosen by.
    fn taxicab(self) -> Self::Real {
        self.re().abs() + self.im().abs()
    }
    fn is_finite(self) -> bool {
        self.re().finite() && self.im().finite()
    }
}

/// A real element.
pub trait RealScalar: Scalar<Real = Self> + PartialOrd + Div<Output = Self> {
    /// Spacing of numbers at 1.
    const EPS: Self;
    /// The smallest normal number.
    const TINY: Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn finite(self) -> bool;
    fn hypot(self, other: Self) -> Self;
    /// The power of two below or at a number that is not negative, as an exponent; very low for zero.
    fn exponent(self) -> i32;
    /// `2^e`; saturates at the largest and smallest normal power.
    fn exp2i(e: i32) -> Self;
    fn of_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

macro_rules! real {
    ($($t:ident, $bits:ident, $mantissa:literal, $bias:literal);*) => {$(
        impl Scalar for $t {
            type Real = $t;
            const COMPLEX: bool = false;
            #[inline(always)]
            fn conj(self) -> $t { self }
            #[inline(always)]
            fn re(self) -> $t { self }
            #[inline(always)]
            fn im(self) -> $t { 0.0 }
            #[inline(always)]
            fn of_real(x: $t) -> $t { x }
            #[inline(always)]
            fn scale(self, x: $t) -> $t { self * x }
            #[inline(always)]
            fn over(self, d: $t) -> $t { self / d }
            #[inline(always)]
            fn over_real(self, d: $t) -> $t { self / d }
            #[inline(always)]
            fn modulus(self) -> $t { self.abs() }
            #[inline(always)]
            fn norm_sqr(self) -> $t { self * self }
            #[inline(always)]
            fn taxicab(self) -> $t { self.abs() }
        }
        impl RealScalar for $t {
            const EPS: $t = $t::EPSILON;
            const TINY: $t = $t::MIN_POSITIVE;
            #[inline(always)]
            fn sqrt(self) -> $t { $t::sqrt(self) }
            #[inline(always)]
            fn abs(self) -> $t { $t::abs(self) }
            #[inline(always)]
            fn finite(self) -> bool { self.is_finite() }
            #[inline(always)]
            fn hypot(self, other: $t) -> $t { $t::hypot(self, other) }
            fn exponent(self) -> i32 {
                if self == 0.0 {
                    return -$bias - $mantissa;
                }
                if self < $t::MIN_POSITIVE {
                    // Denormal: through a normal number.
                    return (self / $t::EPSILON).exponent() - $mantissa;
                }
                ((self.to_bits() >> $mantissa) & (2 * $bias + 1)) as i32 - $bias
            }
            fn exp2i(e: i32) -> $t {
                $t::from_bits(((e.clamp(1 - $bias, $bias) + $bias) as $bits) << $mantissa)
            }
            #[inline(always)]
            fn of_f64(x: f64) -> $t { x as $t }
            #[inline(always)]
            fn to_f64(self) -> f64 { f64::from(self) }
        }
        impl Scalar for Complex<$t> {
            type Real = $t;
            const COMPLEX: bool = true;
            #[inline(always)]
            fn conj(self) -> Self { Complex::conj(&self) }
            #[inline(always)]
            fn re(self) -> $t { self.re }
            #[inline(always)]
            fn im(self) -> $t { self.im }
            #[inline(always)]
            fn of_real(x: $t) -> Self { Complex::new(x, 0.0) }
            #[inline(always)]
            fn scale(self, x: $t) -> Self { Complex::new(self.re * x, self.im * x) }
            #[inline(always)]
            fn over(self, d: Self) -> Self {
                // Smith's method: squares of the denominator could leave the range.
                if d.re.abs() >= d.im.abs() {
                    let r = d.im / d.re;
                    let size = d.re + d.im * r;
                    Complex::new((self.re + self.im * r) / size, (self.im - self.re * r) / size)
                } else {
                    let r = d.re / d.im;
                    let size = d.re * r + d.im;
                    Complex::new((self.re * r + self.im) / size, (self.im * r - self.re) / size)
                }
            }
            #[inline(always)]
            fn over_real(self, d: $t) -> Self { Complex::new(self.re / d, self.im / d) }
            #[inline(always)]
            fn modulus(self) -> $t { self.re.hypot(self.im) }
            #[inline(always)]
            fn norm_sqr(self) -> $t { self.re * self.re + self.im * self.im }
        }
    )*};
}
real!(f32, u32, 23, 127; f64, u64, 52, 1023);

/// `c -= op(a) · op(b)`, where `op` conjugates if asked; m, n > 0.
///
/// # Safety
/// As [`ProductElement::product`].
pub unsafe fn sub_product<T: Scalar>(
    (m, n, k): (usize, usize, usize),
    (a, conj_a): (Mat<T>, bool),
    (b, conj_b): (Mat<T>, bool),
    c: MatMut<T>,
) {
    // SAFETY: by the contract.
    unsafe { scaled_product((m, n, k), (a, conj_a), (b, conj_b), c, Some(T::one()), -T::one()) }
}

/// `c = op(a) · op(b)`.
///
/// # Safety
/// As [`ProductElement::product`].
pub unsafe fn set_product<T: Scalar>(
    (m, n, k): (usize, usize, usize),
    (a, conj_a): (Mat<T>, bool),
    (b, conj_b): (Mat<T>, bool),
    c: MatMut<T>,
) {
    // SAFETY: by the contract.
    unsafe { scaled_product((m, n, k), (a, conj_a), (b, conj_b), c, None, T::one()) }
}

unsafe fn scaled_product<T: Scalar>(
    (m, n, k): (usize, usize, usize),
    (a, conj_a): (Mat<T>, bool),
    (b, conj_b): (Mat<T>, bool),
    c: MatMut<T>,
    keep: Option<T>,
    factor: T,
) {
    if m == 0 || n == 0 || (k == 0 && keep.is_some()) {
        return;
    }
    // SAFETY: by the contract.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.ptr,
            c.cs,
            c.rs,
            keep.is_some(),
            a.ptr,
            a.cs,
            a.rs,
            b.ptr,
            b.cs,
            b.rs,
            keep.unwrap_or(T::zero()),
            factor,
            false,
            conj_a && T::COMPLEX,
            conj_b && T::COMPLEX,
            gemm::Parallelism::None,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_and_powers_of_two_are_exact() {
        for e in -1000..1000 {
            assert_eq!(f64::exp2i(e), 2f64.powf(f64::from(e)));
            assert_eq!((2f64.powf(f64::from(e)) * 1.5).exponent(), e);
        }
        assert_eq!(2f64.powf(-1060.0).exponent(), -1060);
        assert_eq!(f32::exp2i(-126), f32::MIN_POSITIVE);
        assert_eq!(f32::from_bits(1).exponent(), -149);
    }
}
