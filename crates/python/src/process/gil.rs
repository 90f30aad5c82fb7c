//! The interpreter's lock, which long work gives up.

use crate::types::errors::PyResult;
use pullback::base::Result;
use pullback::core::Tensor;
use pullback::dense::threads;
use pullback::ops::Cost;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `f`, which does work of this class on tensors, without the GIL if that takes long.
#[inline(always)]
pub fn released<R: Send>(
    py: Python<'_>,
    cost: Cost,
    tensors: &[&Tensor],
    f: impl FnOnce() -> Result<R> + Send,
) -> Result<R> {
    let long = match tensors {
        [a, b] => cost.is_long_of(a, b),
        all => all.iter().any(|t| t.stored() >= cost.limit()),
    };
    if long { without_gil(py, f) } else { f() }
}

/// Not inlined, so that the path of small tensors stays short. Without the GIL, work listens to signals, and may be
/// given up: what it writes must not be seen by anyone before it returns.
#[cold]
#[inline(never)]
pub fn without_gil<R: Send>(py: Python<'_>, f: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    RELEASED.fetch_add(1, Ordering::Relaxed);
    py.detach(|| threads::cancellable(f))
}

/// Calls that ran without the GIL, which tests count.
static RELEASED: AtomicUsize = AtomicUsize::new(0);

/// How many calls ran without the GIL since the import.
#[pyfunction]
fn _released_calls() -> usize {
    RELEASED.load(Ordering::Relaxed)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(m.setattr("_released_calls", wrap_pyfunction!(_released_calls, m)?)?)
}
