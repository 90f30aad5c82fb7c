//! From words to samples: one body per distribution, compiled per instruction set.

use super::math::SampleFloat;
use crate::dense::isa;

/// What turns words into samples.
pub trait Sampler: Sync {
    type Out: Copy + Default + Send + Sync;
    /// Words for each sample.
    const WORDS: usize;
    fn run(&self, words: &[u32], out: &mut [Self::Out]);
}

/// The samples that `words` are: [`Sampler::WORDS`] for each.
pub fn samples<B: Sampler>(body: &B, words: &[u32], out: &mut [B::Out]) {
    match isa::isa() {
        // SAFETY: the machine has the instruction set that was chosen.
        #[cfg(target_arch = "x86_64")]
        isa::Isa::V4 => unsafe { v4(body, words, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        isa::Isa::V3 => unsafe { v3(body, words, out) },
        _ => v1(body, words, out),
    }
}

fn v1<B: Sampler>(body: &B, words: &[u32], out: &mut [B::Out]) {
    body.run(words, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn v3<B: Sampler>(body: &B, words: &[u32], out: &mut [B::Out]) {
    body.run(words, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn v4<B: Sampler>(body: &B, words: &[u32], out: &mut [B::Out]) {
    body.run(words, out);
}

/// The words in pairs, 64 bits.
pub struct Words64;
impl Sampler for Words64 {
    type Out = u64;
    const WORDS: usize = 2;
    #[inline(always)]
    fn run(&self, words: &[u32], out: &mut [u64]) {
        for (o, pair) in out.iter_mut().zip(words.as_chunks::<2>().0) {
            *o = u64::from(pair[0]) << 32 | u64::from(pair[1]);
        }
    }
}

/// A body that makes each sample from a uniform number of its own in [0, 1).
macro_rules! of_uniforms {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $t:ty),* } |$self:ident, $u:ident| $value:expr) => {
        $(#[$doc])*
        pub struct $name<T> { $(pub $field: $t),* }
        impl<T: SampleFloat + Default> Sampler for $name<T> {
            type Out = T;
            const WORDS: usize = T::WORDS;
            #[inline(always)]
            fn run(&$self, words: &[u32], out: &mut [T]) {
                for (o, words) in out.iter_mut().zip(words.chunks_exact(T::WORDS)) {
                    let $u = T::unit(words);
                    *o = $value;
                }
            }
        }
    };
}

of_uniforms! {
    /// `u · scale + low`; what would be rounded to the upper end, from `end` on, is `low`.
    Uniform { scale: T, low: T, end: T }
    |self, u| {
        let x = u.mul(self.scale).add(self.low);
        if x < self.end { x } else { self.low }
    }
}

of_uniforms! {
    /// `-ln(1 - u) / rate`, given `-1 / rate`; never zero, for what follows may divide by it.
    Exponential { factor: T, tiny: T }
    |self, u| T::of(1.0).sub(u).ln().min(self.tiny).mul(self.factor)
}

of_uniforms! {
    /// `median + scale · tan(π (u - 1/2))`.
    Cauchy { median: T, scale: T, tiny: T }
    |self, u| {
        let (s, c) = u.mul(T::of(0.5)).turn();
        self.median.sub(c.div(s.max(self.tiny)).mul(self.scale))
    }
}

of_uniforms! {
    /// `ln(u) · factor`, for the number of failures before a success.
    Waiting { factor: T, tiny: T }
    |self, u| u.max(self.tiny).ln().mul(self.factor)
}

/// Normal samples in blocks of two rows of eight, by Box and Muller: the first row are radii, the second angles.
pub struct Normal<T> {
    pub mean: T,
    pub std: T,
}

/// Samples of a block.
pub const PAIRED: usize = 16;
const ROW: usize = PAIRED / 2;

impl<T: SampleFloat + Default> Sampler for Normal<T> {
    type Out = T;
    const WORDS: usize = T::WORDS;
    #[inline(always)]
    fn run(&self, words: &[u32], out: &mut [T]) {
        for (block, words) in out.chunks_exact_mut(PAIRED).zip(words.chunks_exact(PAIRED * T::WORDS)) {
            let (first, second) = block.split_at_mut(ROW);
            for l in 0..ROW {
                let u = T::of(1.0).sub(T::unit(&words[l * T::WORDS..]));
                let radius = u.ln().mul(T::of(-2.0)).sqrt();
                let (s, c) = T::unit(&words[(ROW + l) * T::WORDS..]).turn();
                first[l] = radius.mul(c).mul(self.std).add(self.mean);
                second[l] = radius.mul(s).mul(self.std).add(self.mean);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::isa::{self, Isa};
    use crate::dense::random::mersenne::Mersenne;

    fn same_bits<B: Sampler>(body: &B)
    where
        B::Out: PartialEq,
    {
        let mut words = vec![0; 640 * B::WORDS];
        Mersenne::new(1).fill(&mut words);
        let fill = |isa: Isa| {
            let mut out = vec![B::Out::default(); 640];
            match isa {
                // SAFETY: only instruction sets that the machine has are tried.
                #[cfg(target_arch = "x86_64")]
                Isa::V4 => unsafe { v4(body, &words, &mut out) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Isa::V3 => unsafe { v3(body, &words, &mut out) },
                _ => v1(body, &words, &mut out),
            }
            out
        };
        let base = fill(Isa::V1);
        for isa in isa::available() {
            assert!(fill(isa) == base, "{isa:?}");
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        same_bits(&Words64);
        same_bits(&Normal { mean: 0.1f32, std: 1.5 });
        same_bits(&Normal { mean: 0.1f64, std: 1.5 });
        same_bits(&Uniform { scale: 2.3f32, low: 0.7, end: 2.9 });
        same_bits(&Uniform { scale: 2.3f64, low: 0.7, end: 2.9 });
        same_bits(&Exponential { factor: -0.3f64, tiny: -1e-9 });
        same_bits(&Cauchy { median: 0.3f64, scale: 0.7, tiny: 1e-17 });
        same_bits(&Waiting { factor: -0.3f64, tiny: 1e-17 });
    }
}
