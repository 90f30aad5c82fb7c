//! Dtypes as Python objects: one per dtype, compared by identity.

use crate::base::DType;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The type of a tensor's elements.
#[pyclass(frozen, name = "dtype", module = "pullback")]
pub struct PyDType(pub DType);

#[pymethods]
impl PyDType {
    fn __repr__(&self) -> String {
        format!("pullback.{}", self.0)
    }
    fn __reduce__(&self) -> &'static str {
        self.0.name()
    }
}

static OBJECTS: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();

/// The object of a dtype.
pub fn object(py: Python<'_>, d: DType) -> Bound<'_, PyAny> {
    let all = OBJECTS.get_or_init(py, || DType::ALL.iter().filter_map(|&d| Py::new(py, PyDType(d)).ok()).collect());
    all[d as usize].bind(py).clone().into_any()
}

/// The dtype of a dtype object.
pub fn dtype_of(o: *mut ffi::PyObject) -> Option<DType> {
    Python::attach(|py| {
        // SAFETY: `o` is a live object of the caller.
        let o = unsafe { Bound::from_borrowed_ptr(py, o) };
        o.cast_exact::<PyDType>().ok().map(|d| d.get().0)
    })
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyDType>()?;
    for d in DType::ALL {
        m.add(d.name(), object(m.py(), d))?;
    }
    Ok(())
}
