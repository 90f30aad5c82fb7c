//! Compiling a generic body once per instruction set and choosing at run time.

/// The widest instruction set that we compile for and the machine has.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Isa {
    Base = 1,
    /// AVX2 and FMA.
    V3,
    /// AVX-512 F, BW, DQ, VL.
    V4,
}

/// The machine's [`Isa`]; one relaxed load after the first call.
#[inline]
pub fn isa() -> Isa {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
    static FOUND: AtomicU8 = AtomicU8::new(0);
    match FOUND.load(Relaxed) {
        3 => Isa::V4,
        2 => Isa::V3,
        1 => Isa::Base,
        _ => {
            let found = detect();
            FOUND.store(found as u8, Relaxed);
            found
        }
    }
}

#[cold]
fn detect() -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("fma") {
            let wide = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
            return if wide { Isa::V4 } else { Isa::V3 };
        }
    }
    Isa::Base
}

/// `per_isa! { pub unsafe fn name<T: Bound>(x: A, y: B) = body }` declares `name`, which runs `body::<T, FMA>(x, y)`
/// compiled for the machine's instruction set. `body` must be `#[inline(always)]`; `FMA` says whether a fused
/// multiply-add is an instruction.
macro_rules! per_isa {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident<$t:ident: $bound:path>($($arg:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$meta])*
        #[inline]
        $vis unsafe fn $name<$t: $bound>($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                unsafe fn v4<$t: $bound>($($arg: $ty),*) {
                    // SAFETY: the caller's contract is the body's.
                    unsafe { $body::<$t, true>($($arg),*) }
                }
                #[target_feature(enable = "avx2,fma")]
                unsafe fn v3<$t: $bound>($($arg: $ty),*) {
                    // SAFETY: the caller's contract is the body's.
                    unsafe { $body::<$t, true>($($arg),*) }
                }
                // SAFETY: the machine has the features; the rest is the caller's contract.
                unsafe {
                    match $crate::dense::matmul::isa::isa() {
                        $crate::dense::matmul::isa::Isa::V4 => v4::<$t>($($arg),*),
                        $crate::dense::matmul::isa::Isa::V3 => v3::<$t>($($arg),*),
                        $crate::dense::matmul::isa::Isa::Base => $body::<$t, false>($($arg),*),
                    }
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            // SAFETY: the caller's contract is the body's.
            unsafe {
                $body::<$t, { cfg!(target_arch = "aarch64") }>($($arg),*)
            }
        }
    };
}
pub(crate) use per_isa;
