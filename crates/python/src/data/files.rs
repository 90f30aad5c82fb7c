//! Elements read from a file into memory of their own, which is not set to zeros before.

use crate::process::gil;
use crate::tensor;
use crate::types::dtype::dtype_argument;
use crate::types::errors::PyResult;
use pullback::base::{Error, Result, Shape};
use pullback::core::Tensor;
use pullback::dense::array::Written;
use pullback::dense::{Array, threads};
use pyo3::prelude::*;
use std::io;

/// Bytes that are read between two moments at which a signal is heard.
const PIECE: usize = 1 << 20;

/// `numel` elements of the file with this descriptor from byte `offset` on, in the byte order of the machine.
#[pyfunction]
fn _read_file<'py>(
    py: Python<'py>,
    descriptor: i32,
    offset: i64,
    numel: usize,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = dtype_argument(dtype, "load", "dtype")?;
    let read = |to: *mut u8, n: usize| {
        // SAFETY: the block is new and holds so many elements.
        unsafe { fill(descriptor, offset, to, n * dtype.size()) }
    };
    let array = gil::without_gil(py, || Array::try_build_bytes(dtype, Shape::from([numel]), read))?;
    Ok(tensor::wrap(py, Tensor::from(array))?.into_any())
}

/// # Safety
/// `to` may be written to for `len` bytes.
unsafe fn fill(descriptor: i32, offset: i64, to: *mut u8, len: usize) -> Result<Written> {
    let mut at = 0;
    while at < len {
        let Some(from) = offset.checked_add(at as i64) else { return Err(unreadable("there is no such place")) };
        // SAFETY: by the contract; the call writes no more bytes than it is told.
        match unsafe { libc::pread(descriptor, to.add(at).cast(), PIECE.min(len - at), from) } {
            0 => return Err(unreadable("it became shorter meanwhile")),
            count @ 1.. => at += count as usize,
            _ => match io::Error::last_os_error() {
                e if e.kind() == io::ErrorKind::Interrupted => {}
                e => return Err(unreadable(&e.to_string())),
            },
        }
        threads::cancellation_point();
    }
    // SAFETY: `len` bytes were read, which are all.
    Ok(unsafe { Written::all() })
}

#[cold]
fn unreadable(why: &str) -> Error {
    Error::runtime(format!("load(): the file cannot be read: {why}"))
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(m.setattr("_read_file", wrap_pyfunction!(_read_file, m)?)?)
}
