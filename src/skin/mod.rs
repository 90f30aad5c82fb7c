//! L6: everything mutable that PyTorch users know, in one thin layer above immutable values.

pub mod index;
pub mod print;
pub mod read;
pub mod slot;

pub use slot::Slot;
