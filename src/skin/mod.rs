//! L7: everything mutable that PyTorch users know, in one thin layer above immutable values.

mod captured;
pub mod cell;
pub mod history;
pub mod index;
pub mod lend;
pub mod lens;
pub mod numbers;
pub mod print;
pub mod read;
pub mod slot;
pub mod tape;
pub mod write;

pub use cell::Cell;
pub use slot::Slot;
