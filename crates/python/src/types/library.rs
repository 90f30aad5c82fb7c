//! What the library calls itself in texts: `pullback`, or `torch` where programs import it by that name.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_TORCH: AtomicBool = AtomicBool::new(false);

/// The name of the package, with a point behind it.
pub fn prefix() -> &'static str {
    if IS_TORCH.load(Relaxed) { "torch." } else { "pullback." }
}

/// Lets dtypes, sizes and tensors show themselves as parts of `torch`.
#[pyfunction]
fn _show_as_torch(yes: bool) {
    IS_TORCH.store(yes, Relaxed);
}

/// What names begin with in texts.
#[pyfunction]
fn _shown_prefix() -> &'static str {
    prefix()
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.setattr("_show_as_torch", wrap_pyfunction!(_show_as_torch, m)?)?;
    m.setattr("_shown_prefix", wrap_pyfunction!(_shown_prefix, m)?)
}
