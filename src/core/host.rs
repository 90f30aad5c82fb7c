//! What long work asks of the host language: whether to stop, to let others run, and where the user's program is.

use crate::base::Result;
use crate::dense::threads;
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Services of the host language.
pub struct Host {
    /// Lets other threads run; an error to stop with, if the user asked for that.
    pub poll: fn() -> Result<()>,
    /// Runs heavy work while other threads of the host may run.
    pub released: fn(&mut (dyn FnMut() + Send)),
    /// The calls that led here, innermost last.
    pub traceback: fn() -> String,
    pub warn: fn(&str) -> Result<()>,
}

static HOST: OnceLock<Host> = OnceLock::new();

pub fn install(host: Host) {
    let _ = HOST.set(host);
}

pub fn poll() -> Result<()> {
    HOST.get().map_or(Ok(()), |h| (h.poll)())
}

/// [`poll`] now and then: for step `i` of a loop over the members of what may be a long list.
#[inline]
pub fn turn(i: usize) -> Result<()> {
    if i & 0xfff == 0xfff { poll() } else { Ok(()) }
}

pub fn warn(text: &str) -> Result<()> {
    HOST.get().map_or(Ok(()), |h| (h.warn)(text))
}

static ALWAYS: AtomicBool = AtomicBool::new(false);

/// Whether warnings that are said once are said each time.
pub fn set_warn_always(on: bool) {
    ALWAYS.store(on, Relaxed);
}

/// Whether a warning was said: in a process it is said once.
pub struct Said(AtomicBool);

impl Said {
    pub const fn not_yet() -> Said {
        Said(AtomicBool::new(false))
    }
    #[cold]
    pub fn warn(&self, text: fmt::Arguments<'_>) -> Result<()> {
        if self.0.swap(true, Relaxed) && !ALWAYS.load(Relaxed) {
            return Ok(());
        }
        warn(&format!("{text} (This is said once.)"))
    }
}

/// Warns where a program comes first; gives the error that the user may have made of the warning.
#[macro_export]
#[doc(hidden)]
macro_rules! warn_once {
    ($($text:tt)*) => {{
        static SAID: $crate::core::host::Said = $crate::core::host::Said::not_yet();
        SAID.warn(format_args!($($text)*))
    }};
}

/// Runs `f` while other threads of the host may run. It may be given up if the user asks for that, so it must not write
/// into what others see.
pub fn released<R: Send>(f: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    let Some(host) = HOST.get() else { return f() };
    let mut f = Some(f);
    let mut out = None;
    (host.released)(&mut || out = f.take().map(threads::cancellable));
    match (out, f) {
        (Some(out), _) => out,
        (None, Some(f)) => f(),
        (None, None) => unreachable!("the host ran the work and lost its result"),
    }
}

/// What nodes remember, and what a sweep checks, for finding mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anomaly {
    Off,
    /// Nodes remember the calls that made them.
    Trace,
    /// And sweeps stop at gradients that are not numbers.
    Check,
}

static ANOMALY: AtomicU8 = AtomicU8::new(0);

/// Sets the mode of the process; gives the old one.
pub fn set_anomaly(mode: Anomaly) -> Anomaly {
    of_byte(ANOMALY.swap(mode as u8, Relaxed))
}

#[inline]
pub fn anomaly() -> Anomaly {
    of_byte(ANOMALY.load(Relaxed))
}

fn of_byte(b: u8) -> Anomaly {
    match b {
        0 => Anomaly::Off,
        1 => Anomaly::Trace,
        _ => Anomaly::Check,
    }
}

/// Where a node was made.
pub struct Trace {
    pub name: String,
    pub text: String,
    /// The user's line.
    pub place: Option<super::origin::Line>,
    /// The node whose reverse rule made this one.
    pub during: Option<Arc<Trace>>,
}

thread_local! {
    static RUNNING: Cell<Option<Arc<Trace>>> = const { Cell::new(None) };
}

/// The trace of a node that is being made.
#[cold]
pub fn trace(name: String) -> Arc<Trace> {
    let text = HOST.get().map(|h| (h.traceback)()).unwrap_or_default();
    let during = RUNNING.take();
    RUNNING.set(during.clone());
    Arc::new(Trace { name, text, place: super::origin::here(), during })
}

/// Makes this the node whose rule runs; gives the one before.
pub fn running(trace: Option<Arc<Trace>>) -> Option<Arc<Trace>> {
    RUNNING.replace(trace)
}

impl Trace {
    /// The warning for an error in the node's rule.
    pub fn describe(&self) -> String {
        let mut text =
            format!("Error detected in {}. Traceback of forward call that caused the error:\n{}", self.name, self.text);
        let mut during = self.during.as_ref();
        while let Some(t) = during {
            text += &format!(
                "\n\nPrevious calculation was induced by {}. Traceback of forward call that induced the previous \
                 calculation:\n{}",
                t.name, t.text
            );
            during = t.during.as_ref();
        }
        text
    }
}
