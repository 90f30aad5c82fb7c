//! `TreeSpec`: the structure of a pytree without its leaves.

use super::registry::{Entry, How};
use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};
use smallvec::{SmallVec, smallvec};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Leaves, or the children of one node, in order.
pub type Leaves<'py> = SmallVec<[Bound<'py, PyAny>; 8]>;
pub type Children = SmallVec<[TreeSpec; 4]>;
pub type Keys = SmallVec<[Py<PyAny>; 4]>;

/// The structure of a pytree. Leaves and flat tuples and lists, the common cases, own no memory.
#[derive(Clone)]
pub enum TreeSpec {
    Leaf,
    /// A tuple (or a list) of leaves. Always used for those, so that equal structures have one form.
    Flat {
        list: bool,
        len: u32,
    },
    Node(Arc<Node>),
}

pub struct Node {
    pub kind: ContainerKind,
    pub children: Children,
    leaves: usize,
}

/// What a node is, with all that is needed to make one of other children.
pub enum ContainerKind {
    Tuple,
    List,
    Dict(Keys),
    OrderedDict(Arc<Entry>, Keys),
    DefaultDict {
        entry: Arc<Entry>,
        factory: Py<PyAny>,
        keys: Keys,
    },
    Deque {
        entry: Arc<Entry>,
        maxlen: Option<usize>,
    },
    NamedTuple(Arc<Entry>),
    TupleLike(Arc<Entry>),
    Custom {
        entry: Arc<Entry>,
        context: Py<PyAny>,
    },
    /// `present` tells for each field whether it is a child; the others are None.
    Dataclass {
        entry: Arc<Entry>,
        present: SmallVec<[bool; 16]>,
    },
}

impl ContainerKind {
    /// The keys of a dict of any of the three types.
    pub fn keys(&self) -> Option<&Keys> {
        match self {
            ContainerKind::Dict(keys)
            | ContainerKind::OrderedDict(_, keys)
            | ContainerKind::DefaultDict { keys, .. } => Some(keys),
            _ => None,
        }
    }

    /// The class of the nodes; for messages, for Python and for comparing.
    pub fn class<'py>(&self, py: Python<'py>) -> Bound<'py, PyType> {
        match self {
            ContainerKind::Tuple => py.get_type::<PyTuple>(),
            ContainerKind::List => py.get_type::<PyList>(),
            ContainerKind::Dict(_) => py.get_type::<PyDict>(),
            ContainerKind::OrderedDict(entry, _)
            | ContainerKind::DefaultDict { entry, .. }
            | ContainerKind::Deque { entry, .. }
            | ContainerKind::NamedTuple(entry)
            | ContainerKind::TupleLike(entry)
            | ContainerKind::Custom { entry, .. }
            | ContainerKind::Dataclass { entry, .. } => entry.class.bind(py).clone(),
        }
    }

    /// What the structure holds besides the class, as PyTorch shows it.
    pub fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list = |keys: &Keys| PyList::new(py, keys.iter().map(|k| k.bind(py)));
        Ok(match self {
            ContainerKind::Tuple | ContainerKind::List | ContainerKind::TupleLike(_) => py.None().into_bound(py),
            ContainerKind::Dict(keys) | ContainerKind::OrderedDict(_, keys) => list(keys)?.into_any(),
            ContainerKind::DefaultDict { factory, keys, .. } => {
                PyList::new(py, [factory.bind(py), list(keys)?.as_any()])?.into_any()
            }
            ContainerKind::Deque { maxlen, .. } => maxlen.into_pyobject(py)?,
            ContainerKind::NamedTuple(entry) => entry.class.bind(py).clone().into_any(),
            ContainerKind::Custom { context, .. } => context.bind(py).clone(),
            ContainerKind::Dataclass { entry, present } => {
                let (flat, none): (Vec<_>, Vec<_>) = fields(entry).iter().zip(present).partition(|(_, p)| **p);
                let names = |part: Vec<(&Py<PyString>, &bool)>| PyList::new(py, part.iter().map(|(f, _)| f.bind(py)));
                PyList::new(py, [names(flat)?, names(none)?])?.into_any()
            }
        })
    }

    /// Whether nodes of both kinds are built alike: same class, equal context.
    fn same(&self, other: &ContainerKind, py: Python<'_>) -> PyResult<bool> {
        match (self, other) {
            (ContainerKind::Tuple, ContainerKind::Tuple) | (ContainerKind::List, ContainerKind::List) => Ok(true),
            (ContainerKind::Dict(a), ContainerKind::Dict(b))
            | (ContainerKind::OrderedDict(_, a), ContainerKind::OrderedDict(_, b)) => same_keys(a, b, py),
            (
                ContainerKind::DefaultDict { factory: f, keys: a, .. },
                ContainerKind::DefaultDict { factory: g, keys: b, .. },
            ) => Ok(equal(f, g, py)? && same_keys(a, b, py)?),
            (ContainerKind::Deque { maxlen: a, .. }, ContainerKind::Deque { maxlen: b, .. }) => Ok(a == b),
            (ContainerKind::NamedTuple(a), ContainerKind::NamedTuple(b))
            | (ContainerKind::TupleLike(a), ContainerKind::TupleLike(b)) => Ok(a.class.is(&b.class)),
            (ContainerKind::Custom { entry: a, context: c }, ContainerKind::Custom { entry: b, context: d }) => {
                Ok(a.class.is(&b.class) && equal(c, d, py)?)
            }
            (ContainerKind::Dataclass { entry: a, present: p }, ContainerKind::Dataclass { entry: b, present: q }) => {
                Ok(a.class.is(&b.class) && p == q)
            }
            _ => Ok(false),
        }
    }
}

