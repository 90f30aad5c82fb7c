//! Differentiable array programming on the CPU.

pub mod base;
pub mod core;
pub mod dense;
pub mod rules;
