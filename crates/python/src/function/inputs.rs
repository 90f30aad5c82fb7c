//! The arguments of a call: trees of tensors and other objects.

use super::call::Call;
use super::ctx::Needs;
use super::methods::Methods;
use super::{Objects, as_list, optional, value_of};
use crate::door::overrides;
use crate::door::vectorcall::invoke_named;
use crate::pytree::{self, Leaves, TreeSpec};
use crate::tensor;
use crate::tensor::history::Followed;
use crate::types::class::type_name;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::core::origin::at_here;
use pullback::core::{LevelId, Set, Tangents, Tensor, level};
use pullback::function::Values;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyTuple};
use smallvec::SmallVec;

/// A leaf of the arguments.
pub enum Leaf {
    Tensor { index: usize, object: Py<PyAny>, value: Tensor },
    Other(Py<PyAny>),
}

pub struct Inputs {
    pub leaves: SmallVec<[Leaf; 2]>,
    /// One per argument; `None` if every argument is a leaf.
    trees: Option<Vec<TreeSpec>>,
    /// Names of the last arguments, where these go by keyword.
    keywords: Option<Py<PyTuple>>,
}

/// Whether a value is followed by a level that records or maps now. `quiet`: tapes are off and nothing else is there.
#[inline]
fn is_followed(value: &Tensor, quiet: bool) -> bool {
    match value.level() {
        LevelId::DENSE | LevelId::ABSTRACT => false,
        LevelId::AMBIENT if quiet => value.below().is_none_or(|b| b.level() > LevelId::ABSTRACT),
        _ => true,
    }
}

/// The array below the ambient tape; `None` if a transform follows the value.
pub fn untaped(t: &Tensor) -> Option<&Tensor> {
    match t.level() {
        LevelId::DENSE => Some(t),
        LevelId::AMBIENT => t.below().filter(|below| below.level() == LevelId::DENSE),
        _ => None,
    }
}

/// Whether an argument may be given to a forward as the caller's own object: no transform follows what was given, it is
/// still what the object has, and a write to it is one to no base, which is no argument.
#[inline]
fn is_own(object: &Bound<'_, PyAny>, given: &Tensor, value: &Tensor) -> bool {
    if given.same(value) {
        return true;
    }
    untaped(given).is_some_and(|t| t.same(value)) && has(object, given, false)
}

/// Whether an object has this value now; `views` says whether views may.
pub fn has(object: &Bound<'_, PyAny>, value: &Tensor, views: bool) -> bool {
    let Some(cell) = tensor::cell(object) else { return false };
    let is_view = || cell.shared_cell().is_some_and(|c| c.is_view());
    match cell.with(|s| s.quick().map(|now| now.same(value))) {
        Some(known) => known,
        None => (views || !is_view()) && cell.value().same(value),
    }
}

