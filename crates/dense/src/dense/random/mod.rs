//! Random numbers from one sequence, in the order of the elements: PyTorch's.
//!
//! A generator is a Mersenne Twister with 32 bits a word. A law takes so many words of it for each element, and makes of
//! them what PyTorch's kernels make, so that the same seed gives the same numbers, but for rounding in the last place.
//! Words are drawn in order and become samples in parallel: the numbers do not depend on the number of threads, nor, since
//! the formulas avoid fused multiply-adds, on the instruction set.

mod continuous;
mod discrete;
mod fill;
mod generator;
mod kernels;
mod math;
mod mersenne;
mod multinomial;
mod rejection;

pub use continuous::{cauchy, exponential, log_normal, normal, normal_one_by_one, uniform};
pub use discrete::{anything, bernoulli, bernoulli_with, geometric, integers, randint, randperm};
pub use generator::{Generator, Position, default_generator, manual_seed};
pub use multinomial::{check_weights, choose, multinomial, noise_shape};
pub use rejection::{binomial, leaks, poisson, standard_gamma};

#[cfg(test)]
mod tests;
