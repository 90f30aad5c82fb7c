//! The arguments of a function under `vmap`.

use super::fail;
use super::transform::Transform;
use super::tree::{Tree, converted};
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::class::type_name;
use crate::types::errors::PyResult;
use pullback::base::ErrorKind;
use pullback::core::Tensor;
use pullback::ops::value::IndexItem;
use pullback::skin::Cell;
use pullback::transforms::vmap::Batch;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// A leaf that is mapped over.
pub struct Mapped<'py> {
    /// The caller's tensor, which writes to the argument reach.
    caller: Bound<'py, PyTensor>,
    value: Tensor,
    dim: usize,
}

pub enum BatchArgument<'py> {
    Mapped(Mapped<'py>),
    Whole(Bound<'py, PyAny>),
}

/// The arguments that have mapped leaves, taken apart.
#[derive(Default)]
pub struct Arguments<'py> {
    pub trees: SmallVec<[(usize, Tree, Range<usize>); 4]>,
    pub leaves: SmallVec<[BatchArgument<'py>; 4]>,
    pub sizes: SmallVec<[usize; 4]>,
}

impl<'py> Arguments<'py> {
    /// The caller's tensor that has this cell.
    pub fn caller_of(&self, cell: &Arc<Cell>) -> Option<Bound<'py, PyTensor>> {
        self.leaves.iter().find_map(|leaf| match leaf {
            BatchArgument::Mapped(m) if m.caller.get().shared_cell().is_some_and(|c| Arc::ptr_eq(&c, cell)) => {
                Some(m.caller.clone())
            }
            _ => None,
        })
    }

    /// Adds a leaf that is mapped over dimension `dim`.
    pub fn push(&mut self, t: &Transform, leaf: &Bound<'py, PyAny>, dim: i64) -> PyResult<()> {
        let array;
        let caller = match leaf.cast::<PyTensor>() {
            Ok(caller) => caller,
            Err(_) => {
                array = of_array(t, leaf, dim)?;
                &array
            }
        };
        let value = caller.get().value();
        let rank = value.rank() as i64;
        if dim < -rank || dim >= rank {
            let message = format!(
                "{}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank}, so expected \
                 in_dim to satisfy -{rank} <= in_dim < {rank}",
                t.label(leaf.py())?
            );
            return Err(fail(ErrorKind::Value, message).into());
        }
        let dim = dim.rem_euclid(rank) as usize;
        self.sizes.push(value.shape()[dim]);
        self.leaves.push(BatchArgument::Mapped(Mapped { caller: caller.clone(), value, dim }));
        Ok(())
    }
}

/// An array of NumPy that is mapped over, as a tensor of its values.
#[cold]
fn of_array<'py>(t: &Transform, leaf: &Bound<'py, PyAny>, dim: i64) -> PyResult<Bound<'py, PyTensor>> {
    let py = leaf.py();
    match converted(leaf)? {
        Some(value) if leaf.hasattr("__array_struct__")? => tensor::wrap(py, value),
        _ => {
            let message = format!(
                "{}: Got in_dim={dim} for an input but the input is of type {}; only Tensors can be mapped over, so \
                 use None as the respective in_dim",
                t.label(py)?,
                type_name(leaf)
            );
            Err(fail(ErrorKind::Value, message).into())
        }
    }
}

impl<'py> Mapped<'py> {
    /// The members of the level, which begin at `from`, as one argument.
    pub fn argument(&self, batch: &Batch, from: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        let Some(from) = from else {
            let value = batch.lift(&self.value, self.dim);
            return Ok(tensor::wrap_lifted(&self.caller, value)?.into_any());
        };
        let all = IndexItem::Slice { start: None, stop: None, step: None };
        let members =
            IndexItem::Slice { start: Some(from as i64), stop: Some((from + batch.size()) as i64), step: None };
        let items = std::iter::repeat_n(all, self.dim).chain([members]).collect();
        let chunk = tensor::views::index(&self.caller, items)?.cast_into::<PyTensor>()?;
        let value = batch.lift(&chunk.get().value(), self.dim);
        Ok(tensor::wrap_lifted(&chunk, value)?.into_any())
    }
}
