//! What a forward returns: one result or several, each a tensor, a tree of tensors or any other object.

use super::methods::Methods;
use super::{Objects, as_list, inputs, value_of};
use crate::pytree::{self, Leaves, TreeSpec};
use crate::types::brief::brief;
use crate::types::class::type_name;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::core::origin::at_here;
use pullback::core::{Outputs, Tangents, Tensor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::{SmallVec, smallvec};
use std::sync::LazyLock;

enum Item {
    Tensor,
    Constant(Py<PyAny>),
    /// The leaves that are no tensors.
    Tree {
        spec: TreeSpec,
        others: Vec<Option<Py<PyAny>>>,
    },
}

enum Whole {
    One,
    Tuple,
    List,
    Named(Py<PyAny>),
}

/// A result without its tensors.
pub struct Structure {
    items: SmallVec<[Item; 2]>,
    whole: Whole,
}

/// That of a tensor and nothing else, as most results are.
pub static TENSOR: LazyLock<Structure> =
    LazyLock::new(|| Structure { items: smallvec![Item::Tensor], whole: Whole::One });

/// A result taken apart.
pub struct Parsed<'py> {
    /// `None`: a tensor and nothing else.
    pub structure: Option<Structure>,
    pub tensors: Outputs,
    pub objects: Objects<'py>,
}

impl Parsed<'_> {
    /// Which result an object is.
    pub fn place(&self, object: &Bound<'_, PyAny>) -> Option<usize> {
        self.objects.iter().position(|o| o.is(object))
    }
}

