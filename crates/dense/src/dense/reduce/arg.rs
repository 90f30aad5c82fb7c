//! Where the greatest and the least elements are.

use super::kernel;
use super::load::{Load, Source};
use super::op::{Max, Min, Op};
use super::plan::{Axis, ReductionPlan, Walk, result_shape, volume};
use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::dense::array::{Array, Written};
use crate::dense::parallel::{self, Shared};
use half::{bf16, f16};

/// A fold that takes one of its elements.
trait Extreme: Op {
    /// Whether `x` is to be taken instead of an earlier `best`; NaN beats every number.
    fn beats(x: Self::A, best: Self::A) -> bool;
    /// Whether `x` is as good as `best`.
    fn equals(x: Self::A, best: Self::A) -> bool;
}

macro_rules! extreme {
    ($($t:ty),*) => {$(
        impl Extreme for Max<$t> {
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn beats(x: $t, best: $t) -> bool { (x > best) | ((x != x) & (best == best)) }
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn equals(x: $t, best: $t) -> bool { (x == best) | ((x != x) & (best != best)) }
        }
        impl Extreme for Min<$t> {
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn beats(x: $t, best: $t) -> bool { (x < best) | ((x != x) & (best == best)) }
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn equals(x: $t, best: $t) -> bool { (x == best) | ((x != x) & (best != best)) }
        }
    )*};
}
extreme!(u8, i8, i16, i32, i64, f32, f64);

/// Elements that are searched at once.
const BLOCK: usize = 1024;
/// Elements of one piece of a long row.
const PIECE: usize = 1 << 18;
/// Columns that are searched at once.
const TILE: usize = 2048;

struct Search<'a, A> {
    plan: &'a ReductionPlan,
    /// The loop that is searched.
    axis: Axis,
    source: &'a Source<A>,
    out: ArgOut,
}

/// Where the result of output `i` goes: an index, and a copy of the element.
#[derive(Clone, Copy)]
struct ArgOut {
    indices: *mut i64,
    values: *mut u8,
    size: usize,
}
// SAFETY: tasks write different outputs.
unsafe impl Sync for ArgOut {}

impl ArgOut {
    /// # Safety
    /// `i` is an output, `element` is readable.
    #[inline]
    unsafe fn put(&self, i: isize, index: i64, element: *const u8) {
        // SAFETY: by the contract.
        unsafe {
            self.indices.offset(i).write(index);
            if !self.values.is_null() {
                let dst = self.values.offset(i * self.size as isize);
                match self.size {
                    1 => dst.write(element.read()),
                    2 => dst.cast::<u16>().write(element.cast::<u16>().read()),
                    4 => dst.cast::<u32>().write(element.cast::<u32>().read()),
                    _ => dst.cast::<u64>().write(element.cast::<u64>().read()),
                }
            }
        }
    }
}

/// The first best element of a row, and its position.
///
/// # Safety
/// `n` elements, `step` apart from element `first` of the source on, are readable; `n` is positive.
unsafe fn search_row<O: Extreme>(
    source: &Source<O::A>,
    first: isize,
    step: isize,
    n: usize,
    scratch: &mut [O::A; BLOCK],
) -> (O::A, usize) {
    let direct = source.direct && step == 1;
    // SAFETY: by the contract.
    let mut read = |lo: usize, len: usize| unsafe {
        let src = source.at(first + lo as isize * step);
        if direct {
            return std::slice::from_raw_parts(src.cast::<O::A>(), len);
        }
        (source.load)(src, step, &mut scratch[..len]);
        std::slice::from_raw_parts(scratch.as_ptr(), len)
    };
    let (mut best, mut block) = (O::START, None);
    for lo in (0..n).step_by(BLOCK) {
        let x = kernel::row::<O>(read(lo, BLOCK.min(n - lo)));
        if block.is_none() || O::beats(x, best) {
            (best, block) = (x, Some(lo));
        }
    }
    let lo = block.unwrap_or(0);
    (best, lo + position::<O>(read(lo, BLOCK.min(n - lo)), best))
}

