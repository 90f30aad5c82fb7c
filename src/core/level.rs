//! The stack of levels: which transforms are live on this thread, and the modes that they see.
//!
//! NOTE levels. A level is (depth, serial). Depth orders values: an operator runs at the highest level among its
//! arguments. The serial is unique in the process, so a value that outlives its transform is recognised: depth says
//! where its level was, the serial says that another one lives there now.
//!
//! NOTE grad mode. It is one flag per thread. Entering a tape level saves it as `prev` and turns it on. Tape k records
//! if the flag and every `prev` of the tape levels above k are on. So `no_grad` inside a function cuts all live levels,
//! and `no_grad` around `grad(f)` cuts only the outer ones:
//! ```text
//! grad(grad(f)):  flag on ── tape 1 (prev on) ── tape 2 (prev on) ── f says no_grad: flag off, nothing records
//! no_grad; grad(f):  flag off ── tape 1 (prev off, flag on): tape 1 records, the ambient tape does not
//! ```

mod below;
mod snapshot;

pub use below::Below;
pub use snapshot::{Revived, Snapshot};

use super::origin::{self, Origin};
use super::trace::Recorder;
use crate::base::{Error, Result};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// (depth, serial) in one word; ordered by depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelId(u64);

impl LevelId {
    /// Not a level: plain arrays.
    pub const DENSE: LevelId = LevelId(0);
    /// The tape of `requires_grad`, always live, below every other level.
    pub const AMBIENT: LevelId = LevelId(1);

    #[inline]
    fn new(depth: usize, serial: u32) -> LevelId {
        LevelId((depth as u64) << 32 | u64::from(serial))
    }
    #[inline]
    pub fn depth(self) -> usize {
        (self.0 >> 32) as usize
    }
    #[inline]
    pub fn serial(self) -> u32 {
        self.0 as u32
    }
}

impl std::fmt::Display for LevelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "level {}", self.depth())
    }
}

/// What random operators do under `vmap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Randomness {
    /// They raise.
    Error,
    /// Each member of the batch draws its own numbers.
    Different,
    /// All members get the same numbers.
    Same,
}

/// Which interpreter a level runs.
#[derive(Clone)]
pub enum LevelKind {
    Batch {
        size: usize,
        randomness: Randomness,
    },
    /// `ambient`: opened by `forward_ad`, whose values may be written into any tensor.
    Dual {
        prev: bool,
        ambient: bool,
    },
    Tape {
        prev: bool,
    },
    Trace(Arc<Recorder>),
}

#[derive(Clone)]
pub struct Level {
    pub id: LevelId,
    pub kind: LevelKind,
    pub origin: Origin,
}

impl Level {
    pub fn transform(&self) -> &'static str {
        match self.kind {
            LevelKind::Batch { .. } => "vmap",
            LevelKind::Dual { ambient: true, .. } => "dual_level",
            LevelKind::Dual { .. } => "jvp",
            LevelKind::Tape { .. } => "grad",
            LevelKind::Trace(_) => "trace",
        }
    }
}

const SLOTS: usize = 4096;
/// Serials of all live levels of the process, by serial modulo the size.
static LIVE: [AtomicU32; SLOTS] = [const { AtomicU32::new(0) }; SLOTS];
static NEXT: AtomicU32 = AtomicU32::new(2);

thread_local! {
    /// Live levels by depth - 1; `None` where a level closed below one that still lives.
    static STACK: RefCell<Vec<Option<Level>>> = const { RefCell::new(Vec::new()) };
    /// Depths of the levels that creation, random operators and modes do not see, by bit.
    static HIDDEN: Cell<u128> = const { Cell::new(0) };
    /// The highest visible trace level that is not partial; operators are recorded there whatever their arguments.
    static TRACE: Cell<LevelId> = const { Cell::new(LevelId::DENSE) };
    /// The highest visible level.
    static TOP: Cell<LevelId> = const { Cell::new(LevelId::DENSE) };
    static GRAD: Cell<bool> = const { Cell::new(true) };
    /// Whether the program itself set the grad mode since the running method of a custom function began.
    static OWN: Cell<bool> = const { Cell::new(false) };
    static FORWARD: Cell<bool> = const { Cell::new(true) };
}

fn new_serial() -> u32 {
    loop {
        let s = NEXT.fetch_add(1, Relaxed);
        if s > 1 && LIVE[s as usize % SLOTS].compare_exchange(0, s, Relaxed, Relaxed).is_ok() {
            return s;
        }
    }
}

