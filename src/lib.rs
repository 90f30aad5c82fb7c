//! Differentiable array programming on the CPU.

pub mod base;
pub mod dense;
#[cfg(feature = "python")]
pub mod py;
