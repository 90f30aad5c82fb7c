//! Generators of random numbers as Python objects.

use crate::tensor::{self, PyTensor};
use crate::types::class::type_name;
use crate::types::device::Device;
use crate::types::errors::PyResult;
use pullback::DType;
use pullback::core::params::Parameters;
use pullback::dense::Array;
use pullback::dense::random::{self, Generator};
use pullback::skin::read::{self, Reading};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt};
use std::sync::Arc;

/// A source of random numbers: the same seed gives the same numbers, on any number of threads, and those of PyTorch.
///
/// >>> import pullback
/// >>> g = pullback.Generator().manual_seed(7)
/// >>> a = pullback.rand(3, generator=g)
/// >>> g = g.manual_seed(7)
/// >>> bool((a == pullback.rand(3, generator=g)).all())
/// True
#[pyclass(frozen, name = "Generator", module = "pullback")]
pub struct PyGenerator(Arc<Generator>);

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(device: Option<&Bound<'_, PyAny>>) -> PyResult<PyGenerator> {
        if let Some(d) = device {
            Device::from_argument(d, "Generator")?;
        }
        Ok(PyGenerator(Arc::new(Generator::default())))
    }
    /// Starts over from a seed; returns the generator.
    fn manual_seed(slf: PyRef<'_, Self>, seed: &Bound<'_, PyAny>) -> PyResult<Py<PyGenerator>> {
        if seed.is_instance_of::<PyFloat>() || !seed.hasattr("__index__")? {
            let class = type_name(seed);
            return Err(PyRuntimeError::new_err(format!(
                "manual_seed(): argument 'seed': expected a long, but got {class}; give an int"
            ))
            .into());
        }
        slf.0.manual_seed(seed_of(seed)?);
        Ok(slf.into())
    }
    /// Takes a new seed from the system and returns it.
    fn seed(&self) -> u64 {
        self.0.seed()
    }
    fn initial_seed(&self) -> u64 {
        self.0.initial_seed()
    }
    /// The state as a tensor of bytes, for `set_state`.
    fn get_state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        shown(py, &self.0)
    }
    fn set_state(slf: PyRef<'_, Self>, new_state: &Bound<'_, PyAny>) -> PyResult<Py<PyGenerator>> {
        slf.0.set_state(&state_of(new_state, "set_state")?)?;
        Ok(slf.into())
    }
    /// Where the numbers are drawn: on the CPU.
    #[getter]
    fn device(&self) -> Device {
        Device::CPU
    }
    fn clone_state(&self) -> PyGenerator {
        PyGenerator(Arc::new(self.0.clone_state()))
    }
}

/// The generator in an argument.
pub fn of_object(o: &Bound<'_, PyAny>) -> Option<Arc<dyn Parameters>> {
    Some(o.cast::<PyGenerator>().ok()?.get().0.clone())
}

/// A seed of 64 bits, with a sign or without.
fn seed_of(o: &Bound<'_, PyAny>) -> PyResult<u64> {
    match o.extract::<i128>() {
        Ok(seed) if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&seed) => Ok(seed as u64),
        Err(e) if !e.is_instance_of::<PyOverflowError>(o.py()) => Err(e.into()),
        _ => Err(PyValueError::new_err(
            "manual_seed(): argument 'seed': Overflow when unpacking long long; give an int from -2**63 to 2**64 - 1",
        )
        .into()),
    }
}

/// Seeds the default generator, by what int() makes of the argument, and returns it.
#[pyfunction]
fn manual_seed(seed: &Bound<'_, PyAny>) -> PyResult<PyGenerator> {
    random::manual_seed(seed_of(&seed.py().get_type::<PyInt>().call1((seed,))?)?);
    Ok(PyGenerator(random::default_generator().clone()))
}

/// Gives the default generator a seed of the system and returns it.
#[pyfunction]
fn seed() -> u64 {
    random::default_generator().seed()
}

#[pyfunction]
fn initial_seed() -> u64 {
    random::default_generator().initial_seed()
}

/// The state of the default generator as a tensor of bytes.
#[pyfunction]
fn get_rng_state(py: Python<'_>) -> PyResult<Bound<'_, PyTensor>> {
    shown(py, random::default_generator())
}

/// The same as bytes, which no transform sees.
#[pyfunction]
fn _rng_bytes(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &random::default_generator().get_state())
}

#[pyfunction]
fn set_rng_state(new_state: &Bound<'_, PyAny>) -> PyResult<()> {
    Ok(random::default_generator().set_state(&state_of(new_state, "set_rng_state")?)?)
}

fn shown<'py>(py: Python<'py>, generator: &Generator) -> PyResult<Bound<'py, PyTensor>> {
    let state = generator.get_state();
    tensor::wrap(py, Array::from_slice([state.len()], &state[..])?.into())
}

/// The bytes of a state, in a tensor or as they are.
fn state_of(state: &Bound<'_, PyAny>, function: &str) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = state.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let Some(t) = tensor::cell(state).filter(|t| t.value().dtype() == DType::U8) else {
        let got = type_name(state);
        return Err(PyTypeError::new_err(short!(
            "{function}(): argument 'new_state' must be a tensor of dtype uint8, as the state was given, not {got}"
        ))
        .into());
    };
    Ok(read::array(&t.value(), function, Reading::Elements)?.contiguous()?.bytes()?.to_vec())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyGenerator>()?;
    m.add("default_generator", Bound::new(m.py(), PyGenerator(random::default_generator().clone()))?)?;
    m.add_function(wrap_pyfunction!(manual_seed, m)?)?;
    m.add_function(wrap_pyfunction!(seed, m)?)?;
    m.add_function(wrap_pyfunction!(initial_seed, m)?)?;
    m.add_function(wrap_pyfunction!(get_rng_state, m)?)?;
    m.setattr("_rng_bytes", wrap_pyfunction!(_rng_bytes, m)?)?;
    Ok(m.add_function(wrap_pyfunction!(set_rng_state, m)?)?)
}
