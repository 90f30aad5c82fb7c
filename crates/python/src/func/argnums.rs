//! `argnums`: which positional arguments a derivative is taken of.

use super::fail;
use super::tree::{Tree, leaf_value};
use crate::door::vectorcall::Call;
use crate::types::class::type_name;
use crate::types::errors::{Fault, PyResult};
use pullback::base::ErrorKind;
use pullback::core::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use smallvec::{SmallVec, smallvec};

/// The argument `argnums` of a transform, 0 by default.
pub enum Argument<'py> {
    Default,
    Given(Bound<'py, PyAny>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Argument<'py> {
    type Error = Fault;
    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Argument::Given(obj.to_owned()))
    }
}

/// As given; checked when the function is called, because only then the number of arguments is known.
pub enum Argnums {
    One(i64),
    Many(SmallVec<[i64; 4]>),
    /// All positional arguments.
    All,
    /// Something else, which is an error.
    Wrong(String),
}

impl Argnums {
    /// `none_is_all`: whether None means all arguments.
    pub fn new(argument: &Argument<'_>, none_is_all: bool) -> PyResult<Argnums> {
        let Argument::Given(obj) = argument else { return Ok(Argnums::One(0)) };
        let integer = |o: &Bound<'_, PyAny>| o.is_instance_of::<PyInt>().then(|| o.extract::<i64>().ok()).flatten();
        if let Some(i) = integer(obj) {
            return Ok(Argnums::One(i));
        }
        if obj.is_none() && none_is_all {
            return Ok(Argnums::All);
        }
        Ok(match obj.cast::<PyTuple>().ok().and_then(|t| t.iter().map(|o| integer(&o)).collect()) {
            Some(all) => Argnums::Many(all),
            None => Argnums::Wrong(format!("{} of type {}", crate::types::brief::brief(obj)?, type_name(obj))),
        })
    }

    /// As Python writes it, for pickling.
    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Argnums::One(i) => i.into_pyobject(py)?.into_any(),
            Argnums::Many(all) => PyTuple::new(py, all.iter())?.into_any(),
            Argnums::All => py.None().into_bound(py),
            Argnums::Wrong(got) => return Err(wrong(got).into()),
        })
    }

    fn is_one(&self) -> bool {
        matches!(self, Argnums::One(_))
    }

    /// The positions among `n` arguments.
    fn positions(&self, op: &str, n: usize) -> PyResult<SmallVec<[usize; 4]>> {
        let given: SmallVec<[i64; 4]> = match self {
            Argnums::One(i) => smallvec![*i],
            Argnums::Many(all) => all.clone(),
            Argnums::All => return Ok((0..n).collect()),
            Argnums::Wrong(got) => return Err(wrong(got).into()),
        };
        if given.is_empty() {
            return Err(fail(ErrorKind::Runtime, format!("{op}(): argnums must be non-empty")).into());
        }
        let mut out: SmallVec<[usize; 4]> = SmallVec::new();
        for i in given {
            let wrapped = if i < 0 { i + n as i64 } else { i };
            if wrapped < 0 || wrapped >= n as i64 {
                return Err(fail(
                    ErrorKind::Runtime,
                    format!("{op}(): Got argnum={i}, but only {n} positional inputs"),
                )
                .into());
            }
            if out.contains(&(wrapped as usize)) {
                let message = format!("{op}(): argnums elements must be unique, got argument {wrapped} twice");
                return Err(fail(ErrorKind::Runtime, message).into());
            }
            out.push(wrapped as usize);
        }
        Ok(out)
    }
}

#[cold]
fn wrong(got: &str) -> PyErr {
    fail(ErrorKind::Runtime, format!("argnums must be int or Tuple[int, ...], got {got}"))
}

/// The differentiated arguments of one call, taken apart.
pub struct Inputs {
    /// Position and structure of each argument.
    trees: SmallVec<[(usize, Tree); 2]>,
    /// Their tensors, in order.
    pub values: SmallVec<[Tensor; 2]>,
    one: bool,
}

impl Inputs {
    pub fn collect(op: &str, argnums: &Argnums, call: &Call<'_>) -> PyResult<Inputs> {
        let mut inputs = Inputs { trees: SmallVec::new(), values: SmallVec::new(), one: argnums.is_one() };
        for position in argnums.positions(op, call.positional())? {
            let argument = call.get(position);
            let tree = Tree::collect(&argument, |leaf| {
                inputs.values.push(leaf_value(op, leaf)?);
                Ok(())
            })?;
            inputs.trees.push((position, tree));
        }
        Ok(inputs)
    }

    /// The arguments with other tensors in them, for [`Call::invoke`].
    pub fn replaced<'py>(
        &self,
        call: &Call<'py>,
        lifted: impl IntoIterator<Item = Tensor>,
    ) -> PyResult<SmallVec<[(usize, Bound<'py, PyAny>); 2]>> {
        let mut lifted = lifted.into_iter();
        self.trees.iter().map(|(i, tree)| Ok((*i, tree.build(call.py(), &mut lifted)?))).collect()
    }

    /// One tensor for each differentiated one, in the structure of the arguments; a tuple unless argnums is an int.
    pub fn build<'py>(
        &self,
        py: Python<'py>,
        tensors: impl IntoIterator<Item = Tensor>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut tensors = tensors.into_iter();
        if self.one {
            return self.trees[0].1.build(py, &mut tensors);
        }
        let parts = self.trees.iter().map(|(_, tree)| tree.build(py, &mut tensors));
        Ok(PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }
}

/// The error for an input of a derivative that is no tensor.
#[cold]
pub fn not_tensor(op: &str, leaf: &Bound<'_, PyAny>) -> PyErr {
    let message = format!(
        "{op}(): Thing passed to transform API must be Tensor, got {}; give other values by keyword or capture them",
        type_name(leaf)
    );
    fail(ErrorKind::Value, message)
}
