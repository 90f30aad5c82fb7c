//! What a tensor object of the host language holds: a value of its own, or a shared cell.

use super::cell::Cell;
use super::history::with_array;
use super::lend::{self, Loan, Sole};
use super::read::innermost;
use crate::base::{DType, Error, Result};
use crate::core::reach::Reach;
use crate::core::{LevelId, Tensor, level};
use crate::dense::{Array, copy};
use std::sync::{Arc, OnceLock};

/// A cell. Its owner provides the lock, and drops what methods hand back when it has let go of the slot: dropping a
/// value may run code of the host language.
pub enum Slot {
    /// Nobody refers to it.
    Owned(Owned),
    /// It has views, or is one.
    Shared(Arc<Cell>),
}

pub struct Owned {
    value: Tensor,
    /// The level where the cell was made: values of higher levels may not be written into it.
    birth: LevelId,
    version: u32,
    /// Whether the memory was shown to others, who may have written to it.
    shown: bool,
}

impl Slot {
    #[inline]
    pub fn new(value: Tensor, birth: LevelId) -> Slot {
        Slot::Owned(Owned { value, birth, version: 0, shown: false })
    }

    /// The value, unless reading it takes more than a look.
    #[inline(always)]
    pub fn quick(&self) -> Option<&Tensor> {
        match self {
            Slot::Owned(o) if level::tracing() <= LevelId::ABSTRACT => Some(&o.value),
            _ => None,
        }
    }

    /// Whether dropping it runs no code of the host language: a value without nodes in a cell of its own.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self, Slot::Owned(o) if o.value.is_bare())
    }

    /// The cell, which becomes a shared one.
    pub fn share(&mut self) -> Arc<Cell> {
        match self {
            Slot::Shared(cell) => cell.clone(),
            Slot::Owned(o) => {
                let cell = Cell::root(o.value.clone(), o.birth, o.version);
                if o.shown {
                    cell.show();
                }
                *self = Slot::Shared(cell.clone());
                cell
            }
        }
    }

    /// Shows a walk what the slot holds.
    pub fn reach(&self, reach: &mut Reach<'_>) {
        match self {
            Slot::Owned(o) => reach.value(&o.value),
            Slot::Shared(cell) => cell.reach(reach),
        }
    }

    /// The value and birth of a cell that is not shared.
    pub fn owned(&self) -> Option<(Tensor, LevelId)> {
        match self {
            Slot::Owned(o) => Some((o.value.clone(), o.birth)),
            Slot::Shared(_) => None,
        }
    }

    /// Writes to a cell that is not shared.
    pub fn version(&self) -> Option<u32> {
        match self {
            Slot::Owned(o) => Some(o.version),
            Slot::Shared(_) => None,
        }
    }

    /// How many writes the elements have seen, and whether they were shown to others for writing, otherwise than by
    /// `.data` and `detach()`.
    pub fn writes(&self) -> (u32, bool) {
        match self {
            Slot::Owned(o) => (o.version, o.shown),
            Slot::Shared(cell) => cell.own_writes(),
        }
    }

    /// The memory is shown to others, for writing too.
    pub fn show(&mut self) {
        if let Slot::Owned(o) = self {
            o.shown = true;
        }
    }

    /// Takes the value out of a cell that is not shared, so that a write may reuse its memory. The caller puts one back.
    pub fn take(&mut self) -> Option<(Tensor, LevelId)> {
        match self {
            Slot::Owned(o) => {
                let hole = Tensor::scalar(o.value.dtype(), 0.0);
                Some((std::mem::replace(&mut o.value, hole), o.birth))
            }
            Slot::Shared(_) => None,
        }
    }

    /// Puts a value back that [`Slot::take`] took, or its successor.
    pub fn put(&mut self, value: Tensor, written: bool) -> Option<Tensor> {
        match self {
            Slot::Owned(o) => {
                o.version += u32::from(written);
                Some(std::mem::replace(&mut o.value, value))
            }
            Slot::Shared(_) => Some(value),
        }
    }

    /// The elements where they are, of a value that only this slot holds. Who changes them calls [`Slot::wrote`].
    #[inline]
    pub fn array_mut(&mut self) -> Option<&mut Array> {
        match self {
            Slot::Owned(o) if lend::is_open() => o.value.plain_mut(),
            _ => None,
        }
    }

    /// Counts a write to [`Slot::array_mut`].
    #[inline]
    pub fn wrote(&mut self) {
        if let Slot::Owned(o) = self {
            o.version = o.version.wrapping_add(1);
        }
    }

    /// Holds by itself what [`Cell::sole`] gave; hands back what it was.
    pub fn unshare(&mut self, sole: Sole) -> Slot {
        let Sole { value, birth, version, shown } = sole;
        std::mem::replace(self, Slot::Owned(Owned { value, birth, version, shown }))
    }

    /// Whether [`Slot::lend`] gives them.
    pub fn is_lendable(&self) -> bool {
        matches!(self, Slot::Owned(o) if lend::is_open() && lend::plain(&o.value).is_some())
    }

    /// The elements on loan; see [`Cell::lend`] for shared cells.
    pub fn lend(&mut self) -> Option<Loan> {
        let Slot::Owned(o) = self else { return None };
        if !lend::is_open() {
            return None;
        }
        if let Some(loan) = Loan::of_small(&o.value) {
            return Some(loan);
        }
        lend::plain(&o.value)?;
        let value = std::mem::replace(&mut o.value, hole());
        // The nodes stay in the loan, so that only memory is freed here.
        match Loan::of(value) {
            Ok(loan) => Some(loan),
            Err(value) => {
                o.value = value;
                None
            }
        }
    }

    /// Puts elements back that [`Slot::lend`] gave; hands back what is to be dropped.
    pub fn give_back(&mut self, loan: Loan, written: bool) -> Option<Tensor> {
        let Slot::Owned(o) = self else { return Some(loan.value()) };
        o.version = o.version.wrapping_add(u32::from(written));
        if !loan.copied {
            return Some(std::mem::replace(&mut o.value, loan.value()));
        }
        if !written {
            return None;
        }
        if let Some(array) = o.value.array_mut() {
            *array = loan.array;
            return None;
        }
        let value = with_array(&o.value, &loan.array);
        Some(std::mem::replace(&mut o.value, value))
    }

    /// Makes the slot a cell with this value, whatever it was; hands back the old one. Programs that read the old cell
    /// read the new one from now on, its views do not.
    pub fn set(&mut self, value: Tensor) -> Slot {
        let new = match self {
            Slot::Owned(o) => Slot::Owned(Owned { value, birth: o.birth, version: o.version + 1, shown: o.shown }),
            Slot::Shared(c) => {
                let cell = Cell::root(value, c.birth(), 0);
                c.succeed(&cell);
                Slot::Shared(cell)
            }
        };
        std::mem::replace(self, new)
    }

    /// Makes the slot refer to this cell; hands back what it was.
    pub fn refer(&mut self, cell: Arc<Cell>) -> Slot {
        if let Slot::Shared(old) = self {
            old.succeed(&cell);
        }
        std::mem::replace(self, Slot::Shared(cell))
    }
}

