//! Folds whose innermost loop is kept: rows are joined elementwise.

use super::drive::{PIECE, ReductionTask};
use super::kernel;
use super::op::{Op, PairwiseRows};
use super::plan::{Axis, ReductionPlan, Walk, volume};
use crate::dense::parallel::{self, Shared};

/// Accumulators of one tile.
const TILE: usize = 2048;
/// Elements that are converted or gathered at once: as many rows as one step of the kernel takes.
const SCRATCH: usize = 8 * TILE;
/// Rows that are added up before partial sums are joined pairwise.
const ROWS: usize = 256;
/// Elements of a matrix whose columns are folded without tiles.
const SMALL: usize = 64;

impl<O: Op> ReductionTask<'_, O> {
    pub(super) fn is_small(&self) -> bool {
        let rows = self.plan.reduced.first().map_or(1, |a| a.n);
        self.is_direct() && self.plan.reduced.len() < 2 && self.plan.inner.n * rows <= SMALL
    }

    /// The matrices of one reduced and one kept loop are so small that setting up tiles would cost more than folding.
    pub(super) unsafe fn small_columns(&self) {
        let plan = self.plan;
        let n = plan.inner.n;
        let rows = plan.reduced.first().map_or((1, 0), |a| (a.n, a.step));
        let (outer, last) = match plan.kept.split_last() {
            Some((last, outer)) => (outer, *last),
            None => (&[][..], Axis { n: 1, step: 0, out: 0 }),
        };
        let packed = last.out == n as isize * plan.inner.out;
        parallel::ranges(volume(outer) * last.n, n * rows.0, &|lo, hi| {
            let mut results = [O::START; 4 * SMALL];
            let mut walk = Walk::new(outer, lo / last.n);
            let mut skip = lo % last.n;
            let mut left = hi - lo;
            while left > 0 {
                let count = (4 * SMALL / n).min(last.n - skip).min(left);
                let results = &mut results[..count * n];
                let from = plan.start + walk.at + skip as isize * last.step;
                let to = plan.out_start + walk.out + skip as isize * last.out;
                // SAFETY: the matrices lie inside the plan; each task writes its own outputs.
                unsafe {
                    kernel::small_columns::<O>(self.source.at(from).cast(), last.step, rows, n, results);
                    if packed {
                        (self.sink.store)(results, self.sink.at(to), plan.inner.out);
                    } else {
                        for (m, row) in results.chunks_exact(n).enumerate() {
                            (self.sink.store)(row, self.sink.at(to + m as isize * last.out), plan.inner.out);
                        }
                    }
                }
                (left, skip) = (left - count, skip + count);
                if skip == last.n {
                    skip = 0;
                    walk.next();
                }
            }
        });
    }

    /// The innermost loop is kept: rows are joined elementwise, a tile of columns at a time.
    pub(super) unsafe fn columns(&self) {
        let plan = self.plan;
        let grid = Grid::new(plan);
        let items = grid.outer * grid.tiles * grid.pieces;
        let width = grid.tile.min(plan.inner.n);
        let mut partial = vec![O::START; if grid.pieces > 1 { items * width } else { 0 }];
        let shared = Shared(partial.as_mut_ptr());
        let work = (width * grid.rows * grid.units).div_ceil(grid.pieces);
        parallel::ranges(items, work, &|lo, hi| {
            let rows = plan.reduced.last().map_or(1, |a| a.n);
            let spare = if self.is_direct() { 0 } else { SCRATCH.min(rows * width) };
            let mut scratch = vec![O::START; width + spare];
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
            None => (&[][..], Axis { n: 1, step: 0, out: 0 }),
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

    fn new(plan: &ReductionPlan) -> Grid {
        let n = plan.inner.n;
        let tile = TILE;
        let rows = plan.reduced.last().copied().unwrap_or(Axis { n: 1, step: 0, out: 0 });
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
