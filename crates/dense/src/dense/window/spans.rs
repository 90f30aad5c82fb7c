//! Which inputs each window covers.

#![deny(clippy::arithmetic_side_effects)]

use crate::bail;
use crate::base::Result;
use crate::base::size::Whole;
use crate::dense::memory::list;

/// A window along one dimension: inputs `start`, `start + step`, … below `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
    /// Elements that it counts as in an average.
    pub weight: usize,
}

/// All windows over the last one to three dimensions. Missing leading dimensions have size 1, so that kernels know three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    pub rank: usize,
    pub input: [usize; 3],
    pub step: [usize; 3],
    pub spans: [Vec<Span>; 3],
    /// Averages divide by this instead of by the size of the window.
    pub divisor: Option<i64>,
}

/// Arguments of sliding windows along one dimension.
#[derive(Debug, Clone, Copy)]
pub struct Slide {
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
    /// Whether a last window may leave the padded input.
    pub ceil: bool,
    /// Whether padding counts in averages.
    pub count_padding: bool,
}

impl Slide {
    /// Number of windows over `n` inputs. A window never starts behind the input and its padding.
    // `sliding` lets no more than 2^40 pass for a size, a padding and the reach of a window, and 2^41 for a stride.
    #[allow(clippy::arithmetic_side_effects)]
    fn count(&self, n: usize) -> usize {
        let Some(room) = (n + 2 * self.padding).checked_sub(self.dilation * (self.kernel - 1) + 1) else {
            // Rounding up may still find one.
            let lack = self.dilation * (self.kernel - 1) + 1 - n - 2 * self.padding;
            return usize::from(self.ceil && lack < self.stride && n + self.padding > 0);
        };
        let count = if self.ceil { room.div_ceil(self.stride) } else { room / self.stride } + 1;
        if self.ceil && (count - 1) * self.stride >= n + self.padding { count - 1 } else { count }
    }

    // As for `count`; a window starts in the padded input.
    #[allow(clippy::arithmetic_side_effects)]
    fn span(&self, window: usize, n: usize) -> Span {
        let (first, pad) = (window * self.stride, self.padding);
        let last = first + (self.kernel - 1) * self.dilation + 1;
        // Skips the positions in the padding in front.
        let start = first + pad.saturating_sub(first).div_ceil(self.dilation) * self.dilation - pad;
        let end = (last.max(pad) - pad).min(n);
        let inside = end.saturating_sub(start).div_ceil(self.dilation);
        let weight = if self.count_padding { last.min(n + 2 * pad).saturating_sub(first) } else { inside };
        Span { start, end: end.max(start), weight }
    }
}

fn three<T: Clone>(values: impl IntoIterator<Item = T>, rank: usize, fill: T) -> [T; 3] {
    let mut out = [fill.clone(), fill.clone(), fill];
    out[3usize.saturating_sub(rank)..].iter_mut().zip(values).for_each(|(o, v)| *o = v);
    out
}

/// An error if a window counts as more elements than there are numbers for.
fn check_weights(spans: &[Vec<Span>]) -> Result<()> {
    let most = spans.iter().map(|s| s.iter().map(|s| s.weight).max().unwrap_or(1));
    most.fold(Whole::from(1usize), Whole::times).size_of("pool", "the number of elements of a window").map(drop)
}

const WHOLE: Span = Span { start: 0, end: 1, weight: 1 };

impl Windows {
    /// Refuses windows over dimensions that there are not: kernels trust the sizes.
    ///
    /// # Errors
    /// `Internal` for such windows.
    pub fn check(&self) -> Result<()> {
        let lead = 3usize.saturating_sub(self.rank);
        let single = self.input[..lead].iter().all(|&n| n == 1) && self.spans[..lead].iter().all(|s| s.len() == 1);
        if self.rank > 3 || !single {
            bail!(Internal, "windows over {} dimensions of an input of {:?}", self.rank, self.input);
        }
        Ok(())
    }

