//! What every call of an operator asks of its thread. It is one value, because finding a thread-local value costs a part
//! of what a small operator costs.

use super::level::{LevelId, LevelKind};
use super::method_scope::{Known, MethodFrame};
use crate::base::DType;
use crate::dense::first_thread::FastLocal;
use std::cell::Cell;

/// Which interpreter a level runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelTag {
    Tape,
    Dual,
    /// Dual numbers of `forward_ad`, which may be written into any tensor.
    ForwardAd,
    Batch,
    Trace,
    /// Dtypes and shapes without data.
    Abstract,
}

impl From<&LevelKind> for LevelTag {
    fn from(kind: &LevelKind) -> LevelTag {
        match kind {
            LevelKind::Batch { .. } => LevelTag::Batch,
            LevelKind::Dual { ambient: false, .. } => LevelTag::Dual,
            LevelKind::Dual { ambient: true, .. } => LevelTag::ForwardAd,
            LevelKind::Tape { .. } => LevelTag::Tape,
            LevelKind::Trace(_) => LevelTag::Trace,
        }
    }
}

/// The lowest levels, which are found without looking at the stack.
pub const NEAR: usize = 8;

pub struct Thread {
    /// Live levels by depth - 1; `DENSE` where there is none.
    pub near: [Cell<(LevelId, LevelTag)>; NEAR],
    /// Depths of the levels that creation, random operators and modes do not see, by bit.
    pub hidden: Cell<u128>,
    /// Depths of the levels whose values the running method of a custom function must not use.
    pub forbidden: Cell<u128>,
    /// The same where values of all levels need a look.
    pub always: Cell<u128>,
    /// Depths of batch levels that others stand for.
    pub lifted: Cell<u128>,
    /// Number of slots of the stack of levels.
    pub height: Cell<usize>,
    /// Counts levels that open and close.
    pub changes: Cell<u64>,
    /// What operators without arguments belong to where nothing is traced: `DENSE`, or `ABSTRACT`.
    pub base: Cell<LevelId>,
    /// Whether random operators draw nothing.
    pub undrawn: Cell<bool>,
    /// The highest visible trace level that is not partial, where operators are recorded whatever their arguments;
    /// otherwise the base.
    pub trace: Cell<LevelId>,
    /// The highest visible level.
    pub top: Cell<LevelId>,
    /// Depth of the highest visible tape that was entered with grad mode off: those below it do not record.
    pub tape_cut: Cell<usize>,
    /// The same for dual numbers and forward mode, visible or not.
    pub dual_cut: Cell<usize>,
    pub grad: Cell<bool>,
    /// Whether the program itself set the grad mode since the running method of a custom function began.
    pub own: Cell<bool>,
    pub forward: Cell<bool>,
    /// Whether tensors that are made now are inference tensors.
    pub inference: Cell<bool>,
    /// Whether hooks of saved tensors are in force.
    pub packing: Cell<bool>,
    /// Whether products may wait until they are read.
    pub deferring: Cell<bool>,
    /// The dtype that autocast lowers to, where it is on.
    pub autocast: Cell<Option<DType>>,
    /// The running method of a custom function.
    pub frame: Cell<MethodFrame>,
    /// Arguments of the forward that runs which are on the ambient tape, the first of them: most operators know by these
    /// what they got.
    pub known: Cell<Known>,
}

impl Thread {
    /// The stack of levels is another one, of this height.
    pub fn changed(&self, height: usize) {
        self.height.set(height);
        self.changes.set(self.changes.get() + 1);
    }
}

static THREAD: FastLocal<Thread> = FastLocal::new(&OWN);

thread_local! {
    static OWN: Thread = const {
        Thread {
            near: [const { Cell::new((LevelId::DENSE, LevelTag::Tape)) }; NEAR],
            hidden: Cell::new(0),
            forbidden: Cell::new(0),
            always: Cell::new(0),
            lifted: Cell::new(0),
            height: Cell::new(0),
            changes: Cell::new(0),
            base: Cell::new(LevelId::DENSE),
            undrawn: Cell::new(false),
            trace: Cell::new(LevelId::DENSE),
            top: Cell::new(LevelId::DENSE),
            tape_cut: Cell::new(0),
            dual_cut: Cell::new(0),
            grad: Cell::new(true),
            own: Cell::new(false),
            forward: Cell::new(true),
            inference: Cell::new(false),
            packing: Cell::new(false),
            deferring: Cell::new(false),
            autocast: Cell::new(None),
            frame: Cell::new(MethodFrame::NOBODY),
            known: Cell::new([0; 3]),
        }
    };
}

#[inline(always)]
pub fn this<R>(f: impl FnOnce(&Thread) -> R) -> R {
    THREAD.with(f)
}