/// Where the first element that equals `best` is; it is there. Looks at whole runs first, for that vectorises.
fn position<O: Extreme>(x: &[O::A], best: O::A) -> usize {
    const RUN: usize = 32;
    let (runs, _) = x.as_chunks::<RUN>();
    let has = |run: &[O::A; RUN]| run.iter().fold(false, |found, &x| found | O::equals(x, best));
    let first = runs.iter().position(has).unwrap_or(runs.len()) * RUN;
    first + x[first..].iter().position(|&x| O::equals(x, best)).unwrap_or(0)
}

impl<A: Copy + Send + Sync> Search<'_, A> {
    /// # Safety
    /// The plan's elements are readable and the outputs writable.
    unsafe fn rows<O: Extreme<A = A>>(&self) {
        let Axis { n, step, .. } = self.axis;
        let pieces = n.div_ceil(PIECE);
        let outputs = volume(&self.plan.kept);
        let mut found = vec![(O::START, 0usize); if pieces > 1 { outputs * pieces } else { 0 }];
        let found_at = Shared(found.as_mut_ptr());
        parallel::ranges(outputs * pieces, n.min(PIECE), &|lo, hi| {
            let mut walk = Walk::new(&self.plan.kept, lo / pieces);
            let mut scratch = [O::START; BLOCK];
            for item in lo..hi {
                let from = item % pieces * PIECE;
                let first = self.plan.start + walk.at;
                // SAFETY: the piece lies inside the plan; each item writes its own result.
                unsafe {
                    let start = first + from as isize * step;
                    let (best, at) = search_row::<O>(self.source, start, step, PIECE.min(n - from), &mut scratch);
                    if pieces == 1 {
                        self.put(walk.out, first, at);
                    } else {
                        found_at.at(item).write((best, from + at));
                    }
                }
                if (item + 1).is_multiple_of(pieces) {
                    walk.next();
                }
            }
        });
        let mut walk = Walk::new(&self.plan.kept, 0);
        for parts in found.chunks_exact(pieces.max(1)) {
            let (_, at) = parts[1..].iter().fold(parts[0], |b, &x| if O::beats(x.0, b.0) { x } else { b });
            // SAFETY: as above.
            unsafe { self.put(walk.out, self.plan.start + walk.at, at) };
            walk.next();
        }
    }

    unsafe fn put(&self, out: isize, first: isize, at: usize) {
        let element = self.source.at(first + at as isize * self.axis.step);
        // SAFETY: by the caller's choice of output and position.
        unsafe { self.out.put(self.plan.out_start + out, at as i64, element) }
    }

    /// # Safety
    /// As [`Search::rows`]; the searched loop is shorter than 2³².
    unsafe fn columns<O: Extreme<A = A>>(&self) {
        let inner = self.plan.inner;
        let tiles = inner.n.div_ceil(TILE);
        let items = volume(&self.plan.kept) * tiles;
        parallel::ranges(items, self.axis.n * TILE.min(inner.n), &|lo, hi| {
            let (mut best, mut index, mut row) = ([O::START; TILE], [0u32; TILE], [O::START; TILE]);
            for item in lo..hi {
                let walk = Walk::new(&self.plan.kept, item / tiles);
                let column = item % tiles * TILE;
                let width = TILE.min(inner.n - column);
                let first = self.plan.start + walk.at + column as isize * inner.step;
                let (best, index, row) = (&mut best[..width], &mut index[..width], &mut row[..width]);
                index.fill(0);
                // SAFETY: the tile lies inside the plan; each item writes its own outputs.
                unsafe {
                    (self.source.load)(self.source.at(first), inner.step, best);
                    self.search_tile::<O>(first, best, index, row);
                    for (j, &at) in index.iter().enumerate() {
                        let out = walk.out + (column + j) as isize * inner.out;
                        self.put(out, first + j as isize * inner.step, at as usize);
                    }
                }
            }
        });
    }

    unsafe fn search_tile<O: Extreme<A = A>>(&self, first: isize, best: &mut [A], index: &mut [u32], row: &mut [A]) {
        let inner = self.plan.inner;
        let direct = self.source.direct && inner.step == 1;
        for r in 1..self.axis.n {
            let src = self.source.at(first + r as isize * self.axis.step);
            // SAFETY: by the caller's choice of tile.
            let row = unsafe {
                if direct {
                    std::slice::from_raw_parts(src.cast::<A>(), best.len())
                } else {
                    (self.source.load)(src, inner.step, row);
                    &*row
                }
            };
            take_better::<O>(row, r as u32, best, index);
        }
    }
}

