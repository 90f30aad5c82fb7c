//! What the Python side may ask of values and the transforms that follow them.

use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::errors;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::core::level::GradMode;
use pullback::core::node::Meta;
use pullback::core::origin::Origin;
use pullback::core::{LevelId, Tangents, Tensor, level, watch};
use pullback::function::{Rule, Source, transposed};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Whether these tensors are plain arrays and no transform would notice an operator on them.
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn _is_plain(tensors: &Bound<'_, PyTuple>) -> bool {
    let plain = |t: Bound<'_, PyAny>| tensor::cell(&t).is_none_or(|c| c.value().level() == LevelId::DENSE);
    level::tracing() == LevelId::DENSE && tensors.iter().all(plain)
}

/// The transpose of a rule that is linear in `vectors`, whose values do not matter, at `along`: one result for each
/// vector. The rule returns a tensor or None for each of `along`. `names`: the function, the rule, and what to write for
/// the other mode; `forward` says that this is forward mode.
#[pyfunction]
fn _transposed<'py>(
    names: (String, String, String),
    forward: bool,
    rule: &Bound<'py, PyAny>,
    vectors: Vec<Bound<'py, PyTensor>>,
    along: Vec<Option<Bound<'py, PyTensor>>>,
) -> PyResult<Vec<Option<Bound<'py, PyTensor>>>> {
    let py = rule.py();
    let metas: Vec<Meta> = vectors.iter().map(|v| Meta::of(&v.get().value())).collect();
    let along: Vec<Option<Tensor>> = along.iter().map(|a| a.as_ref().map(|a| a.get().value())).collect();
    let derived = if forward { Rule::Jvp } else { Rule::Backward };
    let source = Source::Named { function: &names.0, rule: &names.1, derived, fix: &names.2 };
    let run = |given: &[Option<Tensor>]| -> PyResult<Tangents> {
        let given = given.iter().flatten().map(|t| tensor::wrap(py, t.clone())).collect::<PyResult<Vec<_>>>()?;
        let found = rule.call1(PyTuple::new(py, given)?)?;
        let value = |o: PyResult<Bound<'py, PyAny>>| {
            let found: Option<Bound<'py, PyTensor>> = o?.extract()?;
            Ok(found.map(|t| t.get().value()))
        };
        raised::items(&found)?.map(value).collect()
    };
    let out = transposed(&source, &metas, &along, |given| run(given).map_err(errors::to_error))?;
    out.into_iter().map(|t| t.map(|t| tensor::wrap(py, t)).transpose()).collect()
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
        Ok(kernel.call(args, Some(kwargs))?)
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let autograd = crate::types::submodule(m, "autograd")?;
    autograd.add_function(wrap_pyfunction!(_is_plain, m)?)?;
    autograd.add_function(wrap_pyfunction!(_transposed, m)?)?;
    Ok(autograd.add_class::<Kernels>()?)
}
