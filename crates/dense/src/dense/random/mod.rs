//! Random numbers that depend on the seed and on the place of the element, and on nothing else.
//!
//! Philox4x32-10 turns a counter into words without any state, so element `i` of a draw is a function of the seed,
//! the generator's offset and `i`: the same for any number of threads and any instruction set (the formulas below
//! avoid fused multiply-adds on purpose). Each draw advances the offset past the words that it used.
//!
//! Words come in *groups* of 16 consecutive counters, 64 words of 32 bits. A group holds 64 elements that need 32 bits
//! each or 32 elements that need 64; a draw starts with a new group.

mod continuous;
mod discrete;
mod fill;
mod generator;
mod kernels;
mod math;
mod multinomial;
mod philox;
mod rejection;

pub use continuous::{cauchy, exponential, log_normal, normal, normal_at, uniform, uniform_at};
pub use discrete::{bernoulli, bernoulli_with, geometric, integers, randint, randperm};
pub use generator::{Generator, default_generator, manual_seed};
pub use multinomial::{check_weights, choose, multinomial, noise_shape};
pub use rejection::{binomial, poisson, standard_gamma};

#[cfg(test)]
mod tests;
