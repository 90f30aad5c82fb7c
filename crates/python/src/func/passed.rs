//! Arguments that a transform passes on as they are: the function may write into them what depends on its inputs, as into
//! tensors that it made. Afterwards they hold the plain values.
//!
//! NOTE which tensors these are is only asked when such a write happens; a call leaves no more than where its arguments are.

use super::tree::Tree;
use crate::door::vectorcall::Call;
use crate::tensor;
use crate::tensor::PyTensor;
use pullback::core::tensor::Payload;
use pullback::core::{LevelId, Tensor, level};
use pullback::skin::Cell;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::ptr;
use std::sync::Arc;

struct TransformFrame {
    call: *const Call<'static>,
    before: *const TransformFrame,
    /// What was written to, and where it was made.
    admitted: RefCell<Vec<(Arc<Cell>, LevelId)>>,
}

thread_local! {
    /// The innermost call that runs on this thread.
    static TOP: std::cell::Cell<*const TransformFrame> = const { std::cell::Cell::new(ptr::null()) };
}

struct Leave<'a>(&'a TransformFrame);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        TOP.set(self.0.before);
        for (cell, birth) in self.0.admitted.take().into_iter().rev() {
            cell.dismiss(birth);
        }
    }
}

/// Runs a transform that passes on some of the arguments of the call.
#[inline]
pub fn run<R>(call: &Call<'_>, f: impl FnOnce() -> R) -> R {
    if call.positional() + call.keywords() < 2 {
        return f();
    }
    let frame = TransformFrame { call: ptr::from_ref(call).cast(), before: TOP.get(), admitted: RefCell::default() };
    TOP.set(&raw const frame);
    let _leave = Leave(&frame);
    f()
}

/// Whether the value has only tapes and tangents of transforms above the level.
fn is_followed_above(new: &Tensor, allowed: LevelId) -> bool {
    let mut t = Some(new);
    while let Some(x) = t.filter(|x| x.level() > allowed) {
        if !matches!(x.payload(), Some(Payload::Taped { .. } | Payload::Dual { .. })) {
            return false;
        }
        t = x.below();
    }
    new.level() > allowed
}

/// A value of a transform is about to be written into a tensor: one that was passed on may hold it until the call ends.
#[cold]
#[inline(never)]
pub fn admit(t: &PyTensor, new: &Tensor) {
    let mut next = TOP.get();
    if next.is_null() {
        return;
    }
    let live = |id: LevelId| if level::is_live(id) { id } else { LevelId::DENSE };
    let known = t.alone();
    let allowed = |old: &Tensor, birth: LevelId| live(old.level()).max(live(birth));
    if known.is_some_and(|(old, birth)| !is_followed_above(new, allowed(&old, birth))) {
        return;
    }
    let cell = t.cell().of_view();
    let Ok(old) = cell.read() else { return };
    if !cell.is_root() || !is_followed_above(new, allowed(&old, cell.birth())) {
        return;
    }
    while !next.is_null() {
        // SAFETY: `run` keeps its frame in place, and the call that it points to, until it is taken off this list.
        let (frame, call) = unsafe { (&*next, &*(*next).call) };
        if is_argument(call, t, &cell) {
            frame.admitted.borrow_mut().push((cell.clone(), cell.birth()));
            cell.admit(new.level());
            return;
        }
        next = frame.before;
    }
}

/// Whether the tensor, or what it is a view of, is somewhere in the arguments of a call.
fn is_argument(call: &Call<'_>, t: &PyTensor, cell: &Arc<Cell>) -> bool {
    let is_it = |p: &PyTensor| ptr::eq(p, t) || (p.alone().is_none() && Arc::ptr_eq(&p.cell(), cell));
    let has = |o: &Bound<'_, PyAny>| {
        let Ok((leaves, _)) = Tree::leaves(o) else { return false };
        leaves.iter().any(|leaf| tensor::cell(leaf).is_some_and(is_it))
    };
    let Ok((args, kwargs)) = call.arguments() else { return false };
    args.iter().any(|o| has(&o)) || kwargs.values().iter().any(|o| has(&o))
}
