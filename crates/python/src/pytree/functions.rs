//! The functions of `pullback.utils.pytree`.

use super::face::{PyTreeSpec, spec_argument};
use super::paths::{Paths, pairs};
use super::spec::{Leaves, TreeSpec};
use super::{ByType, Predicate, flatten_with};
use crate::types::class;
use crate::types::errors::PyResult;
use pullback::dense::stack;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyTuple, PyType};

type Object<'py> = Bound<'py, PyAny>;
type Optional<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The leaves of a tree in order, and its structure.
#[pyfunction]
#[pyo3(signature = (tree, is_leaf = None))]
fn tree_flatten<'py>(tree: &Object<'py>, is_leaf: Optional<'_, 'py>) -> PyResult<(Bound<'py, PyList>, PyTreeSpec)> {
    let (leaves, spec) = flatten_with(tree, is_leaf)?;
    Ok((PyList::new(tree.py(), leaves)?, PyTreeSpec(spec)))
}

/// The tree with this structure and these leaves: the inverse of `tree_flatten`.
#[pyfunction]
fn tree_unflatten<'py>(leaves: &Object<'py>, treespec: &Object<'py>) -> PyResult<Object<'py>> {
    if let Ok(spec) = leaves.cast::<PyTreeSpec>() {
        return spec.get().unflatten(treespec);
    }
    spec_argument(treespec, "tree_unflatten")?.unflatten(leaves)
}

/// The leaves of a tree in order.
#[pyfunction]
#[pyo3(signature = (tree, is_leaf = None))]
fn tree_leaves<'py>(tree: &Object<'py>, is_leaf: Optional<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
    Ok(PyList::new(tree.py(), flatten_with(tree, is_leaf)?.0)?)
}

/// An iterator over the leaves of a tree.
#[pyfunction]
#[pyo3(signature = (tree, is_leaf = None))]
fn tree_iter<'py>(tree: &Object<'py>, is_leaf: Optional<'_, 'py>) -> PyResult<Bound<'py, PyIterator>> {
    Ok(tree_leaves(tree, is_leaf)?.try_iter()?)
}

/// The structure of a tree.
#[pyfunction]
#[pyo3(signature = (tree, is_leaf = None))]
fn tree_structure<'py>(tree: &Object<'py>, is_leaf: Optional<'_, 'py>) -> PyResult<PyTreeSpec> {
    Ok(PyTreeSpec(flatten_with(tree, is_leaf)?.1))
}

/// Whether a tree is a single leaf. None is one.
#[pyfunction]
#[pyo3(signature = (tree, is_leaf = None))]
fn tree_is_leaf<'py>(tree: &Object<'py>, is_leaf: Optional<'_, 'py>) -> PyResult<bool> {
    if let Some(predicate) = is_leaf
        && !predicate.is_none()
        && predicate.call1((tree,))?.is_truthy()?
    {
        return Ok(true);
    }
    super::is_leaf(tree)
}

/// Calls `func` on the corresponding leaves of the trees, in order, and passes each result on.
fn for_each<'py>(
    func: &Object<'py>,
    tree: &Object<'py>,
    rests: &Bound<'py, PyTuple>,
    is_leaf: Optional<'_, 'py>,
    mut take: impl FnMut(Object<'py>),
) -> PyResult<TreeSpec> {
    stack::check()?;
    let (leaves, spec) = flatten_with(tree, is_leaf)?;
    let rests = rests.iter().map(|r| spec.flatten_up_to(&r)).collect::<PyResult<Vec<_>>>()?;
    for (i, leaf) in leaves.iter().enumerate() {
        take(match rests.as_slice() {
            [] => func.call1((leaf,))?,
            [other] => func.call1((leaf, &other[i]))?,
            others => {
                let args: Vec<_> = std::iter::once(leaf).chain(others.iter().map(|o| &o[i])).collect();
                func.call1(PyTuple::new(tree.py(), args)?)?
            }
        });
    }
    Ok(spec)
}

/// A tree of the results of `func` on the leaves of `tree` and what lies at the same places of `rests`.
#[pyfunction]
#[pyo3(signature = (func, tree, *rests, is_leaf = None))]
fn tree_map<'py>(
    func: &Object<'py>,
    tree: &Object<'py>,
    rests: &Bound<'py, PyTuple>,
    is_leaf: Optional<'_, 'py>,
) -> PyResult<Object<'py>> {
    let mut results = Leaves::new();
    let spec = for_each(func, tree, rests, is_leaf, |r| results.push(r))?;
    spec.unflatten(tree.py(), results)
}

