//! Result tuples with field names, such as `pullback.return_types.max`.

use crate::types::errors::PyResult;
use pullback::ops::named::{self, NamedType};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::ptr::null_mut;

static TYPES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

fn types(py: Python<'_>) -> &Bound<'_, PyDict> {
    TYPES.get_or_init(py, || PyDict::new(py).unbind()).bind(py)
}

/// The named tuple class, made when it is first needed.
fn class_of<'py>(py: Python<'py>, of: &NamedType) -> PyResult<Bound<'py, PyAny>> {
    let types = types(py);
    if let Some(class) = types.get_item(of.name)? {
        return Ok(class);
    }
    let kwargs = PyDict::new(py);
    kwargs.set_item("module", "pullback.return_types")?;
    let make = py.import("collections")?.getattr("namedtuple")?;
    let class = make.call((of.name, PyTuple::new(py, of.fields)?), Some(&kwargs))?;
    py.import("pullback._named")?.getattr("finish")?.call1((&class,))?;
    types.set_item(of.name, &class)?;
    Ok(class)
}

/// An instance of a named tuple class.
pub fn instance<'py>(py: Python<'py>, of: &NamedType, items: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    let class = class_of(py, of)?.cast_into::<PyType>()?;
    let items = PyTuple::new(py, [PyTuple::new(py, items)?])?;
    // SAFETY: a subclass of `tuple`, and arguments as `tuple` takes them; the result is a new object or an error.
    unsafe {
        let new = ffi::PyTuple_Type.tp_new.expect("tuples are made by it");
        Ok(Bound::from_owned_ptr_or_err(py, new(class.as_type_ptr(), items.as_ptr(), null_mut()))?)
    }
}

/// The class `pullback.return_types.<name>`, or None if there is none.
#[pyfunction]
fn return_type<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    named::all().find(|t| t.name == name).map(|t| class_of(py, t)).transpose()
}

/// The names of all classes.
#[pyfunction]
fn return_type_names() -> Vec<&'static str> {
    named::all().map(|t| t.name).collect()
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.setattr("return_type", wrap_pyfunction!(return_type, m)?)?;
    Ok(m.setattr("return_type_names", wrap_pyfunction!(return_type_names, m)?)?)
}
