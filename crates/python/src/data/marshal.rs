//! Arguments and results between Python objects and [`Value`]s.

use crate::tensor;
use crate::types::class::type_name;
use crate::types::device::Device;
use crate::types::errors::{Fault, PyResult};
use crate::types::raised;
use num_complex::Complex;
use pullback::base::{DType, Error, Result, Scalar};
use pullback::core::{Tensor, host};
use pullback::dense::stack;
use pullback::ops::value::{IndexItem, Setting};
use pullback::ops::{ArgKind, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PySlice, PyString, PyTuple, PyType};
use pyo3::{ffi, intern};
use smallvec::SmallVec;
use std::ffi::CStr;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Why an object does not fit; the caller adds the operator and the argument.
#[cold]
fn mismatch(kind: ArgKind, o: Any<'_, '_>) -> Error {
    let wrong = match kind {
        ArgKind::Ints => first_misfit(o, |x| Ok(integer(x)?.is_some())),
        ArgKind::Tensors => first_misfit(o, |x| Ok(tensor(x).is_some())),
        ArgKind::Operands => first_misfit(o, |x| Ok(operand(x)?.is_some())),
        _ => Ok(None),
    };
    let wrong = match wrong {
        Ok(wrong) => wrong,
        Err(e) => return e,
    };
    match wrong {
        Some((i, x)) => Error::type_(format!("must be {}, but found element of type {x} at pos {i}", kind_text(kind))),
        None => Error::type_(format!("must be {}, not {}", kind_text(kind), type_name(o))),
    }
}

/// The place and type of the first element of a sequence that does not fit.
fn first_misfit(o: Any<'_, '_>, fits: impl Fn(Any<'_, '_>) -> Result<bool>) -> Result<Option<(usize, String)>> {
    for (i, x) in items(o).into_iter().flatten().enumerate() {
        if !fits(&x)? {
            return Ok(Some((i, type_name(&x))));
        }
    }
    Ok(None)
}

fn kind_text(kind: ArgKind) -> &'static str {
    match kind {
        ArgKind::Operand => "Tensor or Number",
        ArgKind::Ints => "tuple of ints",
        ArgKind::Tensors => "tuple of Tensors",
        ArgKind::Operands => "tuple of Tensors or Numbers",
        k => k.name(),
    }
}

/// A Python number; NumPy scalars count, tensors do not.
pub fn number(o: Any<'_, '_>) -> Result<Option<Scalar>> {
    Ok(Some(if let Ok(x) = o.cast_exact::<PyFloat>() {
        Scalar::Float(x.value())
    } else if let Ok(b) = o.cast::<PyBool>() {
        Scalar::Bool(b.is_true())
    } else if let Ok(i) = o.cast::<PyInt>() {
        // An int runs no code of its class here: it can only be too large.
        i.extract::<i64>().map_or_else(|_| large_integer(i), Scalar::Int)
    } else if let Ok(x) = o.cast::<PyFloat>() {
        Scalar::Float(x.value())
    } else if let Ok(z) = o.cast::<PyComplex>() {
        Scalar::Complex(Complex::new(z.real(), z.imag()))
    } else {
        return foreign_number(o);
    }))
}

/// The value of an int of Python's own class, if it fits.
#[inline]
pub fn plain_integer(o: Any<'_, '_>) -> Option<i64> {
    if !o.is_exact_instance_of::<PyInt>() {
        return None;
    }
    let mut too_large = 0;
    // SAFETY: a live int, for which the call sets no error.
    let i = unsafe { ffi::PyLong_AsLongLongAndOverflow(o.as_ptr(), &mut too_large) };
    (too_large == 0).then_some(i)
}

/// An integer beyond i64.
#[cold]
#[inline(never)]
fn large_integer(i: &Bound<'_, PyInt>) -> Scalar {
    if let Ok(u) = i.extract::<u64>() {
        return Scalar::Unsigned(u);
    }
    let mut sign = 0;
    // SAFETY: a live int. Neither call runs code of its class; the only error, too large an int, is taken away.
    let x = unsafe {
        ffi::PyLong_AsLongLongAndOverflow(i.as_ptr(), &mut sign);
        ffi::PyLong_AsDouble(i.as_ptr())
    };
    let too_large = PyErr::take(i.py()).is_some();
    Scalar::Huge(if too_large { f64::from(sign) * f64::INFINITY } else { x })
}

/// A number as a float parameter.
fn float(n: Scalar) -> Result<Value> {
    match n {
        Scalar::Huge(x) if x.is_infinite() => Err(Error::overflow("int too large to convert to float")),
        n => Ok(Value::Float(n.as_f64())),
    }
}

