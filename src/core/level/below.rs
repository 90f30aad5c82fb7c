//! Hiding levels, for what runs below them.

use super::{LevelId, height, refresh, this};

/// Hides a level and all that live above it from creation, random operators, modes and births, while dropped not.
/// Levels that open later are visible.
pub struct Below {
    hidden: u128,
    grad: bool,
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
        let live = bits(height() + 1) & !bits(from);
        let below = this(|t| Below { hidden: t.hidden.replace(t.hidden.get() | live), grad: t.grad.replace(on) });
        refresh();
        below
    }
}

impl Drop for Below {
    fn drop(&mut self) {
        this(|t| {
            t.hidden.set(self.hidden);
            t.grad.set(self.grad);
        });
        refresh();
    }
}
