//! Matching a tree with a structure: down to the structure's leaves, or as a prefix of it.

use super::node::{self, Container};
use super::registry::Entry;
use super::spec::{ContainerKind, Keys, Leaves, Node, TreeSpec, equal};
use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::Arc;

/// The children of a node that has the structure's shape at its root, or what differs.
enum Match<'py> {
    Children(Leaves<'py>),
    Differs(String),
}

impl TreeSpec {
    /// The subtrees of `tree` at this structure's leaves. Dicts match by key in any order and in each of the three
    /// types; the subtrees come in this structure's order.
    ///
    /// # Errors
    /// ValueError if `tree` does not have this structure at its top.
    pub fn flatten_up_to<'py>(&self, tree: &Bound<'py, PyAny>) -> PyResult<Leaves<'py>> {
        let mut out = Leaves::new();
        self.collect_up_to(tree, &mut out)?;
        Ok(out)
    }

    fn collect_up_to<'py>(&self, tree: &Bound<'py, PyAny>, out: &mut Leaves<'py>) -> PyResult<()> {
        if self.is_leaf() {
            out.push(tree.clone());
            return Ok(());
        }
        match self.match_root(tree)? {
            Match::Differs(message) => Err(PyValueError::new_err(short!("pytree mismatch: {message}")).into()),
            Match::Children(children) => {
                for (spec, child) in self.children().iter().zip(&children) {
                    spec.collect_up_to(child, out)?;
                }
                Ok(())
            }
        }
    }

    fn match_root<'py>(&self, tree: &Bound<'py, PyAny>) -> PyResult<Match<'py>> {
        let children = match (self, node::classify(tree)?) {
            (TreeSpec::Flat { list: false, .. }, Container::Tuple) => tree.cast::<PyTuple>()?.iter().collect(),
            (TreeSpec::Flat { list: true, .. }, Container::List) => tree.cast::<PyList>()?.iter().collect(),
            (TreeSpec::Node(node), class) => return match_node(node, class, tree),
            _ => return Ok(Match::Differs(self.other_type(tree)?)),
        };
        self.match_arity(children)
    }

    fn match_arity<'py>(&self, children: Leaves<'py>) -> PyResult<Match<'py>> {
        let expected = self.num_children();
        if children.len() == expected {
            return Ok(Match::Children(children));
        }
        Ok(Match::Differs(format!("expected a node with arity {expected}, got {}", children.len())))
    }

    fn other_type(&self, tree: &Bound<'_, PyAny>) -> PyResult<String> {
        let py = tree.py();
        let expected = self.class(py).map_or("a leaf".into(), |c| class::class_name(&c));
        Ok(format!("expected a node of type {expected}, got {}", class::type_name(tree)))
    }
}

fn match_node<'py>(node: &Arc<Node>, class: Container, tree: &Bound<'py, PyAny>) -> PyResult<Match<'py>> {
    let spec = TreeSpec::Node(node.clone());
    let differs = || Ok(Match::Differs(spec.other_type(tree)?));
    match (&node.kind, class) {
        (ContainerKind::Tuple, Container::Tuple) => spec.match_arity(tree.cast::<PyTuple>()?.iter().collect()),
        (ContainerKind::List, Container::List) => spec.match_arity(tree.cast::<PyList>()?.iter().collect()),
        (kind, Container::Dict) => match kind.keys() {
            Some(keys) => match_keys(keys, node::dict_items(tree.cast::<PyDict>()?)),
            None => differs(),
        },
        (kind, Container::Registered(entry)) => {
            let class_differs = !kind.class(tree.py()).is(&entry.class);
            if class_differs && kind.keys().is_none() {
                return differs();
            }
            match_registered(&spec, kind, entry, tree)
        }
        _ => differs(),
    }
}

