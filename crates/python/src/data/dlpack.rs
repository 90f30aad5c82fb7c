//! DLPack 1.x: arrays handed from library to library by a capsule around a C structure.
//!
//! Specification: <https://dmlc.github.io/dlpack/latest/python_spec.html>. A capsule named `dltensor` (or
//! `dltensor_versioned`) belongs to whoever renames it to `used_…`, and calls its deleter once.

use crate::data::export;
use crate::descriptors;
use crate::door::descriptors::{Out, Slf};
use crate::tensor;
use crate::types::class::type_name;
use crate::types::errors;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::base::size::Whole;
use pullback::base::{DType, Error, Layout, Result, Shape};
use pullback::core::Tensor;
use pullback::dense::buffer::Export;
use pullback::dense::buffer::Lender;
use pullback::dense::{Array, Buffer, copy};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::{CStr, c_void};
use std::sync::Arc;

const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const CPU: i32 = 1;
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct ElementType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DLTensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: ElementType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DLTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DLTensor,
}

/// What an exported structure points into. It holds no Python object, so that it may be freed on any thread.
struct Context {
    shape: Vec<i64>,
    strides: Vec<i64>,
    array: Array,
    _export: Option<Export>,
}

fn element_type(d: DType) -> ElementType {
    let code = match d {
        DType::Bool => 6,
        DType::U8 => 1,
        DType::BF16 => 4,
        DType::C64 | DType::C128 => 5,
        d if d.is_float() => 2,
        _ => 0,
    };
    ElementType { code, bits: (d.size() * 8) as u8, lanes: 1 }
}

fn dtype_of(t: ElementType) -> Option<DType> {
    let same = |d: &DType| {
        let e = element_type(*d);
        (e.code, e.bits, e.lanes) == (t.code, t.bits, t.lanes)
    };
    DType::ALL.iter().copied().find(same)
}

fn describe(array: Array) -> (DLTensor, Box<Context>) {
    let context = Box::new(Context {
        shape: array.shape().iter().map(|&d| d as i64).collect(),
        strides: array.strides().iter().map(|&s| s as i64).collect(),
        _export: array.buffer().map(|b| b.export()),
        array,
    });
    let tensor = DLTensor {
        data: context.array.ptr().cast_mut().cast(),
        device: Device { kind: CPU, id: 0 },
        ndim: context.shape.len() as i32,
        dtype: element_type(context.array.dtype()),
        shape: context.shape.as_ptr().cast_mut(),
        strides: context.strides.as_ptr().cast_mut(),
        byte_offset: 0,
    };
    (tensor, context)
}

unsafe extern "C" fn delete_plain(m: *mut Managed) {
    // SAFETY: made by `export_plain`; the consumer calls this once.
    unsafe {
        drop(Box::from_raw((*m).context.cast::<Context>()));
        drop(Box::from_raw(m));
    }
}
unsafe extern "C" fn delete_versioned(m: *mut ManagedVersioned) {
    // SAFETY: made by `capsule`; the consumer calls this once.
    unsafe {
        drop(Box::from_raw((*m).context.cast::<Context>()));
        drop(Box::from_raw(m));
    }
}

/// Frees what an unused capsule holds; a consumer that took it has renamed the capsule.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter passes one of our capsules.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            delete_plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}

