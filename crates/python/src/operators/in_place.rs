//! In-place operators whose result is what a class answers: pyo3's slots always give the left operand back.

use crate::operators::slots::{IN_PLACE, in_place_power};
use crate::tensor::PyTensor;
use crate::types::errors::PyResult;
use pyo3::exceptions::PySystemError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_void;

/// `PyWrapperDescrObject` of `descrobject.h`: what a class has under the name of a slot.
#[repr(C)]
struct Wrapper {
    base: ffi::PyObject,
    class: *mut ffi::PyTypeObject,
    name: *mut ffi::PyObject,
    qualname: *mut ffi::PyObject,
    description: *mut c_void,
    wrapped: *mut c_void,
}

/// Puts our functions into the slots of the class and behind their names, where subclasses take them from.
pub fn install(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<PyTensor>();
    let names = class.getattr("__dict__")?;
    for &(name, function) in IN_PLACE {
        wrap(&names.get_item(name)?, function as *mut c_void)?;
    }
    wrap(&names.get_item("__ipow__")?, in_place_power as *mut c_void)?;
    // SAFETY: a class of the heap, which has its own number slots, before anybody makes an object or a subclass of it.
    unsafe {
        let numbers = &mut *(*class.as_type_ptr()).tp_as_number;
        for &(name, function) in IN_PLACE {
            let slot = match name {
                "__iadd__" => &mut numbers.nb_inplace_add,
                "__isub__" => &mut numbers.nb_inplace_subtract,
                "__imul__" => &mut numbers.nb_inplace_multiply,
                "__itruediv__" => &mut numbers.nb_inplace_true_divide,
                "__ifloordiv__" => &mut numbers.nb_inplace_floor_divide,
                "__imod__" => &mut numbers.nb_inplace_remainder,
                "__imatmul__" => &mut numbers.nb_inplace_matrix_multiply,
                "__iand__" => &mut numbers.nb_inplace_and,
                "__ior__" => &mut numbers.nb_inplace_or,
                "__ixor__" => &mut numbers.nb_inplace_xor,
                "__ilshift__" => &mut numbers.nb_inplace_lshift,
                "__irshift__" => &mut numbers.nb_inplace_rshift,
                _ => return Err(PySystemError::new_err(short!("{name} is no in-place operator")).into()),
            };
            *slot = Some(function);
        }
        numbers.nb_inplace_power = Some(in_place_power);
        ffi::PyType_Modified(class.as_type_ptr());
    }
    Ok(())
}

fn wrap(descriptor: &Bound<'_, PyAny>, function: *mut c_void) -> PyResult<()> {
    if descriptor.get_type().name()? != "wrapper_descriptor" {
        return Err(PySystemError::new_err("an in-place operator is no slot").into());
    }
    // SAFETY: an object of that class, which lives as long as the class of tensors; nobody calls it yet.
    unsafe { (*descriptor.as_ptr().cast::<Wrapper>()).wrapped = function };
    Ok(())
}
