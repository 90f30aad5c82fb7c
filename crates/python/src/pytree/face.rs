//! The Python class `TreeSpec`, and registration of types.

use super::registry::{self, How};
use super::spec::{Children, ContainerKind, Keys, Leaves, TreeSpec};
use super::{functions, paths};
use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::raised;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// The structure of a pytree: what remains when its leaves are taken out.
#[pyclass(frozen, name = "TreeSpec", module = "pullback.utils.pytree")]
pub struct PyTreeSpec(pub TreeSpec);

/// The argument `treespec` of a function.
pub fn spec_argument<'a>(obj: &'a Bound<'_, PyAny>, function: &str) -> PyResult<&'a PyTreeSpec> {
    Ok(obj.cast::<PyTreeSpec>().map(Bound::get).map_err(|_| {
        let got = class::type_name(obj);
        PyTypeError::new_err(short!("{function}(): argument 'treespec' expected a TreeSpec, got {got}"))
    })?)
}

#[pymethods]
impl PyTreeSpec {
    /// A structure from its parts, which is how one is unpickled.
    #[new]
    fn new(r#type: &Bound<'_, PyAny>, context: &Bound<'_, PyAny>, children_specs: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut children = Children::new();
        for child in raised::items(children_specs)? {
            children.push(spec_argument(&child?, "TreeSpec")?.0.clone());
        }
        if r#type.is_none() {
            return Ok(PyTreeSpec(TreeSpec::Leaf));
        }
        let kind = kind_of_parts(registry::class_argument(r#type, "TreeSpec")?, context)?;
        let fits = match (&kind, kind.keys()) {
            (_, Some(keys)) => keys.len() == children.len(),
            (ContainerKind::Dataclass { present, .. }, _) => present.iter().filter(|p| **p).count() == children.len(),
            _ => true,
        };
        if !fits {
            return Err(PyValueError::new_err("TreeSpec(): argument 'children_specs' does not fit the context").into());
        }
        Ok(PyTreeSpec(TreeSpec::node(kind, children)))
    }

    /// The class of the root, `collections.namedtuple` for all named tuples; None for a leaf.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.0 {
            TreeSpec::Node(node) if matches!(node.kind, ContainerKind::NamedTuple(_)) => {
                Ok(py.import("collections")?.getattr("namedtuple").map(Some)?)
            }
            spec => Ok(spec.class(py).map(Bound::into_any)),
        }
    }
    /// What the root holds besides its class and children: the keys of a dict, the context of a registered type.
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            TreeSpec::Node(node) => node.kind.context(py),
            _ => Ok(py.None().into_bound(py)),
        }
    }
    /// Number of leaves.
    #[getter]
    fn num_leaves(&self) -> usize {
        self.0.num_leaves()
    }
    /// Number of leaves and inner nodes.
    #[getter]
    fn num_nodes(&self) -> usize {
        self.0.num_nodes()
    }
    /// Number of children of the root.
    #[getter]
    fn num_children(&self) -> usize {
        self.0.num_children()
    }
    /// The structures of the children of the root.
    fn children(&self) -> Vec<PyTreeSpec> {
        self.0.children().into_iter().map(PyTreeSpec).collect()
    }
    #[getter]
    fn children_specs(&self) -> Vec<PyTreeSpec> {
        self.children()
    }
    /// The structure of one child of the root.
    fn child(&self, index: isize) -> PyResult<PyTreeSpec> {
        let children = self.0.children();
        let at = if index < 0 { index + children.len() as isize } else { index };
        let found = usize::try_from(at).ok().and_then(|i| children.get(i).cloned());
        Ok(found.map(PyTreeSpec).ok_or_else(|| {
            let len = children.len();
            PyIndexError::new_err(short!("child(): argument 'index' expected one of {len} children, got {index}"))
        })?)
    }
    /// Whether this is the structure of a single leaf.
    fn is_leaf(&self) -> bool {
        self.0.is_leaf()
    }
    /// The tree of this structure with these leaves.
    pub fn unflatten<'py>(&self, leaves: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let all: Leaves<'py> = raised::items(leaves)?.collect::<PyResult<_>>()?;
        self.0.unflatten(leaves.py(), all)
    }
    /// The subtrees of `tree` at the places of this structure's leaves.
    fn flatten_up_to<'py>(&self, tree: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        Ok(PyList::new(tree.py(), self.0.flatten_up_to(tree)?)?)
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast_exact::<PyTreeSpec>() {
            Ok(spec) => self.0.eq(&spec.get().0, other.py()),
            Err(_) => Ok(false),
        }
    }
    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let mut hasher = FxHasher::default();
        self.0.hash_into(py, &mut hasher)?;
        Ok(hasher.finish())
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.0.describe(py)
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let (py, spec) = (slf.py(), slf.get());
        let class = spec.0.class(py);
        let parts = (class, spec.context(py)?, spec.children()).into_pyobject(py)?;
        Ok((slf.get_type(), parts))
    }
}

