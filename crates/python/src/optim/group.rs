//! One step of all parameters of a group.

use super::loans::{self, Taken};
use crate::tensor::PyTensor;
use crate::types::class;
use crate::types::errors::PyResult;
use pullback::base::{Error, Result};
use pullback::core::level::GradMode;
use pullback::dense::Array;
use pullback::dense::optim::{Algorithm, Scalars, Step, step};
use pullback::skin::lend;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;
use std::ptr::NonNull;

/// A parameter, its gradient and what is kept of it.
struct Member<'a> {
    param: &'a PyTensor,
    grad: &'a PyTensor,
    states: SmallVec<[&'a PyTensor; 3]>,
    scalars: SmallVec<[&'a PyTensor; 3]>,
}

/// What a step was made for: parameters with the same numbers share it.
struct Prepared {
    before: SmallVec<[f64; 3]>,
    dtypes: SmallVec<[pullback::DType; 3]>,
    after: SmallVec<[f64; 3]>,
    step: Box<dyn Step>,
}

/// The numbers that the options of a group stand for.
fn options(group: &Bound<'_, PyDict>, algorithm: &Algorithm) -> PyResult<SmallVec<[f64; 8]>> {
    let mut out = SmallVec::new();
    for name in algorithm.options {
        let Some(value) = group.get_item(name)? else {
            return Err(
                Error::runtime(format!("{}: the parameter group has no option {name:?}", algorithm.name)).into()
            );
        };
        match value.cast::<PyTuple>() {
            Ok(pair) => pair.iter().try_for_each(|x| x.extract().map(|x| out.push(x)))?,
            Err(_) => match value.cast::<PyList>() {
                Ok(pair) => pair.iter().try_for_each(|x| x.extract().map(|x| out.push(x)))?,
                Err(_) => out.push(value.extract()?),
            },
        }
    }
    Ok(out)
}

/// The tensor of an object that was found in a state or a list.
fn tensor<'a>(o: &'a Bound<'_, PyAny>, what: &str) -> PyResult<&'a PyTensor> {
    loans::tensor(o)
        .ok_or_else(|| Error::type_(format!("step(): {what} must be Tensor, not {}", class::type_name(o))).into())
}

fn kept<'py>(entry: &Bound<'py, PyDict>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    entry.get_item(name)?.ok_or_else(|| {
        Error::runtime(format!(
            "step(): the state of a parameter has no {name}; it was changed, or made for other options of the group"
        ))
        .into()
    })
}

