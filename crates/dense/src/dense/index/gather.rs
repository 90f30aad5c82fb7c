//! One index per element.

use super::find_bad;
use super::moves::by_width;
use crate::bail;
use crate::base::{Result, Shape, TypedShape};
use crate::dense::array::{Array, Written};
use crate::dense::parallel::{self, Shared};
use crate::dense::reduce::plan::{Axis, Walk, volume};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Elements of a row that are handled at once.
const RUN: usize = 1 << 15;

/// `a` and `index` with a dimension if they have none, and the checks that all of this family share.
pub(super) fn prepare(op: &str, a: &Array, index: &Array, dim: usize) -> Result<(Array, Array)> {
    let one = Shape::from([1]);
    let a = if a.rank() == 0 { a.reshape(&one)? } else { a.clone() };
    let index = if index.rank() == 0 { index.reshape(&one)? } else { index.clone() };
    check_index(op, a.shape(), index.form(), dim)?;
    Ok((a, index))
}

/// The size of a dimension, where 0-d counts as one element.
pub(super) fn size_at(shape: &Shape, d: usize) -> usize {
    shape.get(d).copied().unwrap_or(1)
}

/// An error if an array like this cannot be indexed along `dim` by indices like these; 0-d counts as one element.
pub fn check_index(op: &str, a: &Shape, (dtype, index): TypedShape<'_>, dim: usize) -> Result<()> {
    super::require_indices(op, dtype)?;
    if index.numel() == 0 {
        return Ok(());
    }
    if index.rank().max(1) != a.rank().max(1) {
        bail!(Runtime, "{op}(): Index tensor must have the same number of dimensions as input tensor");
    }
    if !(0..a.rank().max(1)).all(|d| d == dim || size_at(index, d) <= size_at(a, d)) {
        bail!(
            Runtime,
            "{op}(): Size does not match: expected index {index} to be no larger than self {a} apart from dimension {dim}"
        );
    }
    Ok(())
}

/// Loops over the elements of an index: steps in the array (0 along `dim`) and in the index.
pub(super) fn index_axes(steps: &[isize], index: &Array, dim: usize) -> SmallVec<[Axis; 6]> {
    let step = |d: usize| if d == dim { 0 } else { steps[d] };
    index
        .shape()
        .iter()
        .zip(index.strides())
        .enumerate()
        .map(|(d, (&n, i))| Axis { n, step: step(d), out: i })
        .collect()
}

/// `out[i][j] = a[index[i][j]][j]` for `dim` 0, and so on; the result has the shape of `index`.
///
/// Errors: `Runtime` if the shapes do not fit, `Index` for an index outside `0..a.shape()[dim]`.
pub fn gather(a: &Array, dim: usize, index: &Array) -> Result<Array> {
    let shape = index.shape().clone();
    let (a, index) = prepare("gather", a, index, dim)?;
    let size = a.shape()[dim];
    let bad = AtomicBool::new(false);
    let out = Array::build_bytes(a.dtype(), shape, |out, n| {
        if n > 0 && size > 0 {
            by_width!(a.dtype().size(), T => {
                // SAFETY: `out` holds one element per index.
                unsafe { gather_as::<T>(&a, dim, &index, out.cast(), &bad) }
            });
        } else if n > 0 {
            bad.store(true, Relaxed);
        }
        // SAFETY: each element was written; where there is none to take, the array is dropped unread.
        unsafe { Written::all() }
    })?;
    if bad.into_inner() {
        return Err(find_bad("gather", &index, dim, size));
    }
    Ok(out)
}

/// # Safety
/// `out` holds one element per index; `a` is not empty along `dim`.
unsafe fn gather_as<T: Copy>(a: &Array, dim: usize, index: &Array, out: *mut T, bad: &AtomicBool) {
    let (steps, size) = (a.strides(), a.shape()[dim] as u64);
    let axes = index_axes(&steps, index, dim);
    let Some((&row, outer)) = axes.split_last() else { return };
    let runs = row.n.div_ceil(RUN);
    let (src, indices, out) = (a.ptr() as usize, index.ptr() as usize, Shared(out));
    parallel::ranges(volume(outer) * runs, row.n.min(RUN), &|lo, hi| {
        let mut walk = Walk::new(outer, lo / runs);
        let mut wrong = false;
        for item in lo..hi {
            let first = item % runs * RUN;
            let count = RUN.min(row.n - first);
            // SAFETY: offsets stay inside `a` because every index is brought into range before use.
            unsafe {
                let src = (src as *const T).offset(walk.at + first as isize * row.step);
                let index = (indices as *const i64).offset(walk.out + first as isize * row.out);
                let out = std::slice::from_raw_parts_mut(out.at(item / runs * row.n + first), count);
                wrong |= match (row.out, row.step, steps[dim]) {
                    (1, 0, 1) => gather_line(src, index, out, size, (1, 0, 1)),
                    (1, 1, step) => gather_line(src, index, out, size, (1, 1, step)),
                    all => gather_line(src, index, out, size, all),
                };
            }
            if (item + 1).is_multiple_of(runs) {
                walk.next();
            }
        }
        if wrong {
            bad.store(true, Relaxed);
        }
    });
}

/// Takes `src[j * row + index[j] * step]` for each `j` of a line, where the steps are (of the index, `row`, `step`). Whether
/// some index is not below `size`.
///
/// # Safety
/// The line of indices, and each of these elements for indices below `size` and for 0, can be read.
#[inline(always)]
unsafe fn gather_line<T: Copy>(
    src: *const T,
    index: *const i64,
    out: &mut [T],
    size: u64,
    (along, row, step): (isize, isize, isize),
) -> bool {
    let mut wrong = false;
    for (j, o) in (0..).zip(out) {
        // SAFETY: by the contract.
        unsafe {
            let i = *index.offset(j * along) as u64;
            wrong |= i >= size;
            let i = if i < size { i } else { 0 };
            *o = *src.offset(j * row + i as isize * step);
        }
    }
    wrong
}
