//! Integers in pointwise bodies: arithmetic wraps, and a division by zero is noted, not trapped.

use super::lane::Lane;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Shl, Shr, Sub};

/// What an `int` body can do with its variables. Arithmetic wraps around.
pub trait Int:
    Copy
    + PartialEq
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Not<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<Output = Self>
    + Shr<Output = Self>
{
    /// A constant.
    fn lit(self, x: i64) -> Self;
    fn abs(self) -> Self;
    /// -1, 0 or 1.
    fn sign(self) -> Self;
    /// The quotient rounded down. Dividing by zero makes the operator fail.
    fn floor_div(self, y: Self) -> Self;
    /// The quotient rounded towards zero. Dividing by zero makes the operator fail.
    fn trunc_div(self, y: Self) -> Self;
    /// Remainder with the sign of the divisor. Dividing by zero makes the operator fail.
    fn remainder(self, y: Self) -> Self;
    /// Remainder with the sign of the dividend. Dividing by zero makes the operator fail.
    fn fmod(self, y: Self) -> Self;
    /// Wrapping power; a negative exponent gives the power truncated: 0 unless the base is 1 or -1.
    fn pow(self, y: Self) -> Self;
    /// Greatest common divisor, not negative.
    fn gcd(self, y: Self) -> Self;
    /// Least common multiple, not negative.
    fn lcm(self, y: Self) -> Self;
    fn max(self, y: Self) -> Self;
    fn min(self, y: Self) -> Self;
    fn lt(self, y: Self) -> bool;
    fn le(self, y: Self) -> bool;
    fn gt(self, y: Self) -> bool;
    fn ge(self, y: Self) -> bool;
    fn eq(self, y: Self) -> bool;
    fn ne(self, y: Self) -> bool;
    fn is_zero(self) -> bool;
}

/// An integer and whether something was divided by zero on the way to it.
#[derive(Clone, Copy)]
pub struct W<T> {
    x: T,
    fault: bool,
}

impl<T: PartialEq> PartialEq for W<T> {
    #[inline(always)]
    fn eq(&self, y: &Self) -> bool {
        self.x == y.x
    }
}
impl<T: PartialOrd> PartialOrd for W<T> {
    #[inline(always)]
    fn partial_cmp(&self, y: &Self) -> Option<std::cmp::Ordering> {
        self.x.partial_cmp(&y.x)
    }
}

macro_rules! operators {
    ($t:ty: $($trait:ident $op:ident $f:ident),*) => {$(
        // The `|` joins the flags.
        #[allow(clippy::suspicious_arithmetic_impl)]
        impl $trait for W<$t> {
            type Output = Self;
            #[inline(always)]
            fn $op(self, y: Self) -> Self {
                W { x: $f(self.x, y.x), fault: self.fault | y.fault }
            }
        }
    )*};
}

