//! [`Real`] for the variables of `float` bodies.

use super::fp::Fp;
use super::lane::V;
use super::real::Real;
use super::{arc, error_function, exp, hyperbolic, log, power, scalar, trig};
use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

impl<T: PartialEq, const F: bool, const E: bool> PartialEq for V<T, F, E> {
    #[inline(always)]
    fn eq(&self, y: &Self) -> bool {
        self.x == y.x
    }
}
impl<T: PartialOrd, const F: bool, const E: bool> PartialOrd for V<T, F, E> {
    #[inline(always)]
    fn partial_cmp(&self, y: &Self) -> Option<Ordering> {
        self.x.partial_cmp(&y.x)
    }
    // Spelled out because the defaults go through `partial_cmp`, which hinders vectorisation.
    #[inline(always)]
    fn lt(&self, y: &Self) -> bool {
        self.x < y.x
    }
    #[inline(always)]
    fn le(&self, y: &Self) -> bool {
        self.x <= y.x
    }
    #[inline(always)]
    fn gt(&self, y: &Self) -> bool {
        self.x > y.x
    }
    #[inline(always)]
    fn ge(&self, y: &Self) -> bool {
        self.x >= y.x
    }
}

macro_rules! operators {
    ($($trait:ident $op:ident $sign:tt),*) => {$(
        // The `|` joins the flags.
        #[allow(clippy::suspicious_arithmetic_impl)]
        impl<T: Fp, const F: bool, const E: bool> $trait for V<T, F, E> {
            type Output = Self;
            #[inline(always)]
            fn $op(self, y: Self) -> Self {
                V { x: self.x $sign y.x, hard: self.hard | y.hard }
            }
        }
        impl<T: Fp, const F: bool, const E: bool> $trait<f64> for V<T, F, E> {
            type Output = Self;
            #[inline(always)]
            fn $op(self, y: f64) -> Self {
                V { x: self.x $sign T::of(y), hard: self.hard }
            }
        }
    )*};
}
operators!(Add add +, Sub sub -, Mul mul *, Div div /);

impl<T: Fp, const F: bool, const E: bool> Neg for V<T, F, E> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        V { x: -self.x, hard: self.hard }
    }
}

impl<T: Fp, const F: bool, const E: bool> V<T, F, E> {
    #[inline(always)]
    fn map(self, x: T) -> Self {
        V { x, hard: self.hard }
    }
    #[inline(always)]
    fn map2(self, y: Self, x: T) -> Self {
        V { x, hard: self.hard | y.hard }
    }
}

/// Vectorised bodies, and the scalar functions of the careful mode.
macro_rules! fast {
    ($($name:ident => $m:ident::$f:ident, $exact:expr;)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            if E { self.wide($exact) } else { self.map($m::$f::<T, F>(self.x)) }
        }
    )*};
}
macro_rules! fast2 {
    ($($name:ident => $m:ident::$f:ident, $exact:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, y: Self) -> Self {
            if E { self.wide2(y, $exact) } else { self.map2(y, $m::$f::<T, F>(self.x, y.x)) }
        }
    )*};
}
/// Vectorised bodies that cover a part of the arguments and flag the rest.
macro_rules! limited {
    ($($name:ident => $m:ident::$f:ident, $exact:expr;)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            if E {
                return self.wide($exact);
            }
            let (x, hard) = $m::$f::<T, F>(self.x);
            V { x, hard: self.hard | hard }
        }
    )*};
}
macro_rules! via {
    ($($name:ident => $f:path;)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            self.wide($f)
        }
    )*};
}

