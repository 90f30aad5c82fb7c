//! The memory of other objects: of NumPy arrays by their `__array_struct__`, which costs a tenth of the buffer protocol;
//! of all others by that.

use crate::process::{gil, object};
use crate::types::class;
use crate::types::dtype::dtype_from_kind;
use crate::types::errors::PyResult;
use crate::types::errors::to_error;
use crate::types::raised;
use pullback::base::size::LARGEST;
use pullback::base::{DType, Error, Layout, Result, Shape, Strides};
use pullback::core::host;
use pullback::dense::array::Written;
use pullback::dense::buffer::Lender;
use pullback::dense::{Array, Buffer, copy};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::Arc;

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

/// NumPy's `PyArrayInterface`, what the capsule of `__array_struct__` points to.
#[repr(C)]
struct Interface {
    two: c_int,
    nd: c_int,
    typekind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *mut c_void,
    descr: *mut c_void,
}

const ALIGNED: c_int = 0x100;
const NOT_SWAPPED: c_int = 0x200;
const WRITEABLE: c_int = 0x400;

/// What keeps the memory of another object alive.
enum ForeignOwner {
    View(PyUntypedBuffer),
    /// A capsule, which holds the object, and the object.
    Capsule(Py<PyAny>, Py<PyAny>),
}

/// An owner, released with the interpreter attached.
struct Guard(ManuallyDrop<ForeignOwner>);

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let owner = unsafe { ManuallyDrop::take(&mut self.0) };
        // When the interpreter is gone, so is the owner of the memory.
        let _ = Python::try_attach(|py| match owner {
            ForeignOwner::View(view) => view.release(py),
            ForeignOwner::Capsule(capsule, array) => drop((capsule, array)),
        });
    }
}

impl Lender for Guard {
    /// An array that owns its memory, and that only this and the capsule refer to.
    fn is_sole(&self) -> bool {
        let ForeignOwner::Capsule(capsule, array) = &*self.0 else { return false };
        let alone = |py: Python<'_>| {
            // SAFETY: both are live objects.
            let references = |o: &Py<PyAny>| unsafe { gil::references(py, o.as_ptr()) };
            // Subclasses may run code of their own.
            // SAFETY: the name of a live class.
            let plain = unsafe { CStr::from_ptr((*array.bind(py).get_type_ptr()).tp_name) } == c"numpy.ndarray";
            let owns = || array.bind(py).getattr(intern!(py, "flags"))?.getattr(intern!(py, "owndata"))?.is_truthy();
            plain
                && references(capsule) == 1
                && references(array) == 2
                && !object::has_weak_references(array.bind(py))
                && owns().unwrap_or(false)
        };
        Python::try_attach(alone).unwrap_or(false)
    }
}

/// What an object's memory looks like.
pub struct Foreign {
    owner: ForeignOwner,
    readonly: bool,
    /// The first element.
    start: *mut u8,
    dtype: DType,
    /// In elements; the offset counts from the lowest address. Meaningless where the strides in bytes are no multiples.
    layout: Layout,
    byte_strides: Strides,
    low: *mut u8,
}

/// The object's buffer; `None` if it has none, or one of elements that NumPy cannot describe, such as dates.
fn buffer(o: &Bound<'_, PyAny>) -> PyResult<Option<PyUntypedBuffer>> {
    match PyUntypedBuffer::get(o) {
        Err(e) if e.is_instance_of::<PyValueError>(o.py()) && raised::is_of_numpy(o)? => Ok(None),
        got => raised::fitting(o.py(), got),
    }
}

