//! Views that show other numbers than their base: conjugates, parts of complex numbers, numbers of such parts.

use super::cell::{Cell, Face};
use super::lens::{self, Lens};
use crate::base::{Error, Result};
use crate::core::{Tensor, level};
use crate::ops::entry::Shown;
use crate::ops::value::IndexItem;
use crate::ops::{Entry, Value, complex};
use crate::rules::basis;
use std::sync::Arc;

/// Which numbers are shown; each is made of all of the base's, and gives them back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    Conjugates,
    Negatives,
    /// Real and imaginary parts along a last dimension.
    Parts,
    /// Complex numbers of such parts.
    Whole,
}

impl Numbers {
    pub(super) fn of(self, base: &Tensor) -> Result<Tensor> {
        match self {
            Numbers::Conjugates => basis::conj(base),
            Numbers::Negatives => basis::neg(base),
            Numbers::Parts => complex::view_as_real(base),
            Numbers::Whole => complex::view_as_complex(base),
        }
    }

    pub(super) fn back(self, shown: &Tensor) -> Result<Tensor> {
        match self {
            Numbers::Conjugates => basis::conj(shown),
            Numbers::Negatives => basis::neg(shown),
            Numbers::Parts => complex::of_pairs(shown),
            Numbers::Whole => complex::view_as_real(shown),
        }
    }

    /// What leads back.
    pub(super) fn inverse(self) -> Numbers {
        match self {
            Numbers::Parts => Numbers::Whole,
            Numbers::Whole => Numbers::Parts,
            itself => itself,
        }
    }

    /// Whether each number is one of the base's, at its place, so that a view of them is one of the base.
    pub(super) fn is_elementwise(self) -> bool {
        matches!(self, Numbers::Conjugates | Numbers::Negatives)
    }

    /// The memory of the base in this form.
    pub(super) fn in_memory(self, base: &Tensor) -> Result<Tensor> {
        if self.is_elementwise() { Ok(base.clone()) } else { self.of(base) }
    }
}

/// The view of a cell that an entry which shows other numbers gave as `out`.
///
/// # Errors
/// That of reading the cell.
pub fn view(cell: &Arc<Cell>, entry: &'static Entry, args: Vec<Value>, out: Tensor) -> Result<Arc<Cell>> {
    let value = cell.read()?;
    let shown = entry.flags.shown().ok_or_else(|| Error::internal("a view that shows the numbers of its base"))?;
    match shown {
        Shown::Whole => face(cell, Numbers::Whole, out),
        Shown::Parts => face(cell, Numbers::Parts, out),
        Shown::Negatives => face(cell, Numbers::Negatives, out),
        _ if !value.dtype().is_complex() => cell.view(only(entry, args)?, out),
        Shown::RealParts => part_of(cell, value, 0, out),
        Shown::ImaginaryParts => part_of(cell, value, 1, out),
        Shown::Conjugates => face(cell, Numbers::Conjugates, out),
        Shown::Adjoints if out.rank() < 2 => face(cell, Numbers::Conjugates, out),
        Shown::Adjoints => {
            let transpose = crate::ops::find("Tensor.mT").ok_or_else(|| Error::internal("no entry Tensor.mT"))?;
            let conjugates = face(cell, Numbers::Conjugates, basis::swap_last(&out)?)?;
            conjugates.through_as(only(transpose, vec![Value::Missing])?, &out)
        }
    }
}

/// The numbers of a cell in another form, `value`. What leads back to a form that is there shows that one.
fn face(cell: &Arc<Cell>, numbers: Numbers, value: Tensor) -> Result<Arc<Cell>> {
    match cell.behind(numbers.inverse())? {
        Some(below) => below.through_as(Lens::index(vec![IndexItem::Ellipsis]), &value),
        None => Ok(cell.face(Face::Numbers { numbers, recorded: level::grad_enabled() }, value)),
    }
}

/// The real (0) or imaginary (1) parts. In memory are those of the number, or of its conjugate.
fn part_of(cell: &Arc<Cell>, value: Tensor, which: i64, out: Tensor) -> Result<Arc<Cell>> {
    let lens = Lens::index(vec![IndexItem::Ellipsis, IndexItem::Int(which)]);
    if !cell.delayed().conjugated {
        return face(cell, Numbers::Parts, complex::view_as_real(&value)?)?.view(lens, out);
    }
    let value = basis::conj(&value)?;
    let other = face(cell, Numbers::Conjugates, value.clone())?;
    let parts = face(&other, Numbers::Parts, complex::view_as_real(&value)?)?;
    match which {
        0 => parts.through_as(lens, &out),
        _ => face(&parts.through(lens)?, Numbers::Negatives, out),
    }
}

fn only(entry: &'static Entry, args: Vec<Value>) -> Result<Lens> {
    lens::lenses(entry, args, 1, false).next().ok_or_else(|| Error::internal("a view without a lens"))
}
