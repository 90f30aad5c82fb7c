//! Threads and memory of the process.

use crate::types::errors::PyResult;
use pullback::dense::{memory, threads};
use pyo3::prelude::*;

/// Sets how many threads kernels use. Results do not depend on it.
#[pyfunction]
fn set_num_threads(n: i64) -> PyResult<()> {
    Ok(threads::set_num_threads(n)?)
}

/// How many threads kernels use.
#[pyfunction]
fn get_num_threads() -> usize {
    threads::get_num_threads()
}

/// Gives cached memory back to the system.
#[pyfunction]
fn empty_cache() {
    memory::empty_cache();
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(set_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(get_num_threads, m)?)?;
    Ok(m.add_function(wrap_pyfunction!(empty_cache, m)?)?)
}
