//! Tensors from Python data: numbers, nested sequences, buffers, other libraries' arrays.

pub mod dlpack;
pub mod export;
#[cfg(unix)]
pub mod files;
pub mod foreign;
pub mod lists;
pub mod marshal;
pub mod memory;
pub mod nested;
pub mod random;
pub mod sequences;

use crate::data::foreign::Foreign;
use crate::door::callable;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::class::type_name;
use crate::types::errors::{self, PyResult};
use crate::types::raised;
use crate::types::{device, dtype};
use pullback::base::{DType, Error, Result};
use pullback::core::Tensor;
use pullback::dense::{Array, copy, stack};
use pullback::rules::{abstracted, basis};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Whether the object hands out its memory, as NumPy arrays do. Strings of bytes count as sequences of numbers.
fn has_buffer(o: Any<'_, '_>) -> bool {
    // SAFETY: a live object.
    unsafe { ffi::PyObject_CheckBuffer(o.as_ptr()) != 0 && !o.is_instance_of::<PyBytes>() }
}

/// A tensor with a copy of the values of `o`. The dtype is that of the data unless given.
pub fn tensor_from(o: Any<'_, '_>, dtype: Option<DType>) -> Result<Tensor> {
    from_data("tensor", o, dtype)
}

fn from_data(op: &str, o: Any<'_, '_>, dtype: Option<DType>) -> Result<Tensor> {
    // The object's own methods may come back here.
    stack::check()?;
    let array = if let Some(t) = marshal::tensor(o) {
        return detached_copy(&t, dtype);
    } else if let Some(array) = lists::from_lists(op, o, dtype)? {
        return Ok(array.into());
    } else if let Some((n, natural)) = nested::number(o)? {
        Array::scalar(nested::checked_dtype(op, n, dtype.unwrap_or(natural))?, n)
    } else if has_buffer(o) {
        Foreign::of(&at_least_1d(o)?, op)?.copy()?.reshape(&shape_of(o)?)?
    } else if o.is_instance_of::<PyString>() {
        return Err(Error::type_(format!("{op}(): invalid data type 'str'")));
    } else if let Some(array) = foreign_array(o)? {
        Foreign::of(&at_least_1d(&array)?, op)?.copy()?.reshape(&shape_of(&array)?)?
    } else if let Some(t) = sequences::from_sequence(op, o, dtype)? {
        return Ok(t);
    } else {
        nested::from_sequence(op, o, dtype)?
    };
    foreign::unattached(&array, || copy::cast(&array, dtype.unwrap_or(array.dtype()))).map(Tensor::from)
}

/// The values of a tensor without its history; under `vmap` still one for each member.
fn detached_copy(t: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    basis::copy_in_order(&basis::cast(&pullback::ops::shape::detach(t)?, dtype.unwrap_or(t.dtype()))?)
}

/// What `__array__` gives, for objects of other libraries.
fn foreign_array<'py>(o: Any<'_, 'py>) -> Result<Option<Bound<'py, PyAny>>> {
    let found = o.getattr_opt("__array__").and_then(|m| m.map(|m| m.call0()).transpose());
    found.map_err(crate::types::errors::to_error)
}

/// Buffer views of 0-d arrays have no shape.
fn at_least_1d<'py>(o: Any<'_, 'py>) -> Result<Bound<'py, PyAny>> {
    let seen = || match o.getattr_opt("ndim")? {
        Some(n) if raised::whole(&n)? == Some(0) => o.call_method1("reshape", (1,)),
        _ => Ok(o.clone()),
    };
    seen().map_err(crate::types::errors::to_error)
}

fn shape_of(o: Any<'_, '_>) -> Result<pullback::base::Shape> {
    let dims = || -> PyResult<Vec<usize>> {
        match o.getattr_opt("shape")? {
            Some(s) => raised::items(&s)?.map(|n| Ok(n?.extract()?)).collect(),
            None => Ok(vec![pyo3::buffer::PyUntypedBuffer::get(o)?.item_count()]),
        }
    };
    Ok(dims().map_err(crate::types::errors::to_error)?.into())
}

/// A tensor over the memory of a NumPy array or another buffer. Memory that cannot be shared is copied.
fn share(op: &str, o: Any<'_, '_>) -> PyResult<Tensor> {
    let seen = at_least_1d(o)?;
    let foreign = Foreign::of(&seen, op)?;
    if foreign.is_readonly() {
        let text = format!(
            "{op}(): the array is not writable, and non-writable tensors are not supported, so its values are copied; make it writable to share it"
        );
        errors::warn::<PyUserWarning>(o.py(), &text)?;
        return Ok(foreign.copy()?.reshape(&shape_of(o)?)?.into());
    }
    let array = foreign.share().unwrap_or_else(Foreign::copy)?;
    Ok(if seen.is(o) { array } else { array.reshape(&shape_of(o)?)? }.into())
}