#[inline(always)]
fn take_better_body<O: Extreme>(row: &[O::A], r: u32, best: &mut [O::A], index: &mut [u32]) {
    const RUN: usize = 32;
    let (rows, row_rest) = row.as_chunks::<RUN>();
    let (bests, best_rest) = best.as_chunks_mut::<RUN>();
    let (indices, index_rest) = index.as_chunks_mut::<RUN>();
    for ((x, b), i) in rows.iter().zip(bests).zip(indices) {
        // Whole runs are stored at once: stores on a condition would keep this from being vectorised.
        let (old, old_index) = (*b, *i);
        let (mut new, mut new_index) = (old, old_index);
        for k in 0..RUN {
            let better = O::beats(x[k], old[k]);
            new[k] = if better { x[k] } else { old[k] };
            new_index[k] = if better { r } else { old_index[k] };
        }
        (*b, *i) = (new, new_index);
    }
    for ((&x, b), i) in row_rest.iter().zip(best_rest).zip(index_rest) {
        if O::beats(x, *b) {
            (*b, *i) = (x, r);
        }
    }
}

fn take_better<O: Extreme>(row: &[O::A], r: u32, best: &mut [O::A], index: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::dense::isa::{Isa, isa};
        #[target_feature(enable = "avx2,fma")]
        fn v3<O: Extreme>(row: &[O::A], r: u32, best: &mut [O::A], index: &mut [u32]) {
            take_better_body::<O>(row, r, best, index)
        }
        if isa() >= Isa::V3 {
            // SAFETY: the features are there.
            return unsafe { v3::<O>(row, r, best, index) };
        }
    }
    take_better_body::<O>(row, r, best, index)
}

/// Indices, and values if `values` is there, of the best elements along a dimension that is not empty.
fn search<O: Extreme, S: Load<O::A>>(a: &Array, dim: usize, indices: *mut i64, values: *mut u8) {
    let plan = ReductionPlan::new(&a.layout(), &[dim]);
    let axis = if plan.inner_reduced { plan.inner } else { plan.reduced[0] };
    let out = ArgOut { indices, values, size: a.dtype().size() };
    let search = Search { plan: &plan, axis, source: &Source::new::<S>(a.ptr()), out };
    // SAFETY: the plan covers the elements of `a` and of the outputs; `find` checked the length.
    unsafe { if plan.inner_reduced { search.rows::<O>() } else { search.columns::<O>() } }
}

macro_rules! by_dtype {
    ($a:expr, $O:ident, $($args:expr),*) => {
        match $a.dtype() {
            DType::Bool => search::<$O<u8>, bool>($a, $($args),*),
            DType::U8 => search::<$O<u8>, u8>($a, $($args),*),
            DType::I8 => search::<$O<i8>, i8>($a, $($args),*),
            DType::I16 => search::<$O<i16>, i16>($a, $($args),*),
            DType::I32 => search::<$O<i32>, i32>($a, $($args),*),
            DType::I64 => search::<$O<i64>, i64>($a, $($args),*),
            DType::F16 => search::<$O<f32>, f16>($a, $($args),*),
            DType::BF16 => search::<$O<f32>, bf16>($a, $($args),*),
            DType::F32 => search::<$O<f32>, f32>($a, $($args),*),
            DType::F64 => search::<$O<f64>, f64>($a, $($args),*),
            DType::C64 | DType::C128 => {}
        }
    };
}

