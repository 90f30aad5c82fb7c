//! L1: memory, strided loops and kernels. No derivative, no level: everything takes and gives [`Array`].

pub mod array;
pub mod buffer;
pub mod cast;
mod channels;
pub mod composed;
pub mod conv;
pub mod copy;
pub mod ctc;
pub mod donation;
mod fill;
pub mod first_thread;
pub mod grid_sample;
pub mod index;
pub mod isa;
pub mod linalg;
pub mod math;
pub mod matmul;
pub mod memory;
pub mod optim;
pub mod order;
pub mod pairs;
pub(crate) mod parallel;
pub mod pointwise;
pub mod random;
pub mod recurrent;
pub mod reduce;
pub mod region;
pub mod resample;
#[cfg(test)]
pub(crate) mod samples;
pub mod scan;
mod scratch;
pub mod sort;
pub mod stack;
pub mod strided;
pub mod threads;
pub mod window;

pub use array::Array;
pub use buffer::Buffer;
