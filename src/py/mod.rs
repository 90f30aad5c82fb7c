//! L7: the Python face, the extension module `pullback._core`. It converts, binds the table and maps errors; semantics
//! live below.

pub mod convert;
pub mod data;
pub mod device;
pub mod door;
pub mod dtype;
pub mod errors;
pub mod limits;
pub mod named;
pub mod operators;
pub mod parse;
pub mod pytree;
pub mod size;
pub mod tensor;
pub mod views;

use crate::core::params::Parameters;
use pyo3::prelude::*;
use std::sync::Arc;

/// A library object that an entry takes as it is, such as a generator.
pub fn object(_o: &Bound<'_, PyAny>) -> Option<Arc<dyn Parameters>> {
    None
}

#[pymodule(gil_used = true)]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::register(m)?;
    dtype::register(m)?;
    limits::register(m)?;
    device::register(m)?;
    size::register(m)?;
    tensor::register(m)?;
    pytree::register(m)?;
    data::register(m)?;
    door::register(m)?;
    Ok(())
}
