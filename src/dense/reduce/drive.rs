//! Runs a plan: cuts it into pieces that depend on shape and strides alone, and folds them in a fixed order.

use super::kernel::{self, BLOCK};
use super::load::{Sink, Source};
use super::op::{Op, Pairwise, PairwiseRows};
use super::plan::{Plan, Walk, volume};
use crate::dense::parallel::{self, Shared};

/// Accumulators of one tile.
const TILE: usize = 2048;
/// Elements that are converted or gathered at once.
const SCRATCH: usize = 4096;
/// Rows that are added up before partial sums are joined pairwise.
const ROWS: usize = 256;
/// Elements of one piece of a long fold.
const PIECE: usize = 1 << 18;

/// Folds what `plan` names into `sink`.
///
/// # Safety
/// Every element that the plan reaches from `source` is readable, from `sink` writable, and the two do not overlap.
pub unsafe fn run<O: Op>(plan: &Plan, source: &Source<O::A>, sink: &Sink<O::A>) {
    let job = Job::<O> { plan, source, sink };
    // SAFETY: by the contract.
    unsafe {
        if !plan.inner_reduced {
            job.columns();
        } else if plan.reduced.is_empty() && plan.inner.n <= BLOCK {
            job.short_rows();
        } else {
            job.long_rows();
        }
    }
}

struct Job<'a, O: Op> {
    plan: &'a Plan,
    source: &'a Source<O::A>,
    sink: &'a Sink<O::A>,
}

