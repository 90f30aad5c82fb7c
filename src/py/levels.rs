//! What the Python side may ask of values and the transforms that follow them.

use super::tensor;
use crate::core::level::GradMode;
use crate::core::origin::Origin;
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor, level, watch};
use crate::ops::rewind;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

type Levels = SmallVec<[LevelId; 4]>;

fn collect(value: &Tensor, tapes: &mut Levels, duals: &mut Levels) {
    let mut next = Some(value);
    while let Some(t) = next {
        let id = t.level();
        let found = match t.payload() {
            Some(Payload::Taped { .. }) if level::is_live(id) && level::records(id) => Some(&mut *tapes),
            Some(Payload::Dual { tangent, .. }) if level::is_live(id) => {
                collect(tangent, tapes, duals);
                Some(&mut *duals)
            }
            _ => None,
        };
        if let Some(found) = found
            && !found.contains(&id)
        {
            found.push(id);
        }
        next = t.below();
    }
}

/// How many tapes record these tensors, how many levels of forward mode they carry, and whether operators are traced.
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn _followers(tensors: &Bound<'_, PyTuple>) -> (usize, usize, bool) {
    let (mut tapes, mut duals) = (Levels::new(), Levels::new());
    for t in tensors.iter() {
        if let Some(cell) = tensor::cell(t.py(), t.as_ptr()) {
            collect(&cell.value(), &mut tapes, &mut duals);
        }
    }
    (tapes.len(), duals.len(), level::tracing() != LevelId::DENSE)
}

/// Whether these tensors are plain arrays and no transform would notice an operator on them.
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn _is_plain(tensors: &Bound<'_, PyTuple>) -> bool {
    let plain =
        |t: Bound<'_, PyAny>| tensor::cell(t.py(), t.as_ptr()).is_none_or(|c| c.value().level() == LevelId::DENSE);
    level::tracing() == LevelId::DENSE && tensors.iter().all(plain)
}

/// Says what the running method of a Function is to its user.
#[pyfunction]
fn _running(rule: &str) {
    watch::rename(match rule {
        "fwd" => "the fwd of defvjp()",
        "bwd" => "the bwd of defvjp()",
        "jvp" => "the rule of defjvp()",
        _ => "the function itself",
    });
}

/// Runs kernels of an operator: nothing in them is recorded, and they must not use what they captured and is followed.
#[pyclass(frozen, name = "_Kernels", module = "pullback._core")]
struct Kernels {
    origin: Origin,
}

#[pymethods]
impl Kernels {
    #[new]
    fn new(name: String) -> Kernels {
        Kernels { origin: Origin::intern(name) }
    }

    fn run<'py>(
        &self,
        kernel: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let levels = watch::Levels::live().tapes_and_hidden();
        let _mode = GradMode::set(false);
        let _running = watch::enter(self.origin, "the kernel", levels);
        kernel.call(args, Some(kwargs))
    }
}

/// A number that the levels which are opened from now on follow.
#[pyfunction]
fn _moment() -> u32 {
    level::moment()
}

/// Says that random draws repeat those of the first moment; gives what was said before.
#[pyfunction]
fn _replay(span: rewind::Span) -> rewind::Span {
    rewind::replay(span)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let autograd = super::submodule(m, "autograd")?;
    autograd.add_function(wrap_pyfunction!(_followers, m)?)?;
    autograd.add_function(wrap_pyfunction!(_is_plain, m)?)?;
    autograd.add_function(wrap_pyfunction!(_running, m)?)?;
    autograd.add_class::<Kernels>()?;
    autograd.add_function(wrap_pyfunction!(_moment, m)?)?;
    autograd.add_function(wrap_pyfunction!(_replay, m)?)
}
