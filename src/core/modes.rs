//! Grad mode and forward mode together.

use super::level;

/// Whether tapes record and dual numbers propagate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    grad: bool,
    forward: bool,
}

impl Setting {
    pub const ON: Setting = Setting { grad: true, forward: true };

    /// What a tape that records, or does not, sees.
    pub const fn recording(grad: bool) -> Setting {
        Setting { grad, forward: true }
    }

    /// Of this thread.
    #[inline]
    pub fn now() -> Setting {
        Setting { grad: level::grad_enabled(), forward: level::forward_enabled() }
    }

    /// What is off.
    pub fn describe(self) -> Option<&'static str> {
        match (self.grad, self.forward) {
            (true, true) => None,
            (false, true) => Some("no_grad"),
            (true, false) => Some("no forward mode"),
            (false, false) => Some("no_grad, no forward mode"),
        }
    }

    fn set(self) {
        level::set_grad_enabled(self.grad);
        level::set_forward_enabled(self.forward);
    }
}

/// The modes of this thread, put back when dropped.
pub struct Modes {
    before: Setting,
    now: Setting,
}

impl Modes {
    /// Leaves them as they are.
    pub fn keep() -> Modes {
        Modes { before: Setting::now(), now: Setting::now() }
    }
    pub fn all_on() -> Modes {
        let modes = Modes::keep();
        Setting::ON.set();
        modes
    }
    /// Turns off what `setting` has off, and all else back to what it was.
    #[inline]
    pub fn limit(&mut self, setting: Setting) {
        let wanted =
            Setting { grad: self.before.grad && setting.grad, forward: self.before.forward && setting.forward };
        if wanted != self.now {
            self.now = wanted;
            wanted.set();
        }
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        self.before.set();
    }
}
