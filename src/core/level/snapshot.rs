//! Levels and modes as they were, for running something again later.

use super::{LIVE, Level, LevelId, LevelKind, SLOTS, STACK, refresh, replace_stack, this};
use crate::base::DType;
use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;

/// The levels that are live and the modes: for running something again later, as it would run now.
#[derive(Clone)]
pub struct Snapshot {
    stack: Vec<Option<Level>>,
    hidden: u128,
    grad: bool,
    forward: bool,
    autocast: Option<DType>,
}

/// Levels of a [`Snapshot`] in place of those that were live before, until dropped.
#[must_use]
pub struct Revived {
    before: Option<Snapshot>,
    /// Serials that were dead.
    serials: SmallVec<[u32; 4]>,
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Snapshot {
    pub fn take() -> Snapshot {
        let stack = STACK.with_borrow(Clone::clone);
        this(|t| Snapshot {
            stack,
            hidden: t.hidden.get(),
            grad: t.grad.get(),
            forward: t.forward.get(),
            autocast: t.autocast.get(),
        })
    }

    /// The tapes among the levels.
    pub fn tapes(&self) -> impl Iterator<Item = LevelId> {
        self.stack.iter().flatten().filter(|l| matches!(l.kind, LevelKind::Tape { .. })).map(|l| l.id)
    }

    /// Makes these levels live again. A value of a level that has closed since counts as one until this ends.
    pub fn revive(&self) -> Revived {
        let slot = |s: u32| &LIVE[s as usize % SLOTS];
        let serials = self.stack.iter().flatten().map(|l| l.id.serial());
        let serials = serials.filter(|&s| slot(s).compare_exchange(0, s, Relaxed, Relaxed).is_ok()).collect();
        let before = Snapshot::take();
        self.install();
        Revived { before: Some(before), serials, _not_send: std::marker::PhantomData }
    }

    fn install(&self) {
        drop(replace_stack(self.stack.clone()));
        this(|t| {
            t.hidden.set(self.hidden);
            t.grad.set(self.grad);
            t.forward.set(self.forward);
            t.autocast.set(self.autocast);
        });
        refresh();
    }
}

impl Drop for Revived {
    fn drop(&mut self) {
        for &s in &self.serials {
            LIVE[s as usize % SLOTS].store(0, Relaxed);
        }
        if let Some(before) = self.before.take() {
            before.install();
        }
    }
}
