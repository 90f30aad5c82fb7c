//! What a cell holds, for the garbage collector of the host language.

use super::Cell;
use super::link::ViewLink;
use crate::core::reach::Reach;
use std::sync::Arc;

impl Cell {
    /// Meets a reference to this cell, and goes on if it was the last one.
    pub fn reach(self: &Arc<Cell>, reach: &mut Reach<'_>) {
        if !reach.owns(self) {
            return;
        }
        let Ok(s) = self.state.try_lock() else { return };
        for value in s.value.iter().chain(&s.shell) {
            reach.value(value);
        }
        if let Some(next) = &s.successor {
            next.reach(reach);
        }
        match &s.link {
            ViewLink::Root => {}
            ViewLink::View(v) => {
                v.parent.reach(reach);
                v.root.reach(reach);
            }
            ViewLink::Alias { parent, .. } | ViewLink::Lift { parent, .. } => parent.reach(reach),
        }
    }
}