impl<T: Fp, const F: bool, const E: bool> Real for V<T, F, E> {
    #[inline(always)]
    fn wide(self, f: impl Fn(f64) -> f64) -> Self {
        self.map(T::of(f(self.x.to_f64())))
    }
    #[inline(always)]
    fn wide2(self, y: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        self.map2(y, T::of(f(self.x.to_f64(), y.x.to_f64())))
    }
    #[inline(always)]
    fn wide3(self, y: Self, z: Self, f: impl Fn(f64, f64, f64) -> f64) -> Self {
        let x = T::of(f(self.x.to_f64(), y.x.to_f64(), z.x.to_f64()));
        V { x, hard: self.hard | y.hard | z.hard }
    }
    #[inline(always)]
    fn lit(self, x: f64) -> Self {
        Self::of(x)
    }
    #[inline(always)]
    fn of(x: f64) -> Self {
        V { x: T::of(x), hard: false }
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        V { x: self.x.fma::<F>(b.x, c.x), hard: self.hard | b.hard | c.hard }
    }
    #[inline(always)]
    fn recip(self) -> Self {
        Self::of(1.0) / self
    }
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(self.x.abs())
    }
    #[inline(always)]
    fn sign(self) -> Self {
        let one = T::of(1.0).copysign(self.x);
        // -0 is 0.
        self.map(if self.x.abs() > T::of(0.0) { one } else { self.x + T::of(0.0) })
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        self.map2(sign, self.x.copysign(sign.x))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(self.x.sqrt())
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        self.map(T::of(1.0) / self.x.sqrt())
    }
    #[inline(always)]
    fn floor(self) -> Self {
        self.map(self.x.floor())
    }
    #[inline(always)]
    fn ceil(self) -> Self {
        self.map(self.x.ceil())
    }
    #[inline(always)]
    fn trunc(self) -> Self {
        self.map(self.x.trunc())
    }
    #[inline(always)]
    fn round(self) -> Self {
        self.map(self.x.round_ties_even())
    }

    fast! {
        exp => exp::exp, f64::exp;
        exp2 => exp::exp2, f64::exp2;
        expm1 => exp::expm1, f64::exp_m1;
        log => log::log, f64::ln;
        log1p => log::log1p, f64::ln_1p;
        log2 => log::log2, f64::log2;
        log10 => log::log10, f64::log10;
        asin => arc::asin, f64::asin;
        acos => arc::acos, f64::acos;
        atan => arc::atan, f64::atan;
        sinh => hyperbolic::sinh, f64::sinh;
        cosh => hyperbolic::cosh, f64::cosh;
        tanh => hyperbolic::tanh, f64::tanh;
        asinh => hyperbolic::asinh, f64::asinh;
        acosh => hyperbolic::acosh, f64::acosh;
        atanh => hyperbolic::atanh, f64::atanh;
        sigmoid => hyperbolic::sigmoid, hyperbolic::sigmoid::<f64, false>;
        erf => error_function::erf, error_function::erf::<f64, false>;
        erfc => error_function::erfc, error_function::erfc::<f64, false>;
        erfcx => error_function::erfcx, error_function::erfcx::<f64, false>;
    }
    limited! {
        sin => trig::sin, f64::sin;
        cos => trig::cos, f64::cos;
        tan => trig::tan, f64::tan;
    }
    via! {
        erfinv => scalar::erfinv;
        ndtri => scalar::ndtri;
        lgamma => scalar::lgamma;
        digamma => scalar::digamma;
        trigamma => scalar::trigamma;
        log_ndtr => scalar::log_ndtr;
    }
    #[inline(always)]
    fn polygamma(self, x: Self) -> Self {
        self.wide2(x, scalar::polygamma)
    }
    #[inline(always)]
    fn zeta(self, q: Self) -> Self {
        self.wide2(q, scalar::zeta)
    }
    fast2! {
        pow => power::pow, f64::powf;
        hypot => power::hypot, f64::hypot;
        atan2 => arc::atan2, f64::atan2;
    }
    #[inline(always)]
    fn log_sigmoid(self) -> Self {
        self.min(Self::of(0.0)) - self.map(hyperbolic::log1p_exp_neg_abs::<T, F>(self.x))
    }
    #[inline(always)]
    fn softplus(self) -> Self {
        self.max(Self::of(0.0)) + self.map(hyperbolic::log1p_exp_neg_abs::<T, F>(self.x))
    }
    #[inline(always)]
    fn logaddexp(self, y: Self) -> Self {
        let (hi, d) = (self.max(y), self - y);
        // Equal infinities have no difference.
        let tail = d.map(hyperbolic::log1p_exp_neg_abs::<T, F>(d.x));
        if self.x == y.x { hi + std::f64::consts::LN_2 } else { hi + tail }
    }
    #[inline(always)]
    fn fmod(self, y: Self) -> Self {
        self.map2(y, self.x.fmod(y.x))
    }
    #[inline(always)]
    fn remainder(self, y: Self) -> Self {
        let r = self.x.fmod(y.x);
        let zero = T::of(0.0);
        let other_side = r != zero && (r < zero) != (y.x < zero);
        self.map2(y, if other_side { r + y.x } else { r })
    }
    #[inline(always)]
    fn floor_div(self, y: Self) -> Self {
        let (zero, half, one) = (T::of(0.0), T::of(0.5), T::of(1.0));
        let q = self.x / y.x;
        let r = self.x.fmod(y.x);
        let mut d = (self.x - r) / y.x;
        if r != zero && (y.x < zero) != (r < zero) {
            d = d - one;
        }
        let f = d.floor();
        let f = if d - f > half { f + one } else { f };
        let f = if d == zero { zero.copysign(q) } else { f };
        self.map2(y, if y.x == zero { q } else { f })
    }
    #[inline(always)]
    fn max(self, y: Self) -> Self {
        let m = if self.x > y.x { self.x } else { y.x };
        self.map2(y, if self.x.is_number() { m } else { self.x })
    }
    #[inline(always)]
    fn min(self, y: Self) -> Self {
        let m = if self.x < y.x { self.x } else { y.x };
        self.map2(y, if self.x.is_number() { m } else { self.x })
    }
    #[inline(always)]
    fn fmax(self, y: Self) -> Self {
        let m = if self.x < y.x { y.x } else { self.x };
        self.map2(y, if self.x.is_number() { m } else { y.x })
    }
    #[inline(always)]
    fn fmin(self, y: Self) -> Self {
        let m = if self.x > y.x { y.x } else { self.x };
        self.map2(y, if self.x.is_number() { m } else { y.x })
    }
    #[inline(always)]
    fn nextafter(self, y: Self) -> Self {
        self.map2(y, self.x.next_towards(y.x))
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        !self.x.is_number()
    }
    #[inline(always)]
    fn is_inf(self) -> bool {
        self.x.abs() == T::INFINITY
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.x.abs() < T::INFINITY
    }
    #[inline(always)]
    fn is_negative(self) -> bool {
        self.x.is_negative()
    }
}