impl<O: Op> Job<'_, O> {
    fn is_direct(&self) -> bool {
        self.source.direct && self.plan.inner.step == 1
    }

    /// One value per row, and each row fits a block.
    unsafe fn short_rows(&self) {
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

    /// Loads `m` rows of `n` elements, packed, rows `step` apart.
    unsafe fn gather(&self, first: isize, step: isize, m: usize, n: usize, scratch: &mut [O::A]) {
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

    /// One value per output from many blocks: blocks are numbered through all reduced loops.
    unsafe fn long_rows(&self) {
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

    /// The innermost loop is kept: rows are joined elementwise, a tile of columns at a time.
    unsafe fn columns(&self) {
        let plan = self.plan;
        let grid = Grid::new(plan, self.is_direct());
        let items = grid.outer * grid.tiles * grid.pieces;
        let width = grid.tile.min(plan.inner.n);
        let mut partial = vec![O::START; if grid.pieces > 1 { items * width } else { 0 }];
        let shared = Shared(partial.as_mut_ptr());
        let work = (width * grid.rows * grid.units).div_ceil(grid.pieces);
        parallel::ranges(items, work, &|lo, hi| {
            let mut scratch = vec![O::START; width + if self.is_direct() { 0 } else { SCRATCH }];
            let (acc, scratch) = scratch.split_at_mut(width);
            let mut walk = Walk::new(&plan.kept, lo / (grid.tiles * grid.pieces));
            for item in lo..hi {
                let (tile, piece) = (item / grid.pieces % grid.tiles, item % grid.pieces);
                let acc = &mut acc[..width.min(plan.inner.n - tile * width)];
                // SAFETY: the tile lies inside the plan; each item writes its own tile or partial result.
                unsafe {
                    self.fold_tile(walk.at + (tile * width) as isize * plan.inner.step, &grid, piece, acc, scratch);
                    if grid.pieces == 1 {
                        self.store_tile(walk.out, tile * width, acc);
                    } else {
                        std::ptr::copy_nonoverlapping(acc.as_ptr(), shared.at(item * width), acc.len());
                    }
                }
                if (item + 1).is_multiple_of(grid.tiles * grid.pieces) {
                    walk.next();
                }
            }
        });
        if grid.pieces > 1 {
            // SAFETY: as above.
            unsafe { self.join_pieces(&grid, &mut partial, width) };
        }
    }

    unsafe fn store_tile(&self, out: isize, first: usize, acc: &[O::A]) {
        let out_step = self.plan.inner.out;
        let dst = self.plan.out_start + out + first as isize * out_step;
        // SAFETY: by the caller's choice of tile.
        unsafe { (self.sink.store)(acc, self.sink.at(dst), out_step) }
    }

    unsafe fn join_pieces(&self, grid: &Grid, partial: &mut [O::A], width: usize) {
        let mut walk = Walk::new(&self.plan.kept, 0);
        for (i, parts) in partial.chunks_exact_mut(grid.pieces * width).enumerate() {
            let tile = i % grid.tiles;
            let len = width.min(self.plan.inner.n - tile * width);
            let mut tree = PairwiseRows::<O>::new(len);
            for part in parts.chunks_exact_mut(width) {
                tree.push(&mut part[..len]);
            }
            tree.finish(&mut parts[..len]);
            // SAFETY: the tile lies inside the plan.
            unsafe { self.store_tile(walk.out, tile * width, &parts[..len]) };
            if tile + 1 == grid.tiles {
                walk.next();
            }
        }
    }

    /// Folds one piece of the rows above a tile of columns into `acc`.
    unsafe fn fold_tile(&self, at: isize, grid: &Grid, piece: usize, acc: &mut [O::A], scratch: &mut [O::A]) {
        let plan = self.plan;
        let (outer, rows) = match plan.reduced.split_last() {
            Some((last, outer)) => (outer, *last),
            None => (&[][..], super::plan::Axis { n: 1, step: 0, out: 0 }),
        };
        let (lo, hi) = (piece * grid.piece, grid.units.min((piece + 1) * grid.piece));
        let mut walk = Walk::new(outer, lo / grid.blocks);
        let mut block = lo % grid.blocks;
        let mut tree = (hi - lo > 1).then(|| PairwiseRows::<O>::new(acc.len()));
        for _ in lo..hi {
            let first = block * grid.rows;
            let count = grid.rows.min(rows.n - first);
            acc.fill(O::START);
            // SAFETY: the rows lie inside the plan.
            unsafe {
                let from = plan.start + at + walk.at + first as isize * rows.step;
                self.fold_rows(from, rows.step, count, grid.group, acc, scratch);
            }
            if let Some(tree) = &mut tree {
                tree.push(acc);
            }
            block += 1;
            if block == grid.blocks {
                block = 0;
                walk.next();
            }
        }
        if let Some(tree) = &mut tree {
            tree.finish(acc);
        }
    }

    /// Joins `count` rows into `acc`. Adjacent narrow rows are joined `group` at a time as one wide row.
    unsafe fn fold_rows(
        &self,
        from: isize,
        step: isize,
        count: usize,
        group: usize,
        acc: &mut [O::A],
        scratch: &mut [O::A],
    ) {
        let n = acc.len();
        let wide = count / group;
        // SAFETY: by the caller's choice of rows.
        unsafe {
            if wide < 2 || group == 1 {
                return self.join_rows(from, step, count, acc, scratch);
            }
            let mut sums = [O::START; Grid::WIDE];
            let sums = &mut sums[..group * n];
            self.join_rows(from, step * group as isize, wide, sums, scratch);
            let mut half = group;
            while half > 1 {
                half /= 2;
                let (left, right) = sums.split_at_mut(half * n);
                for (l, &r) in left.iter_mut().zip(&*right) {
                    *l = O::join(*l, r);
                }
            }
            for (a, &s) in acc.iter_mut().zip(&*sums) {
                *a = O::join(*a, s);
            }
            let done = wide * group;
            self.join_rows(from + done as isize * step, step, count - done, acc, scratch);
        }
    }

    unsafe fn join_rows(&self, from: isize, step: isize, count: usize, acc: &mut [O::A], scratch: &mut [O::A]) {
        let n = acc.len();
        // SAFETY: by the caller's choice of rows.
        unsafe {
            if self.is_direct() {
                return kernel::columns::<O>(self.source.at(from).cast(), step, count, acc);
            }
            let batch = (scratch.len() / n).min(count).max(1);
            let mut r = 0;
            while r < count {
                let m = batch.min(count - r);
                self.gather(from + r as isize * step, step, m, n, scratch);
                kernel::columns::<O>(scratch.as_ptr(), n as isize, m, acc);
                r += m;
            }
        }
    }
}

/// How the rows above the columns are cut.
struct Grid {
    /// Positions of the kept loops outside.
    outer: usize,
    /// Columns per tile, and tiles.
    tile: usize,
    tiles: usize,
    /// Rows that are joined as one wide row, and rows per block.
    group: usize,
    rows: usize,
    /// Blocks per run of rows, and of one output.
    blocks: usize,
    units: usize,
    /// Blocks per piece, and pieces of one output.
    piece: usize,
    pieces: usize,
}

impl Grid {
    /// Elements of a wide row.
    const WIDE: usize = 256;

    fn new(plan: &Plan, direct: bool) -> Grid {
        let n = plan.inner.n;
        let tile = if direct { TILE } else { SCRATCH / 8 };
        let rows = plan.reduced.last().copied().unwrap_or(super::plan::Axis { n: 1, step: 0, out: 0 });
        let adjacent = rows.step == n as isize * plan.inner.step;
        let group = if adjacent && n < Self::WIDE / 2 {
            let fits = (Self::WIDE / n).min(rows.n).max(1);
            1 << fits.ilog2()
        } else {
            1
        };
        let block = ROWS * group;
        let blocks = rows.n.div_ceil(block);
        let units = volume(&plan.reduced) / rows.n * blocks;
        let piece = (PIECE / (tile.min(n) * block.min(rows.n))).max(1).next_power_of_two();
        Grid {
            outer: volume(&plan.kept),
            tile,
            tiles: n.div_ceil(tile),
            group,
            rows: block,
            blocks,
            units,
            piece,
            pieces: units.div_ceil(piece),
        }
    }
}
