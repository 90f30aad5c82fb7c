//! Maxima of windows of equal size at equal distances in a row, many at a time.

use super::{Pooled, Span, Windows, window_start};
use crate::dense::isa::{Isa, isa};

/// Windows that are computed together.
const LANES: usize = 32;

/// The windows `lo .. hi` of a row that have `count` inputs each, the first of them at `start`, the others `stride` further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Even {
    lo: usize,
    hi: usize,
    start: usize,
    stride: usize,
    count: usize,
}

impl Even {
    fn of(spans: &[Span], step: usize) -> Even {
        let count = |s: &Span| (s.end - s.start).div_ceil(step);
        let most = spans.iter().map(count).max().unwrap_or(0);
        let lo = spans.iter().position(|s| most > 0 && count(s) == most).unwrap_or(spans.len());
        let start = spans.get(lo).map_or(0, |s| s.start);
        let stride = spans.get(lo + 1).map_or(1, |s| s.start.saturating_sub(start)).max(1);
        let fits = |(i, s): &(usize, &Span)| count(s) == most && s.start == start + i * stride;
        let hi = lo + spans[lo..].iter().enumerate().take_while(fits).count();
        Even { lo, hi, start, stride, count: most }
    }
}

/// The largest element of each window of a plane and its position, as [`super::max_pool`] says.
pub(super) struct Maxima<'a> {
    w: &'a Windows,
    even: Even,
}

impl<'a> Maxima<'a> {
    pub(super) fn new(w: &'a Windows) -> Maxima<'a> {
        let mut even = Even::of(&w.spans[2], w.step[2]);
        // Positions are counted in 32 bits.
        if u32::try_from(w.in_pixels()).is_err() {
            even.hi = even.lo;
        }
        Maxima { w, even }
    }

    pub(super) fn of_plane<T: Pooled>(&self, x: &[T], values: &mut [T], indices: &mut [i64]) {
        match isa() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has the instructions.
            Isa::V3 | Isa::V4 => unsafe { v3(self, x, values, indices) },
            _ => self.all(x, values, indices),
        }
    }

    #[inline(always)]
    fn all<T: Pooled>(&self, x: &[T], values: &mut [T], indices: &mut [i64]) {
        let [outer, rows, row] = &self.w.spans;
        let mut at = 0;
        for &a in outer {
            for &b in rows {
                let (values, indices) = (&mut values[at..at + row.len()], &mut indices[at..at + row.len()]);
                let Even { lo, hi, stride, .. } = self.even;
                self.one_by_one(x, [a, b], 0..lo, values, indices);
                for from in (lo..hi).step_by(LANES) {
                    let to = hi.min(from + LANES);
                    let out = (&mut values[from..to], &mut indices[from..to]);
                    match stride {
                        1 => self.lanes(x, [a, b], from, 1, out),
                        2 => self.lanes(x, [a, b], from, 2, out),
                        _ => self.lanes(x, [a, b], from, stride, out),
                    }
                }
                self.one_by_one(x, [a, b], hi..row.len(), values, indices);
                at += row.len();
            }
        }
    }

    #[inline(always)]
    fn lanes<T: Pooled>(
        &self,
        x: &[T],
        [a, b]: [Span; 2],
        from: usize,
        stride: usize,
        (values, indices): (&mut [T], &mut [i64]),
    ) {
        let [_, height, width] = self.w.input;
        let n = values.len();
        let first = self.even.start + (from - self.even.lo) * stride;
        let begin = (a.start * height + b.start) * width + first;
        let empty = a.start >= a.end || b.start >= b.end;
        let mut best = [T::LOWEST; LANES];
        let mut places: [u32; LANES] = std::array::from_fn(|i| if empty { 0 } else { (begin + i * stride) as u32 });
        for z in (a.start..a.end).step_by(self.w.step[0]) {
            for y in (b.start..b.end).step_by(self.w.step[1]) {
                for tap in 0..self.even.count {
                    let at = (z * height + y) * width + first + tap * self.w.step[2];
                    let line = &x[at..at + (n - 1) * stride + 1];
                    for i in 0..n {
                        let v = line[i * stride];
                        let more = v.beats(best[i]);
                        best[i] = if more { v } else { best[i] };
                        places[i] = if more { (at + i * stride) as u32 } else { places[i] };
                    }
                }
            }
        }
        values.copy_from_slice(&best[..n]);
        indices.iter_mut().zip(&places).for_each(|(o, &p)| *o = i64::from(p));
    }

    #[inline(always)]
    fn one_by_one<T: Pooled>(
        &self,
        x: &[T],
        [a, b]: [Span; 2],
        range: std::ops::Range<usize>,
        values: &mut [T],
        indices: &mut [i64],
    ) {
        for i in range {
            let window = [a, b, self.w.spans[2][i]];
            let mut best = (T::LOWEST, window_start(self.w, window));
            self.w.inputs(window, |i| {
                if x[i].beats(best.0) {
                    best = (x[i], i);
                }
            });
            (values[i], indices[i]) = (best.0, best.1 as i64);
        }
    }
}

/// # Safety
/// The machine must have the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn v3<T: Pooled>(m: &Maxima<'_>, x: &[T], values: &mut [T], indices: &mut [i64]) {
    m.all(x, values, indices)
}

#[cfg(test)]
mod tests {
    use super::super::Slide;
    use super::*;

    fn slide(kernel: usize, stride: usize, padding: usize, dilation: usize, ceil: bool) -> Slide {
        Slide { kernel, stride, padding, dilation, ceil, count_padding: true }
    }

    #[test]
    fn many_at_a_time_are_what_each_is_alone() {
        for (n, s) in [
            (28, slide(2, 2, 0, 1, false)),
            (75, slide(3, 1, 1, 1, false)),
            (90, slide(3, 2, 1, 2, true)),
            (1, slide(1, 1, 0, 1, false)),
            (7, slide(2, 5, 1, 3, true)),
            (40, slide(5, 3, 2, 1, false)),
        ] {
            let w = Windows::sliding(&[3, 9, n], &[slide(2, 1, 1, 1, false), slide(3, 2, 1, 1, true), s]).unwrap();
            let x: Vec<f32> = (0..27 * n).map(|i| (i * 7919 % 13) as f32 - 6.0).collect();
            let x: Vec<f32> = x.iter().enumerate().map(|(i, &v)| if i % 31 == 5 { f32::NAN } else { v }).collect();
            for x in [x, vec![f32::NEG_INFINITY; 27 * n]] {
                let m = Maxima::new(&w);
                let size = w.out_pixels();
                let (mut v, mut i) = (vec![0.0; size], vec![0; size]);
                m.of_plane(&x, &mut v, &mut i);
                let (mut p, mut q) = (vec![0.0; size], vec![0; size]);
                let row = w.spans[2].len();
                for (k, (p, q)) in p.chunks_mut(row).zip(q.chunks_mut(row)).enumerate() {
                    let lead = [w.spans[0][k / w.spans[1].len()], w.spans[1][k % w.spans[1].len()]];
                    m.one_by_one(&x, lead, 0..row, p, q);
                }
                assert_eq!(i, q);
                assert!(v.iter().zip(&p).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }
}
