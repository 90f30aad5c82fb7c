//! Memory filled with one element.

use super::isa::{Isa, isa};

/// Elements below which a choice takes longer than it saves.
const FEW: usize = 64;

/// All elements set to `x`.
#[inline]
pub fn fill<T: Copy>(out: &mut [T], x: T) {
    #[cfg(target_arch = "x86_64")]
    if out.len() >= FEW && isa() >= Isa::V3 {
        // SAFETY: the machine has the instructions.
        return unsafe { v3(out, x) };
    }
    out.fill(x)
}

/// # Safety
/// The machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn v3<T: Copy>(out: &mut [T], x: T) {
    for o in out {
        *o = x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_set_and_no_other() {
        for n in [0, 1, 63, 64, 65, 1000] {
            let mut out = vec![0u32; n + 2];
            fill(&mut out[1..=n], 7);
            assert_eq!((out[0], out[n + 1]), (0, 0));
            assert!(out[1..=n].iter().all(|&x| x == 7));
        }
    }
}