/// Runs what goes through a long array without the GIL, so that it may be given up.
pub fn unattached(array: &Array, f: impl FnOnce() -> Result<Array> + Send) -> Result<Array> {
    if array.numel() < 1 << 20 { f() } else { host::released(f) }
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
                class::type_name(o)
            ))
        };
        if let Some(array) = Foreign::of_array(o).map_err(to_error)? {
            return Ok(array);
        }
        let dtype_text = || match o.getattr_opt("dtype").map_err(to_error)? {
            Some(d) => raised::str_of(&d).map(Some).map_err(to_error),
            None => Ok(None),
        };
        let Some(view) = buffer(o).map_err(to_error)? else {
            return Err(unsupported(&dtype_text()?.unwrap_or_else(|| class::type_name(o))));
        };
        let Some(dtype) = dtype_of_format(view.format(), view.item_size()) else {
            return Err(unsupported(&dtype_text()?.unwrap_or_else(|| view.format().to_string_lossy().into())));
        };
        let (readonly, start) = (view.readonly(), view.buf_ptr().cast());
        let (shape, strides) = (Shape::new(view.shape()), view.strides().into());
        Ok(Foreign::new(ForeignOwner::View(view), readonly, start, dtype, shape, strides))
    }

    /// The memory of a NumPy array; `None` for other objects, and for elements that the buffer protocol must explain.
    fn of_array(o: &Bound<'_, PyAny>) -> PyResult<Option<Foreign>> {
        let name = intern!(o.py(), "__array_struct__");
        if !o.get_type().hasattr(name)? {
            return Ok(None);
        }
        Ok(o.getattr_opt(name)?.and_then(|capsule| Foreign::of_capsule(o, capsule)))
    }

    /// The memory that the `__array_struct__` of `o` describes.
    fn of_capsule(o: &Bound<'_, PyAny>, object: Bound<'_, PyAny>) -> Option<Foreign> {
        let capsule = object.cast::<PyCapsule>().ok()?;
        let interface = capsule.pointer_checked(None).ok()?.cast::<Interface>();
        // SAFETY: by NumPy's array interface, a capsule under this name points to such a structure while it lives.
        let i = unsafe { interface.as_ref() };
        let dtype = dtype_from_kind(i.typekind as u8 as char, i.itemsize as usize)?;
        if i.two != 2 || i.flags & ALIGNED == 0 || i.flags & NOT_SWAPPED == 0 {
            return None;
        }
        let rank = i.nd as usize;
        let (shape, strides) = match rank {
            0 => (Shape::scalar(), Strides::new()),
            // SAFETY: both have `nd` entries.
            _ => unsafe {
                let dims = std::slice::from_raw_parts(i.shape.cast::<usize>(), rank);
                (Shape::new(dims), std::slice::from_raw_parts(i.strides, rank).into())
            },
        };
        let (readonly, start) = (i.flags & WRITEABLE == 0, i.data.cast());
        Some(Foreign::new(
            ForeignOwner::Capsule(object.unbind(), o.clone().unbind()),
            readonly,
            start,
            dtype,
            shape,
            strides,
        ))
    }

    fn new(
        owner: ForeignOwner,
        readonly: bool,
        start: *mut u8,
        dtype: DType,
        shape: Shape,
        byte_strides: Strides,
    ) -> Foreign {
        let size = dtype.size() as isize;
        let strides = byte_strides.iter().map(|s| s.div_euclid(size)).collect();
        // The lowest element, if there is one; what does not fit is refused by `over_memory`.
        let mut bytes = Layout { shape, strides: byte_strides.clone(), offset: 0 };
        let low = bytes.extent().map_or(0, |(low, _)| low);
        (bytes.strides, bytes.offset) = (strides, low.unsigned_abs() / dtype.size());
        let layout = bytes;
        Foreign { owner, readonly, start, dtype, layout, byte_strides, low: start.wrapping_offset(low) }
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
        self.readonly
    }

    /// An array over this memory, if it can be one; the memory's owner stays alive with it.
    #[allow(clippy::result_large_err)] // What cannot be shared is given back as it came.
    pub fn share(self) -> std::result::Result<Result<Array>, Foreign> {
        if self.is_expressible() { Ok(self.over_memory()) } else { Err(self) }
    }

    fn over_memory(self) -> Result<Array> {
        let Foreign { owner, readonly, dtype, layout, low, .. } = self;
        let needed = layout.shape.checked_numel().and(layout.needed());
        let Some(bytes) = needed.and_then(|n| n.checked_mul(dtype.size())).filter(|&n| n <= LARGEST) else {
            let (shape, strides) = (&layout.shape, &layout.strides);
            return Err(Error::runtime(format!(
                "from_numpy(): sizes {shape} and strides {strides:?} name more memory than can be addressed"
            )));
        };
        let guard = Box::new(Guard(ManuallyDrop::new(owner)));
        // SAFETY: the owner guarantees its memory from the lowest to the highest element until it is released.
        let buffer = unsafe { Buffer::foreign(low, bytes, !readonly, guard) };
        Array::from_buffer(Arc::new(buffer), dtype, layout)
    }

    /// A copy of the elements.
    pub fn copy(self) -> Result<Array> {
        let foreign = match self.share() {
            Ok(array) => {
                let array = array?;
                return unattached(&array, || copy::gather(&array));
            }
            Err(foreign) => foreign,
        };
        // Elements that no stride of ours can name are gathered byte by byte.
        let (dtype, shape) = (foreign.dtype, foreign.layout.shape.clone());
        let size = dtype.size();
        let mut layout = Layout::contiguous(shape.append(size));
        for (to, &from) in layout.strides.iter_mut().zip(&foreign.byte_strides) {
            *to = from;
        }
        layout.offset = foreign.start as usize - foreign.low as usize;
        let bytes = Foreign { dtype: DType::U8, layout, ..foreign };
        let gathered = match bytes.over_memory() {
            Ok(array) => unattached(&array, || copy::gather(&array))?,
            Err(e) => return Err(e),
        };
        Array::build_bytes(dtype, shape, |out, n| {
            // SAFETY: both blocks hold n elements of `size` bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(gathered.ptr(), out, n * size);
                Written::all()
            }
        })
    }
}
