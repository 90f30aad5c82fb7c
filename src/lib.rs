//! Differentiable array programming on the CPU.

pub mod base;
pub mod dense;