/// NumPy scalars: anything of its classes without dimensions that is no array.
#[cold]
fn foreign_number(o: Any<'_, '_>) -> Result<Option<Scalar>> {
    let class = o.get_type();
    // SAFETY: the name of a live class.
    let name = unsafe { CStr::from_ptr((*class.as_type_ptr()).tp_name) };
    // The classes of NumPy's scalars are written in C, so that their names hold the module.
    if !name.to_bytes().starts_with(b"numpy.") || name == c"numpy.ndarray" {
        return Ok(None);
    }
    numpy_number(o, &class).map_err(crate::types::errors::to_error)
}

fn numpy_number(o: Any<'_, '_>, class: &Bound<'_, PyType>) -> PyResult<Option<Scalar>> {
    let py = o.py();
    let is_scalar = match o.getattr_opt(intern!(py, "ndim"))? {
        Some(n) => raised::whole(&n)? == Some(0) && !o.hasattr(intern!(py, "__array_finalize__"))?,
        None => false,
    };
    if !is_scalar {
        return Ok(None);
    }
    let Some(item) = raised::fitting(py, o.call_method0(intern!(py, "item")))? else { return Ok(None) };
    // `numpy.bool_` is no bool: PyTorch takes what is neither an int nor a complex number as a float.
    if let Ok(b) = item.cast::<PyBool>() {
        return Ok(Some(Scalar::Float(f64::from(u8::from(b.is_true())))));
    }
    // The item of a NumPy scalar without a Python counterpart, such as longdouble, is itself.
    if item.get_type().is(class) {
        return Ok(raised::fitting(py, o.extract().map_err(Fault::from))?.map(Scalar::Float));
    }
    Ok(number(&item)?)
}

fn integer(o: Any<'_, '_>) -> Result<Option<i64>> {
    if o.is_exact_instance_of::<PyInt>() {
        return o.extract().map(Some).map_err(|_| overflow());
    }
    if o.is_instance_of::<PyBool>() || o.is_instance_of::<PyFloat>() {
        return Ok(None);
    }
    // Its method may come back here.
    stack::check()?;
    let Some(i) = raised::index(o).map_err(crate::types::errors::to_error)? else { return Ok(None) };
    i.extract().map(Some).map_err(|_| overflow())
}
#[cold]
fn overflow() -> Error {
    Error::value("Overflow when unpacking long long: an int has to fit into 64 bits; give a smaller one")
}

fn items<'py>(o: Any<'_, 'py>) -> Option<Vec<Bound<'py, PyAny>>> {
    if let Ok(t) = o.cast::<PyTuple>() {
        return Some(t.iter().collect());
    }
    o.cast::<PyList>().ok().map(|l| l.iter().collect())
}

fn integers(o: Any<'_, '_>) -> Result<Option<SmallVec<[i64; 6]>>> {
    if let Some(i) = integer(o)? {
        return Ok(Some(SmallVec::from_elem(i, 1)));
    }
    match items(o) {
        Some(items) => items.iter().map(integer).collect(),
        None => Ok(None),
    }
}

#[inline]
pub fn tensor(o: Any<'_, '_>) -> Option<Tensor> {
    tensor::cell(o).map(|c| c.value())
}

/// Converts an argument to what the parameter accepts.
pub fn from_python(kind: ArgKind, optional: bool, o: Any<'_, '_>) -> Result<Value> {
    if o.is_none() && (optional || matches!(kind, ArgKind::Any | ArgKind::Setting(_))) {
        return Ok(Value::None);
    }
    let value = match kind {
        ArgKind::Tensor => tensor(o).map(Value::Tensor),
        ArgKind::Operand => operand(o)?,
        ArgKind::Number => number(o)?.or_else(|| item(o)).map(Value::Number),
        ArgKind::Int => integer(o)?.map(Value::Int),
        ArgKind::Float => {
            number(o)?.or_else(|| item(o)).filter(|n| !matches!(n, Scalar::Complex(_))).map(float).transpose()?
        }
        ArgKind::Bool => truth(o)?.map(Value::Bool),
        ArgKind::Str => o.cast::<PyString>().ok().map(|s| Value::Str(raised::text(s))),
        ArgKind::Ints => integers(o)?.map(Value::Ints),
        ArgKind::DType => crate::types::dtype::dtype_or_number_type(o).map(Value::DType),
        ArgKind::Tensors => {
            items(o).and_then(|v| v.iter().map(|x| tensor(x).map(Value::Tensor)).collect()).map(Value::List)
        }
        ArgKind::Operands => match items(o) {
            Some(v) => v.iter().map(operand).collect::<Result<Option<_>>>()?.map(Value::List),
            None => None,
        },
        ArgKind::Index => return index(o).map(Value::Index),
        ArgKind::Generator => crate::data::random::of_object(o).map(Value::Object),
        // It was looked at when the call was parsed; one that changes where the result is goes on.
        ArgKind::Setting(Setting::Device) => {
            let device = Device::from_argument(o, "device").map_err(crate::types::errors::to_error)?;
            Some(Value::Str(if device.is_meta() { "meta" } else { "cpu" }.into()))
        }
        ArgKind::Setting(_) => Some(Value::None),
        ArgKind::Any => any(o, 0)?,
    };
    value.ok_or_else(|| mismatch(kind, o))
}

