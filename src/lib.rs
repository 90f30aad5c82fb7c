//! Differentiable array programming on the CPU.

pub mod base;
pub mod dense;
#[cfg(feature = "python")]
pub mod py;

/// Headers and tape nodes of the Python module come from lists of small blocks. Rust programs keep their allocator.
#[cfg(feature = "python")]
#[global_allocator]
static ALLOCATOR: dense::memory::SmallBlocks = dense::memory::SmallBlocks;