/// The field names of a registered dataclass.
pub fn fields(entry: &Entry) -> &[Py<PyString>] {
    match &entry.how {
        How::Dataclass { fields } => fields,
        _ => &[],
    }
}

pub fn equal(a: &Py<PyAny>, b: &Py<PyAny>, py: Python<'_>) -> PyResult<bool> {
    Ok(a.is(b) || a.bind(py).eq(b.bind(py))?)
}

fn same_keys(a: &Keys, b: &Keys, py: Python<'_>) -> PyResult<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (x, y) in a.iter().zip(b) {
        if !equal(x, y, py)? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl TreeSpec {
    /// The structure of a node of these children.
    pub fn node(kind: ContainerKind, children: Children) -> TreeSpec {
        let flat = children.iter().all(TreeSpec::is_leaf);
        match kind {
            ContainerKind::Tuple if flat => TreeSpec::Flat { list: false, len: children.len() as u32 },
            ContainerKind::List if flat => TreeSpec::Flat { list: true, len: children.len() as u32 },
            kind => {
                let leaves = if flat { children.len() } else { children.iter().map(TreeSpec::num_leaves).sum() };
                TreeSpec::Node(Arc::new(Node { kind, children, leaves }))
            }
        }
    }

    #[inline]
    pub fn is_leaf(&self) -> bool {
        matches!(self, TreeSpec::Leaf)
    }

    #[inline]
    pub fn num_leaves(&self) -> usize {
        match self {
            TreeSpec::Leaf => 1,
            TreeSpec::Flat { len, .. } => *len as usize,
            TreeSpec::Node(node) => node.leaves,
        }
    }

    /// Leaves and inner nodes.
    pub fn num_nodes(&self) -> usize {
        match self {
            TreeSpec::Leaf => 1,
            TreeSpec::Flat { len, .. } => *len as usize + 1,
            TreeSpec::Node(node) => 1 + node.children.iter().map(TreeSpec::num_nodes).sum::<usize>(),
        }
    }

    /// Number of children of the root.
    pub fn num_children(&self) -> usize {
        match self {
            TreeSpec::Leaf => 0,
            TreeSpec::Flat { len, .. } => *len as usize,
            TreeSpec::Node(node) => node.children.len(),
        }
    }

    pub fn children(&self) -> Children {
        match self {
            TreeSpec::Leaf => Children::new(),
            TreeSpec::Flat { len, .. } => smallvec![TreeSpec::Leaf; *len as usize],
            TreeSpec::Node(node) => node.children.clone(),
        }
    }

    /// The class of the root; `None` for a leaf.
    pub fn class<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyType>> {
        match self {
            TreeSpec::Leaf => None,
            TreeSpec::Flat { list: false, .. } => Some(ContainerKind::Tuple.class(py)),
            TreeSpec::Flat { list: true, .. } => Some(ContainerKind::List.class(py)),
            TreeSpec::Node(node) => Some(node.kind.class(py)),
        }
    }

    /// Whether two structures are equal: the same classes, keys in the same order, equal contexts.
    ///
    /// # Errors
    /// What the comparison of keys or contexts raises.
    pub fn eq(&self, other: &TreeSpec, py: Python<'_>) -> PyResult<bool> {
        match (self, other) {
            (TreeSpec::Leaf, TreeSpec::Leaf) => Ok(true),
            (TreeSpec::Flat { list: a, len: n }, TreeSpec::Flat { list: b, len: m }) => Ok(a == b && n == m),
            (TreeSpec::Node(a), TreeSpec::Node(b)) => {
                if Arc::ptr_eq(a, b) {
                    return Ok(true);
                }
                if a.children.len() != b.children.len() || a.leaves != b.leaves || !a.kind.same(&b.kind, py)? {
                    return Ok(false);
                }
                for (x, y) in a.children.iter().zip(&b.children) {
                    if !x.eq(y, py)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// A hash that equal structures share. Contexts of registered types may not be hashable and are left out.
    pub fn hash_into(&self, py: Python<'_>, state: &mut impl Hasher) -> PyResult<()> {
        match self {
            TreeSpec::Leaf => 0_u8.hash(state),
            TreeSpec::Flat { list, len } => (1_u8, list, len).hash(state),
            TreeSpec::Node(node) => {
                (2_u8, node.kind.class(py).as_ptr() as usize, node.children.len()).hash(state);
                for key in node.kind.keys().into_iter().flatten() {
                    key.bind(py).hash()?.hash(state);
                }
                for child in &node.children {
                    child.hash_into(py, state)?;
                }
            }
        }
        Ok(())
    }

    /// `TreeSpec(dict, ['a', 'b'], [*, TreeSpec(tuple, None, [*, *])])`, and `*` for a leaf.
    pub fn describe(&self, py: Python<'_>) -> PyResult<String> {
        let (name, context, children) = match self {
            TreeSpec::Leaf => return Ok("*".into()),
            TreeSpec::Flat { list, .. } => {
                (if *list { "list" } else { "tuple" }.to_string(), "None".to_string(), self.children())
            }
            TreeSpec::Node(node) => {
                let name = match &node.kind {
                    ContainerKind::NamedTuple(_) => "namedtuple".to_string(),
                    kind => class::class_name(&kind.class(py)),
                };
                (name, raised::repr_of(&node.kind.context(py)?)?, node.children.clone())
            }
        };
        let children = children.iter().map(|c| c.describe(py)).collect::<PyResult<Vec<_>>>()?;
        Ok(format!("TreeSpec({name}, {context}, [{}])", children.join(", ")))
    }

    /// The tree of this structure with these leaves.
    ///
    /// # Errors
    /// ValueError if there are more or fewer leaves than the structure holds; what constructors of nodes raise.
    pub fn unflatten<'py, I>(&self, py: Python<'py>, leaves: I) -> PyResult<Bound<'py, PyAny>>
    where
        I: IntoIterator<Item = Bound<'py, PyAny>, IntoIter: ExactSizeIterator>,
    {
        let mut leaves = leaves.into_iter();
        if leaves.len() != self.num_leaves() {
            return Err(self.wrong_count(py, leaves.len()).into());
        }
        self.build(py, &mut leaves)
    }

    fn build<'py>(
        &self,
        py: Python<'py>,
        leaves: &mut impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            TreeSpec::Leaf => Ok(leaves.next().ok_or_else(|| self.wrong_count(py, 0))?),
            TreeSpec::Flat { list, len } => {
                let items: Leaves<'py> = leaves.take(*len as usize).collect();
                Ok(if *list { PyList::new(py, items)?.into_any() } else { PyTuple::new(py, items)?.into_any() })
            }
            TreeSpec::Node(node) => {
                let mut children = Leaves::new();
                for child in &node.children {
                    children.push(child.build(py, leaves)?);
                }
                super::node::assemble(py, &node.kind, children)
            }
        }
    }

    #[cold]
    fn wrong_count(&self, py: Python<'_>, got: usize) -> PyErr {
        let text = match self.describe(py) {
            Ok(text) => text,
            Err(e) => return e.into(),
        };
        let expected = self.num_leaves();
        PyValueError::new_err(short!(
            "unflatten(): argument 'leaves' expected {expected} leaves, got {got}, for {text}"
        ))
    }
}
