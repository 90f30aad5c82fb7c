//! The sweeps that run on this thread, for hooks that ask about them.

use super::backward::Within;
use crate::base::Result;
use crate::core::Node;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What runs when a sweep has ended well.
pub type Callback = Box<dyn FnOnce() -> Result<()>>;

pub(super) type Roots = SmallVec<[Arc<Node>; 1]>;

struct Task {
    id: u64,
    /// Whether what the nodes saved stays.
    retains: bool,
    /// Empty if nobody was going to ask: they keep the graph alive, which is freed while it is swept otherwise.
    roots: Roots,
    within: Option<Within>,
    /// The nodes that the sweep goes to, once somebody has asked.
    reach: Option<FxHashSet<u64>>,
    callbacks: Vec<Callback>,
}

static NEXT: AtomicU64 = AtomicU64::new(0);
static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on sweeps can tell where they go.
pub fn expect_questions() {
    ASKED.store(true, Relaxed);
}
/// Whether sweeps must be able to tell where they go.
pub(super) fn may_be_asked() -> bool {
    ASKED.load(Relaxed)
}

thread_local! {
    static TASKS: RefCell<Vec<Task>> = const { RefCell::new(Vec::new()) };
}

/// A sweep that runs; over when dropped.
pub(super) struct RunningTask(());

impl RunningTask {
    pub(super) fn start(roots: Roots, within: Option<Within>, retains: bool) -> RunningTask {
        let id = NEXT.fetch_add(1, Relaxed);
        TASKS.with_borrow_mut(|t| t.push(Task { id, retains, roots, within, reach: None, callbacks: Vec::new() }));
        RunningTask(())
    }

    /// Runs the callbacks, also those that callbacks add.
    pub(super) fn finish(self) -> Result<()> {
        loop {
            let callbacks = TASKS.with_borrow_mut(|t| t.last_mut().map(|t| std::mem::take(&mut t.callbacks)));
            match callbacks {
                Some(callbacks) if !callbacks.is_empty() => callbacks.into_iter().try_for_each(|f| f())?,
                _ => return Ok(()),
            }
        }
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        let task = TASKS.with_borrow_mut(Vec::pop);
        drop(task);
    }
}

/// A number for the innermost sweep that runs on this thread.
pub fn current() -> Option<u64> {
    TASKS.with_borrow(|t| t.last().map(|t| t.id))
}

/// Whether what nodes saved stays when the innermost sweep that runs on this thread has used it.
pub fn retains() -> bool {
    TASKS.with_borrow(|t| t.last().is_some_and(|t| t.retains))
}

/// Whether the innermost sweep goes to this node; `None` outside of sweeps. Sweeps that began before
/// [`expect_questions`] do not know, and say yes.
pub fn goes_to(node: &Node) -> Option<bool> {
    TASKS.with_borrow_mut(|tasks| {
        let task = tasks.last_mut()?;
        if task.within.as_ref().is_some_and(|w| !w.contains(&node.seq)) {
            return Some(false);
        }
        if task.roots.is_empty() {
            return Some(true);
        }
        let reach = task.reach.get_or_insert_with(|| {
            let mut seen: FxHashSet<u64> = task.roots.iter().map(|n| n.seq).collect();
            let mut stack: Vec<Arc<Node>> = task.roots.to_vec();
            while let Some(node) = stack.pop() {
                let next = node.edges.iter().flatten().filter(|e| seen.insert(e.node.seq));
                stack.extend(next.map(|e| e.node.clone()));
            }
            seen
        });
        Some(reach.contains(&node.seq))
    })
}

/// Runs `f` when the innermost sweep has ended well; gives it back outside of sweeps.
pub fn at_end(f: Callback) -> std::result::Result<(), Callback> {
    TASKS.with_borrow_mut(|t| match t.last_mut() {
        Some(task) => {
            task.callbacks.push(f);
            Ok(())
        }
        None => Err(f),
    })
}
