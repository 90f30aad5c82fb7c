//! L7: the Python face, the extension module `pullback._core`.

pub mod errors;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::register(m)?;
    Ok(())
}
