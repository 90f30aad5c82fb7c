//! How long work is given up: it looks for a reason between its tasks, unwinds, and becomes an error where it was begun.

use crate::base::{Error, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often long work asks whether to stop.
pub const TURN: Duration = Duration::from_millis(50);

/// What the host language knows of the user's wish to stop.
pub struct SignalSource {
    /// Whether this thread is the one that is told, and may give up what it is doing: see [`cancellable`].
    pub is_listening: fn() -> bool,
    /// The error to stop with, if the user asked for that.
    pub poll: fn() -> Result<()>,
}

static SOURCE: OnceLock<SignalSource> = OnceLock::new();

pub fn install(source: SignalSource) {
    let _ = SOURCE.set(source);
}

/// Unwinds from a task to [`cancellable`].
struct Interrupt(Error);

/// Unwinds work whose result nobody waits for any more.
pub(super) struct Cancelled;

/// Whether the work that a thread does, or what that is a part of, has been given up.
pub(super) struct CancelFlag {
    flag: AtomicBool,
    outer: *const CancelFlag,
}

// SAFETY: `outer` is only read while the work that it belongs to waits for this one.
unsafe impl Send for CancelFlag {}
// SAFETY: as above.
unsafe impl Sync for CancelFlag {}

thread_local! {
    static PRESENT: Cell<*const CancelFlag> = const { Cell::new(null()) };
}

impl CancelFlag {
    /// For a part of what this thread is doing.
    pub(super) fn new() -> CancelFlag {
        CancelFlag { flag: AtomicBool::new(false), outer: PRESENT.get() }
    }
    /// For work that nothing waits for without asking.
    pub(super) fn alone() -> CancelFlag {
        CancelFlag { flag: AtomicBool::new(false), outer: null() }
    }
    pub(super) fn set(&self) {
        self.flag.store(true, Relaxed);
    }
    pub(super) fn is_set(&self) -> bool {
        self.flag.load(Relaxed)
    }
    /// Makes this what [`cancellation_point`] looks at on this thread; gives what was before.
    pub(super) fn enter(&self) -> *const CancelFlag {
        PRESENT.replace(self)
    }
    pub(super) fn leave(before: *const CancelFlag) {
        PRESENT.set(before);
    }
}

fn is_cancelled() -> bool {
    let mut stop = PRESENT.get();
    // SAFETY: the thread entered these and has not left; each lives until its work is done.
    while let Some(s) = unsafe { stop.as_ref() } {
        if s.is_set() {
            return true;
        }
        stop = s.outer;
    }
    false
}

/// Whether this thread would hear now that the user wants to stop.
pub(super) fn is_listening() -> bool {
    SOURCE.get().is_some_and(|e| (e.is_listening)())
}

/// Asks whether to stop, without regard to the time.
pub(super) fn ask() {
    if let Some(source) = SOURCE.get()
        && (source.is_listening)()
        && let Err(e) = (source.poll)()
    {
        resume_unwind(Box::new(Interrupt(e)));
    }
}

/// A moment at which work may be given up: unwinds if nobody wants its result any more. To be called at least every
/// tenth of a second or so, at most every few microseconds, by work that only writes what it made itself.
pub fn cancellation_point() {
    if is_cancelled() {
        resume_unwind(Box::new(Cancelled));
    }
    if SOURCE.get().is_some() && is_due() {
        ask();
    }
}

/// Whether a thread has not asked for a while. The clock is one for all threads: mostly one of them is_listening.
fn is_due() -> bool {
    static START: OnceLock<Instant> = OnceLock::new();
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = START.get_or_init(Instant::now).elapsed().as_millis() as u64;
    if now < LAST.load(Relaxed) + TURN.as_millis() as u64 || !is_listening() {
        return false;
    }
    LAST.store(now, Relaxed);
    true
}

/// Runs work that may be given up: the wish to stop becomes its error. Its values are dropped on the way, so nothing
/// half-written is left as long as the work writes only into memory that it made.
pub fn cancellable<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(out) => out,
        Err(payload) => match payload.downcast::<Interrupt>() {
            Ok(interrupt) => Err(interrupt.0),
            Err(other) => resume_unwind(other),
        },
    }
}

/// Whether a panic is only work that nobody wants any more.
pub(super) fn is_cancellation(payload: &(dyn std::any::Any + Send)) -> bool {
    payload.is::<Cancelled>()
}
