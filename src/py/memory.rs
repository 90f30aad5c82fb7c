//! Memory in common with NumPy and others: the buffer protocol, both ways.

use super::dtype::dtype_from_kind;
use crate::base::{DType, Error, Layout, Result, Shape, Strides};
use crate::dense::buffer::Export;
use crate::dense::{Array, Buffer, copy};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// The buffer-protocol letter of a dtype; bfloat16 has none.
fn format_of(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::U8 => c"B",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 => c"q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
        DType::BF16 => return None,
    })
}

/// The dtype of a buffer's format; `None` for formats without one here and for foreign byte order.
pub fn dtype_of_format(format: &CStr, size: usize) -> Option<DType> {
    let text = format.to_str().ok()?;
    let text = match text.as_bytes().first()? {
        b'@' | b'=' => &text[1..],
        b'<' if cfg!(target_endian = "little") => &text[1..],
        b'>' | b'!' if cfg!(target_endian = "big") => &text[1..],
        b'<' | b'>' | b'!' => return None,
        _ => text,
    };
    let kind = match text {
        "?" => 'b',
        "B" => 'u',
        "b" | "h" | "i" | "l" | "q" | "n" => 'i',
        "e" | "f" | "d" => 'f',
        "Zf" | "Zd" => 'c',
        _ => return None,
    };
    dtype_from_kind(kind, size)
}

/// A buffer view of another object, released with the interpreter attached.
struct Guard(ManuallyDrop<PyUntypedBuffer>);

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let view = unsafe { ManuallyDrop::take(&mut self.0) };
        // When the interpreter is gone, so is the owner of the memory.
        let _ = Python::try_attach(|py| {
            view.release(py);
        });
    }
}

/// What an object's memory looks like.
pub struct Foreign {
    view: PyUntypedBuffer,
    dtype: DType,
    /// In elements; the offset counts from the lowest address. Meaningless where the strides in bytes are no multiples.
    layout: Layout,
    byte_strides: Strides,
    low: *mut u8,
}

impl Foreign {
    /// The object's buffer.
    ///
    /// # Errors
    /// `Type` if it has none, or one of elements that have no dtype here.
    pub fn of(o: &Bound<'_, PyAny>, op: &str) -> Result<Foreign> {
        let unsupported = |what: &str| {
            Error::type_(format!(
                "{op}(): can't convert {} of type {what}. The only supported types are: float64, float32, float16, \
                 complex64, complex128, int64, int32, int16, int8, uint8, and bool",
                super::convert::type_name(o)
            ))
        };
        let Ok(view) = PyUntypedBuffer::get(o) else {
            let what = o.getattr("dtype").map_or_else(|_| super::convert::type_name(o), |d| d.to_string());
            return Err(unsupported(&what));
        };
        let size = view.item_size();
        let Some(dtype) = dtype_of_format(view.format(), size) else {
            let what = o.getattr("dtype").map_or_else(|_| view.format().to_string_lossy().into(), |d| d.to_string());
            return Err(unsupported(&what));
        };
        let shape = Shape::new(view.shape());
        let mut layout = Layout::contiguous(shape);
        let mut low = 0isize;
        for (i, &s) in view.strides().iter().enumerate() {
            layout.strides[i] = s.div_euclid(size as isize);
            if s < 0 {
                low += s * (view.shape()[i].max(1) as isize - 1);
            }
        }
        layout.offset = (-low) as usize / size.max(1);
        let low = view.buf_ptr().cast::<u8>().wrapping_offset(low);
        let byte_strides = view.strides().into();
        Ok(Foreign { view, dtype, layout, byte_strides, low })
    }

    /// The same bytes, which must be contiguous, as `n` elements of another dtype.
    pub fn reinterpret(mut self, dtype: DType, n: usize) -> Foreign {
        self.dtype = dtype;
        self.layout = Layout::contiguous([n].into());
        self.byte_strides = Strides::from_slice(&[dtype.size() as isize]);
        self
    }

