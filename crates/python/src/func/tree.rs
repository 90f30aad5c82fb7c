//! Structures of arguments and results, with a short way for single tensors.

use crate::door::{callable, overrides};
use crate::pytree::{self, Leaves, TreeSpec};
use crate::types::errors::PyResult;
use crate::types::raised;
use crate::{data, tensor};
use pullback::base::DType;
use pullback::core::Tensor;
use pullback::rules::basis;
use pullback::transforms::run::Open;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyType};
use std::sync::Arc;

/// The value of a tensor object.
#[inline]
pub fn tensor_value(obj: &Bound<'_, PyAny>) -> Option<Tensor> {
    tensor::cell(obj).map(|c| c.value())
}

/// A number, or an array or scalar of NumPy, as the tensor of its values; `None` for other objects.
#[cold]
#[inline(never)]
pub fn converted(obj: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let number = obj.is_instance_of::<PyFloat>() || obj.is_instance_of::<PyInt>() || obj.is_instance_of::<PyComplex>();
    let counts = number || (raised::is_of_numpy(obj)? && obj.hasattr("__array_struct__")?);
    Ok(if counts { Some(data::tensor_from(obj, None)?) } else { None })
}

/// The value of a leaf that must be a tensor, or something that stands for one.
#[inline]
pub fn leaf_value(op: &str, leaf: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    match tensor_value(leaf) {
        Some(value) => Ok(value),
        None => Ok(converted(leaf)?.ok_or_else(|| super::argnums::not_tensor(op, leaf))?),
    }
}

/// The value of a leaf of tangents or cotangents: a number counts in the dtype of what it belongs to.
#[inline]
pub fn direction(op: &str, leaf: &Bound<'_, PyAny>, like: Option<DType>) -> PyResult<Tensor> {
    match tensor_value(leaf) {
        Some(value) => Ok(value),
        None => Ok(converted_like(leaf, like)?.ok_or_else(|| super::argnums::not_tensor(op, leaf))?),
    }
}

/// [`converted`], in the dtype of `like`.
#[cold]
pub fn converted_like(leaf: &Bound<'_, PyAny>, like: Option<DType>) -> PyResult<Option<Tensor>> {
    Ok(match (converted(leaf)?, like) {
        (Some(v), Some(d)) if d.is_complex() || !v.dtype().is_complex() => Some(basis::cast(&v, d)?),
        (value, _) => value,
    })
}

