//! How often elements were written to, as programs see it: `_version`.
//!
//! NOTE. A view and what is detached count with their base. What `.data` gives counts by itself, and so does a tensor
//! whose elements were replaced by another one's. A change of a shape in place counts as a write, though nobody has to
//! read again after it.

use super::link::ViewLink;
use super::{Cell, Face};
use std::sync::Arc;

impl Cell {
    /// The cell where the writes to this one count, if that is another one.
    fn counted_in(&self) -> Option<Arc<Cell>> {
        let s = self.state();
        match &s.link {
            ViewLink::View(v) => Some(v.root.clone()),
            ViewLink::Lift { face: Face::Tangent { .. }, .. } | ViewLink::Root => None,
            ViewLink::Alias { .. } if s.apart => None,
            ViewLink::Alias { parent, .. } | ViewLink::Lift { parent, .. } => Some(parent.clone()),
        }
    }

    fn counter(self: &Arc<Cell>) -> Arc<Cell> {
        let mut cell = self.clone();
        while let Some(below) = cell.counted_in() {
            cell = below;
        }
        cell
    }

    /// How often the elements were written to, through whatever face.
    pub fn version(self: &Arc<Cell>) -> u32 {
        self.counter().state().writes()
    }

    /// Writes by this handle count here, from `writes` on.
    pub fn count_from(&self, writes: u32) {
        let mut s = self.state();
        s.apart = true;
        s.moves = s.version.wrapping_sub(writes);
        s.beside = writes;
    }

    /// Counts a change of a shape in place.
    pub fn count_change(self: &Arc<Cell>) {
        let cell = self.counter();
        let mut s = cell.state();
        s.moves = s.moves.wrapping_sub(1);
        s.beside = s.beside.wrapping_add(1);
    }

    /// The elements of `lender` were written to by way of this cell: if it counts by itself, the write counts here.
    pub(super) fn count_apart(&self, lender: &Arc<Cell>) {
        if self.state().apart {
            lender.uncount_write();
            let mut s = self.state();
            s.moves = s.moves.wrapping_sub(1);
        }
    }

    /// The last write came by a handle that counts by itself.
    pub(super) fn uncount_write(self: &Arc<Cell>) {
        let cell = self.counter();
        {
            let mut s = cell.state();
            s.moves = s.moves.wrapping_add(1);
        }
        let mut s = self.state();
        s.beside = s.beside.wrapping_sub(1);
    }
}
