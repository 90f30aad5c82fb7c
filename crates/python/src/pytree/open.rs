//! Trees in which dataclasses are nodes even where nobody registered them: arguments and results of custom functions.

use super::node;
use super::registry::{self, Entry, How};
use super::spec::{ContainerKind, Leaves, TreeSpec};
use super::{LeafTest, visit};
use crate::tensor;
use crate::types::errors::PyResult;
use crate::types::raised;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use std::sync::Arc;

struct Open;

impl LeafTest for Open {
    #[inline(always)]
    fn is_leaf(&self, _: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(false)
    }
    fn open(&self, obj: &Bound<'_, PyAny>) -> PyResult<Option<Arc<Entry>>> {
        dataclass(obj)
    }
}

/// The node that an instance of an unregistered dataclass is.
fn dataclass(obj: &Bound<'_, PyAny>) -> PyResult<Option<Arc<Entry>>> {
    let py = obj.py();
    if node::is_plain(obj) || tensor::is_tensor(obj) || obj.is_instance_of::<PyType>() {
        return Ok(None);
    }
    let class = obj.get_type();
    let Some(fields) = class.getattr_opt(intern!(py, "__dataclass_fields__"))? else { return Ok(None) };
    let mut names: Vec<Py<PyString>> = Vec::new();
    for (name, field) in fields.cast::<PyDict>()?.iter() {
        if field.getattr(intern!(py, "init"))?.is_truthy()? && obj.hasattr(name.cast::<PyString>()?)? {
            names.push(name.cast_into::<PyString>()?.unbind());
        }
    }
    Ok(Some(Arc::new(Entry { class: class.unbind(), how: How::Dataclass { fields: names } })))
}

/// [`super::flatten_into`], with every dataclass taken apart.
pub fn flatten_open<'py>(tree: &Bound<'py, PyAny>, leaves: &mut Leaves<'py>) -> PyResult<TreeSpec> {
    visit(tree, leaves, &Open, 0)
}

/// Whether the object is a number, a string or None: never a tree.
#[inline]
pub fn is_plain(obj: &Bound<'_, PyAny>) -> bool {
    node::is_plain(obj)
}

/// One object for each leaf of `spec` from a tree of that structure, in which None stands for any number of leaves.
/// Sequences of all types match. False if the structure is another one.
pub fn flatten_like<'py>(spec: &TreeSpec, obj: &Bound<'py, PyAny>, out: &mut Vec<Bound<'py, PyAny>>) -> PyResult<bool> {
    if spec.is_leaf() {
        out.push(obj.clone());
        return Ok(true);
    }
    if obj.is_none() {
        out.extend(std::iter::repeat_n(obj.clone(), spec.num_leaves()));
        return Ok(true);
    }
    let Some(children) = children_like(spec, obj)? else { return Ok(false) };
    let specs = spec.children();
    if children.len() != specs.len() {
        return Ok(false);
    }
    for (child, spec) in children.iter().zip(&specs) {
        if !flatten_like(spec, child, out)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn children_like<'py>(spec: &TreeSpec, obj: &Bound<'py, PyAny>) -> PyResult<Option<Leaves<'py>>> {
    let py = obj.py();
    let sequence = || -> PyResult<Option<Leaves<'py>>> {
        if node::is_plain(obj) || tensor::is_tensor(obj) || obj.is_instance_of::<PyDict>() {
            return Ok(None);
        }
        raised::items_if_any(obj)?.map(|items| items.collect()).transpose()
    };
    let TreeSpec::Node(n) = spec else { return sequence() };
    if let Some(keys) = n.kind.keys() {
        if tensor::is_tensor(obj) || raised::fitting(py, obj.len())?.unwrap_or(0) != keys.len() {
            return Ok(None);
        }
        return keys.iter().map(|k| raised::found(py, obj.get_item(k.bind(py)))).collect();
    }
    match &n.kind {
        ContainerKind::Dataclass { entry, present } => {
            if !obj.is_instance(entry.class.bind(py))? {
                return Ok(None);
            }
            let names = super::spec::fields(entry).iter().zip(present).filter(|(_, p)| **p);
            names.map(|(name, _)| Ok(obj.getattr(name.bind(py))?)).collect::<PyResult<_>>().map(Some)
        }
        ContainerKind::Custom { entry, .. } => match registry::find(obj)? {
            Some(found) if Arc::ptr_eq(&found, entry) => Ok(Some(node::take_apart(obj, found)?.1)),
            _ => Ok(None),
        },
        _ => sequence(),
    }
}