/// The number in a 0-d tensor that no derivative or batch follows.
fn item(o: Any<'_, '_>) -> Option<Scalar> {
    tensor(o)?.dense().filter(|t| t.rank() == 0)?.item().ok()
}

fn operand(o: Any<'_, '_>) -> Result<Option<Value>> {
    match tensor(o) {
        Some(t) => Ok(Some(Value::Tensor(t))),
        None => Ok(number(o)?.map(Value::Number)),
    }
}

fn truth(o: Any<'_, '_>) -> Result<Option<bool>> {
    if let Ok(b) = o.cast::<PyBool>() {
        return Ok(Some(b.is_true()));
    }
    // As in PyTorch: `x.sum(0, 1)` would keep the dimension, where both were to be summed.
    Ok(None)
}

/// No operator has an argument that is nested deeper.
const MAX_DEPTH: usize = 16;

/// Whatever the object is.
fn any(o: Any<'_, '_>, depth: usize) -> Result<Option<Value>> {
    if let Some(v) = operand(o)? {
        return Ok(Some(v));
    }
    if let Some(d) = crate::types::dtype::dtype_of(o.as_ptr()) {
        return Ok(Some(Value::DType(d)));
    }
    if let Ok(s) = o.cast::<PyString>() {
        return Ok(Some(Value::Str(raised::text(s))));
    }
    let Some(parts) = items(o) else {
        // Options that the entry only looks at by name: memory formats, layouts, devices.
        let named = o.hasattr("__iter__").and_then(|i| if i { Ok(type_name(o)) } else { Ok(raised::str_of(o)?) });
        return named.map(|text| Some(Value::Str(text))).map_err(crate::types::errors::to_error);
    };
    if depth == MAX_DEPTH {
        let class = type_name(o);
        return Err(Error::type_(format!(
            "must be numbers, tensors, names or short sequences of them, got '{class}' nested deeper than {MAX_DEPTH} \
             levels"
        )));
    }
    let part = |x: &Bound<'_, PyAny>| if x.is_none() { Ok(Some(Value::None)) } else { any(x, depth + 1) };
    let parts = parts.iter().map(part).collect::<Result<Option<_>>>()?;
    Ok(parts.map(|parts| if o.is_instance_of::<PyTuple>() { Value::Tuple(parts) } else { Value::List(parts) }))
}

/// An index expression, as `__getitem__` gets it.
pub fn index(o: Any<'_, '_>) -> Result<Vec<IndexItem>> {
    if let Ok(t) = o.cast::<PyTuple>() {
        return t.iter().map(|x| index_item(&x)).collect();
    }
    match o.cast::<PyList>() {
        Ok(l) if stands_for_tuple(l) => l.iter().map(|x| index_item(&x)).collect(),
        _ => Ok(vec![index_item(o)?]),
    }
}

/// Whether a list counts as the tuple of its items, as PyTorch has it: a short one of more than numbers.
fn stands_for_tuple(l: &Bound<'_, PyList>) -> bool {
    const FEW: usize = 32;
    let is_part = |x: &Bound<'_, PyAny>| {
        let sequence = || {
            // SAFETY: a bound object is alive.
            unsafe { ffi::PySequence_Check(x.as_ptr()) != 0 }
        };
        x.is_none() || x.is(x.py().Ellipsis().bind(x.py())) || x.is_instance_of::<PySlice>() || sequence()
    };
    l.len() < FEW && l.iter().any(|x| is_part(&x) || tensor::is_tensor(&x))
}

