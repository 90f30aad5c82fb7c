//! Pytrees: nested tuples, lists, dicts and registered types over leaves, taken apart and put together.
//!
//! The semantics are those of `torch.utils._pytree`: None is a leaf, dicts keep the order of insertion, subclasses of
//! the builtin containers are leaves unless they are named tuples or registered.

mod face;
mod functions;
mod node;
mod open;
mod paths;
mod prefix;
mod registry;
mod spec;

pub use face::{PyTreeSpec, register};
pub use open::{flatten_like, flatten_open, is_plain};
pub use prefix::broadcast_to_and_flatten;
pub use spec::{Leaves, TreeSpec};

use crate::data::nested;
use crate::types::errors::PyResult;
use node::Container;
use pullback::dense::stack;
use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::smallvec;
use spec::{Children, ContainerKind};
use std::sync::Arc;

/// Nesting beyond which a tree is taken for one that contains itself.
const MAX_DEPTH: usize = 1000;

/// A further condition for leaves, tested before an object is taken apart.
trait LeafTest {
    fn is_leaf(&self, obj: &Bound<'_, PyAny>) -> PyResult<bool>;

    /// How to take apart what is a leaf by its type.
    #[inline(always)]
    fn open(&self, _: &Bound<'_, PyAny>) -> PyResult<Option<Arc<registry::Entry>>> {
        Ok(None)
    }
}

/// No further condition.
struct ByType;

impl LeafTest for ByType {
    #[inline(always)]
    fn is_leaf(&self, _: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(false)
    }
}

/// The argument `is_leaf` of the Python functions.
struct Predicate<'a, 'py>(&'a Bound<'py, PyAny>);

impl LeafTest for Predicate<'_, '_> {
    fn is_leaf(&self, obj: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.0.call1((obj,))?.is_truthy()?)
    }
}

/// Takes a tree apart into its leaves and its structure. Cheap for a single tensor and for flat tuples of them.
///
/// # Errors
/// RecursionError for a tree that contains itself; what flatten functions of registered types raise.
#[inline]
pub fn flatten<'py>(tree: &Bound<'py, PyAny>) -> PyResult<(Leaves<'py>, TreeSpec)> {
    let mut leaves = Leaves::new();
    let spec = visit(tree, &mut leaves, &ByType, 0)?;
    Ok((leaves, spec))
}

/// [`flatten`] with leaves added to those of other trees.
#[inline]
pub fn flatten_into<'py>(tree: &Bound<'py, PyAny>, leaves: &mut Leaves<'py>) -> PyResult<TreeSpec> {
    visit(tree, leaves, &ByType, 0)
}

/// [`flatten`] with a Python predicate that makes further objects leaves.
pub fn flatten_with<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Leaves<'py>, TreeSpec)> {
    let Some(predicate) = is_leaf.filter(|p| !p.is_none()) else { return flatten(tree) };
    let mut leaves = Leaves::new();
    let spec = visit(tree, &mut leaves, &Predicate(predicate), 0)?;
    Ok((leaves, spec))
}

/// Whether an object is a leaf by its type.
pub fn is_leaf(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(matches!(node::classify(obj)?, Container::Leaf))
}

fn visit<'py>(
    obj: &Bound<'py, PyAny>,
    leaves: &mut Leaves<'py>,
    test: &impl LeafTest,
    depth: usize,
) -> PyResult<TreeSpec> {
    if test.is_leaf(obj)? {
        leaves.push(obj.clone());
        return Ok(TreeSpec::Leaf);
    }
    match node::classify(obj)? {
        Container::Leaf => {
            if let Some(entry) = test.open(obj)? {
                let (kind, children) = node::take_apart(obj, entry)?;
                return inner(kind, children, leaves, test, depth);
            }
            leaves.push(obj.clone());
            Ok(TreeSpec::Leaf)
        }
        Container::Tuple => {
            // SAFETY: the class was just compared.
            let tuple = unsafe { obj.cast_unchecked::<PyTuple>() };
            sequence(ContainerKind::Tuple, tuple.iter_borrowed().map(|b| b.to_owned()), leaves, test, depth)
        }
        Container::List => {
            // SAFETY: as above.
            let list = unsafe { obj.cast_unchecked::<PyList>() };
            sequence(ContainerKind::List, list.iter(), leaves, test, depth)
        }
        Container::Dict => {
            // SAFETY: as above.
            let (keys, values) = node::dict_items(unsafe { obj.cast_unchecked::<PyDict>() });
            inner(ContainerKind::Dict(keys), values, leaves, test, depth)
        }
        Container::Registered(entry) => {
            // Its own function runs, which may come back here.
            stack::check()?;
            let (kind, children) = node::take_apart(obj, entry)?;
            inner(kind, children, leaves, test, depth)
        }
    }
}

/// A tuple or a list: structures of the children are collected only from the first that is no leaf.
#[inline]
fn sequence<'py>(
    kind: ContainerKind,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    leaves: &mut Leaves<'py>,
    test: &impl LeafTest,
    depth: usize,
) -> PyResult<TreeSpec> {
    check_depth(depth)?;
    let mut plain = 0;
    let mut children: Option<Children> = None;
    for item in items {
        let spec = visit(&item, leaves, test, depth + 1)?;
        nested::listen(item.py(), leaves.len())?;
        match &mut children {
            None if spec.is_leaf() => plain += 1,
            None => {
                let mut all: Children = smallvec![TreeSpec::Leaf; plain];
                all.push(spec);
                children = Some(all);
            }
            Some(all) => all.push(spec),
        }
    }
    match children {
        Some(all) => Ok(TreeSpec::node(kind, all)),
        None => Ok(TreeSpec::Flat { list: matches!(kind, ContainerKind::List), len: plain as u32 }),
    }
}

fn inner<'py>(
    kind: ContainerKind,
    items: Leaves<'py>,
    leaves: &mut Leaves<'py>,
    test: &impl LeafTest,
    depth: usize,
) -> PyResult<TreeSpec> {
    check_depth(depth)?;
    let mut children = Children::new();
    for item in &items {
        children.push(visit(item, leaves, test, depth + 1)?);
        nested::listen(item.py(), leaves.len())?;
    }
    Ok(TreeSpec::node(kind, children))
}

fn check_depth(depth: usize) -> PyResult<()> {
    stack::check()?;
    if depth < MAX_DEPTH {
        return Ok(());
    }
    Err(PyRecursionError::new_err(short!("pytree nested deeper than {MAX_DEPTH} levels; does it contain itself?"))
        .into())
}