/// Options that all makers of tensors share.
pub struct Options {
    pub dtype: Option<DType>,
    pub requires_grad: bool,
    meta: bool,
}

impl Options {
    pub fn of(
        op: &str,
        dtype: Option<Any<'_, '_>>,
        device: Option<Any<'_, '_>>,
        requires_grad: bool,
    ) -> PyResult<Self> {
        let meta = match device {
            Some(d) if !d.is_none() => device::Device::from_argument(d, op)?.is_meta(),
            _ => device::is_meta_by_default(),
        };
        let dtype = dtype.map(|d| dtype::dtype_argument(d, op, "dtype")).transpose()?;
        Ok(Options { dtype, requires_grad, meta })
    }

    /// A new object around a value.
    pub fn finish<'py>(&self, py: Python<'py>, t: Tensor) -> PyResult<Bound<'py, PyAny>> {
        let t = if self.meta { abstracted::without_data(&t)? } else { t };
        let out = tensor::wrap_shared(py, t)?;
        if self.requires_grad {
            tensor::history::set_requires_grad(&out, true)?;
        }
        Ok(out.into_any())
    }
}

/// A new tensor with a copy of `data`: a number, nested sequences of numbers, an array, a tensor.
#[pyfunction]
#[pyo3(name = "tensor", signature = (data, *, dtype=None, device=None, requires_grad=false, pin_memory=false))]
fn tensor_<'py>(
    data: Any<'_, 'py>,
    dtype: Option<Any<'_, 'py>>,
    device: Option<Any<'_, 'py>>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let given =
        || Ok([("dtype", none(data, dtype)), ("device", none(data, device)), requires(data.py(), requires_grad)]);
    if let Some(out) = callable::asked_to_make(data.py(), "tensor", &[data], given) {
        return out;
    }
    if pin_memory {
        crate::types::options::check(
            "tensor",
            pullback::ops::value::Setting::PinMemory,
            PyBool::new(data.py(), true).as_any(),
        )?;
    }
    let o = Options::of("tensor", dtype, device, requires_grad)?;
    tell_of_copy("tensor", data)?;
    o.finish(data.py(), from_data("tensor", data, o.dtype)?)
}

/// A program that makes a tensor of a tensor is told what says more clearly what becomes of the derivative.
pub fn tell_of_copy(op: &str, data: Any<'_, '_>) -> PyResult<()> {
    if tensor::cell(data).is_none() {
        return Ok(());
    }
    Ok(pullback::core::host::warn(&format!(
        "{op}(): To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone(), or \
         sourceTensor.clone() to keep the derivative."
    ))?)
}

fn none<'py>(like: Any<'_, 'py>, given: Option<Any<'_, 'py>>) -> Bound<'py, PyAny> {
    given.map_or_else(|| like.py().None().into_bound(like.py()), Bound::clone)
}

fn requires(py: Python<'_>, requires_grad: bool) -> (&'static str, Bound<'_, PyAny>) {
    ("requires_grad", PyBool::new(py, requires_grad).to_owned().into_any())
}

/// A tensor over the memory of a NumPy array: writes go both ways.
#[pyfunction]
#[pyo3(signature = (ndarray, /))]
fn from_numpy<'py>(ndarray: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(out) = callable::asked_to_make(ndarray.py(), "from_numpy", &[ndarray], || Ok([])) {
        return out;
    }
    // Asked of the class first: an array makes a new dict whenever it is asked itself.
    let name = intern!(ndarray.py(), "__array_interface__");
    if !has_buffer(ndarray) || !(ndarray.get_type().hasattr(name)? || ndarray.hasattr(name)?) {
        return Err(Error::type_(format!("from_numpy(): expected np.ndarray, got {}", type_name(ndarray))).into());
    }
    Ok(tensor::wrap_shared(ndarray.py(), share("from_numpy", ndarray)?)?.into_any())
}

/// `data` as a tensor, without a copy where its memory and dtype allow that.
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None))]
fn as_tensor<'py>(
    data: Any<'_, 'py>,
    dtype: Option<Any<'_, 'py>>,
    device: Option<Any<'_, 'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = || Ok([("dtype", none(data, dtype)), ("device", none(data, device))]);
    if let Some(out) = callable::asked_to_make(data.py(), "as_tensor", &[data], given) {
        return out;
    }
    convert_sharing("as_tensor", data, Options::of("as_tensor", dtype, device, false)?, None)
}

