//! The stack of levels: which transforms are live on this thread, and the modes that they see.
//!
//! NOTE levels. A level is (depth, serial). Depth orders values: an operator runs at the highest level among its
//! arguments. The serial is unique in the process, so a value that outlives its transform is recognised: depth says
//! where its level was, the serial says that another one lives there now.

mod below;
mod data;
mod flags;
mod mode;
mod snapshot;

pub use below::Below;
pub use data::{Undrawn, WithoutData, is_undrawn, is_without_data};
pub use flags::LevelFlags;
pub use mode::*;
pub use snapshot::{Revived, Snapshot};

use super::origin::{self, Origin};
use super::primitive::BatchInfo;
pub use super::thread::LevelTag;
use super::thread::{NEAR, this};
use super::trace::Recorder;
use crate::base::{Error, Result};
use crate::dense::stack;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// (depth, serial) in one word; ordered by depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelId(u64);

impl LevelId {
    /// Not a level: plain arrays.
    pub const DENSE: LevelId = LevelId(0);
    /// Values without data: what operators do with them is to tell dtypes and shapes. Always live, and below every other
    /// level, so that transforms of such values are the transforms of others.
    pub const ABSTRACT: LevelId = LevelId(1);
    /// The tape of `requires_grad`, always live, below every level that opens.
    pub const AMBIENT: LevelId = LevelId(2);
    /// Never live: around values that were changed behind the back of the levels that follow them. They count as what
    /// they wrap, except for what these levels would record.
    pub const SPOILT: LevelId = LevelId(u64::MAX);

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
    /// `method`: opened for values that a running method of a custom function differentiates itself.
    Tape {
        prev: bool,
        method: bool,
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
    fn brief(&self) -> (LevelId, LevelTag) {
        (self.id, LevelTag::from(&self.kind))
    }
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
static NEXT: AtomicU32 = AtomicU32::new(3);

thread_local! {
    /// Live levels by depth - 1; `None` where a level closed below one that still lives.
    static STACK: RefCell<Vec<Option<Level>>> = const { RefCell::new(Vec::new()) };
}

fn new_serial() -> u32 {
    loop {
        let s = NEXT.fetch_add(1, Relaxed);
        if s > LevelId::AMBIENT.serial() && LIVE[s as usize % SLOTS].compare_exchange(0, s, Relaxed, Relaxed).is_ok() {
            return s;
        }
    }
}

/// Levels that may be live on one thread at a time. Sets of depths are words of this many bits.
pub const MAX_LEVELS: usize = 127;

/// An error if no further level can be opened on this thread.
#[inline]
pub fn check_room() -> Result<()> {
    stack::check()?;
    if this(|t| t.height.get()) < MAX_LEVELS { Ok(()) } else { Err(no_room()) }
}

#[cold]
fn no_room() -> Error {
    Error::new(
        crate::base::ErrorKind::Recursion,
        format!(
            "transforms are nested deeper than {MAX_LEVELS} levels{}; does a function transform itself without end?",
            origin::at_here()
        ),
    )
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
    push(LevelKind::Dual { prev: this(|t| t.forward.replace(true)), ambient: false }, origin)
}
/// Opens a level of dual numbers that belongs to no function, and leaves forward mode as it is.
pub fn push_forward_ad(origin: Origin) -> Guard {
    push(LevelKind::Dual { prev: true, ambient: true }, origin)
}
/// Opens a tape and turns grad mode on.
pub fn push_tape(origin: Origin) -> Guard {
    push(LevelKind::Tape { prev: this(|t| t.grad.replace(true)), method: false }, origin)
}
/// Opens a tape in the middle of a method of a custom function. Grad mode stays, and means the tapes below as well.
pub fn push_method_tape(origin: Origin) -> Guard {
    push(LevelKind::Tape { prev: true, method: true }, origin)
}
/// Opens a trace level.
pub fn push_trace(recorder: Arc<Recorder>, origin: Origin) -> Guard {
    push(LevelKind::Trace(recorder), origin)
}

#[inline]
fn push(kind: LevelKind, origin: Origin) -> Guard {
    let serial = new_serial();
    origin::remember(serial, origin);
    let brief = LevelTag::from(&kind);
    // What changes nothing but the top.
    let plain = matches!(
        kind,
        LevelKind::Batch { .. } | LevelKind::Dual { prev: true, .. } | LevelKind::Tape { prev: true, .. }
    );
    let id = STACK.with_borrow_mut(|stack| {
        let id = LevelId::new(stack.len() + 1, serial);
        stack.push(Some(Level { id, kind, origin }));
        id
    });
    let plain = this(|t| {
        if let Some(slot) = t.near.get(id.depth() - 1) {
            slot.set((id, brief));
        }
        t.changed(id.depth());
        let plain = plain && t.hidden.get() & bit(id) == 0;
        if plain {
            t.top.set(id);
        }
        plain
    });
    if !plain {
        refresh();
    }
    Guard { id, _not_send: std::marker::PhantomData }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let (closed, height) = STACK.with_borrow_mut(|stack| {
            let closed = stack.get_mut(self.id.depth() - 1).and_then(Option::take);
            while matches!(stack.last(), Some(None)) {
                stack.pop();
            }
            (closed, stack.len())
        });
        LIVE[self.id.serial() as usize % SLOTS].store(0, Relaxed);
        this(|t| {
            if let Some(slot) = t.near.get(self.id.depth() - 1) {
                slot.set((LevelId::DENSE, LevelTag::Tape));
            }
            t.changed(height);
            match closed.map(|l| l.kind) {
                Some(LevelKind::Tape { prev, method: false }) => t.grad.set(prev),
                Some(LevelKind::Dual { prev, ambient: false }) => t.forward.set(prev),
                _ => {}
            }
        });
        refresh();
    }
}

/// Finds out again what [`Thread`](super::thread::Thread) says of the stack as a whole.
fn refresh() {
    let hidden = hidden();
    let (mut top, mut trace, mut tape_cut, mut dual_cut) = (LevelId::DENSE, this(|t| t.base.get()), 0, 0);
    STACK.with_borrow(|stack| {
        for l in stack.iter().flatten() {
            let visible = hidden & bit(l.id) == 0;
            match &l.kind {
                LevelKind::Tape { prev: false, .. } if visible => tape_cut = l.id.depth(),
                LevelKind::Dual { prev: false, .. } => dual_cut = l.id.depth(),
                LevelKind::Trace(r) if visible && !r.is_partial() => trace = l.id,
                _ => {}
            }
            if visible {
                top = l.id;
            }
        }
    });
    this(|t| {
        t.top.set(top);
        t.trace.set(trace);
        t.tape_cut.set(tape_cut);
        t.dual_cut.set(dual_cut);
    });
}

/// The stack in place of the present one, which is given back.
fn replace_stack(stack: Vec<Option<Level>>) -> Vec<Option<Level>> {
    let near = |i: usize| stack.get(i).and_then(Option::as_ref).map_or((LevelId::DENSE, LevelTag::Tape), Level::brief);
    this(|t| {
        (0..NEAR).for_each(|i| t.near[i].set(near(i)));
        t.changed(stack.len());
    });
    STACK.replace(stack)
}

/// The highest visible trace level that records every operator, or `DENSE`; `ABSTRACT` where nothing has data.
#[inline]
pub fn tracing() -> LevelId {
    this(|t| t.trace.get())
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

/// What the level with this id runs, if it is live on this thread. The ambient tape always is.
#[inline]
pub fn kind(id: LevelId) -> Option<LevelTag> {
    LevelFlags::at(id).kind
}

/// What a batching rule gets to know of a live batch level.
pub fn batch(level: LevelId) -> Result<BatchInfo> {
    let info = with(level, |l| match l.kind {
        LevelKind::Batch { size, randomness } => Some(BatchInfo { level, size, randomness }),
        _ => None,
    });
    info.flatten().ok_or_else(|| Error::internal(format!("{level} is no live batch level")))
}

/// The recorder of a live trace level.
pub fn recorder(level: LevelId) -> Result<Arc<Recorder>> {
    let recorder = with(level, |l| match &l.kind {
        LevelKind::Trace(r) => Some(r.clone()),
        _ => None,
    });
    recorder.flatten().ok_or_else(|| Error::internal(format!("{level} is no live trace level")))
}

/// Whether this level is live on this thread. The ambient tape always is.
#[inline]
pub fn is_live(id: LevelId) -> bool {
    kind(id).is_some()
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
    this(|t| t.hidden.get())
}

#[inline]
fn is_hidden(id: LevelId) -> bool {
    hidden() & bit(id) != 0
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
pub fn next_serial() -> u32 {
    NEXT.load(Relaxed)
}

/// Whether a level was opened between two moments.
pub fn is_between(id: LevelId, from: u32, to: u32) -> bool {
    id.serial().wrapping_sub(from) < to.wrapping_sub(from)
}

/// The highest visible level, or `DENSE`; a buffer made now is born there.
#[inline]
pub fn current() -> LevelId {
    this(|t| t.top.get())
}

/// Number of slots of the stack; equal before and after a transform that has been left.
#[inline]
pub fn height() -> usize {
    this(|t| t.height.get())
}

/// Whether a level above differentiates what this one gives. Batches do not.
pub fn is_followed(id: LevelId) -> bool {
    height() > id.depth()
        && STACK
            .with_borrow(|s| s.iter().skip(id.depth()).flatten().any(|l| !matches!(l.kind, LevelKind::Batch { .. })))
}

/// Whether this is a live tape that a method of a custom function opened for itself.
pub fn is_method_tape(id: LevelId) -> bool {
    with(id, |l| matches!(l.kind, LevelKind::Tape { method: true, .. })) == Some(true)
}

/// Whether this is a live level of `forward_ad`.
pub fn is_forward_ad(id: LevelId) -> bool {
    kind(id) == Some(LevelTag::ForwardAd)
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