/// The kind of a node with this class and context, as [`ContainerKind::context`] gave it.
fn kind_of_parts(class: &Bound<'_, PyType>, context: &Bound<'_, PyAny>) -> PyResult<ContainerKind> {
    let py = class.py();
    let keys = |list: &Bound<'_, PyAny>| -> PyResult<Keys> { raised::items(list)?.map(|k| Ok(k?.unbind())).collect() };
    if class.is(py.get_type::<PyTuple>()) {
        return Ok(ContainerKind::Tuple);
    }
    if class.is(py.get_type::<PyList>()) {
        return Ok(ContainerKind::List);
    }
    if class.is(py.get_type::<PyDict>()) {
        return Ok(ContainerKind::Dict(keys(context)?));
    }
    let Some(entry) = registry::find_class(class)? else {
        return Err(
            PyValueError::new_err(short!("TreeSpec(): {} is not a pytree node", raised::repr_of(class)?)).into()
        );
    };
    Ok(match &entry.how {
        How::Dict => ContainerKind::Dict(keys(context)?),
        How::OrderedDict => ContainerKind::OrderedDict(entry, keys(context)?),
        How::DefaultDict => {
            let factory = context.get_item(0)?.unbind();
            ContainerKind::DefaultDict { entry, factory, keys: keys(&context.get_item(1)?)? }
        }
        How::Deque => ContainerKind::Deque { entry, maxlen: context.extract()? },
        How::NamedTuple => ContainerKind::NamedTuple(entry),
        How::TupleLike => ContainerKind::TupleLike(entry),
        How::Functions { .. } | How::Optree { .. } => {
            ContainerKind::Custom { entry, context: context.clone().unbind() }
        }
        How::Dataclass { fields } => {
            let flat = context.get_item(0)?;
            let present = fields.iter().map(|f| Ok(flat.contains(f)?)).collect::<PyResult<_>>()?;
            ContainerKind::Dataclass { entry, present }
        }
    })
}

/// The structure of a single leaf.
#[pyfunction]
fn treespec_leaf() -> PyTreeSpec {
    PyTreeSpec(TreeSpec::Leaf)
}

/// The structure of a tuple of trees with these structures.
#[pyfunction]
#[pyo3(signature = (iterable = None, /))]
fn treespec_tuple(iterable: Option<&Bound<'_, PyAny>>) -> PyResult<PyTreeSpec> {
    let mut children = Children::new();
    if let Some(specs) = iterable {
        for spec in raised::items(specs)? {
            children.push(spec_argument(&spec?, "treespec_tuple")?.0.clone());
        }
    }
    Ok(PyTreeSpec(TreeSpec::node(ContainerKind::Tuple, children)))
}

/// The structure of a dict of trees with these structures.
#[pyfunction]
#[pyo3(signature = (mapping = None, /, **kwargs))]
fn treespec_dict<'py>(
    py: Python<'py>,
    mapping: Option<&Bound<'py, PyAny>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyTreeSpec> {
    let all = PyDict::new(py);
    if let Some(mapping) = mapping {
        all.call_method1("update", (mapping,))?;
    }
    if let Some(kwargs) = kwargs {
        all.update(kwargs.as_mapping())?;
    }
    let (mut keys, mut children) = (Keys::new(), Children::new());
    for (key, spec) in all.iter() {
        keys.push(key.unbind());
        children.push(spec_argument(&spec, "treespec_dict")?.0.clone());
    }
    Ok(PyTreeSpec(TreeSpec::node(ContainerKind::Dict(keys), children)))
}