/// Whether some tensor of the arguments is followed by a level.
pub fn any_followed<'a, 'py: 'a>(args: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>) -> PyResult<bool> {
    let quiet = !level::records(LevelId::AMBIENT);
    for a in args {
        if let Some(value) = value_of(&a) {
            if is_followed(&value, quiet) {
                return Ok(true);
            }
        } else if !pytree::is_plain(&a) {
            let mut leaves = Leaves::new();
            if pytree::flatten_open(&a, &mut leaves)?.is_leaf() {
                continue;
            }
            if leaves.iter().filter_map(value_of).any(|v| is_followed(&v, quiet)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// An object as a leaf; its value joins the others if it is a tensor.
#[inline(always)]
fn leaf(o: &Bound<'_, PyAny>, values: &mut Values) -> Leaf {
    match tensor::cell(o) {
        Some(c) => {
            let (index, value) = (values.len(), c.value());
            values.push(value.clone());
            Leaf::Tensor { index, object: o.clone().unbind(), value }
        }
        None => Leaf::Other(o.clone().unbind()),
    }
}

impl Inputs {
    /// Takes arguments apart; also gives the tensors.
    pub fn collect(args: &[Bound<'_, PyAny>], keywords: Option<Bound<'_, PyTuple>>) -> PyResult<(Inputs, Values)> {
        let mut values = Values::new();
        let mut leaves = SmallVec::with_capacity(args.len());
        let mut trees: Option<Vec<TreeSpec>> = None;
        let mut push = |o: &Bound<'_, PyAny>| leaves.push(leaf(o, &mut values));
        for (i, a) in args.iter().enumerate() {
            if tensor::is_tensor(a) || pytree::is_plain(a) {
                push(a);
                trees.iter_mut().for_each(|t| t.push(TreeSpec::Leaf));
                continue;
            }
            let mut parts = Leaves::new();
            let spec = pytree::flatten_open(a, &mut parts)?;
            parts.iter().for_each(&mut push);
            if !spec.is_leaf() && trees.is_none() {
                trees = Some(vec![TreeSpec::Leaf; i]);
            }
            trees.iter_mut().for_each(|t| t.push(spec.clone()));
        }
        Ok((Inputs { leaves, trees, keywords: keywords.map(Bound::unbind) }, values))
    }

    /// Of arguments that are not taken apart.
    pub fn of_leaves(args: &[Bound<'_, PyAny>]) -> (Inputs, Values) {
        let mut values = Values::new();
        let leaves = args.iter().map(|o| leaf(o, &mut values)).collect();
        (Inputs { leaves, trees: None, keywords: None }, values)
    }

    /// One object per leaf. The caller's own objects where the values are theirs.
    pub fn objects<'py>(&self, py: Python<'py>, values: &[Tensor], own: bool) -> PyResult<Objects<'py>> {
        let mut out = Objects::new();
        for leaf in &self.leaves {
            out.push(match leaf {
                Leaf::Other(o) => o.bind(py).clone(),
                Leaf::Tensor { index, object, value } if own && is_own(object.bind(py), value, &values[*index]) => {
                    object.bind(py).clone()
                }
                Leaf::Tensor { index, object, .. } => overrides::wrap_like(object.bind(py), values[*index].clone())?,
            });
        }
        Ok(out)
    }

    /// The caller's object of a value that is one argument's, if nobody has written to it since and no transform follows it.
    pub fn object_of<'py>(&self, py: Python<'py>, value: &Tensor) -> Option<Bound<'py, PyAny>> {
        let value = untaped(value)?;
        let mut found = self.leaves.iter().filter_map(|leaf| match leaf {
            Leaf::Tensor { object, value: given, .. } if untaped(given).is_some_and(|t| t.same(value)) => {
                Some((object.bind(py), given))
            }
            _ => None,
        });
        let (object, given) = found.next()?;
        (has(object, given, true) && found.next().is_none()).then(|| object.clone())
    }

    /// One object per leaf, from one per tensor; None for the others.
    pub fn spread<'py>(&self, py: Python<'py>, values: &[Option<Tensor>]) -> PyResult<Objects<'py>> {
        let object = |leaf: &Leaf| match leaf {
            Leaf::Tensor { index, .. } => optional(py, values.get(*index).cloned().flatten()),
            Leaf::Other(_) => Ok(py.None().into_bound(py)),
        };
        self.leaves.iter().map(object).collect()
    }

    /// The arguments with these leaves, as a tuple.
    pub fn tuple<'py>(&self, py: Python<'py>, leaves: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyTuple>> {
        match &self.trees {
            None => Ok(PyTuple::new(py, leaves)?),
            Some(_) => Ok(PyTuple::new(py, self.arguments(py, leaves)?)?),
        }
    }

    /// The arguments with these leaves.
    pub fn arguments<'py>(&self, py: Python<'py>, leaves: &[Bound<'py, PyAny>]) -> PyResult<Objects<'py>> {
        let Some(trees) = &self.trees else { return Ok(leaves.iter().cloned().collect()) };
        let mut rest = leaves;
        let mut out = Objects::with_capacity(trees.len());
        for spec in trees {
            let (mine, others) = rest.split_at(spec.num_leaves());
            rest = others;
            out.push(match spec.is_leaf() {
                true => mine[0].clone(),
                false => spec.unflatten(py, mine.iter().cloned().collect::<Leaves<'py>>())?,
            });
        }
        Ok(out)
    }

    /// Calls a function of the arguments; `first` comes before them.
    pub fn call<'py>(
        &self,
        f: &Bound<'py, PyAny>,
        first: &[Bound<'py, PyAny>],
        leaves: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = f.py();
        let names = self.keywords.as_ref().map(|n| n.bind(py));
        match &self.trees {
            None => invoke_named(f, first, leaves, names),
            Some(_) => invoke_named(f, first, &self.arguments(py, leaves)?, names),
        }
    }

    /// The caller's object of tensor `i`.
    pub fn object(&self, i: usize) -> Option<&Py<PyAny>> {
        self.leaves.iter().find_map(|l| match l {
            Leaf::Tensor { index, object, .. } if *index == i => Some(object),
            _ => None,
        })
    }

    /// The tensors as the caller has them.
    pub fn given(&self) -> impl Iterator<Item = &Tensor> {
        self.leaves.iter().filter_map(|leaf| match leaf {
            Leaf::Tensor { value, .. } => Some(value),
            Leaf::Other(_) => None,
        })
    }

    /// The leaf that is tensor `i`.
    pub fn leaf(&self, i: usize) -> Option<usize> {
        self.leaves.iter().position(|l| matches!(l, Leaf::Tensor { index, .. } if *index == i))
    }

    /// How many tensors there are.
    pub fn tensors(&self) -> usize {
        self.leaves.iter().filter(|l| matches!(l, Leaf::Tensor { .. })).count()
    }

    fn count(&self) -> usize {
        self.trees.as_ref().map_or(self.leaves.len(), Vec::len)
    }

    /// The objects, one for each leaf, of the tensors that the call's tapes follow.
    pub fn followed<'py>(&self, call: &Call, objects: &[Bound<'py, PyAny>]) -> Option<Followed> {
        let inside = |(leaf, o)| match leaf {
            &Leaf::Tensor { index, .. } if call.needs.has(index) => Some(o),
            _ => None,
        };
        let of = std::ptr::from_ref(call) as usize;
        (!call.needs.is_empty()).then(|| Followed::new(of, self.leaves.iter().zip(objects).filter_map(inside)))
    }

    /// For each argument, whether a tensor in it is in the set.
    pub fn needs(&self, set: &Set) -> Needs {
        let mut out = Needs::new();
        let mut rest = &self.leaves[..];
        for i in 0..self.count() {
            let (mine, others) = rest.split_at(self.trees.as_ref().map_or(1, |t| t[i].num_leaves()));
            rest = others;
            out.push(mine.iter().any(|l| match l {
                Leaf::Tensor { index, .. } => set.has(*index),
                Leaf::Other(_) => false,
            }));
        }
        out
    }

    /// The leaves that are no tensors, as text; `None` if that does not say all about them.
    pub fn constants(&self, py: Python<'_>) -> Option<String> {
        let mut text = String::new();
        for leaf in &self.leaves {
            let Leaf::Other(o) = leaf else { continue };
            let o = o.bind(py);
            text += &if o.is_none() {
                "None, ".into()
            } else if let Ok(b) = o.cast_exact::<PyBool>() {
                format!("{}, ", b.is_true())
            } else if let Ok(x) = o.cast_exact::<PyFloat>() {
                format!("{:?}, ", x.value().to_bits())
            } else if let Ok(s) = o.cast_exact::<PyString>() {
                format!("{:?}, ", raised::text(s))
            } else {
                format!("{}i, ", o.cast_exact::<PyInt>().ok()?.extract::<i64>().ok()?)
            };
        }
        Some(text)
    }

    /// What error messages call tensor `i`.
    pub fn name(&self, methods: &Methods, i: usize) -> String {
        let place = self.leaves.iter().position(|l| matches!(l, Leaf::Tensor { index, .. } if *index == i));
        let Some(trees) = &self.trees else { return methods.argument(place.unwrap_or(i)) };
        let mut end = 0;
        let argument = trees.iter().position(|t| {
            end += t.num_leaves();
            place.is_some_and(|p| p < end)
        });
        format!("tensor {i}, in {}", methods.argument(argument.unwrap_or(0)))
    }

    /// Gradients of the tensors among the leaves, from what a backward returned: one object per argument, in its
    /// structure or None, or one per leaf. More Nones may follow.
    pub fn gradients(&self, methods: &Methods, out: &Bound<'_, PyAny>) -> PyResult<Tangents> {
        let results = as_list(out);
        let n = self.count();
        let fits = |n: usize| results.len() >= n && results[n..].iter().all(|o| o.is_none());
        let Some(trees) = &self.trees else {
            if !fits(n) {
                return Err(wrong_count(&methods.name, n, results.len()).into());
            }
            return self.leaf_gradients(methods, &results);
        };
        if fits(n) {
            let mut leaves = Vec::new();
            let mut same = true;
            for (spec, r) in trees.iter().zip(&results) {
                same = same && pytree::flatten_like(spec, r, &mut leaves)?;
            }
            if same {
                return self.leaf_gradients(methods, &leaves);
            }
        }
        if fits(self.leaves.len()) {
            return self.leaf_gradients(methods, &results);
        }
        if !fits(n) {
            return Err(wrong_count(&methods.name, n, results.len()).into());
        }
        Err(PyRuntimeError::new_err(short!(
            "{}.backward: function returned gradients in another structure than the arguments; return for each argument \
             None or gradients in its structure, or one gradient for each of the {} leaves{}",
            methods.name,
            self.leaves.len(),
            at_here()
        )).into())
    }

    fn leaf_gradients(&self, methods: &Methods, results: &[Bound<'_, PyAny>]) -> PyResult<Tangents> {
        let mut out = Tangents::new();
        for (i, (leaf, r)) in self.leaves.iter().zip(results).enumerate() {
            match leaf {
                Leaf::Tensor { index, .. } => out.push(tangent(methods, "backward", || self.name(methods, *index), r)?),
                Leaf::Other(_) if r.is_none() => {}
                Leaf::Other(_) => {
                    return Err(PyRuntimeError::new_err(short!(
                        "{}.backward: function returned a gradient different from None at position {}, but the \
                         corresponding forward input was not a Variable ({} is no tensor){}",
                        methods.name,
                        i + 1,
                        methods.argument(i),
                        at_here()
                    ))
                    .into());
                }
            }
        }
        Ok(out)
    }
}

fn wrong_count(name: &str, expected: usize, got: usize) -> PyErr {
    PyRuntimeError::new_err(short!(
        "{name}.backward: function returned an incorrect number of gradients (expected {expected}, got {got}): one for \
         each argument of forward, None for those without{}",
        at_here()
    ))
}

/// A tensor or None.
pub fn tangent(
    methods: &Methods,
    rule: &str,
    of: impl Fn() -> String,
    o: &Bound<'_, PyAny>,
) -> PyResult<Option<Tensor>> {
    if o.is_none() {
        return Ok(None);
    }
    Ok(value_of(o).map(Some).ok_or_else(|| {
        let text = short!(
            "{}.{rule}: expected a Tensor or None for {}, but got {}{}",
            methods.name,
            of(),
            type_name(o),
            at_here()
        );
        if rule == "backward" { PyRuntimeError::new_err(text) } else { PyTypeError::new_err(text) }
    })?)
}