#[derive(Clone, Copy, PartialEq)]
enum Which {
    Greatest,
    Least,
}

/// Indices (in `dim`) and values of the best elements; the shapes follow `keep`.
fn find(op: &str, a: &Array, dim: usize, keep: bool, which: Which, values: bool) -> Result<(Array, Array)> {
    super::check_extreme(op, a.form(), &[dim])?;
    let n = a.shape().get(dim).copied().unwrap_or(1);
    let shape = result_shape(a.shape(), &[dim], keep);
    if n == 1 || shape.numel() == 0 {
        return Ok((a.reshape(&shape)?, Array::zeros(DType::I64, shape)?));
    }
    // The first of equals counts, so the search must run upwards; columns count in 32 bits.
    let a = &if a.strides()[dim] < 0 || n > u32::MAX as usize {
        a.view(|l| move_last(l, dim))?.contiguous()?.view(|l| move_back(l, dim))?
    } else {
        a.clone()
    };
    let mut best = match values {
        // SAFETY: the search below writes each value beside its index.
        true => Array::build_bytes(a.dtype(), shape.clone(), |_, _| unsafe { Written::all() })?,
        false => a.clone(),
    };
    let to = if values { best.ptr_mut() } else { std::ptr::null_mut() };
    let indices = Array::build_bytes(DType::I64, shape, |out, _| {
        match which {
            Which::Greatest => by_dtype!(a, Max, dim, out.cast(), to),
            Which::Least => by_dtype!(a, Min, dim, out.cast(), to),
        }
        // SAFETY: the search writes each index.
        unsafe { Written::all() }
    })?;
    Ok((best, indices))
}

fn move_last(l: &crate::base::Layout, dim: usize) -> crate::base::Layout {
    let rank = l.shape.rank();
    l.permute(&(0..rank).filter(|&d| d != dim).chain([dim]).collect::<Vec<_>>())
}

fn move_back(l: &crate::base::Layout, dim: usize) -> crate::base::Layout {
    let rank = l.shape.rank();
    l.permute(&(0..dim).chain([rank - 1]).chain(dim..rank - 1).collect::<Vec<_>>())
}

fn arg(op: &str, a: &Array, dim: Option<usize>, keep: bool, which: Which) -> Result<Array> {
    if let Some(dim) = dim {
        return Ok(find(op, a, dim, keep, which, false)?.1);
    }
    if a.numel() == 0 {
        bail!(
            Index,
            "{op}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with \
             the 'dim' argument."
        );
    }
    let flat = a.reshape(&[a.numel()].into())?;
    let index = find(op, &flat, 0, false, which, false)?.1;
    if keep { index.reshape(&Shape::from(vec![1; a.rank()])) } else { Ok(index) }
}

/// Index of the first greatest element along `dim`, or in the flattened array; the first NaN counts as greatest.
///
/// Errors: `Index` if there is no element to take, `NotImplemented` for complex dtypes.
pub fn argmax(a: &Array, dim: Option<usize>, keep: bool) -> Result<Array> {
    arg("argmax", a, dim, keep, Which::Greatest)
}

/// Index of the first least element; otherwise as [`argmax`].
pub fn argmin(a: &Array, dim: Option<usize>, keep: bool) -> Result<Array> {
    arg("argmin", a, dim, keep, Which::Least)
}

/// The greatest elements along `dim` and their (first) indices. Errors as in [`argmax`].
pub fn max_with_index(a: &Array, dim: usize, keep: bool) -> Result<(Array, Array)> {
    find("max", a, dim, keep, Which::Greatest, true)
}

/// The least elements along `dim` and their (first) indices. Errors as in [`argmax`].
pub fn min_with_index(a: &Array, dim: usize, keep: bool) -> Result<(Array, Array)> {
    find("min", a, dim, keep, Which::Least, true)
}
