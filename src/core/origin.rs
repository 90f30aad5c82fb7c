//! Where in the user's program a transform was applied: small ids now, text only when an error needs it.

use std::cell::Cell;
use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, Mutex, OnceLock};

/// A line of the user's program as the host language holds it, such as code and an offset into it.
pub trait LineSource: Send + Sync {
    /// `file.py:12`.
    fn text(&self) -> String;
}

impl LineSource for String {
    fn text(&self) -> String {
        self.clone()
    }
}

/// A [`LineSource`] that is made text when it is shown.
#[derive(Clone)]
pub struct Line(pub Arc<dyn LineSource>);

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text())
    }
}

/// An interned place; 0 is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Origin(u32);

static PLACES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static LOCATOR: OnceLock<fn() -> Option<Line>> = OnceLock::new();

thread_local! {
    /// Origins of levels by serial, so that a value that outlived its level can still name it.
    static RECENT: [Cell<(u32, Origin)>; 256] = const { [const { Cell::new((0, Origin(0))) }; 256] };
}

impl Origin {
    pub const UNKNOWN: Origin = Origin(0);

    /// Interns a description such as `vmap(loss) at model.py:12`.
    pub fn intern(place: String) -> Origin {
        let mut places = PLACES.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(i) = places.iter().rposition(|p| *p == place) {
            return Origin(i as u32 + 1);
        }
        places.push(place);
        Origin(places.len() as u32)
    }

    pub fn describe(self) -> Option<String> {
        let places = PLACES.lock().unwrap_or_else(|e| e.into_inner());
        places.get((self.0 as usize).checked_sub(1)?).cloned()
    }
}

pub(super) fn remember(serial: u32, origin: Origin) {
    RECENT.with(|r| r[serial as usize % 256].set((serial, origin)));
}

/// The origin of a level that this thread opened recently.
pub fn of_serial(serial: u32) -> Option<String> {
    RECENT.with(|r| match r[serial as usize % 256].get() {
        (s, o) if s == serial => o.describe(),
        _ => None,
    })
}

/// Installs the function that finds the user's current line. It makes no text.
pub fn set_locator(f: fn() -> Option<Line>) {
    let _ = LOCATOR.set(f);
}

/// The user's current line, where a host language knows it.
pub fn here() -> Option<Line> {
    LOCATOR.get().and_then(|f| f())
}

/// ` (at file.py:12)`, or nothing.
pub fn at_here() -> String {
    here().map(|p| format!(" (at {p})")).unwrap_or_default()
}