fn match_registered<'py>(
    spec: &TreeSpec,
    kind: &ContainerKind,
    entry: Arc<Entry>,
    tree: &Bound<'py, PyAny>,
) -> PyResult<Match<'py>> {
    let py = tree.py();
    let (found, children) = node::take_apart(tree, entry)?;
    if let (Some(keys), Some(_)) = (kind.keys(), found.keys()) {
        let found = match found {
            ContainerKind::Dict(k) | ContainerKind::OrderedDict(_, k) | ContainerKind::DefaultDict { keys: k, .. } => k,
            _ => Keys::new(),
        };
        return match_keys(keys, (found, children));
    }
    let same = match (kind, &found) {
        (ContainerKind::Custom { context: a, .. }, ContainerKind::Custom { context: b, .. }) => equal(a, b, py)?,
        (ContainerKind::Dataclass { present: a, .. }, ContainerKind::Dataclass { present: b, .. }) => a == b,
        (ContainerKind::Deque { .. }, ContainerKind::Deque { .. })
        | (ContainerKind::NamedTuple(_), ContainerKind::NamedTuple(_))
        | (ContainerKind::TupleLike(_), ContainerKind::TupleLike(_)) => true,
        _ => return Ok(Match::Differs(spec.other_type(tree)?)),
    };
    if same {
        return spec.match_arity(children);
    }
    let [expected, got] = [raised::repr_of(&kind.context(py)?)?, raised::repr_of(&found.context(py)?)?];
    let class = class::class_name(&kind.class(py));
    Ok(Match::Differs(format!("expected a {class} with context {expected}, got {got}")))
}

/// Values in the order of the expected keys.
fn match_keys<'py>(expected: &Keys, (keys, values): (Keys, Leaves<'py>)) -> PyResult<Match<'py>> {
    if expected.len() == keys.len() && expected.iter().zip(&keys).all(|(a, b)| a.is(b)) {
        return Ok(Match::Children(values));
    }
    let Some(py) = values.first().map(|v| v.py()) else {
        return Ok(match expected.is_empty() {
            true => Match::Children(values),
            false => Match::Differs(format!("expected a dict with {} keys, got an empty one", expected.len())),
        });
    };
    let found = PyDict::new(py);
    for (key, value) in keys.iter().zip(&values) {
        found.set_item(key, value)?;
    }
    let mut children = Leaves::new();
    let mut missing = Vec::new();
    for key in expected {
        match found.get_item(key)? {
            Some(value) => {
                children.push(value);
                found.del_item(key)?;
            }
            None => missing.push(raised::repr_of(key.bind(py))?),
        }
    }
    if missing.is_empty() && found.is_empty() {
        return Ok(Match::Children(children));
    }
    let extra = found.keys().iter().map(|k| raised::repr_of(&k)).collect::<PyResult<Vec<_>>>()?;
    let list = |keys: Vec<String>| if keys.is_empty() { "none".into() } else { keys.join(", ") };
    Ok(Match::Differs(format!("dict keys differ: missing {}, unexpected {}", list(missing), list(extra))))
}

/// One value for each leaf of `spec` from a tree that is a prefix of it: a leaf of the prefix stands for all leaves
/// below its place. `None` if it is no prefix. `in_dims` and `out_dims` are given like that.
///
/// # Errors
/// Only what flatten functions of registered types and comparisons of keys raise.
pub fn broadcast_to_and_flatten<'py>(prefix: &Bound<'py, PyAny>, spec: &TreeSpec) -> PyResult<Option<Leaves<'py>>> {
    let mut out = Leaves::new();
    Ok(broadcast(prefix, spec, &mut out)?.then_some(out))
}

fn broadcast<'py>(prefix: &Bound<'py, PyAny>, spec: &TreeSpec, out: &mut Leaves<'py>) -> PyResult<bool> {
    if matches!(node::classify(prefix)?, Container::Leaf) {
        out.extend(std::iter::repeat_n(prefix.clone(), spec.num_leaves()));
        return Ok(true);
    }
    if spec.is_leaf() {
        return Ok(false);
    }
    let Match::Children(children) = spec.match_root(prefix)? else { return Ok(false) };
    for (child, spec) in children.iter().zip(&spec.children()) {
        if !broadcast(child, spec, out)? {
            return Ok(false);
        }
    }
    Ok(true)
}
