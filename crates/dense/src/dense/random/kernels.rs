//! From the words of a group to samples: one body per distribution, compiled per instruction set.

use super::math::SampleFloat;
use super::philox::{self, LANES, Words};
use crate::dense::isa;

/// What turns a group of words into samples.
pub trait Sampler: Sync {
    type Out: Copy + Default + Send + Sync;
    /// Samples per group.
    const GROUP: usize;
    fn group(&self, words: &Words, out: &mut [Self::Out]);
}

/// Fills `out`, a whole number of groups, from group `first` on.
pub fn fill_groups<B: Sampler>(key: [u32; 2], first: u64, body: &B, out: &mut [B::Out]) {
    match isa::isa() {
        // SAFETY: the machine has the instruction set that was chosen.
        #[cfg(target_arch = "x86_64")]
        isa::Isa::V4 => unsafe { v4(key, first, body, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        isa::Isa::V3 => unsafe { v3(key, first, body, out) },
        _ => v1(key, first, body, out),
    }
}

#[inline(always)]
fn run<B: Sampler>(key: [u32; 2], first: u64, body: &B, out: &mut [B::Out]) {
    let mut index = first;
    for chunk in out.chunks_exact_mut(B::GROUP) {
        body.group(&philox::group(key, index), chunk);
        index = index.wrapping_add(1);
    }
}

fn v1<B: Sampler>(key: [u32; 2], first: u64, body: &B, out: &mut [B::Out]) {
    run(key, first, body, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn v3<B: Sampler>(key: [u32; 2], first: u64, body: &B, out: &mut [B::Out]) {
    run(key, first, body, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn v4<B: Sampler>(key: [u32; 2], first: u64, body: &B, out: &mut [B::Out]) {
    run(key, first, body, out);
}

/// The words themselves, 32 bits each.
pub struct Words32;
impl Sampler for Words32 {
    type Out = u32;
    const GROUP: usize = 4 * LANES;
    #[inline(always)]
    fn group(&self, words: &Words, out: &mut [u32]) {
        out.copy_from_slice(words.as_flattened());
    }
}

/// The words in pairs, 64 bits.
pub struct Words64;
impl Sampler for Words64 {
    type Out = u64;
    const GROUP: usize = 2 * LANES;
    #[inline(always)]
    fn group(&self, words: &Words, out: &mut [u64]) {
        for (r, row) in out.chunks_exact_mut(LANES).enumerate() {
            for (l, o) in row.iter_mut().enumerate() {
                *o = f64::bits(words, r, l);
            }
        }
    }
}

/// A body that makes each sample from the bits of its own place.
macro_rules! elementwise {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $t:ty),* } |$self:ident, $b:ident| $value:expr) => {
        $(#[$doc])*
        pub struct $name<T> { $(pub $field: $t),* }
        impl<T: SampleFloat + Default> Sampler for $name<T> {
            type Out = T;
            const GROUP: usize = T::GROUP;
            #[inline(always)]
            fn group(&$self, words: &Words, out: &mut [T]) {
                for (r, row) in out.chunks_exact_mut(LANES).enumerate() {
                    for (l, o) in row.iter_mut().enumerate() {
                        let $b = T::bits(words, r, l);
                        *o = $value;
                    }
                }
            }
        }
    };
}

elementwise! {
    /// `u · scale + low`, at most `last`, with `u` a multiple of `2^-digits` in [0, 1).
    Uniform { digits: u32, scale: T, low: T, last: T }
    |self, b| T::unit(b, self.digits).mul(self.scale).add(self.low).min(self.last)
}

elementwise! {
    /// `-ln(u) / rate`, given `-1 / rate`; never zero, for what follows may divide by it.
    Exponential { factor: T, tiny: T }
    |self, b| T::open(b).ln().min(self.tiny).mul(self.factor)
}

elementwise! {
    /// `median + scale · tan(angle)`.
    Cauchy { median: T, scale: T }
    |self, b| {
        let (s, c) = T::turn(b);
        s.div(c).mul(self.scale).add(self.median)
    }
}

/// Normal samples in pairs, by Box and Muller: rows 2i and 2i+1 of a group share radius and angle.
pub struct Normal<T> {
    pub mean: T,
    pub std: T,
}

impl<T: SampleFloat + Default> Sampler for Normal<T> {
    type Out = T;
    const GROUP: usize = T::GROUP;
    #[inline(always)]
    fn group(&self, words: &Words, out: &mut [T]) {
        for (i, pair) in out.chunks_exact_mut(2 * LANES).enumerate() {
            let (first, second) = pair.split_at_mut(LANES);
            for (l, (x, y)) in first.iter_mut().zip(second).enumerate() {
                let radius = T::open(T::bits(words, 2 * i, l)).ln().mul(T::of(-2.0)).sqrt().mul(self.std);
                let (s, c) = T::turn(T::bits(words, 2 * i + 1, l));
                *x = radius.mul(c).add(self.mean);
                *y = radius.mul(s).add(self.mean);
            }
        }
    }
}

/// The exponential of a normal sample.
pub struct LogNormal<T>(pub Normal<T>);

impl<T: SampleFloat + Default> Sampler for LogNormal<T> {
    type Out = T;
    const GROUP: usize = T::GROUP;
    #[inline(always)]
    fn group(&self, words: &Words, out: &mut [T]) {
        self.0.group(words, out);
        for x in out {
            *x = x.exp();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::isa;
    use crate::dense::isa::Isa;

    fn same_bits<B: Sampler>(body: &B)
    where
        B::Out: PartialEq,
    {
        let fill = |isa: Isa| {
            let mut out = vec![B::Out::default(); 20 * B::GROUP];
            match isa {
                // SAFETY: only instruction sets that the machine has are tried.
                #[cfg(target_arch = "x86_64")]
                Isa::V4 => unsafe { v4([1, 2], u64::MAX - 7, body, &mut out) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Isa::V3 => unsafe { v3([1, 2], u64::MAX - 7, body, &mut out) },
                _ => v1([1, 2], u64::MAX - 7, body, &mut out),
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
        same_bits(&Words32);
        same_bits(&Words64);
        same_bits(&Normal { mean: 0.1f32, std: 1.5 });
        same_bits(&Normal { mean: 0.1f64, std: 1.5 });
        same_bits(&LogNormal(Normal { mean: 0.1f32, std: 1.5 }));
        same_bits(&LogNormal(Normal { mean: 0.1f64, std: 1.5 }));
        same_bits(&Uniform { digits: 24, scale: 2.3f32, low: 0.7, last: 2.9 });
        same_bits(&Uniform { digits: 53, scale: 2.3f64, low: 0.7, last: 2.9 });
        same_bits(&Exponential { factor: -0.3f32, tiny: -1e-9 });
        same_bits(&Exponential { factor: -0.3f64, tiny: -1e-9 });
        same_bits(&Cauchy { median: 0.3f32, scale: 0.7 });
        same_bits(&Cauchy { median: 0.3f64, scale: 0.7 });
    }
}
