//! L0: errors, dtypes and promotion, scalars, shapes and layouts. No data.

// In place of checks at run time, which the kernels of this crate do without: arithmetic here says what happens at its end.
#![deny(clippy::arithmetic_side_effects)]

#[doc(hidden)]
pub mod dtype;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod layout;
#[doc(hidden)]
pub mod promote;
#[doc(hidden)]
pub mod scalar;
#[doc(hidden)]
pub mod shape;
#[doc(hidden)]
pub mod size;

pub use dtype::{DType, Element};
pub use error::{Error, ErrorKind, Result};
#[doc(hidden)]
pub use layout::Layout;
pub use scalar::Scalar;
pub use shape::Shape;
#[doc(hidden)]
pub use shape::{Strides, TypedShape};