/// A live level; closes when dropped, also while unwinding. Dropping never closes another level.
#[must_use]
pub struct Guard {
    id: LevelId,
    /// The stack is thread-local: a guard must close its level where it was opened.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Guard {
    #[inline]
    pub fn id(&self) -> LevelId {
        self.id
    }
}

/// Opens a batch level.
pub fn push_batch(size: usize, randomness: Randomness, origin: Origin) -> Guard {
    push(LevelKind::Batch { size, randomness }, origin)
}
/// Opens a level of dual numbers and turns forward mode on.
pub fn push_dual(origin: Origin) -> Guard {
    push(LevelKind::Dual { prev: FORWARD.replace(true), ambient: false }, origin)
}
/// Opens a level of dual numbers that belongs to no function, and leaves forward mode as it is.
pub fn push_forward_ad(origin: Origin) -> Guard {
    push(LevelKind::Dual { prev: true, ambient: true }, origin)
}
/// Opens a tape and turns grad mode on.
pub fn push_tape(origin: Origin) -> Guard {
    push(LevelKind::Tape { prev: GRAD.replace(true) }, origin)
}
/// Opens a trace level.
pub fn push_trace(recorder: Arc<Recorder>, origin: Origin) -> Guard {
    push(LevelKind::Trace(recorder), origin)
}

#[inline]
fn push(kind: LevelKind, origin: Origin) -> Guard {
    let serial = new_serial();
    origin::remember(serial, origin);
    let traces = matches!(kind, LevelKind::Trace(_));
    let id = STACK.with_borrow_mut(|stack| {
        let id = LevelId::new(stack.len() + 1, serial);
        stack.push(Some(Level { id, kind, origin }));
        id
    });
    if traces || is_hidden(id) {
        refresh();
    } else {
        TOP.set(id);
    }
    Guard { id, _not_send: std::marker::PhantomData }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let closed = STACK.with_borrow_mut(|stack| {
            let closed = stack.get_mut(self.id.depth() - 1).and_then(Option::take);
            while matches!(stack.last(), Some(None)) {
                stack.pop();
            }
            closed
        });
        LIVE[self.id.serial() as usize % SLOTS].store(0, Relaxed);
        match closed.map(|l| l.kind) {
            Some(LevelKind::Tape { prev }) => GRAD.set(prev),
            Some(LevelKind::Dual { prev, ambient: false }) => FORWARD.set(prev),
            _ => {}
        }
        refresh();
    }
}

/// Finds [`TOP`] and [`TRACE`] again.
fn refresh() {
    let hidden = HIDDEN.get();
    let (top, trace) = STACK.with_borrow(|stack| {
        let visible = || stack.iter().rev().flatten().filter(|l| hidden & bit(l.id) == 0);
        let traces = |l: &&Level| matches!(&l.kind, LevelKind::Trace(r) if !r.is_partial());
        let id = |l: Option<&Level>| l.map_or(LevelId::DENSE, |l| l.id);
        (id(visible().next()), id(visible().find(traces)))
    });
    TOP.set(top);
    TRACE.set(trace);
}

/// The highest visible trace level that records every operator, or `DENSE`.
#[inline]
pub fn tracing() -> LevelId {
    TRACE.get()
}

/// The level with this id, if it is live on this thread.
#[inline]
pub fn find(id: LevelId) -> Option<Level> {
    with(id, Level::clone)
}

/// Runs `f` on the level with this id, if it is live on this thread. `f` must not use the stack.
#[inline]
pub fn with<R>(id: LevelId, f: impl FnOnce(&Level) -> R) -> Option<R> {
    STACK.with_borrow(|stack| match stack.get(id.depth().wrapping_sub(1)) {
        Some(Some(l)) if l.id == id => Some(f(l)),
        _ => None,
    })
}

/// Whether this level is live on this thread. The ambient tape always is.
#[inline]
pub fn is_live(id: LevelId) -> bool {
    id <= LevelId::AMBIENT || with(id, |_| ()).is_some()
}

/// Whether this level is live on some thread.
pub fn is_live_anywhere(id: LevelId) -> bool {
    id <= LevelId::AMBIENT || LIVE[id.serial() as usize % SLOTS].load(Relaxed) == id.serial()
}

/// The bit of a depth in a set of levels; the deepest share one.
#[inline]
pub fn bit(id: LevelId) -> u128 {
    1 << id.depth().min(127)
}

/// The levels that creation, random operators and modes do not see.
#[inline]
pub fn hidden() -> u128 {
    HIDDEN.get()
}

#[inline]
fn is_hidden(id: LevelId) -> bool {
    HIDDEN.get() & bit(id) != 0
}

