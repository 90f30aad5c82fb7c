//! What `backward` and `grad` are given: tensors and gradient edges, alone or in sequences.

use crate::autograd::graph::PyNode;
use crate::data::marshal;
use crate::door::descriptors::Arg;
use crate::tensor::PyTensor;
use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::core::{Edge, Tensor};
use pullback::rules::basis;
use pullback::skin::tape;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

/// The edge of a `GradientEdge`.
fn gradient_edge(o: &Bound<'_, PyAny>) -> PyResult<Option<Edge>> {
    let Some(node) = o.getattr_opt("node")? else { return Ok(None) };
    let Ok(node) = node.cast::<PyNode>() else { return Ok(None) };
    let slot: u32 = o.getattr("output_nr")?.extract()?;
    let node = node.get().0.clone();
    if slot as usize >= node.metas.len() {
        let (name, n) = (node.class(), node.metas.len());
        return Err(
            PyRuntimeError::new_err(short!("GradientEdge: {name} has {n} outputs, got output_nr={slot}")).into()
        );
    }
    Ok(Some(Edge { node, slot }))
}

/// A tensor, or what stands for a gradient edge: a value that hangs there.
fn one(o: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if let Some(t) = marshal::tensor(o) {
        return Ok(Some(t));
    }
    let Some(e) = gradient_edge(o)? else { return Ok(None) };
    let meta = &e.node.metas[e.slot as usize];
    let value = basis::expand(&Tensor::scalar(meta.dtype, 0.0), &meta.shape)?;
    Ok(Some(Tensor::taped(e.node.level, value, e.node, e.slot)))
}

/// What a gradient is wanted for.
pub struct Target<'py> {
    value: Tensor,
    pub object: Option<Bound<'py, PyTensor>>,
}

impl Target<'_> {
    pub fn edge(&self, op: &str) -> PyResult<Edge> {
        let missing =
            || PyRuntimeError::new_err(short!("{op}(): One of the differentiated Tensors does not require grad"));
        Ok(tape::edge(&self.value).ok_or_else(missing)?)
    }
}

/// The tensors and edges that gradients are wanted for: at least one.
pub fn targets<'py>(inputs: &Bound<'py, PyAny>, op: &str) -> PyResult<Vec<Target<'py>>> {
    let wrong = |o: &Bound<'_, PyAny>| {
        let got = class::type_name(o);
        PyTypeError::new_err(short!("{op}(): argument 'inputs' expected Tensors or GradientEdges, got {got}"))
    };
    let target = |o: &Bound<'py, PyAny>| -> PyResult<Option<Target<'py>>> {
        Ok(one(o)?.map(|value| Target { value, object: o.cast::<PyTensor>().ok().cloned() }))
    };
    if let Some(t) = target(inputs)? {
        return Ok(vec![t]);
    }
    let items = raised::items_if_any(inputs)?.ok_or_else(|| wrong(inputs))?;
    let targets = items
        .map(|x| {
            let x = x?;
            target(&x)?.ok_or_else(|| wrong(&x).into())
        })
        .collect::<PyResult<Vec<_>>>()?;
    if targets.is_empty() {
        let message = match op {
            "grad" => "grad requires non-empty inputs: argument 'inputs' cannot be empty",
            _ => "`inputs` argument to `backward()` cannot be empty.",
        };
        return Err(PyRuntimeError::new_err(message).into());
    }
    Ok(targets)
}

/// One tensor or several.
pub fn tensors(o: &Bound<'_, PyAny>, op: &str, name: &str) -> PyResult<Vec<Tensor>> {
    if let Some(t) = one(o)? {
        return Ok(vec![t]);
    }
    let wrong = |o: &Bound<'_, PyAny>| {
        let got = class::type_name(o);
        PyTypeError::new_err(short!("{op}(): argument '{name}' expected Tensor or sequence of Tensors, got {got}"))
    };
    let items = raised::items_if_any(o)?.ok_or_else(|| wrong(o))?;
    items
        .map(|x| {
            let x = x?;
            one(&x)?.ok_or_else(|| wrong(&x).into())
        })
        .collect()
}

/// As [`tensors`], where entries may be None.
pub fn optional_tensors(o: Arg<'_, '_>, op: &str, name: &str) -> PyResult<Vec<Option<Tensor>>> {
    let Some(o) = o else { return Ok(Vec::new()) };
    if let Some(t) = marshal::tensor(&o) {
        return Ok(vec![Some(t)]);
    }
    raised::items(&o)?
        .map(|x| {
            let x = x?;
            if x.is_none() {
                return Ok(None);
            }
            let got = || PyTypeError::new_err(short!("{op}(): argument '{name}' expected Tensors or None"));
            marshal::tensor(&x).map(Some).ok_or_else(|| got().into())
        })
        .collect()
}