macro_rules! integer {
    ($t:ident, $signed:literal) => {
        #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
        const _: () = {
            #[inline(always)]
            fn add(x: $t, y: $t) -> $t {
                x.wrapping_add(y)
            }
            #[inline(always)]
            fn sub(x: $t, y: $t) -> $t {
                x.wrapping_sub(y)
            }
            #[inline(always)]
            fn mul(x: $t, y: $t) -> $t {
                x.wrapping_mul(y)
            }
            #[inline(always)]
            fn and(x: $t, y: $t) -> $t {
                x & y
            }
            #[inline(always)]
            fn or(x: $t, y: $t) -> $t {
                x | y
            }
            #[inline(always)]
            fn xor(x: $t, y: $t) -> $t {
                x ^ y
            }
            // A shift by the width or more, or by a negative number, leaves no bit.
            #[inline(always)]
            fn shl(x: $t, y: $t) -> $t {
                let ok = (y as u64) < $t::BITS as u64;
                let z = x.wrapping_shl(y as u32);
                if ok { z } else { 0 }
            }
            // As above, but the sign stays.
            #[inline(always)]
            fn shr(x: $t, y: $t) -> $t {
                let ok = (y as u64) < $t::BITS as u64;
                x.wrapping_shr(if ok { y as u32 } else { $t::BITS - 1 }) & if ok || $signed { !0 } else { 0 }
            }
            #[inline(always)]
            fn floor_div(x: $t, y: $t) -> $t {
                let q = x.wrapping_div(y);
                let r = x.wrapping_rem(y);
                if r != 0 && $signed && ((r < 0 as $t) != (y < 0 as $t)) { q.wrapping_sub(1) } else { q }
            }
            #[inline(always)]
            fn remainder(x: $t, y: $t) -> $t {
                let r = x.wrapping_rem(y);
                if r != 0 && $signed && ((r < 0 as $t) != (y < 0 as $t)) { r.wrapping_add(y) } else { r }
            }
            #[inline(always)]
            fn magnitude(x: $t) -> $t {
                if $signed && x < 0 as $t { x.wrapping_neg() } else { x }
            }
            fn pow(x: $t, y: $t) -> $t {
                if $signed && y < 0 as $t {
                    return match x {
                        1 => 1,
                        _ if x.wrapping_add(1) == 0 => {
                            if y & 1 == 0 {
                                1
                            } else {
                                x
                            }
                        }
                        _ => 0,
                    };
                }
                let (mut base, mut left, mut acc) = (x, y, 1 as $t);
                while left > 0 {
                    if left & 1 == 1 {
                        acc = acc.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                acc
            }
            fn gcd(x: $t, y: $t) -> $t {
                let (mut a, mut b) = (x, y);
                while b != 0 {
                    (a, b) = (b, a.wrapping_rem(b));
                }
                magnitude(a)
            }
    operators!($t: Add add add, Sub sub sub, Mul mul mul, BitAnd bitand and, BitOr bitor or,
                        BitXor bitxor xor, Shl shl shl, Shr shr shr);

            impl Neg for W<$t> {
                type Output = Self;
                #[inline(always)]
                fn neg(self) -> Self {
                    W { x: self.x.wrapping_neg(), fault: self.fault }
                }
            }
            impl Not for W<$t> {
                type Output = Self;
                #[inline(always)]
                fn not(self) -> Self {
                    W { x: !self.x, fault: self.fault }
                }
            }

            impl W<$t> {
                #[inline(always)]
                fn divided(self, y: Self, f: impl Fn($t, $t) -> $t) -> Self {
                    let zero = y.x == 0;
                    W { x: f(self.x, if zero { 1 } else { y.x }), fault: self.fault | y.fault | zero }
                }
                #[inline(always)]
                fn with(self, y: Self, x: $t) -> Self {
                    W { x, fault: self.fault | y.fault }
                }
            }

            impl Int for W<$t> {
                #[inline(always)]
                fn lit(self, x: i64) -> Self {
                    W { x: x as $t, fault: false }
                }
                #[inline(always)]
                fn abs(self) -> Self {
                    W { x: magnitude(self.x), ..self }
                }
                #[inline(always)]
                fn sign(self) -> Self {
                    W { x: ((self.x > 0) as $t).wrapping_sub(($signed && self.x < 0 as $t) as $t), ..self }
                }
                #[inline(always)]
                fn floor_div(self, y: Self) -> Self {
                    self.divided(y, floor_div)
                }
                #[inline(always)]
                fn trunc_div(self, y: Self) -> Self {
                    self.divided(y, <$t>::wrapping_div)
                }
                #[inline(always)]
                fn remainder(self, y: Self) -> Self {
                    self.divided(y, remainder)
                }
                #[inline(always)]
                fn fmod(self, y: Self) -> Self {
                    self.divided(y, <$t>::wrapping_rem)
                }
                #[inline(always)]
                fn pow(self, y: Self) -> Self {
                    self.with(y, pow(self.x, y.x))
                }
                #[inline(always)]
                fn gcd(self, y: Self) -> Self {
                    self.with(y, gcd(self.x, y.x))
                }
                #[inline(always)]
                fn lcm(self, y: Self) -> Self {
                    let g = gcd(self.x, y.x);
                    self.with(y, if g == 0 { 0 } else { magnitude(self.x.wrapping_div(g).wrapping_mul(y.x)) })
                }
                #[inline(always)]
                fn max(self, y: Self) -> Self {
                    self.with(y, if self.x > y.x { self.x } else { y.x })
                }
                #[inline(always)]
                fn min(self, y: Self) -> Self {
                    self.with(y, if self.x < y.x { self.x } else { y.x })
                }
                #[inline(always)]
                fn lt(self, y: Self) -> bool {
                    self.x < y.x
                }
                #[inline(always)]
                fn le(self, y: Self) -> bool {
                    self.x <= y.x
                }
                #[inline(always)]
                fn gt(self, y: Self) -> bool {
                    self.x > y.x
                }
                #[inline(always)]
                fn ge(self, y: Self) -> bool {
                    self.x >= y.x
                }
                #[inline(always)]
                fn eq(self, y: Self) -> bool {
                    self.x == y.x
                }
                #[inline(always)]
                fn ne(self, y: Self) -> bool {
                    self.x != y.x
                }
                #[inline(always)]
                fn is_zero(self) -> bool {
                    self.x == 0
                }
            }

            impl Lane for W<$t> {
                type Mem = $t;
                type Exact = Self;
                const HARD: bool = false;
                #[inline(always)]
                fn load(x: $t) -> Self {
                    W { x, fault: false }
                }
                #[inline(always)]
                fn store(self) -> $t {
                    self.x
                }
                #[inline(always)]
                fn flag(self) -> bool {
                    self.fault
                }
            }
        };
    };
}
integer!(u8, false);
integer!(i8, true);
integer!(i16, true);
integer!(i32, true);
integer!(i64, true);

/// What a `bool` body can do beyond `& | ^ !`.
pub trait Logic: Copy {
    fn max(self, y: Self) -> bool;
    fn min(self, y: Self) -> bool;
    fn lt(self, y: Self) -> bool;
    fn le(self, y: Self) -> bool;
    fn gt(self, y: Self) -> bool;
    fn ge(self, y: Self) -> bool;
    fn eq(self, y: Self) -> bool;
    fn ne(self, y: Self) -> bool;
}

impl Logic for bool {
    #[inline(always)]
    fn max(self, y: bool) -> bool {
        self | y
    }
    #[inline(always)]
    fn min(self, y: bool) -> bool {
        self & y
    }
    #[inline(always)]
    fn lt(self, y: bool) -> bool {
        !self & y
    }
    #[inline(always)]
    fn le(self, y: bool) -> bool {
        !self | y
    }
    #[inline(always)]
    fn gt(self, y: bool) -> bool {
        self & !y
    }
    #[inline(always)]
    fn ge(self, y: bool) -> bool {
        self | !y
    }
    #[inline(always)]
    fn eq(self, y: bool) -> bool {
        self == y
    }
    #[inline(always)]
    fn ne(self, y: bool) -> bool {
        self != y
    }
}
