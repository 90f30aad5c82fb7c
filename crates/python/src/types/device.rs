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

/// Where a tensor lives: `cpu`, or `meta`, whose tensors have a shape and a dtype and no data. Programs also name devices
/// that are not here, to compare them; no tensor can be made on one or moved to it.
#[pyclass(frozen, eq, hash, name = "device", module = "pullback")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Device {
    /// A place in `KINDS`.
    kind: u8,
    index: Option<u32>,
}

/// The kinds of devices that have a name; only the first two are here.
const KINDS: [&str; 20] = [
    "cpu",
    "meta",
    "cuda",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "hpu",
    "mtia",
    "privateuseone",
];
const CUDA: u8 = 2;

thread_local! {
    /// Whether each `with device(...)` that this thread is in names `meta`, the innermost last.
    static ENTERED: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

/// Whether tensors are made on `meta` where the program names no device.
pub fn is_meta_by_default() -> bool {
    ENTERED.with_borrow(|e| e.last() == Some(&true))
}

impl Device {
    pub const CPU: Device = Device { kind: 0, index: None };
    pub const META: Device = Device { kind: 1, index: None };

    /// Whether its tensors have no data.
    pub fn is_meta(&self) -> bool {
        self.kind == Device::META.kind
    }
    fn kind(&self) -> &'static str {
        KINDS[self.kind as usize]
    }
    fn is_here(&self) -> bool {
        self.kind <= Device::META.kind
    }

    /// The device that an argument names: a `device`, a string, or a number, for a tensor to be on.
    ///
    /// # Errors
    /// RuntimeError for any device but the cpu and meta, TypeError for other objects.
    pub fn from_argument(obj: &Bound<'_, PyAny>, function: &str) -> PyResult<Device> {
        let device = Device::named(obj, function)?;
        if device.is_here() { Ok(device) } else { Err(not_here(function, &device.__str__()).into()) }
    }

    /// As [`Device::from_argument`], for any device that has a name.
    fn named(obj: &Bound<'_, PyAny>, function: &str) -> PyResult<Device> {
        if let Ok(device) = obj.cast::<Device>() {
            return Ok(device.get().clone());
        }
        if let Ok(name) = obj.cast::<PyString>() {
            return parse(name.to_str()?, function);
        }
        if let Some(index) = raised::index(obj)? {
            // A number alone means a device of CUDA.
            return match index.extract::<u32>() {
                Ok(index) => Ok(Device { kind: CUDA, index: Some(index) }),
                Err(_) => Err(not_here(function, &raised::repr_of(&index)?).into()),
            };
        }
        let got = type_name(obj);
        Err(PyTypeError::new_err(short!("{function}(): argument 'device' expected a device or a str, got {got}"))
            .into())
    }
}

fn parse(name: &str, function: &str) -> PyResult<Device> {
    let (kind, digits) = name.split_once(':').map_or((name, None), |(kind, digits)| (kind, Some(digits)));
    let Some(kind) = KINDS.iter().position(|k| *k == kind) else { return Err(not_here(function, name).into()) };
    let index = match digits {
        None => None,
        Some(digits) if digits == "0" || !digits.starts_with(['0', '+']) => {
            Some(digits.parse().map_err(|_| not_here(function, name))?)
        }
        Some(_) => return Err(not_here(function, name).into()),
    };
    Ok(Device { kind: kind as u8, index })
}

#[cold]
fn not_here(function: &str, got: &str) -> PyErr {
    PyRuntimeError::new_err(short!("{function}(): the only devices are 'cpu' and 'meta', got '{got}'"))
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (r#type, index = None))]
    fn new(r#type: &Bound<'_, PyAny>, index: Option<u32>) -> PyResult<Self> {
        let device = Device::named(r#type, "device")?;
        match (device.index, index) {
            (Some(_), Some(_)) => Err(PyRuntimeError::new_err(short!(
                "device(): argument 'index' was given, and '{}' holds an index too",
                device.__str__()
            ))
            .into()),
            (a, b) => Ok(Device { index: a.or(b), ..device }),
        }
    }
    /// The kind of device: `cpu` or `meta`, or one that is not here.
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
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let device = slf.get();
        if !device.is_here() {
            return Err(not_here("device", &device.__str__()).into());
        }
        ENTERED.with_borrow_mut(|e| e.push(device.is_meta()));
        Ok(slf)
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
