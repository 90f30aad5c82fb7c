//! Drawing the same random numbers again.

use crate::core::level;
use crate::dense::random::{Generator, default_generator};
use crate::ops::rewind;
use smallvec::SmallVec;
use std::sync::Arc;

type State = [u8; 16];

/// The states of the generators at a moment, so that a function can draw the same numbers again.
pub struct Draws {
    default: State,
    others: SmallVec<[(Arc<Generator>, State); 1]>,
    moment: u32,
}

impl Draws {
    /// Those of the default generator and of these.
    pub fn now(others: Vec<Arc<Generator>>) -> Draws {
        let others = others.into_iter().map(|g| (g.clone(), g.get_state())).collect();
        Draws { default: default_generator().get_state(), others, moment: level::moment() }
    }

    /// Whether nobody has drawn since.
    pub fn is_now(&self) -> bool {
        default_generator().get_state() == self.default && self.others.iter().all(|(g, s)| g.get_state() == *s)
    }

    /// Draws repeat those that followed the moment, until this is dropped.
    pub fn again(&self) -> Again {
        let now = Draws::now(self.others.iter().map(|(g, _)| g.clone()).collect());
        let span = rewind::replay((self.moment, now.moment));
        self.restore();
        Again { now, span }
    }

    fn restore(&self) {
        // A state is as long as the generator made it.
        let _ = default_generator().set_state(&self.default);
        for (g, state) in &self.others {
            let _ = g.set_state(state);
        }
    }
}

/// Puts the generators back when it is dropped.
#[must_use]
pub struct Again {
    now: Draws,
    span: rewind::Span,
}

impl Drop for Again {
    fn drop(&mut self) {
        rewind::replay(self.span);
        self.now.restore();
    }
}
