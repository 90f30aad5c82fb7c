//! The instruction set that kernels run with: chosen once, at the first use.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Instruction sets that every kernel is compiled for, named after the x86-64 levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Isa {
    /// What the target guarantees.
    V1,
    /// AVX2, FMA, F16C.
    V3,
    /// AVX-512 F, BW, DQ, VL and all of `V3`.
    V4,
}

/// Number of instruction sets, as the length of kernel tables.
pub const COUNT: usize = 3;

const UNKNOWN: u8 = u8::MAX;
static CHOSEN: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The instruction set in use: the best that the machine has, or the one that `PULLBACK_ISA` (`v1`, `v3`, `v4`)
/// names if the machine has it.
#[inline(always)]
pub fn isa() -> Isa {
    match CHOSEN.load(Relaxed) {
        0 => Isa::V1,
        1 => Isa::V3,
        2 => Isa::V4,
        _ => choose(),
    }
}

#[cold]
#[inline(never)]
fn choose() -> Isa {
    let wanted = match std::env::var("PULLBACK_ISA").as_deref() {
        Ok("v1") => Isa::V1,
        Ok("v3") => Isa::V3,
        _ => Isa::V4,
    };
    let isa = wanted.min(best());
    CHOSEN.store(isa as u8, Relaxed);
    isa
}

/// The best instruction set of this machine.
pub fn best() -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        let v3 =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        let v4 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if v3 && v4 {
            return Isa::V4;
        }
        if v3 {
            return Isa::V3;
        }
    }
    Isa::V1
}

/// All instruction sets that this machine can run, for tests.
pub fn available() -> impl Iterator<Item = Isa> {
    [Isa::V1, Isa::V3, Isa::V4].into_iter().filter(|&i| i <= best())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_stable_and_available() {
        assert_eq!(isa(), isa());
        assert!(available().any(|i| i == isa()));
    }
}
