//! Nodes of the tape as Python objects: `grad_fn`.

use super::autograd;
use super::native::Out;
use crate::core::node::{Node, NodeKind};
use crate::core::primitive::PrimBuf;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use std::sync::Arc;

/// A node's class in messages and in `repr`: `MulBackward0`.
pub fn name(node: &Node) -> String {
    let raw = match &node.kind {
        NodeKind::Leaf(_) => return "AccumulateGrad".into(),
        NodeKind::Op { .. } => node.name(),
    };
    if is_custom(node) {
        return format!("{raw}Backward");
    }
    if raw.starts_with(char::is_uppercase) {
        return raw.into();
    }
    let short = raw.rsplit_once('.').map_or(raw, |(_, last)| last);
    let mut name = String::new();
    for part in short.split('_') {
        let mut chars = part.chars();
        name.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        name.push_str(chars.as_str());
    }
    format!("{name}Backward0")
}

fn is_custom(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Op { prim: PrimBuf::Shared(p), .. } if p.custom().is_some())
}

/// The recorded operator that gave a tensor.
#[pyclass(frozen, name = "Node", module = "pullback.autograd.graph")]
pub struct PyNode(pub Arc<Node>);

#[pymethods]
impl PyNode {
    /// The operator's name, such as `MulBackward0`.
    fn name(&self) -> String {
        name(&self.0)
    }
    /// The nodes of the inputs, each with the number of the output that was used; (None, 0) for inputs without gradient.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let items = self.0.edges.iter().map(|e| match e {
            Some(e) => Ok((Bound::new(py, PyNode(e.node.clone()))?.into_any(), e.slot).into_pyobject(py)?),
            None => Ok((py.None().into_bound(py), 0).into_pyobject(py)?),
        });
        PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)
    }
    /// A number that grows with time.
    #[getter]
    fn _sequence_nr(&self) -> u64 {
        self.0.seq
    }
    fn __repr__(slf: &Bound<'_, Self>) -> String {
        format!("<{} object at {:p}>", name(&slf.get().0), Arc::as_ptr(&slf.get().0))
    }
    fn __richcmp__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>, op: CompareOp) -> Out<'py> {
        let py = slf.py();
        let Ok(other) = other.cast::<PyNode>() else { return Ok(py.NotImplemented().into_bound(py)) };
        let same = Arc::ptr_eq(&slf.get().0, &other.get().0);
        match op {
            CompareOp::Eq => Ok(PyBool::new(py, same).to_owned().into_any()),
            CompareOp::Ne => Ok(PyBool::new(py, !same).to_owned().into_any()),
            _ => Ok(py.NotImplemented().into_bound(py)),
        }
    }
    fn __hash__(&self) -> isize {
        (Arc::as_ptr(&self.0) as isize) >> 4
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    autograd::register(m)?;
    super::submodule(m, "autograd.graph")?.add_class::<PyNode>()
}
