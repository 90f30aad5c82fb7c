//! L0: errors, dtypes and promotion, scalars, shapes and layouts. No data.

// In place of checks at run time, which the kernels of this crate do without: arithmetic here says what happens at its end.
#![deny(clippy::arithmetic_side_effects)]

pub mod dtype;
pub mod error;
pub mod layout;
pub mod promote;
pub mod scalar;
pub mod shape;
pub mod size;

pub use dtype::{DType, Element};
pub use error::{Error, Kind, Result};
pub use layout::Layout;
pub use scalar::Scalar;
pub use shape::{Form, Shape, Strides};
