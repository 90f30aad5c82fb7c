//! The Python class `dtype`: one object for each [`DType`], so that identity is equality.

use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::library;
use pullback::base::DType;
use pullback::base::promote::{default_float, promote, set_default_float};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyType};
use pyo3::{PyTypeInfo, ffi};

/// The type of a tensor's elements, such as `pullback.float32`.
#[pyclass(frozen, name = "dtype", module = "pullback")]
pub struct PyDType(pub DType);

static OBJECTS: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();

/// Names of one dtype besides its own, as PyTorch has them.
const ALIASES: [(&str, DType); 8] = [
    ("half", DType::F16),
    ("float", DType::F32),
    ("double", DType::F64),
    ("short", DType::I16),
    ("int", DType::I32),
    ("long", DType::I64),
    ("cfloat", DType::C64),
    ("cdouble", DType::C128),
];

/// The Python object of a dtype.
pub fn object(py: Python<'_>, dtype: DType) -> Bound<'_, PyAny> {
    let all = OBJECTS.get_or_init(py, || DType::ALL.iter().filter_map(|d| Py::new(py, PyDType(*d)).ok()).collect());
    match all.get(dtype as usize) {
        Some(object) => object.bind(py).clone().into_any(),
        None => py.None().into_bound(py),
    }
}

/// The dtype that an object is, by one comparison of type pointers. For a live object of an attached thread.
#[inline]
pub(crate) fn dtype_of(obj: *mut ffi::PyObject) -> Option<DType> {
    // SAFETY: the object lives, and a type that is exactly `PyDType`, which has no subclasses, is its own layout.
    // Nothing owned is dropped while attachment is assumed.
    unsafe {
        let py = Python::assume_attached();
        let same = std::ptr::eq(ffi::Py_TYPE(obj), PyDType::type_object_raw(py));
        same.then(|| Borrowed::from_ptr(py, obj).cast_unchecked::<PyDType>().get().0)
    }
}

/// A dtype argument: a `dtype`, or one of Python's `bool`, `int`, `float`, `complex`.
///
/// # Errors
/// TypeError that names the function and the argument.
pub fn dtype_argument(obj: &Bound<'_, PyAny>, function: &str, argument: &str) -> PyResult<DType> {
    Ok(dtype_or_number_type(obj).ok_or_else(|| {
        let got = class::type_name(obj);
        PyTypeError::new_err(short!("{function}(): argument '{argument}' expected a pullback.dtype, got {got}"))
    })?)
}

/// A dtype, or the Python type of numbers that stands for one: `float` is float64.
pub fn dtype_or_number_type(obj: &Bound<'_, PyAny>) -> Option<DType> {
    dtype_of(obj.as_ptr()).or_else(|| python_number_type(obj))
}

fn python_number_type(obj: &Bound<'_, PyAny>) -> Option<DType> {
    let py = obj.py();
    let ty = obj.cast::<PyType>().ok()?;
    if ty.is(py.get_type::<PyFloat>()) {
        Some(DType::F64)
    } else if ty.is(py.get_type::<PyInt>()) {
        Some(DType::I64)
    } else if ty.is(py.get_type::<PyBool>()) {
        Some(DType::Bool)
    } else if ty.is(py.get_type::<PyComplex>()) {
        Some(DType::C128)
    } else {
        None
    }
}

/// The dtype of a NumPy dtype's `name`, such as `float32` or `bool`.
pub fn dtype_from_numpy(name: &str) -> Option<DType> {
    DType::from_name(name)
}

/// The dtype of a NumPy `kind` and `itemsize`, which also covers platform names such as `longlong`.
pub fn dtype_from_kind(kind: char, itemsize: usize) -> Option<DType> {
    Some(match (kind, itemsize) {
        ('b', 1) => DType::Bool,
        ('u', 1) => DType::U8,
        ('i', 1) => DType::I8,
        ('i', 2) => DType::I16,
        ('i', 4) => DType::I32,
        ('i', 8) => DType::I64,
        ('f', 2) => DType::F16,
        ('f', 4) => DType::F32,
        ('f', 8) => DType::F64,
        ('c', 8) => DType::C64,
        ('c', 16) => DType::C128,
        _ => return None,
    })
}

#[pymethods]
impl PyDType {
    fn __repr__(&self) -> String {
        format!("{}{}", library::prefix(), self.0)
    }
    /// Pickles and copies as the global `pullback.<name>`, hence as the same object.
    fn __reduce__(&self) -> &'static str {
        self.0.name()
    }
    /// Whether this is one of the float dtypes.
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_float()
    }
    /// Whether this is one of the complex dtypes.
    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }
    /// Whether negative values can be represented.
    #[getter]
    fn is_signed(&self) -> bool {
        self.0.is_signed()
    }
    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }
    /// The dtype of the real and imaginary parts; any other dtype is its own.
    fn to_real<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        object(py, if self.0.is_complex() { self.0.real() } else { self.0 })
    }
    /// The complex dtype with parts of this dtype; the half types give complex64.
    fn to_complex<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let complex = match self.0 {
            DType::F16 | DType::BF16 | DType::F32 | DType::C64 => DType::C64,
            DType::F64 | DType::C128 => DType::C128,
            d => return Err(no_counterpart("to_complex", d).into()),
        };
        Ok(object(py, complex))
    }
}

#[cold]
fn no_counterpart(method: &str, dtype: DType) -> PyErr {
    PyRuntimeError::new_err(short!("{method}(): expected a float or complex dtype, got {dtype}"))
}

/// The dtype that floats made from Python numbers have.
#[pyfunction]
fn get_default_dtype(py: Python<'_>) -> Bound<'_, PyAny> {
    object(py, default_float())
}

/// Sets the dtype of floats made from Python numbers; complex numbers follow it.
#[pyfunction]
#[pyo3(signature = (d, /))]
fn set_default_dtype(d: &Bound<'_, PyAny>) -> PyResult<()> {
    Ok(set_default_float(dtype_argument(d, "set_default_dtype", "d")?)?)
}

/// The smallest dtype that both convert to.
#[pyfunction]
fn promote_types<'py>(
    py: Python<'py>,
    type1: &Bound<'py, PyAny>,
    type2: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let a = dtype_argument(type1, "promote_types", "type1")?;
    Ok(object(py, promote(a, dtype_argument(type2, "promote_types", "type2")?)))
}

/// Whether promotion allows a conversion: to the same category or a higher one.
#[pyfunction]
fn can_cast(from_: &Bound<'_, PyAny>, to: &Bound<'_, PyAny>) -> PyResult<bool> {
    let from = dtype_argument(from_, "can_cast", "from_")?;
    Ok(from.category() <= dtype_argument(to, "can_cast", "to")?.category())
}

/// Adds the class, the twelve dtypes, their aliases and the functions of dtypes to `_core`.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add_class::<PyDType>()?;
    for dtype in DType::ALL {
        m.add(dtype.name(), object(py, dtype))?;
    }
    for (alias, dtype) in ALIASES {
        m.add(alias, object(py, dtype))?;
    }
    m.add_function(wrap_pyfunction!(get_default_dtype, m)?)?;
    m.add_function(wrap_pyfunction!(set_default_dtype, m)?)?;
    m.add_function(wrap_pyfunction!(promote_types, m)?)?;
    Ok(m.add_function(wrap_pyfunction!(can_cast, m)?)?)
}
