//! The tensors that one step of a parameter writes: taken out, and put back whatever happens.

use crate::tensor::PyTensor;
use pullback::bail;
use pullback::base::Result;
use pullback::core::Tensor;
use pullback::dense::{Array, optim};
use pullback::skin::lend::{self, Loan};
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::ptr::NonNull;

/// How the new elements reach a tensor.
enum Way {
    /// They take the place of those that were taken out.
    Loan(Loan),
    /// They are written as any operator writes.
    Write(Array),
}

/// Whether a tensor's elements can be lent, as long as no other tensor's are.
fn is_lendable(t: &PyTensor) -> bool {
    !t.is_lifted()
        && match t.shared_cell() {
            None => t.with(|s| s.is_lendable()),
            Some(cell) => cell.is_lendable(),
        }
}

/// The elements of a tensor that can be lent.
fn lent(t: &PyTensor) -> Option<Loan> {
    if t.is_lifted() {
        return None;
    }
    match t.shared_cell() {
        None => t.with(|s| s.lend()),
        Some(cell) => cell.lend(),
    }
}

fn put_back(t: &PyTensor, loan: Loan, written: bool) {
    match t.shared_cell() {
        None => drop(t.with(|s| s.give_back(loan, written))),
        Some(cell) => cell.give_back(loan, written),
    }
}

/// A parameter and its states while a kernel has them.
pub struct Taken<'a> {
    tensors: SmallVec<[&'a PyTensor; 4]>,
    ways: SmallVec<[Way; 4]>,
}

impl<'a> Taken<'a> {
    /// `None` if one of them must be written to by operators.
    ///
    /// # Errors
    /// `Runtime` if two of them share memory.
    pub fn of(tensors: &[&'a PyTensor]) -> Result<Option<Taken<'a>>> {
        let mut all = Taken { tensors: SmallVec::new(), ways: SmallVec::new() };
        // What cannot be lent is read while everything is in its place.
        let mut read: SmallVec<[Option<Array>; 4]> = SmallVec::new();
        for t in tensors {
            match (is_lendable(t), lend::is_open()) {
                (true, _) => read.push(None),
                (false, true) => match lend::plain(&t.value()) {
                    Some(array) => read.push(Some(array.clone())),
                    None => return Ok(None),
                },
                (false, false) => return Ok(None),
            }
        }
        for (t, array) in tensors.iter().zip(read) {
            let way = match array {
                Some(array) => Way::Write(array),
                None => match lent(t) {
                    Some(loan) => Way::Loan(loan),
                    None => {
                        bail!(Runtime, "a parameter and its states, or two of its states, share memory; clone() one")
                    }
                },
            };
            all.tensors.push(t);
            all.ways.push(way);
        }
        Ok(Some(all))
    }

    /// Changes the arrays, the parameter's and the states', and puts them back.
    pub fn change(mut self, op: &str, change: impl FnOnce(&mut [&mut Array]) -> Result<()>) -> Result<()> {
        let arrays = self.ways.iter_mut().map(|way| match way {
            Way::Loan(Loan { array, .. }) | Way::Write(array) => array,
        });
        change(&mut arrays.collect::<SmallVec<[&mut Array; 4]>>())?;
        let mut writes: SmallVec<[(&PyTensor, Array); 4]> = SmallVec::new();
        for (t, way) in self.tensors.drain(..).zip(self.ways.drain(..)) {
            match way {
                Way::Loan(loan) => put_back(t, loan, true),
                Way::Write(array) => writes.push((t, array)),
            }
        }
        writes.into_iter().try_for_each(|(t, array)| t.write(op, &Tensor::from(array)))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        for (t, way) in self.tensors.drain(..).zip(self.ways.drain(..)) {
            if let Way::Loan(loan) = way {
                put_back(t, loan, false);
            }
        }
    }
}

/// The array of a tensor that alone holds it, for changing it in place.
pub fn in_place(t: &PyTensor) -> Option<NonNull<Array>> {
    if t.is_lifted() { None } else { t.with(|s| s.array_mut().map(NonNull::from)) }
}

/// A number that is kept of a parameter in a tensor without dimensions; `None` where a transform follows it.
pub fn number(t: &PyTensor) -> Option<(f64, pullback::DType)> {
    match t.with(|s| s.quick().and_then(lend::plain).and_then(optim::number)) {
        Some(x) => Some(x),
        None => lend::plain(&t.value()).and_then(optim::number),
    }
}

/// Writes such a number.
pub fn set_number(t: &PyTensor, op: &str, x: f64) -> Result<()> {
    if !t.is_lifted() {
        let done = t.with(|s| {
            let done = s.array_mut().map(|a| optim::set_number(a, x));
            if done.is_some() {
                s.wrote();
            }
            done
        });
        if let Some(done) = done {
            return done;
        }
    }
    let value = t.value();
    t.write(op, &Tensor::from(Array::full(value.dtype(), value.shape().clone(), x.into())?))
}

/// The gradient's elements; `None` where a transform follows it.
pub fn gradient(t: &PyTensor) -> Option<Array> {
    lend::plain(&t.value()).cloned()
}

/// The tensor of an object, of whatever class.
pub fn tensor<'a>(o: &'a Bound<'_, PyAny>) -> Option<&'a PyTensor> {
    crate::tensor::cell(o)
}