fn bound(o: Any<'_, '_>) -> Result<Option<i64>> {
    if o.is_none() {
        return Ok(None);
    }
    match integer(o) {
        Ok(Some(i)) => Ok(Some(i)),
        // As in Python, what is too large means the end.
        Err(e) if e.kind() == pullback::base::ErrorKind::Value => match o.cast::<PyInt>().map(large_integer) {
            Ok(Scalar::Huge(far)) => Ok(Some(far as i64)),
            _ => Ok(Some(i64::MAX)),
        },
        Err(e) => Err(e),
        Ok(None) => Err(Error::type_(format!("slice indices must be integers or None, not {}", type_name(o)))),
    }
}

fn index_item(o: Any<'_, '_>) -> Result<IndexItem> {
    if o.is_none() {
        return Ok(IndexItem::NewAxis);
    }
    if o.is(o.py().Ellipsis().bind(o.py())) {
        return Ok(IndexItem::Ellipsis);
    }
    if let Ok(b) = o.cast::<PyBool>() {
        return Ok(IndexItem::Bool(b.is_true()));
    }
    if let Ok(s) = o.cast::<PySlice>() {
        let part = |name: &str| -> Result<Option<i64>> {
            let x = s.getattr(name).map_err(crate::types::errors::to_error)?;
            bound(&x)
        };
        return Ok(IndexItem::Slice { start: part("start")?, stop: part("stop")?, step: part("step")? });
    }
    if let Some(t) = tensor(o) {
        if t.dtype() == DType::U8 {
            host::warn("indexing with dtype uint8 is now deprecated, please use a dtype bool instead: mask.bool()")?;
        }
        return Ok(IndexItem::Tensor(t));
    }
    if let Some(i) = integer(o)? {
        return Ok(IndexItem::Int(i));
    }
    // Lists, ranges and NumPy arrays index like tensors.
    match crate::data::tensor_from(o, None) {
        Ok(t) => Ok(IndexItem::Tensor(index_tensor(t)?)),
        // What the object's own methods raise, and a wish to stop.
        Err(e) if e.kind() == pullback::base::ErrorKind::Foreign => Err(e),
        Err(_) => Err(Error::index(format!(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices \
             (got {})",
            type_name(o)
        ))),
    }
}

/// An empty list indexes nothing, whatever dtype it was given.
fn index_tensor(t: Tensor) -> Result<Tensor> {
    if t.numel() == 0 { pullback::rules::basis::cast(&t, DType::I64) } else { Ok(t) }
}

/// A result as a Python object.
#[inline]
pub fn to_python(py: Python<'_>, v: Value) -> PyResult<Bound<'_, PyAny>> {
    match v {
        Value::Tensor(t) => Ok(tensor::wrap(py, t)?.into_any()),
        v => other_to_python(py, v),
    }
}

fn other_to_python(py: Python<'_>, v: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match v {
        Value::Missing | Value::None => py.None().into_bound(py),
        Value::Tensor(t) => tensor::wrap(py, t)?.into_any(),
        Value::Number(s) => scalar(py, s)?,
        Value::Bool(b) => PyBool::new(py, b).to_owned().into_any(),
        Value::Int(i) => PyInt::new(py, i).into_any(),
        Value::Float(x) => PyFloat::new(py, x).into_any(),
        Value::Str(s) => PyString::new(py, &s).into_any(),
        Value::Ints(v) => PyTuple::new(py, v)?.into_any(),
        Value::DType(d) => crate::types::dtype::object(py, d),
        Value::List(v) => PyList::new(py, convert_all(py, v)?)?.into_any(),
        Value::Tuple(v) => PyTuple::new(py, convert_all(py, v)?)?.into_any(),
        Value::Named(n) => {
            let n = *n;
            crate::types::named::instance(py, n.class, convert_all(py, n.items)?)?
        }
        Value::Updated(u) => tensor::wrap(py, u.out)?.into_any(),
        Value::Index(_) | Value::Object(_) => {
            return Err(PyTypeError::new_err("the result cannot be shown to Python").into());
        }
    })
}

fn convert_all(py: Python<'_>, v: Vec<Value>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let shown = |(i, x)| {
        host::turn(i)?;
        to_python(py, x)
    };
    v.into_iter().enumerate().map(shown).collect()
}

/// A number as a Python number.
pub fn scalar(py: Python<'_>, s: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match s {
        Scalar::Bool(b) => PyBool::new(py, b).to_owned().into_any(),
        Scalar::Int(i) => PyInt::new(py, i).into_any(),
        Scalar::Unsigned(u) => PyInt::new(py, u).into_any(),
        Scalar::Huge(x) | Scalar::Float(x) => PyFloat::new(py, x).into_any(),
        Scalar::Complex(z) => PyComplex::from_doubles(py, z.re, z.im).into_any(),
    })
}