/// Makes a class a pytree node: `flatten_fn(x)` gives `(children, context)`, `unflatten_fn(children, context)` gives x.
///
/// `flatten_with_keys_fn(x)` gives `([(key, child), ...], context)` for functions that tell paths. The arguments about
/// serialization are accepted; structures are pickled, for which classes and contexts must be picklable.
#[pyfunction]
#[pyo3(signature = (cls, flatten_fn, unflatten_fn, *, serialized_type_name = None, to_dumpable_context = None,
    from_dumpable_context = None, flatten_with_keys_fn = None))]
fn register_pytree_node(
    cls: &Bound<'_, PyAny>,
    flatten_fn: Py<PyAny>,
    unflatten_fn: Py<PyAny>,
    serialized_type_name: Option<&str>,
    to_dumpable_context: Option<Py<PyAny>>,
    from_dumpable_context: Option<Py<PyAny>>,
    flatten_with_keys_fn: Option<Py<PyAny>>,
) -> PyResult<()> {
    let _ = (serialized_type_name, to_dumpable_context, from_dumpable_context);
    let class = registry::class_argument(cls, "register_pytree_node")?;
    let how = How::Functions { flatten: flatten_fn, unflatten: unflatten_fn, with_keys: flatten_with_keys_fn };
    registry::add(class, how, "register_pytree_node")
}

/// Makes a class a pytree node whose children are attributes; the Python side has checked them.
#[pyfunction]
fn _register_fields(cls: &Bound<'_, PyAny>, field_names: Vec<Py<PyString>>) -> PyResult<()> {
    let class = registry::class_argument(cls, "register_dataclass")?;
    registry::add(class, How::Dataclass { fields: field_names }, "register_dataclass")
}

/// Trees take objects of a subclass of dict for plain dicts.
#[pyfunction]
fn _register_dict(cls: &Bound<'_, PyAny>) -> PyResult<()> {
    registry::add_standard(cls, How::Dict)
}

/// Makes a registered class a leaf again.
#[pyfunction]
fn _deregister_pytree_node(cls: &Bound<'_, PyAny>) -> PyResult<()> {
    registry::remove(registry::class_argument(cls, "_deregister_pytree_node")?)
}

/// Fills `pullback.utils.pytree`, and registers the containers of the standard library.
pub fn register(core: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = core.py();
    let m = &crate::types::submodule(core, "utils.pytree")?;
    let collections = py.import(intern!(py, "_collections"))?; // builtin, where `collections` costs a millisecond
    registry::add_standard(&collections.getattr("OrderedDict")?, How::OrderedDict)?;
    registry::add_standard(&collections.getattr("defaultdict")?, How::DefaultDict)?;
    registry::add_standard(&collections.getattr("deque")?, How::Deque)?;
    registry::add_standard(crate::types::size::size_class(py)?, How::TupleLike)?;
    m.add_class::<PyTreeSpec>()?;
    m.add_class::<paths::SequenceKey>()?;
    m.add_class::<paths::MappingKey>()?;
    m.add_class::<paths::GetAttrKey>()?;
    m.add_function(wrap_pyfunction!(paths::keystr, m)?)?;
    m.add_function(wrap_pyfunction!(paths::key_get, m)?)?;
    m.add_function(wrap_pyfunction!(treespec_leaf, m)?)?;
    m.add_function(wrap_pyfunction!(treespec_tuple, m)?)?;
    m.add_function(wrap_pyfunction!(treespec_dict, m)?)?;
    m.add_function(wrap_pyfunction!(register_pytree_node, m)?)?;
    m.add_function(wrap_pyfunction!(_register_fields, m)?)?;
    m.add_function(wrap_pyfunction!(_deregister_pytree_node, m)?)?;
    m.add_function(wrap_pyfunction!(_register_dict, m)?)?;
    functions::register(m)
}
