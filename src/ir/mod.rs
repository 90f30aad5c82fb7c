//! L3: straight-line programs, recorded while a function runs.
//!
//! NOTE. A program holds operators of the table, so that whoever calls it may do so at any level: under `vmap`, `grad`
//! or another trace its operators are rewritten as if the function itself ran. What the function did besides is kept as
//! far as a program can say it: tensors captured from outside are read at each call, random operators draw again, and
//! of operators that ran under `no_grad` the results carry no derivative of a tape ([`stop`](crate::core::stop)).

mod format;
pub mod passes;
mod print;
mod program;
mod traced;
mod tracing;

#[cfg(test)]
mod tests;

pub use program::{Output, Program};
pub use traced::{Traced, trace};
pub use tracing::Tracing;