    /// Whether our layouts can express it: element strides and aligned elements.
    fn is_expressible(&self) -> bool {
        let size = self.dtype.size() as isize;
        self.byte_strides.iter().zip(self.layout.shape.iter()).all(|(s, n)| s % size == 0 || *n <= 1)
            && (self.low as usize).is_multiple_of(self.dtype.size().min(16))
    }

    pub fn is_readonly(&self) -> bool {
        self.view.readonly()
    }

    /// An array over this memory, if it can be one; the memory's owner stays alive with it.
    pub fn share(self) -> std::result::Result<Result<Array>, Foreign> {
        if self.is_expressible() { Ok(self.over_memory()) } else { Err(self) }
    }

    fn over_memory(self) -> Result<Array> {
        let Foreign { view, dtype, layout, low, .. } = self;
        let bytes = layout.extent().map_or(0, |(_, hi)| (hi as usize + 1) * dtype.size());
        let writable = !view.readonly();
        let guard = Box::new(Guard(ManuallyDrop::new(view)));
        // SAFETY: the view guarantees its memory from the lowest to the highest element until it is released.
        let buffer = unsafe { Buffer::foreign(low, bytes, writable, guard) };
        Array::from_buffer(Arc::new(buffer), dtype, layout)
    }

    /// A copy of the elements.
    pub fn copy(self) -> Result<Array> {
        let foreign = match self.share() {
            Ok(array) => return copy::gather(&array?),
            Err(foreign) => foreign,
        };
        // Elements that no stride of ours can name are gathered byte by byte.
        let (dtype, shape) = (foreign.dtype, foreign.layout.shape.clone());
        let size = dtype.size();
        let mut layout = Layout::contiguous(shape.append(size));
        for (to, &from) in layout.strides.iter_mut().zip(&foreign.byte_strides) {
            *to = from;
        }
        layout.offset = foreign.view.buf_ptr() as usize - foreign.low as usize;
        let bytes = Foreign { dtype: DType::U8, layout, ..foreign };
        let gathered = match bytes.over_memory() {
            Ok(array) => copy::gather(&array)?,
            Err(e) => return Err(e),
        };
        Array::build_bytes(dtype, shape, |out, n| {
            // SAFETY: both blocks hold n elements of `size` bytes.
            unsafe { std::ptr::copy_nonoverlapping(gathered.ptr(), out, n * size) }
        })
    }
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
    _array: Array,
    _export: Option<Export>,
}

/// Fills a buffer view of `array`, whose elements are in a buffer.
///
/// # Safety
/// `view` is a buffer structure of the interpreter, to be released by [`release`].
pub unsafe fn fill(owner: &Bound<'_, PyAny>, array: &Array, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
    let Some(format) = format_of(array.dtype()) else {
        return Err(PyBufferError::new_err(format!("{} has no buffer format", array.dtype())));
    };
    let size = array.dtype().size();
    if flags & ffi::PyBUF_STRIDES != ffi::PyBUF_STRIDES && !array.is_contiguous() {
        return Err(PyBufferError::new_err("the tensor is not contiguous"));
    }
    let writable = array.buffer().is_some_and(|b| b.is_writable());
    if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE && !writable {
        return Err(PyBufferError::new_err("the tensor's memory is read-only"));
    }
    let inner = Box::new(View {
        shape: array.shape().iter().map(|&d| d as isize).collect(),
        strides: array.strides().iter().map(|s| s * size as isize).collect(),
        _export: array.buffer().map(|b| b.export()),
        _array: array.clone(),
    });
    // SAFETY: the structure is ours to fill; what it points to lives in `inner` until the release.
    unsafe {
        let v = &mut *view;
        v.buf = array.ptr().cast_mut().cast();
        v.obj = owner.clone().into_ptr();
        v.len = (array.numel() * size) as isize;
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
        ));
    }
    let array = if array.buffer().is_none() { array.to_buffer()? } else { array };
    numpy(py)?.call_method1(pyo3::intern!(py, "asarray"), (Bound::new(py, Memory { array })?,))
}

/// The NumPy module, imported when it is first needed.
pub fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static NUMPY: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
    NUMPY.get_or_try_init(py, || Ok(py.import("numpy")?.into_any().unbind())).map(|m| m.bind(py))
}
