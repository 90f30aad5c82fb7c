//! `finfo` and `iinfo`: what the numbers of a dtype can represent.

use crate::types::dtype::dtype_argument;
use crate::types::errors::PyResult;
use half::{bf16, f16};
use pullback::base::DType;
use pullback::base::promote::default_float;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Limits of a float dtype; of a complex one, those of its parts.
#[pyclass(frozen, eq, name = "finfo", module = "pullback")]
#[derive(PartialEq)]
pub struct FInfo {
    dtype: DType,
    /// Distance from 1 to the next larger number.
    #[pyo3(get)]
    eps: f64,
    /// Largest finite number.
    #[pyo3(get)]
    max: f64,
    /// Smallest positive number with full precision.
    #[pyo3(get)]
    smallest_normal: f64,
    /// Decimal resolution: 10 to the minus number of exact decimal digits.
    #[pyo3(get)]
    resolution: f64,
}

#[pymethods]
impl FInfo {
    #[new]
    #[pyo3(signature = (r#type = None))]
    fn new(r#type: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let given = r#type.map_or(Ok(default_float()), |d| dtype_argument(d, "finfo", "type"))?;
        let dtype = given.real();
        let (eps, max, smallest_normal, resolution) = match dtype {
            DType::F16 => (f16::EPSILON.to_f64(), f16::MAX.to_f64(), f16::MIN_POSITIVE.to_f64(), 1e-3),
            DType::BF16 => (bf16::EPSILON.to_f64(), bf16::MAX.to_f64(), bf16::MIN_POSITIVE.to_f64(), 1e-2),
            DType::F32 => (f64::from(f32::EPSILON), f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE), 1e-6),
            DType::F64 => (f64::EPSILON, f64::MAX, f64::MIN_POSITIVE, 1e-15),
            d => {
                return Err(PyTypeError::new_err(short!(
                    "finfo(): argument 'type' expected a float or complex dtype, got {d}; iinfo() knows the integers"
                ))
                .into());
            }
        };
        Ok(FInfo { dtype, eps, max, smallest_normal, resolution })
    }
    /// Bits of one number.
    #[getter]
    fn bits(&self) -> usize {
        self.dtype.size() * 8
    }
    /// Most negative finite number.
    #[getter]
    fn min(&self) -> f64 {
        -self.max
    }
    /// The same as `smallest_normal`.
    #[getter]
    fn tiny(&self) -> f64 {
        self.smallest_normal
    }
    /// Name of the dtype.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.name()
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let g = |x: f64| short(py, x);
        let tiny = g(self.smallest_normal)?;
        Ok(format!(
            "finfo(resolution={}, min={}, max={}, eps={}, smallest_normal={tiny}, tiny={tiny}, dtype={})",
            g(self.resolution)?,
            g(-self.max)?,
            g(self.max)?,
            g(self.eps)?,
            self.dtype
        ))
    }
}

/// Limits of an integer dtype.
#[pyclass(frozen, eq, name = "iinfo", module = "pullback")]
#[derive(PartialEq)]
pub struct IInfo {
    dtype: DType,
    /// Smallest number.
    #[pyo3(get)]
    min: i64,
    /// Largest number.
    #[pyo3(get)]
    max: i64,
}

#[pymethods]
impl IInfo {
    #[new]
    #[pyo3(signature = (r#type))]
    fn new(r#type: &Bound<'_, PyAny>) -> PyResult<Self> {
        let dtype = dtype_argument(r#type, "iinfo", "type")?;
        let (min, max) = match dtype {
            DType::U8 => (0, i64::from(u8::MAX)),
            DType::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
            DType::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            DType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            DType::I64 => (i64::MIN, i64::MAX),
            d => {
                return Err(PyTypeError::new_err(short!(
                    "iinfo(): argument 'type' expected an integer dtype, got {d}; finfo() knows the floats"
                ))
                .into());
            }
        };
        Ok(IInfo { dtype, min, max })
    }
    /// Bits of one number.
    #[getter]
    fn bits(&self) -> usize {
        self.dtype.size() * 8
    }
    /// Name of the dtype.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.name()
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let [min, max] = [short(py, self.min as f64)?, short(py, self.max as f64)?];
        Ok(format!("iinfo(min={min}, max={max}, dtype={})", self.dtype))
    }
}

/// Six significant digits, as `%g` prints them.
fn short(py: Python<'_>, x: f64) -> PyResult<String> {
    Ok(x.into_pyobject(py)?.call_method1("__format__", ("g",))?.extract()?)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<FInfo>()?;
    Ok(m.add_class::<IInfo>()?)
}
