//! Cells that a program reads from outside.

use super::cell::Cell;
use crate::base::Result;
use crate::core::trace::Source;
use crate::core::{LevelId, Tensor, level};
use std::sync::Arc;

impl Cell {
    /// The value as a variable of the program that `trace` records, unless the cell was made inside of it.
    pub fn captured(self: &Arc<Cell>, trace: LevelId, value: Tensor) -> Tensor {
        let birth = self.birth();
        if (level::is_live(birth) && birth >= trace) || super::read::has_level(&value, trace) {
            return value;
        }
        match level::recorder(trace) {
            Ok(r) => r.capture(trace, self.clone(), value),
            Err(_) => value,
        }
    }
}

impl Source for Cell {
    fn current(self: Arc<Self>) -> Result<Tensor> {
        let mut cell = self;
        while let Some(next) = cell.successor() {
            cell = next;
        }
        let value = cell.read()?;
        Ok(match level::tracing() {
            LevelId::DENSE | LevelId::ABSTRACT => value,
            trace => cell.captured(trace, value),
        })
    }
}