/// Calls `func` like `tree_map` for what it does to the leaves; gives `tree` itself.
#[pyfunction]
#[pyo3(signature = (func, tree, *rests, is_leaf = None))]
fn tree_map_<'py>(
    func: &Object<'py>,
    tree: Object<'py>,
    rests: &Bound<'py, PyTuple>,
    is_leaf: Optional<'_, 'py>,
) -> PyResult<Object<'py>> {
    for_each(func, &tree, rests, is_leaf, drop)?;
    Ok(tree)
}

/// Which leaves a function applies to: instances of a type, of several, or those that satisfy a predicate.
fn selects<'py>(filter: &Object<'py>, leaf: &Object<'py>) -> PyResult<bool> {
    let is_union = || filter.get_type().name().is_ok_and(|n| n == "UnionType" || n == "Union");
    if filter.is_instance_of::<PyType>() || filter.is_instance_of::<PyTuple>() || is_union() {
        return Ok(leaf.is_instance(filter)?);
    }
    if !filter.is_callable() {
        let got = class::type_name(filter);
        return Err(PyTypeError::new_err(short!("expected a type, a tuple of types or a predicate, got {got}")).into());
    }
    Ok(filter.call1((leaf,))?.is_truthy()?)
}

/// `tree_map` over the leaves of a type, or those that satisfy a predicate; the others stay.
#[pyfunction]
#[pyo3(signature = (type_or_types_or_pred, /, func, tree, is_leaf = None))]
fn tree_map_only<'py>(
    type_or_types_or_pred: &Object<'py>,
    func: &Object<'py>,
    tree: &Object<'py>,
    is_leaf: Optional<'_, 'py>,
) -> PyResult<Object<'py>> {
    let (mut leaves, spec) = flatten_with(tree, is_leaf)?;
    for leaf in &mut leaves {
        if selects(type_or_types_or_pred, leaf)? {
            *leaf = func.call1((&*leaf,))?;
        }
    }
    spec.unflatten(tree.py(), leaves)
}

/// Calls `func` like `tree_map_only` for what it does to the leaves; gives `tree` itself.
#[pyfunction]
#[pyo3(signature = (type_or_types_or_pred, /, func, tree, is_leaf = None))]
fn tree_map_only_<'py>(
    type_or_types_or_pred: &Object<'py>,
    func: &Object<'py>,
    tree: Object<'py>,
    is_leaf: Optional<'_, 'py>,
) -> PyResult<Object<'py>> {
    for leaf in &flatten_with(&tree, is_leaf)?.0 {
        if selects(type_or_types_or_pred, leaf)? {
            func.call1((leaf,))?;
        }
    }
    Ok(tree)
}

/// Whether some leaf (of a type) makes the predicate equal to `wanted`.
fn exists<'py>(
    filter: Optional<'_, 'py>,
    pred: &Object<'py>,
    tree: &Object<'py>,
    is_leaf: Optional<'_, 'py>,
    wanted: bool,
) -> PyResult<bool> {
    for leaf in &flatten_with(tree, is_leaf)?.0 {
        let counts = filter.map_or(Ok(true), |f| selects(f, leaf))?;
        if counts && pred.call1((leaf,))?.is_truthy()? == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether all leaves satisfy a predicate.
#[pyfunction]
#[pyo3(signature = (pred, tree, is_leaf = None))]
fn tree_all<'py>(pred: &Object<'py>, tree: &Object<'py>, is_leaf: Optional<'_, 'py>) -> PyResult<bool> {
    Ok(!exists(None, pred, tree, is_leaf, false)?)
}

/// Whether a leaf satisfies a predicate.
#[pyfunction]
#[pyo3(signature = (pred, tree, is_leaf = None))]
fn tree_any<'py>(pred: &Object<'py>, tree: &Object<'py>, is_leaf: Optional<'_, 'py>) -> PyResult<bool> {
    exists(None, pred, tree, is_leaf, true)
}

/// Whether all leaves of a type satisfy a predicate.
#[pyfunction]
#[pyo3(signature = (type_or_types, /, pred, tree, is_leaf = None))]
fn tree_all_only<'py>(
    type_or_types: &Object<'py>,
    pred: &Object<'py>,
    tree: &Object<'py>,
    is_leaf: Optional<'_, 'py>,
) -> PyResult<bool> {
    Ok(!exists(Some(type_or_types), pred, tree, is_leaf, false)?)
}

