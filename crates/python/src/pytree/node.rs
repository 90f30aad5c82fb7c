//! One node of a pytree: taken apart into children, and put together from them.

use super::registry::{self, Entry, How};
use super::spec::{ContainerKind, Keys, Leaves};
use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::raised;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3::{PyTypeInfo, ffi, intern};
use smallvec::SmallVec;
use std::ptr::eq;
use std::sync::Arc;

/// What an object is in a pytree.
pub enum Container {
    Leaf,
    Tuple,
    List,
    Dict,
    Registered(Arc<Entry>),
}

/// Decides by type alone. Tensors first, then the builtin types, all by comparing pointers.
#[inline]
pub fn classify(obj: &Bound<'_, PyAny>) -> PyResult<Container> {
    let py = obj.py();
    let class = obj.get_type_ptr();
    if eq(class, crate::tensor::type_object()) {
        return Ok(Container::Leaf);
    }
    if eq(class, PyTuple::type_object_raw(py)) {
        return Ok(Container::Tuple);
    }
    if eq(class, PyList::type_object_raw(py)) {
        return Ok(Container::List);
    }
    if eq(class, PyDict::type_object_raw(py)) {
        return Ok(Container::Dict);
    }
    if obj.is_none() || is_number_or_text(py, class) {
        return Ok(Container::Leaf);
    }
    Ok(registry::find(obj)?.map_or(Container::Leaf, Container::Registered))
}

/// Whether the object is a number, a string or None.
#[inline]
pub fn is_plain(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_none() || is_number_or_text(obj.py(), obj.get_type_ptr())
}

#[inline]
fn is_number_or_text(py: Python<'_>, class: *mut ffi::PyTypeObject) -> bool {
    eq(class, PyInt::type_object_raw(py))
        || eq(class, PyFloat::type_object_raw(py))
        || eq(class, PyBool::type_object_raw(py))
        || eq(class, PyString::type_object_raw(py))
        || eq(class, PyComplex::type_object_raw(py))
}

/// Keys and values of a dict's own table, in order. Nothing in here runs Python code, so the dict cannot change.
pub fn dict_items<'py>(dict: &Bound<'py, PyDict>) -> (Keys, Leaves<'py>) {
    let (mut keys, mut values) = (Keys::new(), Leaves::new());
    for (key, value) in dict.iter() {
        keys.push(key.unbind());
        values.push(value);
    }
    (keys, values)
}

/// Takes any node apart; `None` for a leaf.
pub fn open<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Option<(ContainerKind, Leaves<'py>)>> {
    Ok(Some(match classify(obj)? {
        Container::Leaf => return Ok(None),
        Container::Tuple => (ContainerKind::Tuple, obj.cast::<PyTuple>()?.iter().collect()),
        Container::List => (ContainerKind::List, obj.cast::<PyList>()?.iter().collect()),
        Container::Dict => {
            let (keys, values) = dict_items(obj.cast::<PyDict>()?);
            (ContainerKind::Dict(keys), values)
        }
        Container::Registered(entry) => take_apart(obj, entry)?,
    }))
}

/// Takes a registered node apart.
///
/// # Errors
/// What the program's functions raise; TypeError if they do not return children and context.
pub fn take_apart<'py>(obj: &Bound<'py, PyAny>, entry: Arc<Entry>) -> PyResult<(ContainerKind, Leaves<'py>)> {
    let py = obj.py();
    Ok(match &entry.how {
        How::Dict => {
            let (keys, children) = dict_items(obj.cast::<PyDict>()?);
            (ContainerKind::Dict(keys), children)
        }
        How::OrderedDict => {
            let (keys, children) = mapping_items(obj)?;
            (ContainerKind::OrderedDict(entry, keys), children)
        }
        How::DefaultDict => {
            let (keys, children) = mapping_items(obj)?;
            let factory = obj.getattr(intern!(py, "default_factory"))?.unbind();
            (ContainerKind::DefaultDict { entry, factory, keys }, children)
        }
        How::Deque => {
            let maxlen = obj.getattr(intern!(py, "maxlen"))?.extract()?;
            (ContainerKind::Deque { entry, maxlen }, collect(obj)?)
        }
        How::NamedTuple => (ContainerKind::NamedTuple(entry), obj.cast::<PyTuple>()?.iter().collect()),
        How::TupleLike => (ContainerKind::TupleLike(entry), obj.cast::<PyTuple>()?.iter().collect()),
        How::Functions { flatten, .. } | How::Optree { flatten, .. } => {
            let (children, context) = call_flatten(flatten.bind(py), obj)?;
            (ContainerKind::Custom { entry, context }, children)
        }
        How::Dataclass { fields } => {
            let (mut present, mut children) = (SmallVec::new(), Leaves::new());
            for field in fields {
                let value = obj.getattr(field.bind(py))?;
                present.push(!value.is_none());
                if !value.is_none() {
                    children.push(value);
                }
            }
            (ContainerKind::Dataclass { entry, present }, children)
        }
    })
}

