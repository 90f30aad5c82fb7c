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
    /// Real and imaginary parts along a last dimension.
    Parts,
    /// Complex numbers of such parts.
    Whole,
}

impl Numbers {
    pub(super) fn of(self, base: &Tensor) -> Result<Tensor> {
        match self {
            Numbers::Conjugates => basis::conj(base),
            Numbers::Parts => complex::view_as_real(base),
            Numbers::Whole => complex::view_as_complex(base),
        }
    }

    pub(super) fn back(self, shown: &Tensor) -> Result<Tensor> {
        match self {
            Numbers::Conjugates => basis::conj(shown),
            Numbers::Parts => complex::of_pairs(shown),
            Numbers::Whole => complex::view_as_real(shown),
        }
    }
}

/// The view of a cell that an entry which shows other numbers gave as `out`.
///
/// # Errors
/// That of reading the cell.
pub fn view(cell: &Arc<Cell>, entry: &'static Entry, args: Vec<Value>, out: Tensor) -> Result<Arc<Cell>> {
    let face = |numbers, value| cell.face(Face::Numbers { numbers, recorded: level::grad_enabled() }, value);
    let value = cell.read()?;
    let shown = entry.flags.shown().ok_or_else(|| Error::internal("a view that shows the numbers of its base"))?;
    match shown {
        Shown::Whole => Ok(face(Numbers::Whole, out)),
        Shown::Parts => Ok(face(Numbers::Parts, out)),
        _ if !value.dtype().is_complex() => cell.view(only(entry, args)?, out),
        Shown::RealParts | Shown::ImaginaryParts => {
            let which = IndexItem::Int(i64::from(shown == Shown::ImaginaryParts));
            let parts = face(Numbers::Parts, complex::view_as_real(&value)?);
            parts.view(Lens::index(vec![IndexItem::Ellipsis, which]), out)
        }
        Shown::Conjugates => Ok(face(Numbers::Conjugates, out)),
        Shown::Adjoints if out.rank() < 2 => Ok(face(Numbers::Conjugates, out)),
        Shown::Adjoints => {
            let transpose = crate::ops::find("Tensor.mT").ok_or_else(|| Error::internal("no entry Tensor.mT"))?;
            face(Numbers::Conjugates, basis::swap_last(&out)?).view(only(transpose, vec![Value::Missing])?, out)
        }
    }
}

fn only(entry: &'static Entry, args: Vec<Value>) -> Result<Lens> {
    lens::lenses(entry, args, 1, false).next().ok_or_else(|| Error::internal("a view without a lens"))
}
