//! Drawing the same random numbers again.

use crate::core::level;
use crate::ops::rewind::{self, Marks, Rewind};

/// Where the generators stood that a function drew from, so that it can draw the same numbers again.
pub struct Draws {
    marks: Marks,
    serial: u32,
}

impl Draws {
    /// Runs `f`; what it drew, if it drew anything.
    pub fn of<R>(f: impl FnOnce() -> R) -> (R, Option<Draws>) {
        let (serial, noted) = (level::next_serial(), Rewind::open());
        let out = f();
        let draws = noted.has_drawn().then(|| Draws { marks: noted.marks(), serial });
        (out, draws)
    }

    /// Draws repeat those of the function, until this is dropped.
    pub fn again(&self) -> Again {
        let now = self.marks.now();
        let span = rewind::replay((self.serial, level::next_serial()));
        self.marks.restore();
        Again { now, span, _noted: Rewind::repeating() }
    }
}

/// Puts the generators back when it is dropped.
#[must_use]
pub struct Again {
    now: Marks,
    span: rewind::Span,
    _noted: Rewind,
}

impl Drop for Again {
    fn drop(&mut self) {
        rewind::replay(self.span);
        self.now.restore();
    }
}