/// Items in the order of the mapping itself, which for an OrderedDict is not that of its table.
fn mapping_items<'py>(obj: &Bound<'py, PyAny>) -> PyResult<(Keys, Leaves<'py>)> {
    let (mut keys, mut values) = (Keys::new(), Leaves::new());
    for key in raised::items(obj)? {
        let key = key?;
        values.push(obj.get_item(&key)?);
        keys.push(key.unbind());
    }
    Ok((keys, values))
}

fn collect<'py>(items: &Bound<'py, PyAny>) -> PyResult<Leaves<'py>> {
    raised::items(items)?.collect()
}

fn call_flatten<'py>(flatten: &Bound<'py, PyAny>, obj: &Bound<'py, PyAny>) -> PyResult<(Leaves<'py>, Py<PyAny>)> {
    let result = flatten.call1((obj,))?;
    let parts = result.cast::<PyTuple>().ok().filter(|t| t.len() == 2 || t.len() == 3);
    let parts = parts.ok_or_else(|| {
        let class = class::type_name(obj);
        PyTypeError::new_err(short!("the flatten function of {class} must return (children, context)"))
    })?;
    Ok((collect(&parts.get_item(0)?)?, parts.get_item(1)?.unbind()))
}

/// Builds a node of a kind from new children.
pub fn assemble<'py>(py: Python<'py>, kind: &ContainerKind, children: Leaves<'py>) -> PyResult<Bound<'py, PyAny>> {
    match kind {
        ContainerKind::Tuple => Ok(PyTuple::new(py, children)?.into_any()),
        ContainerKind::List => Ok(PyList::new(py, children)?.into_any()),
        ContainerKind::Dict(keys) => {
            let dict = PyDict::new(py);
            for (key, child) in keys.iter().zip(children) {
                dict.set_item(key.bind(py), child)?;
            }
            Ok(dict.into_any())
        }
        ContainerKind::OrderedDict(entry, keys) => fill(entry.class.bind(py).call0()?, keys, children),
        ContainerKind::DefaultDict { entry, factory, keys } => {
            fill(entry.class.bind(py).call1((factory,))?, keys, children)
        }
        ContainerKind::Deque { entry, maxlen } => {
            Ok(entry.class.bind(py).call1((PyList::new(py, children)?, *maxlen))?)
        }
        ContainerKind::NamedTuple(entry) => Ok(entry.class.bind(py).call1(PyTuple::new(py, children)?)?),
        ContainerKind::TupleLike(entry) => Ok(entry.class.bind(py).call1((PyTuple::new(py, children)?,))?),
        ContainerKind::Custom { entry, context } => match &entry.how {
            How::Functions { unflatten, .. } => Ok(unflatten.bind(py).call1((PyList::new(py, children)?, context))?),
            How::Optree { unflatten, .. } => Ok(unflatten.bind(py).call1((context, PyTuple::new(py, children)?))?),
            _ => {
                Err(PyValueError::new_err("the type of a node was registered anew while its structure was in use")
                    .into())
            }
        },
        ContainerKind::Dataclass { entry, present } => {
            let kwargs = PyDict::new(py);
            let mut children = children.into_iter();
            for (field, present) in super::spec::fields(entry).iter().zip(present) {
                kwargs.set_item(field.bind(py), if *present { children.next() } else { None })?;
            }
            Ok(entry.class.bind(py).call((), Some(&kwargs))?)
        }
    }
}

fn fill<'py>(mapping: Bound<'py, PyAny>, keys: &Keys, children: Leaves<'py>) -> PyResult<Bound<'py, PyAny>> {
    for (key, child) in keys.iter().zip(children) {
        mapping.set_item(key, child)?;
    }
    Ok(mapping)
}
