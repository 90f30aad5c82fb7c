//! What the algorithms need of `f32` and `f64`: exact operations, bits and constants.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A binary floating-point type. `F` says whether fused multiply-add is an instruction; without it the algorithms
/// multiply and add, because a call per element would prevent vectorisation.
pub trait Fp:
    Copy
    + Default
    + PartialOrd
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// An integer as wide as the type.
    type Bits: Copy + Default + Eq + std::ops::BitOrAssign;
    const INFINITY: Self;
    const NAN: Self;
    /// Smallest positive normal number.
    const TINY: Self;
    const MAX: Self;
    /// Adding and subtracting it rounds to an integer (half to even) what is below 2^22 or 2^51.
    const ROUNDER: Self;

    /// Single precision, otherwise double.
    const SINGLE: bool;

    fn of(x: f64) -> Self;
    /// The constant of this precision.
    #[inline(always)]
    fn either(single: f64, double: f64) -> Self {
        Self::of(if Self::SINGLE { single } else { double })
    }
    /// The polynomial of this precision at `self`.
    fn poly<const F: bool, const A: usize, const B: usize>(self, single: &[f64; A], double: &[f64; B]) -> Self;
    fn to_f64(self) -> f64;
    fn mask(flag: bool) -> Self::Bits;
    /// `self * b + c`, rounded once if `F`.
    fn fma<const F: bool>(self, b: Self, c: Self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn round_ties_even(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn is_negative(self) -> bool;
    /// Not NaN.
    fn is_number(self) -> bool;
    /// The C remainder: sign of the dividend, exact.
    fn fmod(self, y: Self) -> Self;
    /// The next float in the direction of `y`.
    fn next_towards(self, y: Self) -> Self;
    /// 2^n for an integer n in the range of normal exponents.
    fn exp2i(n: Self) -> Self;
    /// The sign of `self` flipped if the integer `n`, rounded with [`Fp::ROUNDER`] still added, is odd.
    fn flip_if_odd(self, rounded: Self) -> Self;
    /// Mantissa in [√½, √2) and exponent of a positive normal number.
    fn split(self) -> (Self, Self);
}

macro_rules! fp {
    ($t:ident, $bits:ident, $rounder:expr, $mantissa:literal, $bias:literal, $sqrt_half:literal, $exp_magic:expr) => {
        impl Fp for $t {
            type Bits = $bits;
            const SINGLE: bool = $bits::BITS == 32;
            const INFINITY: Self = $t::INFINITY;
            const NAN: Self = $t::NAN;
            const TINY: Self = $t::MIN_POSITIVE;
            const MAX: Self = $t::MAX;
            const ROUNDER: Self = $rounder;

            #[inline(always)]
            fn of(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn poly<const F: bool, const A: usize, const B: usize>(self, single: &[f64; A], double: &[f64; B]) -> Self {
                if Self::SINGLE { horner::<Self, F, A>(self, single) } else { horner::<Self, F, B>(self, double) }
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn mask(flag: bool) -> $bits {
                flag as $bits
            }
            #[inline(always)]
            fn fma<const F: bool>(self, b: Self, c: Self) -> Self {
                if F { self.mul_add(b, c) } else { self * b + c }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn floor(self) -> Self {
                self.floor()
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                self.ceil()
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                self.trunc()
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                self.copysign(sign)
            }
            #[inline(always)]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            #[inline(always)]
            fn is_number(self) -> bool {
                !self.is_nan()
            }
            #[inline(always)]
            fn fmod(self, y: Self) -> Self {
                self % y
            }
            #[inline(always)]
            fn next_towards(self, y: Self) -> Self {
                if self < y {
                    self.next_up()
                } else if self > y {
                    self.next_down()
                } else {
                    // Equal, where zeros take the sign of `y`, or NaN.
                    if self == y { y } else { $t::NAN }
                }
            }
            #[inline(always)]
            fn exp2i(n: Self) -> Self {
                $t::from_bits((n + ($rounder + $bias as $t)).to_bits() << $mantissa)
            }
            #[inline(always)]
            fn flip_if_odd(self, rounded: Self) -> Self {
                $t::from_bits(self.to_bits() ^ (rounded.to_bits() << ($bits::BITS - 1)))
            }
            #[inline(always)]
            fn split(self) -> (Self, Self) {
                const ONE: $bits = ($bias as $bits) << $mantissa;
                let t = self.to_bits().wrapping_add(ONE - $sqrt_half);
                let m = $t::from_bits((t & ((1 << $mantissa) - 1)).wrapping_add($sqrt_half));
                // The biased exponent, read as the low bits of 2^mantissa.
                let magic: $t = $exp_magic;
                let e = $t::from_bits((t >> $mantissa) | magic.to_bits()) - (magic + $bias as $t);
                (m, e)
            }
        }
    };
}
fp!(f32, u32, 12582912.0, 23, 127, 0x3f3504f3, 8388608.0);
fp!(f64, u64, 6755399441055744.0, 52, 1023, 0x3fe6a09e667f3bcd, 4503599627370496.0);

/// `c[0] + c[1] z + c[2] z² + …`
#[inline(always)]
pub fn horner<T: Fp, const F: bool, const N: usize>(z: T, c: &[f64; N]) -> T {
    let mut p = T::of(c[N - 1]);
    let mut k = N - 1;
    while k > 0 {
        k -= 1;
        p = p.fma::<F>(z, T::of(c[k]));
    }
    p
}

/// `if cond { a } else { b }` that stays a selection: a chain of plain ones may be threaded into branches, and a loop
/// with branches is not vectorised.
#[inline(always)]
pub fn pick<T>(cond: bool, a: T, b: T) -> T {
    std::hint::select_unpredictable(cond, a, b)
}
