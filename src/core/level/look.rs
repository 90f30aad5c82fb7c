//! What an interpreter asks of its level.

use super::{Kind, LevelId, bit, this, with};
use std::cell::Cell;

/// What an interpreter asks of its level, found in one look at the thread.
#[derive(Clone, Copy)]
pub struct Look {
    /// `None` if the level is not live on this thread.
    pub kind: Option<Kind>,
    /// Whether the running method of a custom function must not use values of the level.
    pub forbidden: bool,
    /// Whether the level records, if it is a tape.
    pub records: bool,
    /// Whether hooks of saved tensors are in force.
    pub packing: bool,
}

impl Look {
    #[inline(always)]
    pub fn at(id: LevelId) -> Look {
        let (near, look) = this(|t| {
            let look = Look {
                kind: None,
                forbidden: t.forbidden.get() & bit(id) != 0,
                records: t.grad.get() && id.depth() >= t.tape_cut.get(),
                packing: t.packing.get(),
            };
            (t.near.get(id.depth().wrapping_sub(1)).map(Cell::get), look)
        });
        let kind = match near {
            Some((live, kind)) => (live == id).then_some(kind),
            None if id == LevelId::ABSTRACT => {
                // No derivative and no batch can be lost with it.
                return Look { kind: Some(Kind::Abstract), forbidden: false, ..look };
            }
            None if id <= LevelId::AMBIENT => Some(Kind::Tape),
            None => with(id, |l| Kind::from(&l.kind)),
        };
        Look { kind, ..look }
    }
}
