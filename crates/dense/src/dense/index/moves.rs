//! Copies between strided places, by the width of an element.

use crate::base::{Layout, Result};
use crate::dense::array::{Array, Written};
use crate::dense::donation;
use smallvec::SmallVec;

pub(crate) use crate::dense::strided::by_width;

/// A contiguous array with elements of its own: those of `a`, if its memory was given up.
pub fn fresh_copy(a: &Array) -> Result<Array> {
    if let Some(own) = donation::take(a) {
        return Ok(own);
    }
    if !a.is_contiguous() {
        return a.contiguous();
    }
    Array::build_bytes(a.dtype(), a.shape().clone(), |out, n| {
        // SAFETY: both hold n contiguous elements.
        unsafe {
            std::ptr::copy_nonoverlapping(a.ptr(), out, n * a.dtype().size());
            Written::all()
        }
    })
}

/// Nested loops of a copy: (length, step in the source, step in the destination), the destination's longest first.
type Loops = SmallVec<[(usize, isize, isize); 6]>;

fn loops(shape: &[usize], src: &[isize], dst: &[isize]) -> Loops {
    let mut all: Loops = SmallVec::new();
    all.extend(shape.iter().zip(src).zip(dst).filter(|((n, _), _)| **n != 1).map(|((&n, &s), &d)| (n, s, d)));
    all.sort_by_key(|&(_, _, d)| std::cmp::Reverse(d.unsigned_abs()));
    let mut merged: Loops = SmallVec::new();
    for (n, s, d) in all {
        match merged.last_mut() {
            Some(o) if o.1 == s * n as isize && o.2 == d * n as isize => *o = (o.0 * n, s, d),
            _ => merged.push((n, s, d)),
        }
    }
    merged
}

/// Copies all elements of `a` to where `layout` (of the same shape) puts them, counted from `dst`.
///
/// # Safety
/// Every element that `layout` names is writable and none overlaps `a`.
pub unsafe fn copy_to(a: &Array, dst: *mut u8, layout: &Layout) {
    if layout.shape.contains(&0) {
        return;
    }
    let loops = loops(&layout.shape, &a.strides(), &layout.strides);
    by_width!(a.dtype().size(), T => {
        // SAFETY: by the contract.
        unsafe { copy_loops(a.ptr().cast::<T>(), dst.cast::<T>().add(layout.offset), &loops) }
    })
}

/// Side of the squares that [`transpose`] moves at once.
const SIDE: usize = 8;
/// Bytes below which both sides of a copy stay in the cache, so that squares gain nothing.
const CACHED: usize = 1 << 17;

/// Moves a square whose columns are contiguous in the source and whose rows are in the destination.
///
/// # Safety
/// All its elements are readable and writable.
#[inline(always)]
unsafe fn square<T: Copy>(src: *const T, dst: *mut T, column: isize, row: isize) {
    // SAFETY: by the contract.
    unsafe {
        let mut tile = [[src.read(); SIDE]; SIDE];
        for j in 0..SIDE {
            for (i, line) in tile.iter_mut().enumerate() {
                line[j] = src.offset(j as isize * column).add(i).read();
            }
        }
        for (i, line) in tile.iter().enumerate() {
            dst.offset(i as isize * row).cast::<[T; SIDE]>().write_unaligned(*line);
        }
    }
}

/// Copies where loop `k` steps through the source by one and the last loop through the destination: in squares, so
/// that each cache line is used up while it is there.
///
/// # Safety
/// As [`copy_loops`].
unsafe fn transpose<T: Copy>(src: *const T, dst: *mut T, loops: &[(usize, isize, isize)], k: usize) {
    let last = loops.len() - 1;
    let ((m, sm, dm), (n, sn, dn)) = (loops[k], loops[last]);
    let others: Loops = loops.iter().enumerate().filter(|(i, _)| *i != k && *i != last).map(|(_, &l)| l).collect();
    let count: usize = others.iter().map(|l| l.0).product();
    for position in 0..count {
        let (mut rest, mut from, mut to) = (position, 0, 0);
        for &(size, s, d) in others.iter().rev() {
            let i = (rest % size) as isize;
            rest /= size;
            (from, to) = (from + i * s, to + i * d);
        }
        for i0 in (0..m).step_by(SIDE) {
            for j0 in (0..n).step_by(SIDE) {
                let (rows, columns) = (SIDE.min(m - i0), SIDE.min(n - j0));
                let (i0, j0) = (i0 as isize, j0 as isize);
                // SAFETY: by the contract.
                unsafe {
                    let (src, dst) = (src.offset(from + i0 * sm + j0 * sn), dst.offset(to + i0 * dm + j0 * dn));
                    if (sm, dn, rows, columns) == (1, 1, SIDE, SIDE) {
                        square(src, dst, sn, dm);
                        continue;
                    }
                    for i in 0..rows as isize {
                        for j in 0..columns as isize {
                            dst.offset(i * dm + j * dn).write(src.offset(i * sm + j * sn).read());
                        }
                    }
                }
            }
        }
    }
}

/// # Safety
/// The loops reach only readable elements from `src` and writable ones from `dst`.
unsafe fn copy_loops<T: Copy>(src: *const T, dst: *mut T, loops: &[(usize, isize, isize)]) {
    let Some((&(n, s, d), outer)) = loops.split_last() else {
        // SAFETY: no loop is one element.
        return unsafe { dst.write(src.read()) };
    };
    if s.abs() != 1
        && loops.iter().map(|l| l.0).product::<usize>() * size_of::<T>() > CACHED
        && let Some(k) = outer.iter().position(|l| l.1.abs() == 1 && l.0 >= 4)
    {
        // SAFETY: the same loops in another order.
        return unsafe { transpose(src, dst, loops, k) };
    }
    let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
    let (mut from, mut to) = (0isize, 0isize);
    'rows: loop {
        // SAFETY: by the contract.
        unsafe {
            if s == 1 && d == 1 {
                std::ptr::copy_nonoverlapping(src.offset(from), dst.offset(to), n);
            } else {
                for i in 0..n as isize {
                    dst.offset(to + i * d).write(src.offset(from + i * s).read());
                }
            }
        }
        for k in (0..outer.len()).rev() {
            let (n, s, d) = outer[k];
            index[k] += 1;
            (from, to) = (from + s, to + d);
            if index[k] < n {
                continue 'rows;
            }
            (from, to) = (from - s * n as isize, to - d * n as isize);
            index[k] = 0;
        }
        return;
    }
}
