//! Folds whose innermost loop is reduced: one value per row.

use super::drive::{PIECE, ReductionTask};
use super::kernel::{self, BLOCK};
use super::op::{Op, Pairwise};
use super::plan::{Walk, volume};
use crate::dense::parallel::{self, Shared};

/// Elements that are converted or gathered at once.
const SCRATCH: usize = 4096;

impl<O: Op> ReductionTask<'_, O> {
    /// One value per row, and each row fits a block.
    pub(super) unsafe fn short_rows(&self) {
        let outputs = volume(&self.plan.kept);
        let run = self.plan.kept.last().map_or(1, |a| a.n);
        parallel::ranges(outputs, self.plan.inner.n, &|lo, hi| {
            let mut at = lo;
            let mut walk = Walk::new(&self.plan.kept[..self.plan.kept.len().saturating_sub(1)], lo / run);
            let n = self.plan.inner.n;
            let mut scratch = vec![O::START; if self.is_direct() { 0 } else { SCRATCH.min(n * (hi - lo)).max(n) }];
            while at < hi {
                let skip = at % run;
                let count = (run - skip).min(hi - at);
                // SAFETY: the run of rows lies inside the plan.
                unsafe { self.row_run(walk.at, walk.out, skip, count, &mut scratch) };
                at += count;
                walk.next();
            }
        });
    }

    /// `count` rows along the innermost kept loop, from its index `skip` on.
    unsafe fn row_run(&self, at: isize, out: isize, skip: usize, count: usize, scratch: &mut [O::A]) {
        let plan = self.plan;
        let (step, out_step) = plan.kept.last().map_or((0, 1), |a| (a.step, a.out));
        let n = plan.inner.n;
        let mut results = [O::START; 64];
        let batch = if self.is_direct() { results.len() } else { results.len().min(scratch.len() / n) };
        let mut r = 0;
        while r < count {
            let m = batch.min(count - r);
            let first = plan.start + at + (skip + r) as isize * step;
            let results = &mut results[..m];
            // SAFETY: rows and results lie inside the plan; scratch holds m rows.
            unsafe {
                if self.is_direct() {
                    kernel::rows::<O>(self.source.at(first).cast(), step, n, results);
                } else {
                    self.gather(first, step, m, n, scratch);
                    kernel::rows::<O>(scratch.as_ptr(), n as isize, n, results);
                }
                let dst = plan.out_start + out + (skip + r) as isize * out_step;
                (self.sink.store)(results, self.sink.at(dst), out_step);
            }
            r += m;
        }
    }

    /// One value per output from many blocks: blocks are numbered through all reduced loops.
    pub(super) unsafe fn long_rows(&self) {
        let plan = self.plan;
        let n = plan.inner.n;
        let blocks = n.div_ceil(BLOCK);
        let units = volume(&plan.reduced) * blocks;
        let piece = (PIECE / n.min(BLOCK)).next_power_of_two();
        let pieces = units.div_ceil(piece);
        let outputs = volume(&plan.kept);
        let mut partial = vec![O::START; outputs * pieces];
        let shared = Shared(partial.as_mut_ptr());
        parallel::ranges(outputs * pieces, (units / pieces).max(1) * n.min(BLOCK), &|lo, hi| {
            let mut scratch = vec![O::START; if self.is_direct() { 0 } else { n.min(BLOCK) }];
            for item in lo..hi {
                let at = Walk::new(&plan.kept, item / pieces).at;
                let first = item % pieces * piece;
                // SAFETY: the units belong to the plan; each item writes its own partial result.
                unsafe {
                    let x = self.fold_units(at, first, units.min(first + piece), blocks, &mut scratch);
                    shared.at(item).write(x);
                }
            }
        });
        let mut walk = Walk::new(&plan.kept, 0);
        for parts in partial.chunks_exact(pieces) {
            let mut total = parts[0];
            if pieces > 1 {
                let mut tree = Pairwise::<O>::new();
                parts.iter().for_each(|&x| tree.push(x));
                total = tree.finish();
            }
            // SAFETY: one element per output of the plan.
            unsafe { (self.sink.store)(&[total], self.sink.at(plan.out_start + walk.out), 1) };
            walk.next();
        }
    }

    /// Folds the blocks `lo..hi` of one output.
    unsafe fn fold_units(&self, at: isize, lo: usize, hi: usize, blocks: usize, scratch: &mut [O::A]) -> O::A {
        let (n, step) = (self.plan.inner.n, self.plan.inner.step);
        let mut walk = Walk::new(&self.plan.reduced, lo / blocks);
        let mut block = lo % blocks;
        let mut tree = Pairwise::<O>::new();
        for _ in lo..hi {
            let len = BLOCK.min(n - block * BLOCK);
            let src = self.source.at(self.plan.start + at + walk.at + (block * BLOCK) as isize * step);
            // SAFETY: the block lies inside the plan.
            unsafe {
                tree.push(if self.is_direct() {
                    kernel::row::<O>(std::slice::from_raw_parts(src.cast(), len))
                } else {
                    (self.source.load)(src, step, &mut scratch[..len]);
                    kernel::row::<O>(&scratch[..len])
                });
            }
            block += 1;
            if block == blocks {
                block = 0;
                walk.next();
            }
        }
        tree.finish()
    }
}
