//! What an interpreter asks of its level.

use super::{LevelId, LevelTag, bit, this, with};
use std::cell::Cell;

/// What an interpreter asks of its level, found in one look at the thread.
#[derive(Clone, Copy)]
pub struct LevelFlags {
    /// `None` if the level is not live on this thread.
    pub kind: Option<LevelTag>,
    /// Whether the running method of a custom function must not use values of the level.
    pub forbidden: bool,
    /// Whether the level records, if it is a tape.
    pub records: bool,
    /// Whether hooks of saved tensors are in force.
    pub packing: bool,
}

impl LevelFlags {
    #[inline(always)]
    pub fn at(id: LevelId) -> LevelFlags {
        let (near, flags) = this(|t| {
            let flags = LevelFlags {
                kind: None,
                forbidden: t.forbidden.get() & bit(id) != 0,
                records: t.grad.get() && id.depth() >= t.tape_cut.get(),
                packing: t.packing.get(),
            };
            (t.near.get(id.depth().wrapping_sub(1)).map(Cell::get), flags)
        });
        let kind = match near {
            Some((live, kind)) => (live == id).then_some(kind),
            None if id == LevelId::ABSTRACT => {
                // No derivative and no batch can be lost with it.
                return LevelFlags { kind: Some(LevelTag::Abstract), forbidden: false, ..flags };
            }
            None if id <= LevelId::AMBIENT => Some(LevelTag::Tape),
            None => with(id, |l| LevelTag::from(&l.kind)),
        };
        LevelFlags { kind, ..flags }
    }
}
