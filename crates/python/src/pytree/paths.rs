//! Where a leaf lies in its tree: a path of keys from the root.

use super::node;
use super::registry::How;
use super::spec::{Children, ContainerKind, Leaves, TreeSpec};
use super::{LeafTest, check_depth};
use crate::types::errors::PyResult;
use crate::types::raised;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

/// A place in a tuple, list or deque.
#[pyclass(frozen, eq, hash, module = "pullback.utils.pytree")]
#[derive(PartialEq, Eq, Hash)]
pub struct SequenceKey {
    #[pyo3(get)]
    idx: usize,
}

#[pymethods]
impl SequenceKey {
    #[new]
    fn new(idx: usize) -> Self {
        SequenceKey { idx }
    }
    fn __str__(&self) -> String {
        format!("[{}]", self.idx)
    }
    fn __repr__(&self) -> String {
        format!("SequenceKey(idx={})", self.idx)
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (usize,)) {
        (slf.get_type().into_any(), (slf.get().idx,))
    }
    /// The item of a sequence at this place.
    fn get<'py>(&self, sequence: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Ok(sequence.get_item(self.idx)?)
    }
}

/// A key of a dict.
#[pyclass(frozen, module = "pullback.utils.pytree")]
pub struct MappingKey {
    #[pyo3(get)]
    key: Py<PyAny>,
}

#[pymethods]
impl MappingKey {
    #[new]
    fn new(key: Py<PyAny>) -> Self {
        MappingKey { key }
    }
    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("[{}]", raised::repr_of(self.key.bind(py))?))
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("MappingKey(key={})", raised::repr_of(self.key.bind(py))?))
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast_exact::<MappingKey>() {
            Ok(other) => Ok(self.key.bind(other.py()).eq(&other.get().key)?),
            Err(_) => Ok(false),
        }
    }
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        Ok(self.key.bind(py).hash()?)
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Py<PyAny>,)) {
        (slf.get_type().into_any(), (slf.get().key.clone_ref(slf.py()),))
    }
    /// The value of a mapping under this key.
    fn get<'py>(&self, mapping: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Ok(mapping.get_item(&self.key)?)
    }
}

/// A field of a named tuple or a dataclass.
#[pyclass(frozen, eq, hash, module = "pullback.utils.pytree")]
#[derive(PartialEq, Eq, Hash)]
pub struct GetAttrKey {
    #[pyo3(get)]
    name: String,
}

#[pymethods]
impl GetAttrKey {
    #[new]
    fn new(name: String) -> Self {
        GetAttrKey { name }
    }
    fn __str__(&self) -> String {
        format!(".{}", self.name)
    }
    fn __repr__(&self) -> String {
        format!("GetAttrKey(name='{}')", self.name)
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().name.clone(),))
    }
    /// The attribute of an object.
    fn get<'py>(&self, obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Ok(obj.getattr(self.name.as_str())?)
    }
}

/// Leaves with their paths.
pub struct Paths<'py> {
    at: Vec<Bound<'py, PyAny>>,
    pub paths: Vec<Bound<'py, PyTuple>>,
    pub leaves: Leaves<'py>,
}

impl<'py> Paths<'py> {
    pub fn new() -> Self {
        Paths { at: Vec::new(), paths: Vec::new(), leaves: Leaves::new() }
    }

    /// Takes a tree apart.
    ///
    /// # Errors
    /// ValueError for a registered type whose registration gave no keys.
    pub fn visit(&mut self, obj: &Bound<'py, PyAny>, test: &impl LeafTest) -> PyResult<TreeSpec> {
        check_depth(self.at.len())?;
        let opened = if test.is_leaf(obj)? { None } else { node::open(obj)? };
        let Some((kind, children)) = opened else {
            self.paths.push(PyTuple::new(obj.py(), &self.at)?);
            self.leaves.push(obj.clone());
            return Ok(TreeSpec::Leaf);
        };
        let keys = child_keys(obj, &kind, children.len())?;
        let mut specs = Children::new();
        for (key, child) in keys.into_iter().zip(&children) {
            self.at.push(key);
            specs.push(self.visit(child, test)?);
            self.at.pop();
        }
        Ok(TreeSpec::node(kind, specs))
    }
}

fn child_keys<'py>(obj: &Bound<'py, PyAny>, kind: &ContainerKind, len: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = obj.py();
    let field = |name: &Bound<'py, PyString>| Ok(Bound::new(py, GetAttrKey { name: name.extract()? })?.into_any());
    match kind {
        ContainerKind::Dict(keys) | ContainerKind::OrderedDict(_, keys) | ContainerKind::DefaultDict { keys, .. } => {
            keys.iter().map(|k| Ok(Bound::new(py, MappingKey { key: k.clone_ref(py) })?.into_any())).collect()
        }
        ContainerKind::Tuple | ContainerKind::List | ContainerKind::TupleLike(_) | ContainerKind::Deque { .. } => {
            (0..len).map(|idx| Ok(Bound::new(py, SequenceKey { idx })?.into_any())).collect()
        }
        ContainerKind::NamedTuple(entry) => {
            let names = entry.class.bind(py).getattr(intern!(py, "_fields"))?.cast_into::<PyTuple>()?;
            names.iter().map(|n| field(n.cast()?)).collect()
        }
        ContainerKind::Dataclass { entry, present } => {
            let names = super::spec::fields(entry).iter().zip(present).filter(|(_, p)| **p);
            names.map(|(n, _)| field(n.bind(py))).collect()
        }
        ContainerKind::Custom { entry, .. } => match &entry.how {
            How::Functions { with_keys: Some(function), .. } => {
                let pairs = function.bind(py).call1((obj,))?.get_item(0)?;
                raised::items(&pairs)?.map(|pair| Ok(pair?.get_item(0)?)).collect()
            }
            _ => Err(PyValueError::new_err(short!(
                "{} was registered without flatten_with_keys_fn, which paths need",
                raised::repr_of(entry.class.bind(py))?
            ))
            .into()),
        },
    }
}

/// The text of a path, such as `[0]['a'].x`.
#[pyfunction]
pub fn keystr(kp: &Bound<'_, PyAny>) -> PyResult<String> {
    let parts: Vec<String> = raised::items(kp)?.map(|k| raised::str_of(&k?)).collect::<PyResult<_>>()?;
    Ok(parts.concat())
}

/// What lies in `obj` at a path.
#[pyfunction]
pub fn key_get<'py>(obj: Bound<'py, PyAny>, kp: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(raised::items(kp)?.try_fold(obj, |at, key| key?.call_method1("get", (at,)))?)
}

/// `tree_flatten` with the path of each leaf: a list of `(path, leaf)` and the structure.
pub fn pairs<'py>(py: Python<'py>, found: &Paths<'py>) -> PyResult<Bound<'py, PyList>> {
    let items: Vec<_> = found.paths.iter().zip(&found.leaves).collect();
    Ok(PyList::new(py, items)?)
}