/// A new tensor object.
#[inline]
pub fn object(py: Python<'_>, value: Tensor) -> PyResult<Bound<'_, PyAny>> {
    Ok(tensor::wrap(py, value)?.into_any())
}

/// The structure of an argument or a result.
#[derive(Clone)]
pub enum Tree {
    Single,
    Structure(TreeSpec),
    /// With leaves of classes that answer calls, or keep their class: tensors in their place are of these.
    Classed(Arc<Classed>),
}

/// A structure, and the classes of its leaves where they matter.
pub struct Classed {
    tree: Tree,
    classes: Vec<Option<Py<PyType>>>,
}

impl Tree {
    /// Takes `obj` apart and hands each leaf to `visit`.
    #[inline]
    pub fn collect<'py>(
        obj: &Bound<'py, PyAny>,
        mut visit: impl FnMut(&Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<Tree> {
        if tensor::is_tensor(obj) {
            visit(obj)?;
            return Ok(Tree::Single.with_classes(std::slice::from_ref(obj)));
        }
        let (leaves, spec) = pytree::flatten(obj)?;
        leaves.iter().try_for_each(visit)?;
        Ok(Tree::Structure(spec).with_classes(&leaves))
    }

    /// The structure with the classes of these leaves, if one of them matters.
    #[inline]
    fn with_classes(self, leaves: &[Bound<'_, PyAny>]) -> Tree {
        if callable::is_ordinary(leaves.iter().map(Bound::as_ptr)) { self } else { self.classed(leaves) }
    }

    #[cold]
    #[inline(never)]
    fn classed(self, leaves: &[Bound<'_, PyAny>]) -> Tree {
        let says = |o: &Bound<'_, PyAny>| tensor::is_tensor(o) && overrides::has_say(o.py(), o.get_type_ptr());
        if !leaves.iter().any(says) {
            return self;
        }
        let classes = leaves.iter().map(|o| says(o).then(|| o.get_type().unbind())).collect();
        Tree::Classed(Arc::new(Classed { tree: self, classes }))
    }

    /// Whether it is a tensor alone.
    pub fn is_single(&self) -> bool {
        match self {
            Tree::Single => true,
            Tree::Structure(_) => false,
            Tree::Classed(c) => c.tree.is_single(),
        }
    }

    pub fn leaves<'py>(obj: &Bound<'py, PyAny>) -> PyResult<(Leaves<'py>, Tree)> {
        let mut leaves = Leaves::new();
        let tree = Tree::collect(obj, |leaf| {
            leaves.push(leaf.clone());
            Ok(())
        })?;
        Ok((leaves, tree))
    }

    /// The tree of this structure with the next tensors in its leaves.
    #[inline]
    pub fn build<'py>(
        &self,
        py: Python<'py>,
        tensors: &mut impl Iterator<Item = Tensor>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Tree::Single => match tensors.next() {
                Some(t) => object(py, t),
                None => Err(PyValueError::new_err("too few leaves").into()),
            },
            Tree::Structure(spec) => {
                let leaves: PyResult<Leaves<'py>> = tensors.take(spec.num_leaves()).map(|t| object(py, t)).collect();
                spec.unflatten(py, leaves?)
            }
            Tree::Classed(c) => {
                let leaves: PyResult<Leaves<'py>> = tensors.take(c.tree.len()).map(|t| object(py, t)).collect();
                self.of_objects(py, leaves?)
            }
        }
    }

    /// The tree of this structure with these leaves.
    pub fn of_objects<'py, I>(&self, py: Python<'py>, leaves: I) -> PyResult<Bound<'py, PyAny>>
    where
        I: IntoIterator<Item = Bound<'py, PyAny>, IntoIter: ExactSizeIterator>,
    {
        match (self, leaves.into_iter()) {
            (Tree::Single, mut leaves) => Ok(leaves.next().ok_or_else(|| PyValueError::new_err("too few leaves"))?),
            (Tree::Structure(spec), leaves) => spec.unflatten(py, leaves),
            (Tree::Classed(c), leaves) => c.of_objects(py, leaves.collect()),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Tree::Single => 1,
            Tree::Structure(spec) => spec.num_leaves(),
            Tree::Classed(c) => c.classes.len(),
        }
    }

    pub fn spec(&self) -> TreeSpec {
        match self {
            Tree::Single => TreeSpec::Leaf,
            Tree::Structure(spec) => spec.clone(),
            Tree::Classed(c) => c.tree.spec(),
        }
    }

    pub fn same(&self, py: Python<'_>, other: &Tree) -> PyResult<bool> {
        match (self, other) {
            (Tree::Single, Tree::Single) => Ok(true),
            (a, b) => a.spec().eq(&b.spec(), py),
        }
    }

    /// For messages.
    pub fn describe(&self, py: Python<'_>) -> PyResult<String> {
        self.spec().describe(py)
    }
}

impl Classed {
    /// The tree of this structure with these leaves, of which tensors become objects of its classes.
    fn of_objects<'py>(&self, py: Python<'py>, leaves: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let of_class = |(leaf, class): (Bound<'py, PyAny>, &Option<Py<PyType>>)| match class {
            Some(class) => overrides::as_class(leaf, class.bind(py)),
            None => Ok(leaf),
        };
        let leaves = leaves.into_iter().zip(&self.classes).map(of_class).collect::<PyResult<Vec<_>>>()?;
        self.tree.of_objects(py, leaves)
    }
}

/// A result that only comes along, as values of the levels outside.
pub fn lowered<'py>(obj: &Bound<'py, PyAny>, open: &impl Open) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    let (mut leaves, tree) = Tree::leaves(obj)?;
    let mut changed = false;
    for leaf in &mut leaves {
        if let Some(value) = tensor_value(leaf)
            && value.level() >= open.level()
        {
            *leaf = object(py, open.below(&value)?)?;
            changed = true;
        }
    }
    if changed { tree.of_objects(py, leaves) } else { Ok(obj.clone()) }
}