/// Makes the step of an algorithm for parameters `params[i]` with gradients `grads[i]` and states `entries[i]`, dicts in
/// which `names` are the tensors of the parameter's shape. Returns how many parameters were changed: from the first one on
/// that a transform follows, operators must do it.
#[pyfunction]
pub fn _step(
    algorithm: &str,
    group: &Bound<'_, PyDict>,
    params: &Bound<'_, PyList>,
    grads: &Bound<'_, PyList>,
    entries: &Bound<'_, PyList>,
    names: &Bound<'_, PyTuple>,
) -> PyResult<usize> {
    let Some(found) = Algorithm::find(algorithm) else {
        return Err(Error::value(format!("step(): there is no kernel {algorithm:?}")).into());
    };
    let options = options(group, found)?;
    let scalar_names = PyTuple::new(group.py(), found.scalars)?;
    let _off = GradMode::set(false);
    let mut prepared: Option<Prepared> = None;
    let count = params.len().min(grads.len()).min(entries.len());
    for i in 0..count {
        let (param, grad, entry) = (params.get_item(i)?, grads.get_item(i)?, entries.get_item(i)?);
        let entry = entry.cast_into::<PyDict>().map_err(PyErr::from)?;
        let mut objects: SmallVec<[Bound<'_, PyAny>; 6]> = SmallVec::new();
        for name in names.iter().chain(scalar_names.iter()) {
            objects.push(kept(&entry, &name)?);
        }
        let (states, scalars) = objects.split_at(names.len());
        let member = Member {
            param: tensor(&param, "a parameter")?,
            grad: tensor(&grad, "a gradient")?,
            states: states.iter().map(|o| tensor(o, "a state")).collect::<PyResult<_>>()?,
            scalars: scalars.iter().map(|o| tensor(o, "a state")).collect::<PyResult<_>>()?,
        };
        if !advance(found, &options, &member, &mut prepared)? {
            return Ok(i);
        }
    }
    Ok(count)
}

/// The step of one parameter; false if operators must do it.
fn advance(
    algorithm: &Algorithm,
    options: &[f64],
    member: &Member<'_>,
    prepared: &mut Option<Prepared>,
) -> PyResult<bool> {
    let name = algorithm.name;
    let mut all: SmallVec<[&PyTensor; 8]> = SmallVec::new();
    all.push(member.param);
    all.extend(member.states.iter().chain(&member.scalars).copied());
    if all.iter().enumerate().any(|(i, a)| all[..i].iter().any(|b| std::ptr::eq(*a, *b))) {
        return Err(Error::runtime(format!("{name}(): a parameter and its states must be different tensors")).into());
    }
    let (mut before, mut dtypes) = (SmallVec::<[f64; 3]>::new(), SmallVec::<[pullback::DType; 3]>::new());
    for t in &member.scalars {
        let Some((x, dtype)) = loans::number(t) else { return Ok(false) };
        before.push(x);
        dtypes.push(dtype);
    }
    if prepared.as_ref().is_none_or(|p| p.before != before || p.dtypes != dtypes) {
        let mut after = before.clone();
        let step = (algorithm.prepare)(options, &mut Scalars { values: &mut after, dtypes: &dtypes })?;
        *prepared = Some(Prepared { before, dtypes, after, step });
    }
    let Some(ready) = prepared else { return Ok(false) };
    let named = |e: Error| Error::new(e.kind(), format!("{name}(): {}", e.message()));
    let targets = &all[..1 + member.states.len()];
    if !step_in_place(&*ready.step, targets, member.grad).map_err(named)? {
        // Before anything is taken out: a gradient that shares memory with the parameter keeps the old elements.
        let Some(grad) = loans::gradient(member.grad) else { return Ok(false) };
        let Some(taken) = Taken::of(targets).map_err(named)? else { return Ok(false) };
        taken.change(name, |arrays| step(&*ready.step, arrays, &grad).map_err(named))?;
    }
    for (t, x) in member.scalars.iter().zip(&ready.after) {
        loans::set_number(t, name, *x)?;
    }
    Ok(true)
}

/// The step where each tensor alone holds its elements, as most parameters do; false if one does not.
fn step_in_place(rule: &dyn Step, targets: &[&PyTensor], grad: &PyTensor) -> Result<bool> {
    if targets.iter().any(|t| std::ptr::eq(*t, grad)) {
        return Ok(false);
    }
    // A module's parameters have shared cells, since they were made of other tensors, which are gone.
    targets.iter().for_each(|t| t.unshare());
    let near = grad.with(|s| s.quick().and_then(lend::plain).map(NonNull::from));
    // Reading a shared cell may run any program; nothing below does.
    let far = if near.is_none() { loans::gradient(grad) } else { None };
    let mut at: SmallVec<[NonNull<Array>; 4]> = SmallVec::new();
    for t in targets {
        match loans::in_place(t) {
            Some(array) => at.push(array),
            None => return Ok(false),
        }
    }
    // SAFETY: the arrays lie in the values of different tensors, each target's in one that only it holds, so that they
    // are different arrays. Nobody else comes to these tensors meanwhile: this thread holds the interpreter, and the
    // kernel runs no Python.
    let (near, mut arrays) = unsafe {
        let arrays: SmallVec<[&mut Array; 4]> = at.iter_mut().map(|a| a.as_mut()).collect();
        (near.map(|a| a.as_ref()), arrays)
    };
    let Some(grad) = near.or(far.as_ref()) else { return Ok(false) };
    step(rule, &mut arrays, grad)?;
    targets.iter().for_each(|t| t.with(|s| s.wrote()));
    Ok(true)
}
