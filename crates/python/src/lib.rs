//! L8: the Python face, the extension module `pullback._core`. It converts, binds the table and maps errors; semantics
//! live below.
//!
//! Names of the package itself are added to `_core` (its `__all__` is re-exported by `pullback`), names of a module
//! below it to [`submodule`].

#[macro_use]
pub mod brief;

pub mod attributes;
pub mod autograd;
mod comparison;
pub mod conversion;
pub mod convert;
pub mod data;
pub mod device;
pub mod dlpack;
pub mod door;
pub mod dtype;
pub mod errors;
pub mod fill;
pub mod foreign;
pub mod forward_ad;
pub mod func;
pub mod function;
pub mod gc;
pub mod grad_mode;
pub mod gradient;
pub mod graph;
pub mod hooks;
pub mod host;
pub mod indexing;
pub mod kind;
pub mod levels;
pub mod limits;
pub mod lists;
pub mod memory;
pub mod named;
pub mod native;
pub mod nested;
pub mod object;
pub mod operators;
mod options;
pub mod out;
pub mod parse;
pub mod pickle;
pub mod pytree;
pub mod raised;
mod random;
pub mod repr;
pub mod resize;
pub mod runtime;
pub mod saving;
pub mod seeds;
pub mod size;
pub mod stacked;
pub mod storage;
mod synonyms;
pub mod tensor;
pub mod vectorcall;
pub mod views;

use crate::errors::PyResult;
use pullback::core::params::Parameters;
use pyo3::prelude::*;
use std::sync::Arc;

/// Headers and tape nodes come from lists of small blocks. Rust programs keep their allocator.
#[global_allocator]
static ALLOCATOR: pullback::dense::memory::SmallBlocks = pullback::dense::memory::SmallBlocks;

/// A library object that an entry takes as it is, such as a generator.
pub fn object(o: &Bound<'_, PyAny>) -> Option<Arc<dyn Parameters>> {
    random::of_object(o)
}

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

#[pymodule(gil_used = true)]
fn _core(m: &Bound<'_, PyModule>) -> pyo3::PyResult<()> {
    Ok(fill_module(m)?)
}

fn fill_module(m: &Bound<'_, PyModule>) -> PyResult<()> {
    // pyo3 looks once whether there is an interpreter, and should not do so first while it ends.
    Python::initialize();
    pullback::dense::near::claim();
    m.setattr("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(m)?;
    brief::register(m)?;
    dtype::register(m)?;
    limits::register(m)?;
    levels::register(m)?;
    device::register(m)?;
    size::register(m)?;
    named::register(m)?;
    tensor::register(m)?;
    storage::register(m)?;
    pytree::register(m)?;
    data::register(m)?;
    random::register(m)?;
    runtime::register(m)?;
    comparison::register(m)?;
    kind::register(m)?;
    function::register(m)?;
    dlpack::register(m)?;
    grad_mode::register(m)?;
    forward_ad::register(m)?;
    graph::register(m)?;
    host::register(m)?;
    hooks::register(m)?;
    pickle::register(m)?;
    repr::register(m)?;
    door::register(m)?;
    func::register(m)?;
    Ok(())
}