fn capsule(py: Python<'_>, array: Array, versioned: bool, flags: u64) -> Out<'_> {
    let (tensor, context) = describe(array);
    let context = Box::into_raw(context).cast();
    let (pointer, name): (*mut c_void, _) = if versioned {
        let m = ManagedVersioned { version: [1, 0], context, deleter: Some(delete_versioned), flags, tensor };
        (Box::into_raw(Box::new(m)).cast(), VERSIONED)
    } else {
        (Box::into_raw(Box::new(Managed { tensor, context, deleter: Some(delete_plain) })).cast(), PLAIN)
    };
    // SAFETY: the names are static, and `destroy` frees what the pointer is.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(pointer, name.as_ptr(), Some(destroy)))?) }
}

/// An imported structure, freed with its memory's last user.
enum Imported {
    Plain(*mut Managed),
    Versioned(*mut ManagedVersioned),
}
// SAFETY: the pointer is only used to read the description once, and for the deleter.
unsafe impl Send for Imported {}
// SAFETY: as above.
unsafe impl Sync for Imported {}

impl Imported {
    fn tensor(&self) -> &DLTensor {
        // SAFETY: the structure lives until the deleter runs, which is when `self` drops.
        unsafe {
            match self {
                Imported::Plain(m) => &(**m).tensor,
                Imported::Versioned(m) => &(**m).tensor,
            }
        }
    }
    fn is_readonly(&self) -> bool {
        // SAFETY: as above.
        matches!(self, Imported::Versioned(m) if unsafe { (**m).flags } & READ_ONLY != 0)
    }
}

impl Lender for Imported {}

impl Drop for Imported {
    fn drop(&mut self) {
        // The owner's deleter may run Python code. Without an interpreter there is nobody left to tell.
        let _ = Python::try_attach(|_| {
            // SAFETY: we took the structure, so we call its deleter, once.
            unsafe {
                match *self {
                    Imported::Plain(m) => (*m).deleter.map(|f| f(m)),
                    Imported::Versioned(m) => (*m).deleter.map(|f| f(m)),
                }
            }
        });
    }
}

/// Takes the structure out of a capsule.
fn take(capsule: &Bound<'_, PyAny>) -> Result<Imported> {
    let c = capsule.as_ptr();
    // SAFETY: validity under the name is checked before the pointer is read; renaming marks it as taken.
    unsafe {
        if ffi::PyCapsule_IsValid(c, VERSIONED.as_ptr()) != 0 {
            let m: *mut ManagedVersioned = ffi::PyCapsule_GetPointer(c, VERSIONED.as_ptr()).cast();
            if (*m).version[0] > 1 {
                return Err(Error::runtime(format!(
                    "from_dlpack(): DLPack version {} is not supported",
                    (*m).version[0]
                )));
            }
            ffi::PyCapsule_SetName(c, c"used_dltensor_versioned".as_ptr());
            return Ok(Imported::Versioned(m));
        }
        if ffi::PyCapsule_IsValid(c, PLAIN.as_ptr()) != 0 {
            let m = ffi::PyCapsule_GetPointer(c, PLAIN.as_ptr()).cast();
            ffi::PyCapsule_SetName(c, c"used_dltensor".as_ptr());
            return Ok(Imported::Plain(m));
        }
    }
    Err(Error::type_(format!(
        "from_dlpack(): expected a DLPack capsule that is not yet used, got {}",
        type_name(capsule)
    )))
}

/// The array over the structure's memory.
fn over(m: Imported) -> Result<Array> {
    let t = m.tensor();
    if t.device.kind != CPU {
        return Err(Error::runtime("from_dlpack(): the memory is on another device than the cpu"));
    }
    let Some(dtype) = dtype_of(t.dtype) else {
        let e = t.dtype;
        return Err(Error::type_(format!(
            "from_dlpack(): unsupported element type (code {}, {} bits, {} lanes)",
            e.code, e.bits, e.lanes
        )));
    };
    let n = t.ndim.max(0) as usize;
    // SAFETY: the producer fills `ndim` sizes, and as many strides unless the pointer is null.
    let (sizes, strides) = unsafe {
        let sizes = if n == 0 { &[][..] } else { std::slice::from_raw_parts(t.shape, n) };
        let strided = n > 0 && !t.strides.is_null();
        (sizes, strided.then(|| std::slice::from_raw_parts(t.strides, n)))
    };
    let mut layout = Layout::contiguous(Shape::of_sizes("from_dlpack", sizes)?);
    if let Some(strides) = strides {
        layout.strides = strides.iter().map(|&s| s as isize).collect();
    }
    let (lo, hi) = layout.extent().unwrap_or((0, -1));
    layout.offset = lo.unsigned_abs();
    let size = dtype.size();
    let first = t.data.cast::<u8>().wrapping_add(t.byte_offset as usize);
    let Some(bytes) = Whole::from(hi).minus(lo).plus(1i64).times(size).size() else {
        let (shape, strides) = (&layout.shape, &layout.strides);
        return Err(Error::runtime(format!(
            "from_dlpack(): sizes {shape} and strides {strides:?} name more memory than can be addressed"
        )));
    };
    // Not farther than all bytes: nothing wraps.
    let (low, readonly) = (first.wrapping_offset(lo.wrapping_mul(size as isize)), m.is_readonly());
    // SAFETY: the producer guarantees the elements until its deleter is called, when the guard drops.
    let buffer = unsafe { Buffer::foreign(low, bytes, !readonly, Box::new(m)) };
    let array = Array::from_buffer(Arc::new(buffer), dtype, layout)?;
    if readonly || !(low as usize).is_multiple_of(size.min(16)) { copy::gather(&array) } else { Ok(array) }
}

/// A tensor over the memory of an object with `__dlpack__`, or of a capsule.
pub fn import(o: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Tensor> {
    let py = o.py();
    // SAFETY: a live object.
    if unsafe { ffi::PyCapsule_CheckExact(o.as_ptr()) } != 0 {
        return Ok(over(take(o)?)?.into());
    }
    let Some(method) = o.getattr_opt("__dlpack__")? else {
        let got = type_name(o);
        return Err(PyTypeError::new_err(short!("from_dlpack(): expected an object with __dlpack__, got {got}")).into());
    };
    let kwargs = PyDict::new(py);
    kwargs.set_item("max_version", (1, 0))?;
    if let Some(c) = copy {
        kwargs.set_item("copy", c)?;
    }
    let capsule = match method.call((), Some(&kwargs)) {
        Ok(c) => c,
        // Producers of before version 1.0 know no keywords.
        Err(e) if e.is_instance_of::<PyTypeError>(py) => method.call0()?,
        Err(e) => return Err(e.into()),
    };
    Ok(over(take(&capsule)?)?.into())
}

descriptors! { METHODS, ATTRIBUTES:
    /// The memory as a DLPack capsule.
    fn __dlpack__(slf; stream = None, max_version = None, dl_device = None, copy = None) {
        let py = slf.py();
        let stream = stream.map(|s| raised::whole(&s)).transpose()?.flatten();
        if stream.is_some_and(|s| s != -1 && s != 1 && s != 0) {
            return Err(PyBufferError::new_err("__dlpack__(): the cpu has no streams").into());
        }
        if let Some(d) = dl_device
            && d.extract::<(i32, i32)>()?.0 != CPU
        {
            return Err(PyBufferError::new_err("__dlpack__(): tensors can only be exported to the cpu").into());
        }
        let versioned = match max_version {
            Some(v) => v.extract::<(u32, u32)>()?.0 >= 1,
            None => false,
        };
        let array = export::exported(slf.get(), "__dlpack__()").map_err(errors::as_buffer_error)?;
        let writable = array.buffer().is_some_and(|b| b.is_writable());
        if export::flag(copy, false)? {
            return capsule(py, copy::gather(&array)?.to_buffer()?, versioned, IS_COPIED);
        }
        if !writable && !versioned {
            return Err(PyBufferError::new_err("__dlpack__(): the memory is read-only, which max_version=(1, 0) can say").into());
        }
        capsule(py, array, versioned, if writable { 0 } else { READ_ONLY })
    }
    /// The device as DLPack numbers it: (1, 0), the cpu.
    fn __dlpack_device__(slf) {
        Ok(PyTuple::new(slf.py(), [CPU, 0])?.into_any())
    }
}

/// A tensor over the memory of another library's array, which has `__dlpack__`, or of a DLPack capsule.
#[pyfunction]
#[pyo3(signature = (ext_tensor, *, device=None, copy=None))]
fn from_dlpack<'py>(
    ext_tensor: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> Out<'py> {
    if let Some(d) = device {
        crate::types::device::Device::from_argument(d, "from_dlpack")?;
    }
    let t = import(ext_tensor, copy)?;
    Ok(tensor::wrap_shared(ext_tensor.py(), t)?.into_any())
}

/// A DLPack capsule of a tensor's memory, which no derivative follows.
#[pyfunction]
fn to_dlpack<'py>(tensor: Slf<'_, 'py>) -> Out<'py> {
    let plain = tensor.call_method0("detach")?;
    let plain = plain.cast::<tensor::PyTensor>()?;
    capsule(tensor.py(), export::exported(plain.get(), "to_dlpack()")?, false, 0)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(from_dlpack, m)?)?;
    Ok(m.add_function(wrap_pyfunction!(to_dlpack, m)?)?)
}

/// The layouts that C sees; a change breaks every consumer.
const _: () = {
    assert!(size_of::<DLTensor>() == 48 && size_of::<Managed>() == 64 && size_of::<ManagedVersioned>() == 80);
};
