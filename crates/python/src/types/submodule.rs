//! Modules of the package that are made in Rust.

use crate::types::errors::PyResult;
use pyo3::prelude::*;

/// The part of `pullback.<path>` that is made in Rust, such as `func` or `autograd.graph`. The Python module of that
/// path takes over what is added here, besides the operators of the table with that path.
pub fn submodule<'py>(core: &Bound<'py, PyModule>, path: &str) -> PyResult<Bound<'py, PyModule>> {
    let attribute = path.replace('.', "_");
    if let Some(found) = core.getattr_opt(attribute.as_str())? {
        return Ok(found.cast_into()?);
    }
    let made = PyModule::new(core.py(), &format!("pullback.{path}"))?;
    core.setattr(attribute.as_str(), &made)?;
    Ok(made)
}
