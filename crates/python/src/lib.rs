//! L8: the Python face, the extension module `pullback._core`. It converts, binds the table and maps errors; semantics
//! live below.
//!
//! Names of the package itself are added to `_core` (its `__all__` is re-exported by `pullback`), names of a module
//! below it to [`types::submodule`].

#[macro_use]
pub mod types;

pub mod autograd;
pub mod data;
pub mod door;
pub mod func;
pub mod function;
pub mod methods;
pub mod operators;
pub mod optim;
pub mod process;
pub mod pytree;
pub mod tensor;

use crate::types::errors::PyResult;
use pyo3::prelude::*;

/// Headers and tape nodes come from lists of small blocks. Rust programs keep their allocator.
#[global_allocator]
static ALLOCATOR: pullback::dense::memory::SmallBlocks = pullback::dense::memory::SmallBlocks;

#[pymodule(gil_used = true)]
fn _core(m: &Bound<'_, PyModule>) -> pyo3::PyResult<()> {
    Ok(fill_module(m)?)
}

fn fill_module(m: &Bound<'_, PyModule>) -> PyResult<()> {
    // pyo3 looks once whether there is an interpreter, and should not do so first while it ends.
    Python::initialize();
    pullback::dense::first_thread::claim();
    m.setattr("__version__", env!("CARGO_PKG_VERSION"))?;
    types::errors::register(m)?;
    door::callable::register(m)?;
    types::brief::register(m)?;
    types::dtype::register(m)?;
    types::limits::register(m)?;
    autograd::levels::register(m)?;
    types::device::register(m)?;
    types::size::register(m)?;
    types::library::register(m)?;
    types::named::register(m)?;
    tensor::register(m)?;
    methods::register(m)?;
    methods::storage::register(m)?;
    pytree::register(m)?;
    data::register(m)?;
    data::random::register(m)?;
    process::runtime::register(m)?;
    methods::comparison::register(m)?;
    methods::kind::register(m)?;
    function::register(m)?;
    data::dlpack::register(m)?;
    autograd::grad_mode::register(m)?;
    autograd::forward_ad::register(m)?;
    autograd::graph::register(m)?;
    process::gil::register(m)?;
    process::host::register(m)?;
    autograd::hooks::register(m)?;
    methods::pickle::register(m)?;
    methods::repr::register(m)?;
    operators::run::register(m)?;
    operators::in_place::install(m.py())?;
    func::register(m)?;
    optim::register(m)?;
    Ok(())
}
