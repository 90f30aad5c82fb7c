//! Threads and memory of the process.

use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::base::Error;
use pullback::dense::{memory, threads};
use pyo3::prelude::*;

/// Sets how many threads kernels use. Results do not depend on it.
#[pyfunction]
fn set_num_threads(n: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some(given) = raised::index(n)? else {
        let got = class::type_name(n);
        return Err(Error::type_(format!("set_num_threads(): expects an int, but got {got}")).into());
    };
    let too_large = |_| Error::value("set_num_threads(): Overflow when unpacking long long: give a smaller number");
    Ok(threads::set_num_threads(given.extract().map_err(too_large)?)?)
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
