//! Unrolled windows: for each output pixel, a column of the inputs that it reads.

use super::params::ConvParams;
use crate::base::Element;

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

/// One kernel position of a convolution over one or two dimensions without strides, whose rows of the input are as long
/// as those of the output: what all pixels read lies equally far from them.
pub struct Shifted {
    /// The output pixels whose row of the input there is.
    lo: usize,
    hi: usize,
    by: isize,
    cols: usize,
    /// Columns at both ends that read padding.
    before: usize,
    after: usize,
    inner: usize,
}

impl Shifted {
    pub fn of(p: &ConvParams, tap: [usize; 3]) -> Option<Shifted> {
        let ([depth, rows, cols], [_, height, width]) = (p.output, p.input);
        let shift = [0, 1, 2].map(|d| tap[d] as isize * p.dilation[d] as isize - p.padding[d] as isize);
        let even = p.stride == [1; 3] && cols == width && depth == 1 && shift[0] == 0;
        if !even || shift[2].unsigned_abs() >= cols {
            return None;
        }
        let lo = (-shift[1]).clamp(0, rows as isize);
        let hi = (height as isize - shift[1]).clamp(lo, rows as isize);
        Some(Shifted {
            lo: lo as usize * cols,
            hi: hi as usize * cols,
            by: shift[1] * width as isize + shift[2],
            cols,
            before: (-shift[2]).max(0) as usize,
            after: shift[2].max(0) as usize,
            inner: height * width,
        })
    }

    /// The pixels of `from .. to` that have a row of the input, and those that are moved as they lie: what is left out
    /// of these reads padding.
    fn ranges(&self, from: usize, to: usize) -> [usize; 4] {
        let (lo, hi) = (self.lo.clamp(from, to), self.hi.clamp(from, to));
        let first = ((-self.by).max(0) as usize).clamp(lo, hi);
        let last = ((self.inner as isize - self.by).max(0) as usize).clamp(first, hi);
        [lo, hi, first, last]
    }

    /// Calls `f` with the stretches of `lo .. hi`, whole rows but for the ends, that read padding.
    #[inline(always)]
    fn edges(&self, lo: usize, hi: usize, mut f: impl FnMut(usize, usize)) {
        if self.before + self.after == 0 {
            return;
        }
        let mut row = lo / self.cols * self.cols;
        while row < hi {
            let end = row + self.cols;
            let (a, b) = if self.before > 0 { (row, row + self.before) } else { (end - self.after, end) };
            let (a, b) = (a.clamp(lo, hi), b.clamp(lo, hi));
            if a < b {
                f(a, b);
            }
            row = end;
        }
    }

    /// As [`gather_row`].
    ///
    /// # Safety
    /// As [`gather_row`].
    pub unsafe fn gather<T: Element>(&self, plane: *const T, from: usize, to: usize, out: *mut T) {
        let [lo, hi, first, last] = self.ranges(from, to);
        // SAFETY: pixels of `from .. to` have room, and those of `first .. last` read inside the channel.
        unsafe {
            let out = std::slice::from_raw_parts_mut(out, to - from);
            out[..lo - from].fill(T::zero());
            out[hi - from..].fill(T::zero());
            let plane = plane.wrapping_offset(first as isize + self.by);
            std::ptr::copy_nonoverlapping(plane, out[first - from..].as_mut_ptr(), last - first);
            self.edges(lo, hi, |a, b| out[a - from..b - from].fill(T::zero()));
        }
    }

    /// As [`add_row`], of a row whose elements for padding are lost.
    ///
    /// # Safety
    /// As [`add_row`].
    pub unsafe fn add<T: Element>(&self, row: *mut T, from: usize, to: usize, plane: *mut T, add: impl Fn(T, T) -> T) {
        let [lo, hi, first, last] = self.ranges(from, to);
        // SAFETY: as for `gather`.
        unsafe {
            let row = std::slice::from_raw_parts_mut(row, to - from);
            self.edges(lo, hi, |a, b| row[a - from..b - from].fill(T::zero()));
            let plane = std::slice::from_raw_parts_mut(plane.wrapping_offset(first as isize + self.by), last - first);
            plane.iter_mut().zip(&row[first - from..last - from]).for_each(|(o, &x)| *o = add(*o, x));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifted_planes_are_what_runs_give() {
        let mut shifted = 0;
        for (input, kernel, padding, dilation) in [
            ([5, 7], [3, 3], [1, 1], [1, 1]),
            ([1, 4], [1, 3], [0, 1], [1, 1]),
            ([6, 9], [5, 3], [3, 2], [1, 2]),
            ([4, 3], [3, 5], [0, 2], [1, 1]),
            ([3, 8], [2, 1], [2, 0], [3, 1]),
        ] {
            let p = ConvParams::new(&input, &kernel, &[1, 1], &padding, &dilation, 1).unwrap();
            let (inner, outer) = (p.in_pixels(), p.out_pixels());
            let plane: Vec<f32> = (0..inner).map(|i| 1.0 + i as f32).collect();
            for tap in (0..p.taps()).map(|t| p.tap(t)) {
                let Some(s) = Shifted::of(&p, tap) else { continue };
                for (from, to) in [(0, outer), (2, outer - 1), (outer / 2, outer / 2 + 1), (3.min(outer), 3.min(outer))]
                {
                    shifted += 1;
                    let (mut got, mut want) = (vec![9.0; to - from], vec![7.0; to - from]);
                    let (mut sums, mut all) = (plane.clone(), plane.clone());
                    // SAFETY: the plane is a channel, and the rows have room for the pixels.
                    unsafe {
                        s.gather(plane.as_ptr(), from, to, got.as_mut_ptr());
                        gather_row(&p, tap, plane.as_ptr(), 0.0, from, to, want.as_mut_ptr());
                        assert_eq!(got, want);
                        let mut row: Vec<f32> = (0..to - from).map(|i| 0.5 - i as f32).collect();
                        add_row(&p, tap, row.as_ptr(), from, to, all.as_mut_ptr(), |a, b| a + b);
                        s.add(row.as_mut_ptr(), from, to, sums.as_mut_ptr(), |a, b| a + b);
                    }
                    assert_eq!(sums, all);
                }
            }
        }
        assert!(shifted > 50);
    }
}
