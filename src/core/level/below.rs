//! Hiding levels, for what runs below them.

use super::{LevelId, refresh, this};

/// Hides a level and all that live above it from creation, random operators, modes and births, while dropped not.
/// Levels that open later are visible.
pub struct Below {
    hidden: u128,
    grad: bool,
    /// What the thread said of the stack, which holds until the stack changes.
    top: LevelId,
    trace: LevelId,
    tape_cut: usize,
    changes: u64,
}

impl Below {
    /// The grad mode becomes the one that the levels below `id` see.
    pub fn enter(id: LevelId) -> Below {
        let on = this(|t| t.grad.get() && id.depth().saturating_sub(1) >= t.tape_cut.get());
        Below::hide(id.depth().max(1), on)
    }

    /// Hides all levels, and turns grad mode off: what runs now belongs to the library itself.
    pub fn all() -> Below {
        Below::hide(1, false)
    }

    fn hide(from: usize, on: bool) -> Below {
        let bits = |n: usize| if n >= 127 { u128::MAX } else { (1 << n) - 1 };
        let below = this(|t| {
            let live = bits(t.height.get() + 1) & !bits(from);
            Below {
                hidden: t.hidden.replace(t.hidden.get() | live),
                grad: t.grad.replace(on),
                top: t.top.replace(LevelId::DENSE),
                trace: t.trace.replace(t.base.get()),
                tape_cut: t.tape_cut.replace(0),
                changes: t.changes.get(),
            }
        });
        if from > 1 {
            refresh();
        }
        below
    }
}

impl Drop for Below {
    fn drop(&mut self) {
        let same = this(|t| {
            t.hidden.set(self.hidden);
            t.grad.set(self.grad);
            t.top.set(self.top);
            t.trace.set(self.trace);
            t.tape_cut.set(self.tape_cut);
            t.changes.get() == self.changes
        });
        if !same {
            refresh();
        }
    }
}
