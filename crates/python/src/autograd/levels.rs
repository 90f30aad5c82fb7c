//! What the Python side may ask of values and the transforms that follow them.

use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::errors;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::core::level::GradMode;
use pullback::core::node::Meta;
use pullback::core::origin::{Origin, at_here};
use pullback::core::tensor::Payload;
use pullback::core::{LevelId, Tangents, Tensor, level, watch};
use pullback::function::{self, Rule, Source, arrives, transposed};
use pullback::ops::rewind;
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
        if let Some(cell) = tensor::cell(&t) {
            collect(&cell.value(), &mut tapes, &mut duals);
        }
    }
    (tapes.len(), duals.len(), level::tracing() != LevelId::DENSE)
}

/// Whether two runs of a function gave this value, up to rounding.
#[pyfunction]
fn _agree(first: &Bound<'_, PyTensor>, again: &Bound<'_, PyTensor>) -> PyResult<bool> {
    Ok(function::agree(&first.get().value(), &again.get().value())?)
}

/// The user's line, for the end of an error.
#[pyfunction]
fn _at_here() -> String {
    at_here()
}

/// Whether these tensors are plain arrays and no transform would notice an operator on them.
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn _is_plain(tensors: &Bound<'_, PyTuple>) -> bool {
    let plain = |t: Bound<'_, PyAny>| tensor::cell(&t).is_none_or(|c| c.value().level() == LevelId::DENSE);
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

/// Whether the function that runs is tried only.
#[pyfunction]
fn _trying() -> bool {
    arrives()
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
    let autograd = crate::types::submodule(m, "autograd")?;
    autograd.add_function(wrap_pyfunction!(_followers, m)?)?;
    autograd.add_function(wrap_pyfunction!(_agree, m)?)?;
    autograd.add_function(wrap_pyfunction!(_at_here, m)?)?;
    autograd.add_function(wrap_pyfunction!(_is_plain, m)?)?;
    autograd.add_function(wrap_pyfunction!(_running, m)?)?;
    autograd.add_function(wrap_pyfunction!(_transposed, m)?)?;
    autograd.add_function(wrap_pyfunction!(_trying, m)?)?;
    autograd.add_class::<Kernels>()?;
    autograd.add_function(wrap_pyfunction!(_moment, m)?)?;
    Ok(autograd.add_function(wrap_pyfunction!(_replay, m)?)?)
}
