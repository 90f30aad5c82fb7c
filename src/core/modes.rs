//! Grad mode and forward mode together.

use super::level;
use super::stop::{self, Stop};

/// Whether tapes record and dual numbers propagate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GradModes {
    grad: bool,
    forward: bool,
}

impl GradModes {
    pub const ON: GradModes = GradModes { grad: true, forward: true };

    /// What a tape that records, or does not, sees.
    pub const fn recording(grad: bool) -> GradModes {
        GradModes { grad, forward: true }
    }

    /// Of this thread.
    #[inline]
    pub fn now() -> GradModes {
        GradModes { grad: level::grad_enabled(), forward: level::forward_enabled() }
    }

    /// What follows the results of what runs so in a program.
    pub(super) fn stops(self) -> impl Iterator<Item = &'static Stop> {
        stop::stops(self.grad, self.forward)
    }

    fn set(self) {
        level::set_grad_enabled(self.grad);
        level::set_forward_enabled(self.forward);
    }
}

/// Both modes on; put back when dropped.
pub struct Modes(GradModes);

impl Modes {
    pub fn all_on() -> Modes {
        let before = GradModes::now();
        GradModes::ON.set();
        Modes(before)
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        self.0.set();
    }
}
