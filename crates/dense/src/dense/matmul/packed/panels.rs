//! Blocks of an operand in the order in which tiles read them.

use crate::dense::matmul::Mat;
use crate::dense::matmul::simd::SimdFloat;

/// Panels of `width` lines of `from`, which are its rows: for each of `depth` positions, the elements of all lines. The
/// last panel is filled up with zeros.
///
/// # Safety
/// `from` has `lines` rows of `depth` elements; there is room for `lines`, rounded up to whole panels, of `depth`.
#[inline(always)]
pub unsafe fn pack<T: SimdFloat>(from: Mat<T>, lines: usize, depth: usize, width: usize, to: *mut T) {
    for i in (0..lines).step_by(width) {
        // SAFETY: by the contract.
        unsafe { panel(from.offset(i, 0), (width.min(lines - i), width), depth, to.add(i * depth)) }
    }
}

/// # Safety
/// As [`pack`], for one panel.
#[inline(always)]
unsafe fn panel<T: SimdFloat>(from: Mat<T>, (lines, width): (usize, usize), depth: usize, to: *mut T) {
    // SAFETY: by the contract.
    unsafe {
        if lines < width {
            for p in 0..depth {
                for q in lines..width {
                    to.add(p * width + q).write(T::zero());
                }
            }
        } else if from.rs == 1 {
            for p in 0..depth {
                to.add(p * width).copy_from_nonoverlapping(from.offset(0, p).ptr, width);
            }
            return;
        }
        // Few lines at once: more could meet in the same places of the first cache.
        let mut q = 0;
        for count in [4, 2, 1] {
            while q + count <= lines {
                interleave(from.offset(q, 0), count, depth, width, to.add(q));
                q += count;
            }
        }
    }
}

/// `count` lines of `depth` elements, which come to lie `width` apart.
///
/// # Safety
/// As [`pack`].
#[inline(always)]
unsafe fn interleave<T: SimdFloat>(from: Mat<T>, count: usize, depth: usize, width: usize, to: *mut T) {
    let mut p = 0;
    // SAFETY: by the contract; four positions from p on are inside.
    unsafe {
        if from.cs == 1 && count > 1 {
            while p + 4 <= depth {
                let (from, rs, to) = (from.offset(0, p).ptr, from.rs, to.add(p * width));
                if count == 4 {
                    T::interleave4(from, rs, to, width)
                } else {
                    T::interleave2(from, rs, to, width)
                }
                p += 4;
            }
        }
        for p in p..depth {
            for q in 0..count {
                to.add(p * width + q).write(from.at(q, p));
            }
        }
    }
}
