//! Unrolled windows: for each output pixel, a column of the inputs that it reads.

use super::params::ConvParams;

/// A stretch of output pixels in one row of the output.
pub struct Run {
    /// Its place in the block.
    pub at: usize,
    pub len: usize,
    /// The pixels `first .. first + count` of the run read inside the input, from `source` on; the others read padding.
    pub first: usize,
    pub count: usize,
    pub source: usize,
}

/// The output pixels `from .. to` as runs, for one kernel position.
#[inline(always)]
pub fn runs(p: &ConvParams, tap: [usize; 3], from: usize, to: usize, mut f: impl FnMut(Run)) {
    let [_, rows, cols] = p.output;
    let [_, height, width] = p.input;
    let shift = [0, 1, 2].map(|d| tap[d] as isize * p.dilation[d] as isize - p.padding[d] as isize);
    let place = |d: usize, o: usize| o as isize * p.stride[d] as isize + shift[d];
    let stride = p.stride[2] as isize;
    // Columns whose input lies inside.
    let lo = ((-shift[2]).max(0) as usize).div_ceil(p.stride[2]).min(cols);
    let hi = ((width as isize - shift[2] + stride - 1).div_euclid(stride).max(0) as usize).clamp(lo, cols);
    let (mut row, mut col) = (from / cols, from % cols);
    let mut q = from;
    while q < to {
        let len = (cols - col).min(to - q);
        let (z, y) = (place(0, row / rows), place(1, row % rows));
        let inside = (0..p.input[0] as isize).contains(&z) && (0..height as isize).contains(&y);
        let start = lo.clamp(col, col + len);
        let count = if inside { hi.clamp(start, col + len) - start } else { 0 };
        let source =
            if count > 0 { ((z * height as isize + y) * width as isize + place(2, start)) as usize } else { 0 };
        f(Run { at: q - from, len, first: start - col, count, source });
        q += len;
        row += 1;
        col = 0;
    }
}

/// What the output pixels `from .. to` read of a channel at one kernel position.
///
/// # Safety
/// `plane` is a channel of the input; `out` has room for all pixels.
pub unsafe fn gather_row<T: Copy>(
    p: &ConvParams,
    tap: [usize; 3],
    plane: *const T,
    zero: T,
    from: usize,
    to: usize,
    out: *mut T,
) {
    let stride = p.stride[2];
    runs(p, tap, from, to, |r| {
        // SAFETY: runs cover the pixels once, and `source` and what follows it lie inside the channel.
        unsafe {
            let out = std::slice::from_raw_parts_mut(out.add(r.at), r.len);
            let (before, rest) = out.split_at_mut(r.first);
            let (inside, after) = rest.split_at_mut(r.count);
            before.fill(zero);
            after.fill(zero);
            if stride == 1 {
                std::ptr::copy_nonoverlapping(plane.add(r.source), inside.as_mut_ptr(), r.count);
            } else {
                for (i, o) in inside.iter_mut().enumerate() {
                    *o = *plane.add(r.source + i * stride);
                }
            }
        }
    });
}

/// The transpose of [`gather_row`]: adds a row to a channel.
///
/// # Safety
/// As [`gather_row`]; nobody else may use the channel.
pub unsafe fn add_row<T: Copy>(
    p: &ConvParams,
    tap: [usize; 3],
    row: *const T,
    from: usize,
    to: usize,
    plane: *mut T,
    add: impl Fn(T, T) -> T,
) {
    let stride = p.stride[2];
    runs(p, tap, from, to, |r| {
        // SAFETY: as above.
        unsafe {
            let row = std::slice::from_raw_parts(row.add(r.at + r.first), r.count);
            let plane = plane.add(r.source);
            if stride == 1 {
                let plane = std::slice::from_raw_parts_mut(plane, r.count);
                plane.iter_mut().zip(row).for_each(|(o, &x)| *o = add(*o, x));
            } else {
                for (i, &x) in row.iter().enumerate() {
                    let o = plane.add(i * stride);
                    *o = add(*o, x);
                }
            }
        }
    });
}
