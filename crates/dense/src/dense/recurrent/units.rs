//! A cell's function over the units of a row: compiled for each instruction set.

use super::cells::{INS, OUTS, TILE, Unit};
use crate::dense::isa::{Isa, isa};
use crate::dense::math::Fp;

/// The number of units in a tile is rounded up to this, so that vectors are full.
const LANES: usize = 16;

/// Computes `n` units: value `i` of them begins at `ins[i]`, and what they give at `outs[i]`.
///
/// # Safety
/// As many elements as the cell has values are readable and writable there; no output but an input itself overlaps one, and
/// then they are the same elements.
pub type Units<T> = unsafe fn(n: usize, ins: &[*const T; INS], outs: &[*mut T; OUTS]);

/// The function of a cell for this machine.
pub fn of<T: Fp, U: Unit>() -> Units<T> {
    match isa() {
        #[cfg(target_arch = "x86_64")]
        Isa::V4 => v4::<T, U>,
        #[cfg(target_arch = "x86_64")]
        Isa::V3 => v3::<T, U>,
        _ => v1::<T, U>,
    }
}

#[inline(always)]
unsafe fn tiles<T: Fp, U: Unit, const F: bool>(n: usize, ins: &[*const T; INS], outs: &[*mut T; OUTS]) {
    // Copies on the stack, which the compiler knows apart.
    let mut x = [[T::default(); TILE]; INS];
    let mut y = [[T::default(); TILE]; OUTS];
    let mut at = 0;
    while at < n {
        let count = TILE.min(n - at);
        // SAFETY: by the contract of [`Units`].
        unsafe {
            for i in 0..U::INS {
                copy(ins[i].add(at), x[i].as_mut_ptr(), count);
            }
            let full = count.next_multiple_of(LANES).min(TILE);
            U::prepare::<T, F>(&mut x, full);
            for k in 0..full {
                let mut values = [T::default(); INS];
                for i in 0..U::INS {
                    values[i] = x[i][k];
                }
                let out = U::compute::<T, F>(values);
                for i in 0..U::OUTS {
                    y[i][k] = out[i];
                }
            }
            U::finish::<T, F>(&x, &mut y, full);
            for i in 0..U::OUTS {
                copy(y[i].as_ptr(), outs[i].add(at), count);
            }
        }
        at += count;
    }
}

/// # Safety
/// There are `count` elements, at most [`TILE`], in both places, which do not overlap.
#[inline(always)]
unsafe fn copy<T>(from: *const T, to: *mut T, count: usize) {
    // SAFETY: by the contract.
    unsafe {
        // A constant size is copied by vectors.
        if count == TILE { to.copy_from_nonoverlapping(from, TILE) } else { to.copy_from_nonoverlapping(from, count) }
    }
}

macro_rules! compiled {
    ($($(#[$feature:meta])* $name:ident, $fused:literal;)*) => {$(
        /// # Safety
        /// As [`Units`], on a machine that has the instructions.
        $(#[$feature])*
        unsafe fn $name<T: Fp, U: Unit>(n: usize, ins: &[*const T; INS], outs: &[*mut T; OUTS]) {
            // SAFETY: by the contract.
            unsafe { tiles::<T, U, $fused>(n, ins, outs) }
        }
    )*};
}

compiled! {
    v1, false;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    v3, true;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    v4, true;
}
