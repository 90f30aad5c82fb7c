//! In-place operators whose result is what a class answers: pyo3's slots always give the left operand back.

use crate::operators::slots::{IN_PLACE, in_place_power};
use crate::tensor::PyTensor;
use crate::types::errors::PyResult;
use pyo3::exceptions::PySystemError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::c_void;

/// Puts our functions into the slots of the class and behind their names, where subclasses take them from.
pub fn install(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<PyTensor>();
    for &(name, function) in IN_PLACE {
        put(&class, name, function as *mut c_void)?;
    }
    put(&class, "__ipow__", in_place_power as *mut c_void)?;
    // SAFETY: a class.
    unsafe { ffi::PyType_Modified(class.as_type_ptr()) };
    Ok(())
}

fn put(class: &Bound<'_, PyType>, name: &str, function: *mut c_void) -> PyResult<()> {
    let descriptor = class.getattr("__dict__")?.get_item(name)?;
    if descriptor.get_type().name()? != "wrapper_descriptor" {
        return Err(PySystemError::new_err("an in-place operator is no slot").into());
    }
    // SAFETY: the descriptor is of that class; it says where its slot lies in a class of the heap, as this one is, and
    // nobody has made an object or a subclass of the class yet.
    unsafe {
        let descriptor = &mut *descriptor.as_ptr().cast::<ffi::PyWrapperDescrObject>();
        let slot = class.as_ptr().cast::<u8>().offset((*descriptor.d_base).offset as isize);
        *slot.cast::<*mut c_void>() = function;
        descriptor.d_wrapped = function;
    }
    Ok(())
}