/// Shows all visible levels to `f`, from the top down. It must not open or close any.
#[inline]
pub fn each_visible(f: impl FnMut(&Level)) {
    STACK.with_borrow(|s| s.iter().rev().flatten().filter(|l| !is_hidden(l.id)).for_each(f));
}

/// All visible levels, from the top down.
pub fn visible() -> SmallVec<[Level; 4]> {
    STACK.with_borrow(|s| s.iter().rev().flatten().filter(|l| !is_hidden(l.id)).cloned().collect())
}

/// A number that the serials of later levels follow.
pub fn moment() -> u32 {
    NEXT.load(Relaxed)
}

/// Whether a level was opened between two moments.
pub fn is_between(id: LevelId, from: u32, to: u32) -> bool {
    id.serial().wrapping_sub(from) < to.wrapping_sub(from)
}

/// The highest visible level, or `DENSE`; a buffer made now is born there.
#[inline]
pub fn current() -> LevelId {
    TOP.get()
}

/// Number of slots of the stack; equal before and after a transform that has been left.
pub fn height() -> usize {
    STACK.with_borrow(|s| s.len())
}

/// Whether tape `id` records now.
#[inline]
pub fn records(id: LevelId) -> bool {
    GRAD.get() && prevs_above(id.depth())
}

fn prevs_above(depth: usize) -> bool {
    STACK.with_borrow(|s| {
        s.iter().skip(depth).flatten().all(|l| match l.kind {
            LevelKind::Tape { prev } => prev || is_hidden(l.id),
            _ => true,
        })
    })
}

#[inline]
pub fn grad_enabled() -> bool {
    GRAD.get()
}
/// A grad mode, and whether the program itself set it.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    on: bool,
    own: bool,
}
impl From<bool> for Mode {
    fn from(on: bool) -> Mode {
        Mode { on, own: true }
    }
}
/// Sets the grad mode of this thread for the program and returns the old one.
#[inline]
pub fn set_grad_enabled(mode: impl Into<Mode>) -> Mode {
    let mode = mode.into();
    Mode { on: GRAD.replace(mode.on), own: OWN.replace(mode.own) }
}
/// Whether the program itself set the grad mode since [`forget_own_mode`].
#[inline]
pub fn is_own_mode() -> bool {
    OWN.get()
}
/// What is set from now on counts; gives what counted before, for [`restore_own_mode`].
#[inline]
pub fn forget_own_mode() -> bool {
    OWN.replace(false)
}
#[inline]
pub fn restore_own_mode(own: bool) {
    OWN.set(own);
}
/// Whether dual numbers of the innermost level propagate.
#[inline]
pub fn forward_enabled() -> bool {
    FORWARD.get()
}
/// Whether dual numbers of level `id` propagate now: as [`records`], for forward mode.
#[inline]
pub fn propagates(id: LevelId) -> bool {
    FORWARD.get()
        && STACK.with_borrow(|s| {
            s.iter().skip(id.depth()).flatten().all(|l| match l.kind {
                LevelKind::Dual { prev, .. } => prev,
                _ => true,
            })
        })
}
/// Whether this is a live level of `forward_ad`.
pub fn is_forward_ad(id: LevelId) -> bool {
    with(id, |l| matches!(l.kind, LevelKind::Dual { ambient: true, .. })) == Some(true)
}
pub fn set_forward_enabled(on: bool) -> bool {
    FORWARD.replace(on)
}

/// Grad mode that is put back when dropped.
pub struct GradMode(bool);
impl GradMode {
    pub fn set(on: bool) -> GradMode {
        GradMode(GRAD.replace(on))
    }
}
impl Drop for GradMode {
    fn drop(&mut self) {
        GRAD.set(self.0);
    }
}

/// The error for a batched or traced value whose transform has returned, or that belongs to another thread.
#[cold]
pub fn escaped(id: LevelId, transform: &str) -> Error {
    let origin = origin::of_serial(id.serial()).unwrap_or_else(|| transform.to_string());
    let line = origin::at_here();
    if is_live_anywhere(id) {
        return Error::runtime(format!(
            "a value of {origin} is used on another thread than the one that runs the transform{line}; \
             run the whole transform on one thread"
        ));
    }
    Error::runtime(format!(
        "a value of {origin} escaped: the transform has already returned, so its batch or trace is gone{line}; \
         return the value from the function instead of keeping it elsewhere"
    ))
}

/// Closes nothing and checks that every level is gone: for tests and for the door after an exception.
pub fn assert_clean(height_before: usize) -> Result<()> {
    if height() == height_before {
        return Ok(());
    }
    Err(Error::internal(format!("the level stack has height {} instead of {height_before}", height())))
}
