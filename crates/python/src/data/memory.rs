//! Our memory as NumPy and others see it, by the buffer protocol.

use crate::types::errors::PyResult;
use pullback::base::DType;
use pullback::dense::Array;
use pullback::dense::buffer::Export;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int};

/// The buffer-protocol letter of a dtype; bfloat16 has none.
fn format_of(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::U8 => c"B",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        // NumPy writes the dtype of a `long long` out where `long` is as wide.
        DType::I64 if size_of::<std::ffi::c_long>() == 8 => c"l",
        DType::I64 => c"q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
        DType::BF16 => return None,
    })
}

/// Our memory as others see it; NumPy keeps this object alive.
#[pyclass(frozen, name = "Memory", module = "pullback._core")]
pub struct Memory {
    array: Array,
}

/// What a buffer view points into: freed when the view is released.
struct View {
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
    array: Array,
    _export: Option<Export>,
}

/// Fills a buffer view of `array`, whose elements are in a buffer.
///
/// # Safety
/// `view` is a buffer structure of the interpreter, to be released by [`release`].
pub unsafe fn fill(owner: &Bound<'_, PyAny>, array: &Array, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
    let Some(format) = format_of(array.dtype()) else {
        return Err(PyBufferError::new_err(short!("{} has no buffer format", array.dtype())).into());
    };
    let size = array.dtype().size();
    if flags & ffi::PyBUF_STRIDES != ffi::PyBUF_STRIDES && !array.is_contiguous() {
        return Err(PyBufferError::new_err("the tensor is not contiguous").into());
    }
    let writable = array.buffer().is_some_and(|b| b.is_writable());
    if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE && !writable {
        return Err(PyBufferError::new_err("the tensor's memory is read-only").into());
    }
    // A broadcast view may have more bytes than others can count.
    let Some(bytes) = array.shape().checked_bytes(size) else {
        return Err(PyBufferError::new_err(short!(
            "a view of shape {} has too many bytes to be shared",
            array.shape()
        ))
        .into());
    };
    let inner = Box::new(View {
        shape: array.shape().iter().map(|&d| d as isize).collect(),
        strides: array.strides().iter().map(|s| s.saturating_mul(size as isize)).collect(),
        _export: array.buffer().map(|b| b.export()),
        array: array.clone(),
    });
    // SAFETY: the structure is ours to fill; what it points to lives in `inner` until the release.
    unsafe {
        let v = &mut *view;
        v.buf = inner.array.ptr().cast_mut().cast();
        v.obj = owner.clone().into_ptr();
        v.len = bytes as isize;
        v.readonly = c_int::from(!writable);
        v.itemsize = size as isize;
        v.format = if flags & ffi::PyBUF_FORMAT != 0 { format.as_ptr().cast_mut() } else { std::ptr::null_mut() };
        v.ndim = array.rank() as c_int;
        v.shape = inner.shape.as_ptr().cast_mut();
        v.strides = inner.strides.as_ptr().cast_mut();
        v.suboffsets = std::ptr::null_mut();
        v.internal = Box::into_raw(inner).cast();
    }
    Ok(())
}

/// Releases a view that [`fill`] filled.
///
/// # Safety
/// `view` was filled by [`fill`] and is released once.
pub unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: by the contract `internal` is the box of `fill`.
    unsafe { drop(Box::from_raw((*view).internal.cast::<View>())) }
}

#[pymethods]
impl Memory {
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: the interpreter passes a structure to fill.
        unsafe { fill(slf.as_any(), &slf.get().array, view, flags) }
    }
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter releases what `__getbuffer__` filled.
        unsafe { release(view) }
    }
}

/// A NumPy array over the memory of `array`; of a copy, if that is too small for memory of its own.
pub fn to_numpy<'py>(py: Python<'py>, array: Array) -> PyResult<Bound<'py, PyAny>> {
    if format_of(array.dtype()).is_none() {
        return Err(pyo3::exceptions::PyTypeError::new_err(
            "numpy(): got unsupported dtype bfloat16: NumPy has none; convert with .float() first",
        )
        .into());
    }
    let array = if array.buffer().is_none() { array.to_buffer()? } else { array };
    Ok(numpy(py)?.call_method1(pyo3::intern!(py, "asarray"), (Bound::new(py, Memory { array })?,))?)
}

/// The NumPy module, imported when it is first needed.
pub fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static NUMPY: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
    NUMPY.get_or_try_init(py, || Ok(py.import("numpy")?.into_any().unbind())).map(|m| m.bind(py))
}
