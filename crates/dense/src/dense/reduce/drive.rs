//! Runs a plan: cuts it into pieces that depend on shape and strides alone, and folds them in a fixed order.

use super::kernel::BLOCK;
use super::load::{self, Sink, Source};
use super::op::Op;
use super::plan::{ReductionPlan, volume};

/// Elements of one piece of a long fold.
pub(super) const PIECE: usize = 1 << 18;

/// Folds what `plan` names into `sink`.
///
/// # Safety
/// Every element that the plan reaches from `source` is readable, from `sink` writable, and the two do not overlap.
pub unsafe fn run<O: Op>(plan: &ReductionPlan, source: &Source<O::A>, sink: &Sink<O::A>) {
    let job = ReductionTask::<O> { plan, source, sink };
    // SAFETY: by the contract.
    unsafe {
        if !plan.inner_reduced {
            if job.is_small() { job.small_columns() } else { job.columns() }
        } else if is_two_step(plan) {
            two_steps::<O>(plan, source, sink);
        } else if plan.reduced.is_empty() && plan.inner.n <= BLOCK {
            job.short_rows();
        } else {
            job.long_rows();
        }
    }
}

/// Whether short rows are to be joined elementwise before each is folded.
fn is_two_step(plan: &ReductionPlan) -> bool {
    !plan.reduced.is_empty() && !plan.kept.is_empty() && plan.inner.n < 64
}

/// Folds all reduced loops but the innermost into an array of rows, and then the rows.
///
/// # Safety
/// As [`run`].
unsafe fn two_steps<O: Op>(plan: &ReductionPlan, source: &Source<O::A>, sink: &Sink<O::A>) {
    let n = plan.inner.n;
    let mut rows = vec![O::START; volume(&plan.kept) * n];
    let (first, second) = plan.split();
    let (load, store) = (load::load_same::<O::A>, load::store_same::<O::A>);
    let base = rows.as_mut_ptr().cast::<u8>();
    // SAFETY: the two plans share the array of rows; the rest by the contract.
    unsafe {
        run::<O>(&first, source, &Sink { base, size: size_of::<O::A>(), store });
        run::<O>(&second, &Source { base, size: size_of::<O::A>(), direct: true, load }, sink);
    }
}

pub(super) struct ReductionTask<'a, O: Op> {
    pub(super) plan: &'a ReductionPlan,
    pub(super) source: &'a Source<O::A>,
    pub(super) sink: &'a Sink<O::A>,
}

impl<O: Op> ReductionTask<'_, O> {
    pub(super) fn is_direct(&self) -> bool {
        self.source.direct && self.plan.inner.step == 1
    }

    /// Loads `m` rows of `n` elements, packed, rows `step` apart.
    pub(super) unsafe fn gather(&self, first: isize, step: isize, m: usize, n: usize, scratch: &mut [O::A]) {
        let inner = self.plan.inner.step;
        // SAFETY: by the caller's choice of rows.
        unsafe {
            if step == inner * n as isize {
                return (self.source.load)(self.source.at(first), inner, &mut scratch[..m * n]);
            }
            for (r, row) in scratch.chunks_exact_mut(n).take(m).enumerate() {
                (self.source.load)(self.source.at(first + r as isize * step), inner, row);
            }
        }
    }
}
