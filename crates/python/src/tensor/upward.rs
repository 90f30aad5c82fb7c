//! What tensors ask of the layers above them. These put their functions here when the module is made.

use crate::tensor::PyTensor;
use crate::tensor::gc::Visitor;
use crate::types::errors::PyResult;
use pullback::core::Tensor;
use pyo3::prelude::*;
use std::any::Any;
use std::sync::OnceLock;

/// Of transforms: a value of one is about to be written into a tensor.
pub static ADMIT: OnceLock<fn(&PyTensor, &Tensor)> = OnceLock::new();
/// Of custom functions: somebody asks whether a tensor requires grad, or is about to change that.
pub static LOOK: OnceLock<Look> = OnceLock::new();
/// Of custom functions: the value as a leaf of the running method's own tape, if it is to have one.
pub static LEAF: OnceLock<Leaf> = OnceLock::new();
/// Of layers whose objects hang on tapes: shows the collector what such a thing holds, if it is theirs.
pub static SHOWS: [OnceLock<Show>; 2] = [OnceLock::new(), OnceLock::new()];

pub type Look = fn(Python<'_>, bool) -> PyResult<()>;
pub type Leaf = fn(&Bound<'_, PyTensor>, &Tensor) -> PyResult<Option<Tensor>>;
pub type Show = fn(&dyn Any, &mut Visitor<'_>) -> bool;

#[cold]
#[inline(never)]
pub fn admit(t: &PyTensor, new: &Tensor) {
    if let Some(admit) = ADMIT.get() {
        admit(t, new);
    }
}

pub fn look(py: Python<'_>, changes: bool) -> PyResult<()> {
    LOOK.get().map_or(Ok(()), |look| look(py, changes))
}

pub fn leaf(t: &Bound<'_, PyTensor>, value: &Tensor) -> PyResult<Option<Tensor>> {
    LEAF.get().map_or(Ok(None), |leaf| leaf(t, value))
}

/// Whether one of the layers above knew the thing.
pub fn show(held: &dyn Any, visitor: &mut Visitor<'_>) -> bool {
    SHOWS.iter().filter_map(OnceLock::get).any(|show| show(held, visitor))
}
