//! Arrays, kernels and linear algebra on the CPU: what `pullback` computes with. Nothing here knows of derivatives.

pub mod base;
pub mod dense;
