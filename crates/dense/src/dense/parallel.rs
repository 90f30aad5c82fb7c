//! Splitting loops over tasks.

use super::threads;

/// Elements below which a loop stays on the calling thread.
const SMALL: usize = 200_000;
/// Elements that a task should have at least.
const TASK: usize = 1 << 16;

/// Memory that tasks write disjoint parts of.
pub struct Shared<T>(pub *mut T);
// SAFETY: who dereferences the pointers promises that no two tasks meet.
unsafe impl<T> Sync for Shared<T> {}
impl<T> Shared<T> {
    #[inline]
    pub fn at(&self, i: usize) -> *mut T {
        self.0.wrapping_add(i)
    }
}

/// Calls `body(lo, hi)` for ranges that cover `0..count` once; `weight` is the work of one step in elements.
///
/// The ranges depend on `count` and `weight` only. `body` must write different elements for different steps.
#[inline]
pub fn ranges(count: usize, weight: usize, body: &(dyn Fn(usize, usize) + Sync)) {
    if count == 0 {
        return;
    }
    if count.saturating_mul(weight) < SMALL {
        return body(0, count);
    }
    let step = (TASK / weight.max(1)).max(1);
    let step = step.max(count.div_ceil(4096));
    let tasks = count.div_ceil(step);
    let task = |t: usize| body(t * step, count.min((t + 1) * step));
    threads::run(tasks, &task);
}
