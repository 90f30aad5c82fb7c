//! Deep copies of tensors that share elements: the copies share theirs in the same way.

use super::super::history::{self, strip};
use super::link::ViewLink;
use super::{Cell, Face};
use crate::base::Result;
use crate::core::level::{self, GradMode};
use crate::core::{LevelId, Tensor};
use crate::ops::bits::view_dtype;
use crate::rules::{basis, part};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What one deep copy has copied so far. The originals are kept, so that no other cell gets the address of one.
#[derive(Default)]
pub struct Copies(FxHashMap<usize, (Arc<Cell>, Arc<Cell>)>);

impl Copies {
    fn of(&self, cell: &Arc<Cell>) -> Option<Arc<Cell>> {
        self.0.get(&(Arc::as_ptr(cell) as usize)).map(|(_, copy)| copy.clone())
    }
    fn remember(&mut self, cell: &Arc<Cell>, copy: Arc<Cell>) -> Arc<Cell> {
        self.0.insert(Arc::as_ptr(cell) as usize, (cell.clone(), copy.clone()));
        copy
    }
}

/// A value in memory of its own. At a level, derivatives and batches go through the copy; a leaf of the ambient tape
/// becomes plain.
pub fn deep_copy(value: &Tensor) -> Result<Tensor> {
    let value = history::without_closed(value.clone())?;
    if value.level() > LevelId::AMBIENT { basis::copy(&value) } else { basis::copy_in_order(&strip(&value)?) }
}

impl Cell {
    /// A copy with elements of its own, which it shares with the copies of those that share this one's. Views of values of
    /// a level are views again; other tensors show the same elements without being views.
    pub fn deep_copy(self: &Arc<Cell>, copies: &mut Copies) -> Result<Arc<Cell>> {
        if let Some(done) = copies.of(self) {
            return Ok(done);
        }
        let value = history::without_closed(self.read()?)?;
        if value.level() > LevelId::AMBIENT {
            return self.copy_at_level(&value, copies);
        }
        let (memory, region) = self.data_root()?;
        let memory = memory.copy_memory(copies)?;
        let data = memory.read()?;
        let Some(region) = region else { return memory.detached() };
        let value = part::read(&data, &region)?;
        let seen = memory.stamp();
        let link = ViewLink::Alias { parent: memory.clone(), region: Some(region) };
        let cell = Cell::make(Some(value), link, level::current(), 0, seen);
        cell.depends(&memory);
        Ok(cell)
    }

    /// A copy of a cell that holds elements, for this and all others that show them.
    pub fn copy_memory(self: &Arc<Cell>, copies: &mut Copies) -> Result<Arc<Cell>> {
        if let Some(done) = copies.of(self) {
            return Ok(done);
        }
        let link = self.state().link.clone();
        let copy = match link {
            ViewLink::Lift { parent, face: Face::Bits } => {
                let dtype = self.read()?.dtype();
                let parent = parent.deep_copy(copies)?;
                let value = view_dtype(&parent.read()?, dtype)?;
                parent.face(Face::Bits, value)
            }
            _ => Cell::root(deep_copy(&self.read()?)?, level::current(), 0),
        };
        Ok(copies.remember(self, copy))
    }

    fn copy_at_level(self: &Arc<Cell>, value: &Tensor, copies: &mut Copies) -> Result<Arc<Cell>> {
        let link = self.state().link.clone();
        let copy = match link {
            ViewLink::View(v) => {
                let parent = v.parent.deep_copy(copies)?;
                let _mode = GradMode::set(v.recorded);
                let value = v.lens.apply(&parent.read()?)?;
                parent.view(v.lens.clone(), value)?
            }
            ViewLink::Alias { parent, region } => {
                // The elements are the parent's, the history is this one's: a write to either reaches both.
                let parent = parent.deep_copy(copies)?;
                let data = strip(&parent.read()?)?;
                let data = region.as_ref().map_or_else(|| Ok(data.clone()), |r| part::read(&data, r))?;
                let value = history::rewrap(&deep_copy(value)?, &data)?;
                let seen = parent.stamp();
                let cell = Cell::make(
                    Some(value),
                    ViewLink::Alias { parent: parent.clone(), region },
                    level::current(),
                    0,
                    seen,
                );
                cell.depends(&parent);
                cell
            }
            _ => Cell::root(deep_copy(value)?, level::current(), 0),
        };
        Ok(copies.remember(self, copy))
    }
}
