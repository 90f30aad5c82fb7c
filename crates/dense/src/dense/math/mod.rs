//! Scalar mathematics for kernels: bodies without branches that the compiler turns into SIMD loops, and accurate
//! scalar functions for what is rare.

// Constants are written with all the digits of the fit.
#![allow(clippy::excessive_precision)]

pub mod arc;
pub mod complex;
mod complex_functions;
pub mod error_function;
pub mod exp;
pub mod float;
pub mod fp;
pub mod hyperbolic;
pub mod implicit;
pub mod integer;
pub mod lane;
pub mod log;
pub mod power;
pub mod real;
pub mod scalar;
pub mod trig;

pub use complex::{Cplx, Z};
pub use fp::Fp;
pub use integer::{Int, Logic, W};
pub use lane::{Lane, Raw, V};
pub use real::Real;

/// `if cond { a } else { b }` of two values that are both computed, so that loops stay free of branches.
#[inline(always)]
pub fn select<T>(cond: bool, a: T, b: T) -> T {
    fp::pick(cond, a, b)
}

/// A constant in a `float` body.
#[inline(always)]
pub fn lit<R: Real>(x: f64) -> R {
    R::of(x)
}

/// The complex number `re + i im`, in bodies that make complex results.
#[inline(always)]
pub fn complex<R: Real>(re: R, im: R) -> Z<R> {
    Z { re, im }
}

/// What bodies of [`crate::pointwise_kernel`] see.
pub mod prelude {
    pub use super::{Cplx, Int, Lane, Logic, Real, complex, lit, select};
}

#[cfg(test)]
mod tests;
