//! The sizes of a convolution.

#![deny(clippy::arithmetic_side_effects)]

use crate::bail;
use crate::base::size::{self, Whole};
use crate::base::{Result, Shape};

/// A convolution over one to three dimensions. Missing leading dimensions have size 1, so that kernels know three.
///
/// Output position `o` reads input position `o * stride + tap * dilation - padding`; zero where that is outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvParams {
    /// Number of spatial dimensions.
    pub rank: usize,
    pub groups: usize,
    pub input: [usize; 3],
    pub kernel: [usize; 3],
    pub output: [usize; 3],
    pub stride: [usize; 3],
    pub padding: [usize; 3],
    pub dilation: [usize; 3],
}

/// Sums and products of positions then stay far from overflow.
const LARGEST: usize = 1 << 40;
/// Columns of all windows then do, too.
const MOST_PIXELS: usize = 1 << 44;

/// Sizes of one to three dimensions as three.
fn three(values: &[usize], fill: usize) -> [usize; 3] {
    let mut out = [fill; 3];
    let lead = 3usize.saturating_sub(values.len());
    out[lead..].iter_mut().zip(values).for_each(|(o, &v)| *o = v);
    out
}

impl ConvParams {
    /// The convolution of an input with a kernel; the output has all positions where the kernel fits into the padded
    /// input.
    ///
    /// # Errors
    /// `Runtime` if it fits nowhere, or a size is out of range.
    pub fn new(
        input: &[usize],
        kernel: &[usize],
        stride: &[usize],
        padding: &[usize],
        dilation: &[usize],
        groups: usize,
    ) -> Result<ConvParams> {
        let rank = input.len();
        if !(1..=3).contains(&rank) || [kernel, stride, padding, dilation].iter().any(|v| v.len() != rank) {
            bail!(Internal, "conv(): sizes of {rank} dimensions do not match");
        }
        if [input, kernel, padding, dilation].iter().any(|v| v.iter().any(|&x| x > LARGEST)) {
            bail!(Runtime, "conv(): sizes, padding and dilation must not exceed {LARGEST}");
        }
        let mut p = ConvParams {
            rank,
            groups,
            input: three(input, 1),
            kernel: three(kernel, 1),
            output: [1; 3],
            stride: three(stride, 1).map(|s| s.min(2 * LARGEST)),
            padding: three(padding, 0),
            dilation: three(dilation, 1),
        };
        let spatial = 3usize.saturating_sub(rank)..3;
        for d in spatial.clone() {
            let padded = Whole::from(p.input[d]).plus(p.padding[d]).plus(p.padding[d]).size();
            let reach = Whole::from(p.kernel[d]).minus(1i64).times(p.dilation[d]).plus(1i64).size();
            p.output[d] = match padded.zip(reach).map(|(n, k)| size::windows(n, k, p.stride[d])) {
                Some(count) if count > 0 && p.kernel[d] > 0 => count,
                _ => bail!(
                    Runtime,
                    "Calculated padded input size per channel: ({}). Kernel size: ({}). Kernel size can't be greater \
                     than actual input size",
                    by_x(input.iter().zip(padding).map(|(i, p)| i.saturating_add(p.saturating_mul(2)))),
                    by_x(
                        kernel
                            .iter()
                            .zip(dilation)
                            .map(|(k, d)| k.saturating_sub(1).saturating_mul(*d).saturating_add(1))
                    ),
                ),
            };
        }
        if [p.input, p.kernel, p.output].iter().any(|s| size::volume(s).is_none_or(|n| n > MOST_PIXELS)) {
            bail!(Runtime, "conv(): an output of {} pixels is too large", by_x(p.output[spatial].iter().copied()));
        }
        Ok(p)
    }

    /// Refuses sizes that [`ConvParams::new`] would not have made, but for the number of output positions: kernels trust
    /// them.
    ///
    /// # Errors
    /// `Internal` for such sizes.
    pub fn check(&self) -> Result<()> {
        let lead = 3usize.saturating_sub(self.rank);
        let bounded = |sizes: &[usize; 3], most| sizes.iter().all(|&x| x <= most);
        let volume = |sizes: &[usize; 3]| size::volume(sizes).is_some_and(|n| n <= MOST_PIXELS);
        let fits = (1..=3).contains(&self.rank)
            && [self.input, self.kernel, self.output].iter().all(|v| v[..lead].iter().all(|&x| x == 1) && volume(v))
            && self.padding[..lead].iter().all(|&x| x == 0)
            && [self.input, self.kernel, self.padding, self.dilation].iter().all(|v| bounded(v, LARGEST))
            && bounded(&self.stride, LARGEST.saturating_mul(2))
            && !self.stride.contains(&0);
        if !fits {
            bail!(Internal, "{self:?} are sizes of no convolution");
        }
        Ok(())
    }

    /// The same with another number of output positions, as transposed convolutions with output padding have.
    pub fn with_output(mut self, output: &[usize]) -> ConvParams {
        self.output = three(output, 1);
        self
    }

    pub fn with_groups(&self, groups: usize) -> ConvParams {
        ConvParams { groups, ..self.clone() }
    }

    /// Number of kernel positions.
    pub fn taps(&self) -> usize {
        self.kernel.iter().product()
    }
    pub fn in_pixels(&self) -> usize {
        self.input.iter().product()
    }
    pub fn out_pixels(&self) -> usize {
        self.output.iter().product()
    }
    // Kernel positions were counted, and a position that exists leaves no size 0.
    #[allow(clippy::arithmetic_side_effects)]
    pub fn tap(&self, i: usize) -> [usize; 3] {
        let [_, kh, kw] = self.kernel;
        [i / (kh * kw), i / kw % kh, i % kw]
    }
    /// Whether output pixels are input pixels: a matrix product over channels.
    pub fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3] && self.stride == [1; 3] && self.padding == [0; 3] && self.input == self.output
    }

    /// Shape of two leading dimensions and spatial ones.
    fn shape(&self, lead: [usize; 2], spatial: &[usize; 3]) -> Shape {
        lead.iter().chain(&spatial[3usize.saturating_sub(self.rank)..]).copied().collect()
    }
    pub fn x_shape(&self, n: usize, c: usize) -> Shape {
        self.shape([n, c], &self.input)
    }
    pub fn y_shape(&self, n: usize, o: usize) -> Shape {
        self.shape([n, o], &self.output)
    }
    pub fn w_shape(&self, o: usize, c: usize) -> Shape {
        self.shape([o, c], &self.kernel)
    }
}

/// `2 x 3`, as PyTorch's messages write sizes.
pub fn by_x(sizes: impl Iterator<Item = usize>) -> String {
    sizes.map(|s| s.to_string()).collect::<Vec<_>>().join(" x ")
}
