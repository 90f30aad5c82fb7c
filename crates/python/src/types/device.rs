//! `device`, `layout` and `memory_format`: values that programs pass around. There is one layout, and one device besides
//! `meta`, where tensors have no data.

use crate::types::class::type_name;
use crate::types::errors::PyResult;
use crate::types::raised;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where a tensor lives: `cpu`, or `meta`, whose tensors have a shape and a dtype and no data.
#[pyclass(frozen, eq, hash, name = "device", module = "pullback")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Device {
    meta: bool,
    index: Option<u32>,
}

thread_local! {
    /// Whether each `with device(...)` that this thread is in names `meta`, the innermost last.
    static ENTERED: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

/// Whether tensors are made on `meta` where the program names no device.
pub fn is_meta_by_default() -> bool {
    ENTERED.with_borrow(|e| e.last() == Some(&true))
}

impl Device {
    pub const CPU: Device = Device { meta: false, index: None };
    pub const META: Device = Device { meta: true, index: None };

    /// Whether its tensors have no data.
    pub fn is_meta(&self) -> bool {
        self.meta
    }
    fn kind(&self) -> &'static str {
        if self.meta { "meta" } else { "cpu" }
    }

    /// The device that an argument names: a `device` or a string.
    ///
    /// # Errors
    /// RuntimeError for any device but the cpu and meta, TypeError for other objects.
    pub fn from_argument(obj: &Bound<'_, PyAny>, function: &str) -> PyResult<Device> {
        if let Ok(device) = obj.cast::<Device>() {
            return Ok(device.get().clone());
        }
        if let Ok(name) = obj.cast::<PyString>() {
            return parse(name.to_str()?, function);
        }
        if let Some(index) = raised::index(obj)? {
            return Err(not_cpu(function, &raised::repr_of(&index)?).into());
        }
        let got = type_name(obj);
        Err(PyTypeError::new_err(short!("{function}(): argument 'device' expected a device or a str, got {got}"))
            .into())
    }
}

fn parse(name: &str, function: &str) -> PyResult<Device> {
    let index = match name.split_once(':') {
        None if name == "cpu" || name == "meta" => None,
        Some(("cpu" | "meta", digits)) if digits == "0" || !digits.starts_with(['0', '+']) => {
            Some(digits.parse().map_err(|_| not_cpu(function, name))?)
        }
        _ => return Err(not_cpu(function, name).into()),
    };
    Ok(Device { meta: name.starts_with("meta"), index })
}

#[cold]
fn not_cpu(function: &str, got: &str) -> PyErr {
    PyRuntimeError::new_err(short!("{function}(): the only devices are 'cpu' and 'meta', got '{got}'"))
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (r#type, index = None))]
    fn new(r#type: &Bound<'_, PyAny>, index: Option<u32>) -> PyResult<Self> {
        let device = Device::from_argument(r#type, "device")?;
        match (device.index, index) {
            (Some(_), Some(_)) => Err(PyRuntimeError::new_err(short!(
                "device(): argument 'index' was given, and '{}' holds an index too",
                device.__str__()
            ))
            .into()),
            (a, b) => Ok(Device { index: a.or(b), ..device }),
        }
    }
    /// The kind of device: `cpu` or `meta`.
    #[getter]
    fn r#type(&self) -> &'static str {
        self.kind()
    }
    /// The number given with the device, or None.
    #[getter]
    fn index(&self) -> Option<u32> {
        self.index
    }
    fn __str__(&self) -> String {
        self.index.map_or(self.kind().into(), |i| format!("{}:{i}", self.kind()))
    }
    fn __repr__(&self) -> String {
        match self.index {
            None => format!("device(type='{}')", self.kind()),
            Some(i) => format!("device(type='{}', index={i})", self.kind()),
        }
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (&'static str, Option<u32>)) {
        (slf.get_type(), (slf.get().kind(), slf.get().index))
    }
    /// Tensors that are made inside, without naming a device, are made here.
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        ENTERED.with_borrow_mut(|e| e.push(slf.get().meta));
        slf
    }
    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) -> bool {
        ENTERED.with_borrow_mut(Vec::pop);
        false
    }
}

/// How elements are stored.
#[pyclass(frozen, eq, name = "layout", module = "pullback")]
#[derive(PartialEq)]
pub struct Layout(&'static str);

/// An order of the dimensions in memory; accepted where PyTorch accepts it.
#[pyclass(frozen, eq, name = "memory_format", module = "pullback")]
#[derive(PartialEq)]
pub struct MemoryFormat(pub &'static str);

macro_rules! named_constant {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            fn __repr__(&self) -> String {
                format!("{}{}", crate::types::library::prefix(), self.0)
            }
            fn __reduce__(&self) -> &'static str {
                self.0
            }
            fn __hash__(&self) -> u64 {
                let mut hasher = DefaultHasher::new();
                self.0.hash(&mut hasher);
                hasher.finish()
            }
        }
    };
}
named_constant!(Layout);
named_constant!(MemoryFormat);

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Device>()?;
    m.add_class::<Layout>()?;
    m.add_class::<MemoryFormat>()?;
    m.add("strided", Layout("strided"))?;
    for name in ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"] {
        m.add(name, MemoryFormat(name))?;
    }
    Ok(())
}