/// `obj` as a tensor. It shares memory with tensors, NumPy arrays, DLPack objects and buffers, unless `copy=True`.
#[pyfunction]
#[pyo3(signature = (obj, *, dtype=None, device=None, copy=None, requires_grad=false))]
fn asarray<'py>(
    obj: Any<'_, 'py>,
    dtype: Option<Any<'_, 'py>>,
    device: Option<Any<'_, 'py>>,
    copy: Option<bool>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    let given = || {
        let copy = copy.map_or_else(|| py.None().into_bound(py), |c| PyBool::new(py, c).to_owned().into_any());
        Ok([("dtype", none(obj, dtype)), ("device", none(obj, device)), ("copy", copy), requires(py, requires_grad)])
    };
    if let Some(out) = callable::asked_to_make(py, "asarray", &[obj], given) {
        return out;
    }
    convert_sharing("asarray", obj, Options::of("asarray", dtype, device, requires_grad)?, copy)
}

fn convert_sharing<'py>(op: &str, o: Any<'_, 'py>, opts: Options, copy: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
    let py = o.py();
    if copy == Some(true) {
        return opts.finish(py, from_data(op, o, opts.dtype)?);
    }
    let shared = if let Ok(t) = o.cast::<PyTensor>() {
        let value = t.get().value();
        let there = !opts.meta || value.is_abstract();
        if opts.dtype.is_none_or(|d| d == value.dtype()) && !opts.requires_grad && there {
            return Ok(o.clone());
        }
        Some(value)
    } else if nested::number(o)?.is_some() {
        None
    } else if has_buffer(o) {
        Some(share(op, o)?)
    } else if o.hasattr("__dlpack__")? {
        Some(dlpack::import(o, None)?)
    } else {
        None
    };
    match shared {
        Some(t) if opts.dtype.is_none_or(|d| d == t.dtype()) => opts.finish(py, t),
        _ if copy == Some(false) => {
            Err(PyValueError::new_err(short!("{op}(): copy=False, but the data can only be converted by copying"))
                .into())
        }
        Some(t) => opts.finish(py, basis::cast(&t, opts.dtype.unwrap_or(t.dtype()))?),
        None => opts.finish(py, from_data(op, o, opts.dtype)?),
    }
}

/// A 1-d tensor over the memory of an object with the buffer protocol.
#[pyfunction]
#[pyo3(signature = (buffer, *, dtype, count=-1, offset=0, requires_grad=false))]
fn frombuffer<'py>(
    buffer: Any<'_, 'py>,
    dtype: Any<'_, 'py>,
    count: isize,
    offset: usize,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = buffer.py();
    let given = || {
        let (count, offset) = (count.into_pyobject(py)?.into_any(), offset.into_pyobject(py)?.into_any());
        Ok([("dtype", dtype.clone()), ("count", count), ("offset", offset), requires(py, requires_grad)])
    };
    if let Some(out) = callable::asked_to_make(py, "frombuffer", &[buffer], given) {
        return out;
    }
    let o = Options::of("frombuffer", Some(dtype), None, requires_grad)?;
    let d = o.dtype.unwrap_or(DType::U8);
    let bytes = py.import("builtins")?.getattr("memoryview")?.call1((buffer,))?.call_method1("cast", ("B",))?;
    let total: usize = bytes.getattr("nbytes")?.extract()?;
    let left = total.saturating_sub(offset);
    let n = if count < 0 { left / d.size() } else { count as usize };
    if offset > total || n.saturating_mul(d.size()) > left || (count < 0 && !left.is_multiple_of(d.size())) {
        return Err(PyValueError::new_err(short!(
            "frombuffer(): {total} bytes do not hold {n} elements of {d} from byte {offset} on"
        ))
        .into());
    }
    let part = bytes.get_item(pyo3::types::PySlice::new(py, offset as isize, (offset + n * d.size()) as isize, 1))?;
    let foreign = Foreign::of(&part, "frombuffer")?.reinterpret(d, n);
    let array = if foreign.is_readonly() { foreign.copy()? } else { foreign.share().unwrap_or_else(Foreign::copy)? };
    o.finish(py, array.into())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    #[cfg(unix)]
    files::register(m)?;
    m.add_function(wrap_pyfunction!(tensor_, m)?)?;
    m.add_function(wrap_pyfunction!(from_numpy, m)?)?;
    m.add_function(wrap_pyfunction!(as_tensor, m)?)?;
    m.add_function(wrap_pyfunction!(asarray, m)?)?;
    Ok(m.add_function(wrap_pyfunction!(frombuffer, m)?)?)
}