/// Whether a leaf of a type satisfies a predicate.
#[pyfunction]
#[pyo3(signature = (type_or_types, /, pred, tree, is_leaf = None))]
fn tree_any_only<'py>(
    type_or_types: &Object<'py>,
    pred: &Object<'py>,
    tree: &Object<'py>,
    is_leaf: Optional<'_, 'py>,
) -> PyResult<bool> {
    exists(Some(type_or_types), pred, tree, is_leaf, true)
}

fn with_paths<'py>(tree: &Object<'py>, is_leaf: Optional<'_, 'py>) -> PyResult<(Paths<'py>, TreeSpec)> {
    let mut found = Paths::new();
    let spec = match is_leaf.filter(|p| !p.is_none()) {
        Some(predicate) => found.visit(tree, &Predicate(predicate))?,
        None => found.visit(tree, &ByType)?,
    };
    Ok((found, spec))
}

/// A list of `(path, leaf)`, and the structure.
#[pyfunction]
#[pyo3(signature = (tree, is_leaf = None))]
fn tree_flatten_with_path<'py>(
    tree: &Object<'py>,
    is_leaf: Optional<'_, 'py>,
) -> PyResult<(Bound<'py, PyList>, PyTreeSpec)> {
    let (found, spec) = with_paths(tree, is_leaf)?;
    Ok((pairs(tree.py(), &found)?, PyTreeSpec(spec)))
}

/// A list of `(path, leaf)`.
#[pyfunction]
#[pyo3(signature = (tree, is_leaf = None))]
fn tree_leaves_with_path<'py>(tree: &Object<'py>, is_leaf: Optional<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
    pairs(tree.py(), &with_paths(tree, is_leaf)?.0)
}

/// `tree_map` with the path of the leaf as first argument of `func`.
#[pyfunction]
#[pyo3(signature = (func, tree, *rests, is_leaf = None))]
fn tree_map_with_path<'py>(
    func: &Object<'py>,
    tree: &Object<'py>,
    rests: &Bound<'py, PyTuple>,
    is_leaf: Optional<'_, 'py>,
) -> PyResult<Object<'py>> {
    let (found, spec) = with_paths(tree, is_leaf)?;
    let rests = rests.iter().map(|r| spec.flatten_up_to(&r)).collect::<PyResult<Vec<_>>>()?;
    let mut results = Leaves::new();
    for (i, (path, leaf)) in found.paths.iter().zip(&found.leaves).enumerate() {
        let args: Vec<_> = [path.as_any(), leaf].into_iter().chain(rests.iter().map(|r| &r[i])).collect();
        results.push(func.call1(PyTuple::new(tree.py(), args)?)?);
    }
    spec.unflatten(tree.py(), results)
}

/// One value of `tree` for each leaf of a structure that it is a prefix of; None if it is not.
#[pyfunction]
fn broadcast_to_and_flatten<'py>(tree: &Object<'py>, treespec: &Object<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
    let spec = spec_argument(treespec, "broadcast_to_and_flatten")?;
    let leaves = super::broadcast_to_and_flatten(tree, &spec.0)?;
    Ok(leaves.map(|l| PyList::new(tree.py(), l)).transpose()?)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(tree_flatten, m)?)?;
    m.add_function(wrap_pyfunction!(tree_unflatten, m)?)?;
    m.add_function(wrap_pyfunction!(tree_leaves, m)?)?;
    m.add_function(wrap_pyfunction!(tree_iter, m)?)?;
    m.add_function(wrap_pyfunction!(tree_structure, m)?)?;
    m.add_function(wrap_pyfunction!(tree_is_leaf, m)?)?;
    m.add_function(wrap_pyfunction!(tree_map, m)?)?;
    m.add_function(wrap_pyfunction!(tree_map_, m)?)?;
    m.add_function(wrap_pyfunction!(tree_map_only, m)?)?;
    m.add_function(wrap_pyfunction!(tree_map_only_, m)?)?;
    m.add_function(wrap_pyfunction!(tree_all, m)?)?;
    m.add_function(wrap_pyfunction!(tree_any, m)?)?;
    m.add_function(wrap_pyfunction!(tree_all_only, m)?)?;
    m.add_function(wrap_pyfunction!(tree_any_only, m)?)?;
    m.add_function(wrap_pyfunction!(tree_flatten_with_path, m)?)?;
    m.add_function(wrap_pyfunction!(tree_leaves_with_path, m)?)?;
    m.add_function(wrap_pyfunction!(tree_map_with_path, m)?)?;
    Ok(m.add_function(wrap_pyfunction!(broadcast_to_and_flatten, m)?)?)
}