    /// Windows of fixed size. Kernel sizes, strides and dilations are positive.
    ///
    /// # Errors
    /// `Runtime` for sizes beyond 2^40.
    pub fn sliding(input: &[usize], slides: &[Slide]) -> Result<Windows> {
        const LARGEST: usize = 1 << 40;
        let rank = input.len();
        if !(1..=3).contains(&rank) || slides.len() != rank {
            bail!(Internal, "pool(): {rank} dimensions and {} windows", slides.len());
        }
        let mut spans = Vec::with_capacity(rank);
        for (&n, s) in input.iter().zip(slides) {
            if [n, s.kernel, s.padding, s.dilation].iter().any(|&x| x > LARGEST)
                || s.kernel.checked_mul(s.dilation).is_none_or(|x| x > LARGEST)
            {
                bail!(Runtime, "pool(): sizes of windows must not exceed {LARGEST}");
            }
            let s = Slide { stride: s.stride.min(2 * LARGEST), ..*s };
            spans.push(list("pool", s.count(n), (0..s.count(n)).map(|w| s.span(w, n)))?);
        }
        check_weights(&spans)?;
        Ok(Windows {
            rank,
            input: three(input.iter().copied(), rank, 1),
            step: three(slides.iter().map(|s| s.dilation), rank, 1),
            spans: three(spans, rank, vec![WHOLE]),
            divisor: None,
        })
    }

    /// `output` windows of nearly equal size that cover the input.
    pub fn adaptive(input: &[usize], output: &[usize]) -> Result<Windows> {
        let rank = input.len();
        if !(1..=3).contains(&rank) || output.len() != rank {
            bail!(Internal, "adaptive_pool(): {rank} dimensions to {}", output.len());
        }
        let span = |n: usize, out: usize, w: usize| {
            let edge = |w: usize| Whole::from(w).times(n);
            let start = edge(w).div_floor(out).size().unwrap_or(0);
            let end = edge(w.saturating_add(1)).div_ceil(out).size().unwrap_or(n);
            Span { start, end, weight: end.saturating_sub(start) }
        };
        let along = |(&n, &out)| list("adaptive_pool", out, (0..out).map(|w| span(n, out, w)));
        let spans = input.iter().zip(output).map(along).collect::<Result<Vec<_>>>()?;
        Ok(Windows {
            rank,
            input: three(input.iter().copied(), rank, 1),
            step: [1; 3],
            spans: three(spans, rank, vec![WHOLE]),
            divisor: None,
        })
    }

    /// Sizes of the dimensions of the result.
    pub fn output(&self) -> impl Iterator<Item = usize> + '_ {
        self.spans[3usize.saturating_sub(self.rank)..].iter().map(Vec::len)
    }
    pub fn in_pixels(&self) -> usize {
        self.input.iter().product()
    }
    pub fn out_pixels(&self) -> usize {
        self.spans.iter().map(Vec::len).product()
    }

    /// Calls `f(output position, spans of the window)` for all windows.
    // There are no more windows than elements of a result.
    #[allow(clippy::arithmetic_side_effects)]
    #[inline(always)]
    pub fn each(&self, mut f: impl FnMut(usize, [Span; 3])) {
        let mut at = 0;
        for &a in &self.spans[0] {
            for &b in &self.spans[1] {
                for &c in &self.spans[2] {
                    f(at, [a, b, c]);
                    at += 1;
                }
            }
        }
    }

    /// Calls `f(input position)` for all inputs of a window, in order.
    // Spans end at the input's sizes, whose product is a size; steps are at most 2^40.
    #[allow(clippy::arithmetic_side_effects)]
    #[inline(always)]
    pub fn inputs(&self, [a, b, c]: [Span; 3], mut f: impl FnMut(usize)) {
        let [_, height, width] = self.input;
        let mut z = a.start;
        while z < a.end {
            let mut y = b.start;
            while y < b.end {
                let row = (z * height + y) * width;
                let mut x = c.start;
                while x < c.end {
                    f(row + x);
                    x += self.step[2];
                }
                y += self.step[1];
            }
            z += self.step[0];
        }
    }

    /// What the sum over a window is divided by.
    // `sliding` has seen that the product is a size; adaptive windows hold inputs.
    #[allow(clippy::arithmetic_side_effects)]
    #[inline(always)]
    pub fn weight(&self, [a, b, c]: [Span; 3]) -> i64 {
        self.divisor.unwrap_or((a.weight * b.weight * c.weight) as i64)
    }
}
