//! Arrays on loan: a kernel that changes elements where they are takes them out of a tensor, and puts them back.
//!
//! NOTE. Only elements that are one array are lent, of a tensor that holds them itself. Everything else is written to by
//! operators, as any write is.

use super::history::{shell, with_array};
use crate::core::tensor::Payload;
use crate::core::{LevelId, Tensor, level};
use crate::dense::Array;

/// The elements of a tensor, which has none meanwhile, and what is to follow the new ones.
pub struct Loan {
    pub array: Array,
    pub(super) around: Option<Tensor>,
    /// Small elements were copied, and the value is where it was.
    pub(super) copied: bool,
}

/// What a cell held that nobody else refers to, for a tensor that is to hold it without one.
pub struct Sole {
    pub(super) value: Tensor,
    pub(super) birth: LevelId,
    pub(super) version: u32,
    pub(super) shown: bool,
}

/// The array of a value that no transform follows.
pub fn plain(t: &Tensor) -> Option<&Array> {
    match t.payload() {
        None => t.dense(),
        Some(Payload::Taped { value, .. }) if t.level() == LevelId::AMBIENT => value.dense(),
        Some(_) => None,
    }
}

/// Whether elements may be lent at all now: a trace must see each operator.
pub fn is_open() -> bool {
    level::tracing() == LevelId::DENSE
}

impl Loan {
    /// Of a value that stays where it is: its elements lie in the value itself.
    pub(super) fn of_small(value: &Tensor) -> Option<Loan> {
        let array = plain(value)?;
        array.buffer().is_none().then(|| Loan { array: array.clone(), around: None, copied: true })
    }

    /// Of a value that is given up; dropping it frees no node, which the loan keeps.
    pub(super) fn of(value: Tensor) -> Result<Loan, Tensor> {
        if value.payload().is_none() {
            return match value.into_array() {
                Ok(array) => Ok(Loan { array, around: None, copied: false }),
                Err(value) => match value.dense().cloned() {
                    Some(array) => Ok(Loan { array, around: None, copied: false }),
                    None => Err(value),
                },
            };
        }
        match plain(&value).cloned() {
            Some(array) => Ok(Loan { array, around: Some(shell(&value)), copied: false }),
            None => Err(value),
        }
    }

    /// The elements with what follows them.
    pub(super) fn value(self) -> Tensor {
        match &self.around {
            None => self.array.into(),
            Some(shell) => with_array(shell, &self.array),
        }
    }
}
