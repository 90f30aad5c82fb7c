//! What the Python side may ask of values and the transforms that follow them.

use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::errors;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::base::Result;
use pullback::core::level::{Below, GradMode};
use pullback::core::node::Meta;
use pullback::core::tensor::Payload;
use pullback::core::{LevelId, Tangents, Tensor, level};
use pullback::function::{Rule, Source, transposed};
use pullback::rules::basis;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Whether these tensors are plain arrays and no transform would notice an operator on them.
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn _is_plain(tensors: &Bound<'_, PyTuple>) -> bool {
    let plain = |t: Bound<'_, PyAny>| tensor::cell(&t).is_none_or(|c| c.value().level() == LevelId::DENSE);
    level::tracing() == LevelId::DENSE && tensors.iter().all(plain)
}

/// What one member of the value has at the levels below all transforms; None if there are no data, or no members.
#[pyfunction]
fn _sample<'py>(t: &Bound<'py, PyTensor>) -> PyResult<Option<Bound<'py, PyTensor>>> {
    let _below = Below::all();
    sampled(&t.get().value())?.map(|value| tensor::wrap(t.py(), value)).transpose()
}

fn sampled(t: &Tensor) -> Result<Option<Tensor>> {
    match t.payload() {
        Some(Payload::Batched { value, dim }) => match sampled(value)? {
            Some(value) if value.shape()[*dim] > 0 => basis::select(&value, *dim, 0).map(Some),
            _ => Ok(None),
        },
        Some(Payload::Dual { primal: value, .. } | Payload::Taped { value, .. } | Payload::Traced { value, .. }) => {
            sampled(value)
        }
        None => Ok((!t.is_abstract()).then(|| t.clone())),
    }
}

/// Calls a function as if no transform were running.
#[pyfunction]
#[pyo3(signature = (f, *args))]
fn _outside<'py>(f: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    let _below = Below::all();
    let _mode = GradMode::set(true);
    Ok(f.call1(args)?)
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

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let autograd = crate::types::submodule(m, "autograd")?;
    autograd.add_function(wrap_pyfunction!(_is_plain, m)?)?;
    autograd.add_function(wrap_pyfunction!(_sample, m)?)?;
    autograd.add_function(wrap_pyfunction!(_outside, m)?)?;
    Ok(autograd.add_function(wrap_pyfunction!(_transposed, m)?)?)
}
