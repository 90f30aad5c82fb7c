//! Methods and attributes of `Tensor` that are written by hand.

pub mod attributes;
pub mod comparison;
pub mod fill;
pub mod kind;
pub mod pickle;
pub mod repr;
pub mod resize;
pub mod storage;