impl Structure {
    pub fn parse<'py>(out: &Bound<'py, PyAny>) -> PyResult<Parsed<'py>> {
        if let Some(t) = value_of(out) {
            return Ok(Parsed { structure: None, tensors: [t].into_iter().collect(), objects: smallvec![out.clone()] });
        }
        let (results, whole): (Objects<'py>, Whole) = if let Ok(t) = out.cast_exact::<PyTuple>() {
            (t.iter().collect(), Whole::Tuple)
        } else if let Ok(l) = out.cast_exact::<PyList>() {
            (l.iter().collect(), Whole::List)
        } else if out.is_instance_of::<PyTuple>() && out.hasattr("_fields")? {
            (out.cast::<PyTuple>()?.iter().collect(), Whole::Named(out.get_type().into_any().unbind()))
        } else {
            (smallvec![out.clone()], Whole::One)
        };
        let (mut items, mut tensors, mut objects) = (SmallVec::new(), Outputs::new(), Objects::new());
        for o in results {
            items.push(item(o, &mut tensors, &mut objects)?);
        }
        Ok(Parsed { structure: Some(Structure { items, whole }), tensors, objects })
    }

    /// The result with these tensors.
    pub fn build<'py>(&self, py: Python<'py>, objects: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyAny>> {
        if self.is_tensor() {
            return Ok(objects.first().map_or_else(|| py.None().into_bound(py), Bound::clone));
        }
        let mut objects = objects.iter().cloned();
        let items = self.items(py, || objects.next(), |c| c.clone_ref(py))?;
        self.assemble(py, items)
    }

    /// The last of several results, if it is no tensor.
    pub fn last<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match self.items.last()? {
            Item::Constant(o) => Some(o.bind(py).clone()),
            _ => None,
        }
    }

    /// Whether the result is a tensor and nothing else, as most are.
    fn is_tensor(&self) -> bool {
        matches!((&self.whole, &self.items[..]), (Whole::One, [Item::Tensor]))
    }

    fn assemble<'py>(&self, py: Python<'py>, mut items: Objects<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.whole {
            Whole::One => Ok(items.pop().unwrap_or_else(|| py.None().into_bound(py))),
            Whole::Tuple => Ok(PyTuple::new(py, items)?.into_any()),
            Whole::List => Ok(PyList::new(py, items)?.into_any()),
            Whole::Named(class) => Ok(class.bind(py).call1(PyTuple::new(py, items)?)?),
        }
    }

    /// One object per item, from one per tensor.
    fn items<'py>(
        &self,
        py: Python<'py>,
        mut next: impl FnMut() -> Option<Bound<'py, PyAny>>,
        constant: impl Fn(&Py<PyAny>) -> Py<PyAny>,
    ) -> PyResult<Objects<'py>> {
        let none = || py.None().into_bound(py);
        let mut object = |item: &Item| match item {
            Item::Tensor => Ok(next().unwrap_or_else(none)),
            Item::Constant(c) => Ok(constant(c).into_bound(py)),
            Item::Tree { spec, others } => {
                let leaves = others.iter().map(|o| match o {
                    Some(c) => constant(c).into_bound(py),
                    None => next().unwrap_or_else(none),
                });
                spec.unflatten(py, leaves.collect::<Leaves<'py>>())
            }
        };
        self.items.iter().map(&mut object).collect()
    }

    /// Arguments of backward, one per item, from one gradient per tensor; None for what is no tensor.
    pub fn gradients<'py>(
        &self,
        py: Python<'py>,
        mut grads: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    ) -> PyResult<Objects<'py>> {
        if self.is_tensor()
            && let Some(g) = grads.next()
        {
            return Ok(smallvec![g?]);
        }
        let mut failed = None;
        let next = || match grads.next()? {
            Ok(g) => Some(g),
            Err(e) => {
                failed = Some(e);
                None
            }
        };
        let out = self.items(py, next, |_| py.None());
        failed.map_or(out, Err)
    }

    /// One object per tensor from a result of the same structure, where None stands for what has no tangent.
    fn flatten<'py>(&self, out: &Bound<'py, PyAny>) -> PyResult<Option<Objects<'py>>> {
        let mut leaves = Objects::new();
        let results = match self.whole {
            Whole::One if !matches!(self.items[0], Item::Tensor) => smallvec![out.clone()],
            _ => as_list(out),
        };
        let tensors = self.items.iter().filter(|i| matches!(i, Item::Tensor)).count();
        if results.len() == tensors
            && self.items.len() != tensors
            && !self.items.iter().any(|i| matches!(i, Item::Tree { .. }))
        {
            return Ok(Some(results));
        }
        if results.len() != self.items.len() {
            return Ok(None);
        }
        for (item, r) in self.items.iter().zip(results) {
            match item {
                Item::Tensor => leaves.push(r),
                Item::Constant(_) => {}
                Item::Tree { spec, others } => {
                    let mut all = Vec::new();
                    if !pytree::flatten_like(spec, &r, &mut all)? {
                        return Ok(None);
                    }
                    leaves.extend(all.into_iter().zip(others).filter(|(_, o)| o.is_none()).map(|(r, _)| r));
                }
            }
        }
        Ok(Some(leaves))
    }

    /// Tangents of the tensors, from what a jvp returned.
    pub fn tangents(&self, methods: &Methods, out: &Bound<'_, PyAny>) -> PyResult<Tangents> {
        let Some(leaves) = self.flatten(out)? else {
            let (n, got) = (self.items.len(), as_list(out).len());
            return Err(PyRuntimeError::new_err(short!(
                "{}.jvp: returned an invalid number of forward gradients (expected {n} but got {got}), or another structure \
                 than forward's output{}",
                methods.name,
                at_here()
            ))
            .into());
        };
        let read = |(i, o): (usize, &Bound<'_, PyAny>)| inputs::tangent(methods, "jvp", || format!("output {i}"), o);
        leaves.iter().enumerate().map(read).collect()
    }

    /// Where the batches of the tensors of a batched result are.
    pub fn batched(
        &self,
        methods: &Methods,
        tensors: &[Tensor],
        dims: &Bound<'_, PyAny>,
        size: usize,
    ) -> PyResult<SmallVec<[Option<usize>; 4]>> {
        let name = &methods.name;
        let wrong = || wrong_dims(name, tensors.len(), dims);
        let mut leaves: Vec<Bound<'_, PyAny>> = Vec::new();
        if dims.is_none() || raised::whole(dims)?.is_some() {
            leaves = vec![dims.clone(); tensors.len()];
        } else {
            let given = match self.whole {
                Whole::One => smallvec![dims.clone()],
                _ => as_list(dims),
            };
            if given.len() != self.items.len() {
                return Err(wrong().into());
            }
            for (item, d) in self.items.iter().zip(given) {
                match item {
                    Item::Tensor => leaves.push(d),
                    Item::Constant(_) => {}
                    Item::Tree { spec, others } => {
                        let all = pytree::broadcast_to_and_flatten(&d, spec)?.ok_or_else(wrong)?;
                        leaves.extend(all.into_iter().zip(others).filter(|(_, o)| o.is_none()).map(|(d, _)| d));
                    }
                }
            }
        }
        if leaves.len() != tensors.len() {
            return Err(wrong().into());
        }
        let place = |(i, (t, d)): (usize, (&Tensor, &Bound<'_, PyAny>))| -> PyResult<Option<usize>> {
            if d.is_none() {
                return Ok(None);
            }
            let given = raised::whole(d)?.ok_or_else(wrong)?;
            let rank = t.rank() as i64;
            let dim = if given < 0 { given + rank } else { given };
            if dim < 0 || dim >= rank || t.shape()[dim as usize] != size {
                return Err(PyRuntimeError::new_err(short!(
                    "{name}.vmap: output {i} has shape {}, and no batch of size {size} at dimension {given}, where \
                     out_dims says that it is{}",
                    t.shape(),
                    at_here()
                ))
                .into());
            }
            Ok(Some(dim as usize))
        };
        tensors.iter().zip(&leaves).enumerate().map(place).collect()
    }
}

#[cold]
fn wrong_dims(name: &str, tensors: usize, dims: &Bound<'_, PyAny>) -> PyErr {
    match brief(dims) {
        Ok(got) => PyRuntimeError::new_err(short!(
            "{name}.vmap: returned an incompatible (output, out_dims): expected out_dims in the structure of the output, \
             with an int or None for each of its {tensors} tensors, but got {got}{}",
            at_here()
        )),
        Err(e) => e.into(),
    }
}

/// Takes one result apart.
fn item<'py>(o: Bound<'py, PyAny>, tensors: &mut Outputs, objects: &mut Objects<'py>) -> PyResult<Item> {
    if let Some(t) = value_of(&o) {
        tensors.push(t);
        objects.push(o);
        return Ok(Item::Tensor);
    }
    let mut leaves = Leaves::new();
    let spec = pytree::flatten_open(&o, &mut leaves)?;
    if spec.is_leaf() {
        return Ok(Item::Constant(o.unbind()));
    }
    let mut others = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        others.push(match value_of(&leaf) {
            Some(t) => {
                tensors.push(t);
                objects.push(leaf);
                None
            }
            None => Some(leaf.unbind()),
        });
    }
    Ok(Item::Tree { spec, others })
}

/// `(output, out_dims)` of a vmap staticmethod.
pub fn pair<'py>(methods: &Methods, result: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    match result.cast::<PyTuple>() {
        Ok(t) if t.len() == 2 => Ok((t.get_item(0)?, t.get_item(1)?)),
        found => {
            let got = found.map_or_else(|_| type_name(result), |t| format!("{} returns", t.len()));
            Err(PyRuntimeError::new_err(short!(
                "{}.vmap: Expected the vmap staticmethod to have two returns, an output and out_dims, as a tuple, but got \
                 {got}{}",
                methods.name,
                at_here()
            ))
            .into())
        }
    }
}
