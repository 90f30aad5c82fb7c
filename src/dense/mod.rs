//! L1: memory, strided loops and kernels. No derivative, no level: everything takes and gives [`Array`].

pub mod array;
pub mod buffer;
pub mod copy;
pub mod matmul;
pub mod memory;

pub use array::Array;
pub use buffer::Buffer;
