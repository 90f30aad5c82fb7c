//! The arguments `in_dims` and `out_dims` of `vmap`.

use super::fail;
use super::transform::Transform;
use crate::types::brief::brief;
use crate::types::class::type_name;
use crate::types::errors::{Fault, PyResult};
use pullback::base::ErrorKind;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

/// `in_dims` or `out_dims`.
pub enum Dims {
    Int(i64),
    Tree(Py<PyAny>),
}

/// Dimensions as given.
pub struct DimsArgument(pub Dims);

impl DimsArgument {
    pub const DEFAULT: DimsArgument = DimsArgument(Dims::Int(0));
}

impl<'a, 'py> FromPyObject<'a, 'py> for DimsArgument {
    type Error = Fault;
    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let whole = obj.is_exact_instance_of::<PyInt>().then(|| obj.extract().ok()).flatten();
        Ok(DimsArgument(match whole {
            Some(i) => Dims::Int(i),
            None => Dims::Tree(obj.to_owned().unbind()),
        }))
    }
}

/// An int or None; the outer option is empty for anything else.
pub fn dimension(obj: &Bound<'_, PyAny>) -> Option<Option<i64>> {
    if obj.is_none() {
        return Some(None);
    }
    if obj.is_instance_of::<PyInt>() && !obj.is_instance_of::<PyBool>() { obj.extract().ok().map(Some) } else { None }
}

/// An int or None.
pub fn out_dimension(t: &Transform, obj: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if let Some(dim) = dimension(obj) {
        return Ok(dim);
    }
    let message = format!(
        "{}: `out_dims` must be an int, None or a python collection of ints that says where the batch goes, got {}",
        t.label(obj.py())?,
        type_name(obj)
    );
    Err(fail(ErrorKind::Value, message).into())
}

/// The error for `in_dims` that are no int and no tuple.
#[cold]
pub fn wrong_in_dims(t: &Transform, got: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let message = format!(
        "{}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got {} \
         of type {}",
        t.label(got.py())?,
        brief(got)?,
        type_name(got)
    );
    Ok(fail(ErrorKind::Value, message))
}
