//! Result tuples with field names, such as `pullback.return_types.max`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

static TYPES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

fn types(py: Python<'_>) -> &Bound<'_, PyDict> {
    TYPES.get_or_init(py, || PyDict::new(py).unbind()).bind(py)
}

/// An instance of the named tuple type `name`, which is made when it is first needed.
pub fn instance<'py>(
    py: Python<'py>,
    name: &str,
    fields: &[&str],
    items: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let types = types(py);
    let class = match types.get_item(name)? {
        Some(c) => c,
        None => {
            let kwargs = PyDict::new(py);
            kwargs.set_item("module", "pullback.return_types")?;
            let make = py.import("collections")?.getattr("namedtuple")?;
            let class = make.call((name, PyTuple::new(py, fields)?), Some(&kwargs))?;
            types.set_item(name, &class)?;
            class
        }
    };
    class.call1(PyTuple::new(py, items)?)
}

/// Adds the dict of the types made so far, which the module `pullback.return_types` looks into.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.setattr("return_types", types(m.py()))
}