/// What stands where a value was taken from.
fn hole() -> Tensor {
    static HOLE: OnceLock<Tensor> = OnceLock::new();
    HOLE.get_or_init(|| Tensor::scalar(DType::F32, 0.0)).clone()
}

/// Moves the elements to a buffer that only this value holds, unless they are visible outside already: what may be
/// shown to others, who may write to it.
pub fn make_exportable(value: &mut Tensor) -> Result<()> {
    // Whoever reads it says that there is no data.
    if value.is_abstract() {
        return Ok(());
    }
    let Some(array) = innermost(value) else { return Err(Error::internal("a value without an array")) };
    let alone = value.is_exclusive() && array.buffer().is_some_and(|b| Arc::strong_count(b) == 1);
    if alone || array.is_exported() {
        return Ok(());
    }
    let own = if array.buffer().is_none() { array.to_buffer()? } else { fresh(array)? };
    *value = super::history::with_array(value, &own);
    Ok(())
}

/// Whether [`settled`] leaves a value as it is, whatever is asked for.
#[inline]
pub fn is_row_major(value: &Tensor) -> bool {
    innermost(value).is_some_and(Array::is_plain)
}

/// What an operator computed, as a tensor of its own holds it: without gaps, members that share memory or dimensions that
/// run backwards, and in row-major order if asked for.
pub fn settled(value: Tensor, row_major: bool) -> Result<Tensor> {
    match innermost(&value) {
        Some(array) if !array.is_contiguous() && (row_major || !array.layout().is_dense()) => {
            let own = if row_major { copy::gather(array) } else { copy::gather_in_place(array) };
            Ok(with_array(&value, &own?))
        }
        Some(array) if row_major && !array.is_plain() => {
            let own = array.plain();
            Ok(with_array(&value, &own))
        }
        _ => Ok(value),
    }
}

/// The same with dimensions that run backwards in memory the other way, which no tensor of PyTorch does.
pub fn forward(value: Tensor) -> Result<Tensor> {
    match innermost(&value) {
        Some(array) if array.strides().iter().any(|s| *s < 0) => {
            let own = copy::gather_in_place(array)?;
            Ok(with_array(&value, &own))
        }
        _ => Ok(value),
    }
}

/// The same with its elements in the order of those of `like`, if they have one shape.
pub fn laid_as(value: Tensor, like: &Tensor) -> Result<Tensor> {
    match (innermost(&value), innermost(like)) {
        (Some(array), Some(like)) if array.shape() == like.shape() => {
            let laid = array.laid_as(&like.layout())?;
            Ok(if laid.strides() == array.strides() { value } else { with_array(&value, &laid) })
        }
        _ => settled(value, true),
    }
}

/// A copy in a buffer.
fn fresh(array: &Array) -> Result<Array> {
    copy::gather_in_place(array)?.to_buffer()
}

/// The same value with its elements in memory that nobody outside sees.
#[cold]
pub fn owned(value: Tensor) -> Result<Tensor> {
    match innermost(&value) {
        Some(array) if array.buffer().is_some_and(|b| b.is_still_exported()) => {
            Ok(super::history::with_array(&value, &copy::gather(array)?))
        }
        _ => Ok(value),
    }
}
