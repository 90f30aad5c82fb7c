//! Methods and attributes of `Tensor` that are written by hand.

pub mod attributes;
pub mod comparison;
pub mod fill;
pub mod kind;
pub mod pickle;
pub mod repr;
pub mod resize;
pub mod storage;

use crate::data::{dlpack, export};
use crate::door::descriptors::install;
use crate::tensor::PyTensor;
use crate::types::errors::PyResult;
use crate::{autograd, door};
use pyo3::prelude::*;

/// Puts the methods and attributes on the class.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = m.py().get_type::<PyTensor>();
    door::callable::open(&class);
    door::overrides::open(&class)?;
    for (methods, attributes) in [
        (pickle::METHODS, pickle::ATTRIBUTES),
        (attributes::METHODS, attributes::ATTRIBUTES),
        (comparison::METHODS, comparison::ATTRIBUTES),
        (export::METHODS, export::ATTRIBUTES),
        (autograd::METHODS, autograd::ATTRIBUTES),
        (fill::METHODS, fill::ATTRIBUTES),
        (dlpack::METHODS, dlpack::ATTRIBUTES),
    ] {
        install(&class, methods, attributes)?;
    }
    Ok(())
}
