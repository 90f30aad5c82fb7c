//! Vectors of floating-point numbers of each instruction set, and the choice among them at run time.
//!
//! Kernels are written once over [`Vector`]. Accumulators that must survive a loop in registers need real vector
//! types: arrays of scalars are at the optimiser's mercy.

use crate::base::Element;
use std::ops::{Add, Mul};

/// A real floating-point element.
pub trait SimdFloat: Element + Add<Output = Self> + Mul<Output = Self> {
    /// Its vector on any machine.
    type Base: Vector<T = Self>;
    /// With AVX2 and FMA.
    type V3: Vector<T = Self>;
    /// With AVX-512 F, BW, DQ and VL.
    type V4: Vector<T = Self>;

    /// The first four elements of two lines, `line` apart: the two at a position side by side, positions `step` apart.
    ///
    /// # Safety
    /// The lines must be readable, the pairs writable.
    #[inline(always)]
    unsafe fn interleave2(from: *const Self, line: isize, to: *mut Self, step: usize) {
        for p in 0..4 {
            // SAFETY: by the contract.
            unsafe { to.add(p * step).cast::<[Self; 2]>().write([*from.add(p), *from.wrapping_offset(line).add(p)]) }
        }
    }

    /// The same for four lines.
    ///
    /// # Safety
    /// As [`Real::interleave2`].
    #[inline(always)]
    unsafe fn interleave4(from: *const Self, line: isize, to: *mut Self, step: usize) {
        // SAFETY: by the contract.
        unsafe {
            Self::interleave2(from, line, to, step);
            Self::interleave2(from.wrapping_offset(2 * line), line, to.add(2), step);
        }
    }
}

/// `N` elements in a register.
///
/// # Safety
/// All functions need the instruction set of the type, and pointers to as many elements as they name.
pub trait Vector: Copy {
    type T: SimdFloat;
    const N: usize;
    unsafe fn splat(x: Self::T) -> Self;
    unsafe fn load(p: *const Self::T) -> Self;
    unsafe fn store(self, p: *mut Self::T);
    /// The first `n <= N` elements, then zeros.
    unsafe fn load_part(p: *const Self::T, n: usize) -> Self;
    /// Writes the first `n <= N` elements.
    unsafe fn store_part(self, p: *mut Self::T, n: usize);
    /// `self·b + c`, with one rounding where that is an instruction.
    unsafe fn madd(self, b: Self, c: Self) -> Self;
    unsafe fn add(self, b: Self) -> Self;
}

/// Four elements for machines of which nothing more is known.
#[derive(Clone, Copy)]
pub struct Four<T>([T; 4]);

macro_rules! base_vector {
    ($($t:ty),*) => {$(
        impl Vector for Four<$t> {
            type T = $t;
            const N: usize = 4;
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                Four([x; 4])
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: by the contract.
                unsafe { Four(p.cast::<[$t; 4]>().read()) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: by the contract.
                unsafe { p.cast::<[$t; 4]>().write(self.0) }
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $t, n: usize) -> Self {
                let mut v = [0.0; 4];
                // SAFETY: by the contract.
                unsafe { std::ptr::copy_nonoverlapping(p, v.as_mut_ptr(), n.min(4)) }
                Four(v)
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $t, n: usize) {
                // SAFETY: by the contract.
                unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), p, n.min(4)) }
            }
            #[inline(always)]
            unsafe fn madd(self, b: Self, c: Self) -> Self {
                let mut out = c;
                for i in 0..4 {
                    out.0[i] = if cfg!(target_arch = "aarch64") {
                        self.0[i].mul_add(b.0[i], c.0[i])
                    } else {
                        self.0[i] * b.0[i] + c.0[i]
                    };
                }
                out
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                let mut out = self;
                for i in 0..4 {
                    out.0[i] += b.0[i];
                }
                out
            }
        }
    )*};
}
base_vector!(f32, f64);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    /// A window of `N` words from `MASK[N - n]` has n words set.
    static MASK: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    static MASK64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

    macro_rules! vector {
        ($v:ty, $t:ty, $n:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $add:ident,
         |$p:ident, $k:ident| $load_part:expr, |$x:ident, $q:ident, $l:ident| $store_part:expr) => {
            impl Vector for $v {
                type T = $t;
                const N: usize = $n;
                #[inline(always)]
                unsafe fn splat(x: $t) -> Self {
                    // SAFETY: the contract of `Vector`.
                    unsafe { $splat(x) }
                }
                #[inline(always)]
                unsafe fn load(p: *const $t) -> Self {
                    // SAFETY: the contract of `Vector`.
                    unsafe { $load(p) }
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $t) {
                    // SAFETY: the contract of `Vector`.
                    unsafe { $store(p, self) }
                }
                #[inline(always)]
                unsafe fn load_part($p: *const $t, $k: usize) -> Self {
                    // SAFETY: the contract of `Vector`.
                    unsafe { $load_part }
                }
                #[inline(always)]
                unsafe fn store_part(self, $q: *mut $t, $l: usize) {
                    let $x = self;
                    // SAFETY: the contract of `Vector`.
                    unsafe { $store_part }
                }
                #[inline(always)]
                unsafe fn madd(self, b: Self, c: Self) -> Self {
                    // SAFETY: the contract of `Vector`.
                    unsafe { $fma(self, b, c) }
                }
                #[inline(always)]
                unsafe fn add(self, b: Self) -> Self {
                    // SAFETY: the contract of `Vector`.
                    unsafe { $add(self, b) }
                }
            }
        };
    }

    #[inline(always)]
    unsafe fn mask(n: usize) -> __m256i {
        // SAFETY: the window lies inside for n <= 8.
        unsafe { _mm256_loadu_si256(MASK.as_ptr().add(8 - n.min(8)).cast()) }
    }
    #[inline(always)]
    unsafe fn mask64(n: usize) -> __m256i {
        // SAFETY: the window lies inside for n <= 4.
        unsafe { _mm256_loadu_si256(MASK64.as_ptr().add(4 - n.min(4)).cast()) }
    }

    vector!(
        __m256,
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        |p, n| _mm256_maskload_ps(p, mask(n)),
        |x, p, n| _mm256_maskstore_ps(p, mask(n), x)
    );
    vector!(
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        |p, n| _mm256_maskload_pd(p, mask64(n)),
        |x, p, n| _mm256_maskstore_pd(p, mask64(n), x)
    );
    vector!(
        __m512,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps,
        |p, n| _mm512_maskz_loadu_ps(((1u32 << n) - 1) as u16, p),
        |x, p, n| _mm512_mask_storeu_ps(p, ((1u32 << n) - 1) as u16, x)
    );
    vector!(
        __m512d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        |p, n| _mm512_maskz_loadu_pd(((1u32 << n) - 1) as u8, p),
        |x, p, n| _mm512_mask_storeu_pd(p, ((1u32 << n) - 1) as u8, x)
    );

    impl super::SimdFloat for f32 {
        type Base = super::Four<f32>;
        type V3 = __m256;
        type V4 = __m512;

        #[inline(always)]
        unsafe fn interleave2(from: *const f32, line: isize, to: *mut f32, step: usize) {
            // SAFETY: by the contract; every machine has these instructions.
            unsafe {
                let (x, y) = (_mm_loadu_ps(from), _mm_loadu_ps(from.wrapping_offset(line)));
                let (low, high) = (_mm_castps_pd(_mm_unpacklo_ps(x, y)), _mm_castps_pd(_mm_unpackhi_ps(x, y)));
                _mm_storel_pd(to.cast(), low);
                _mm_storeh_pd(to.add(step).cast(), low);
                _mm_storel_pd(to.add(2 * step).cast(), high);
                _mm_storeh_pd(to.add(3 * step).cast(), high);
            }
        }
        #[inline(always)]
        unsafe fn interleave4(from: *const f32, line: isize, to: *mut f32, step: usize) {
            // SAFETY: as above.
            unsafe {
                let load = |q: isize| _mm_loadu_ps(from.wrapping_offset(q * line));
                let (mut x, mut y, mut z, mut w) = (load(0), load(1), load(2), load(3));
                _MM_TRANSPOSE4_PS(&mut x, &mut y, &mut z, &mut w);
                for (p, group) in [x, y, z, w].into_iter().enumerate() {
                    _mm_storeu_ps(to.add(p * step), group);
                }
            }
        }
    }
    impl super::SimdFloat for f64 {
        type Base = super::Four<f64>;
        type V3 = __m256d;
        type V4 = __m512d;

        #[inline(always)]
        unsafe fn interleave2(from: *const f64, line: isize, to: *mut f64, step: usize) {
            for p in [0, 2] {
                // SAFETY: by the contract; every machine has these instructions.
                unsafe {
                    let (x, y) = (_mm_loadu_pd(from.add(p)), _mm_loadu_pd(from.wrapping_offset(line).add(p)));
                    _mm_storeu_pd(to.add(p * step), _mm_unpacklo_pd(x, y));
                    _mm_storeu_pd(to.add((p + 1) * step), _mm_unpackhi_pd(x, y));
                }
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! base_real {
    ($($t:ty),*) => {$(
        impl SimdFloat for $t {
            type Base = Four<$t>;
            type V3 = Four<$t>;
            type V4 = Four<$t>;
        }
    )*};
}
#[cfg(not(target_arch = "x86_64"))]
base_real!(f32, f64);

/// `per_isa! { unsafe fn name<T: Bound>(x: A) = body, [gen…] }` declares `name`, which runs `body::<…>(x)` compiled
/// for the machine's instruction set. With the marker `vector` the body's parameter is the vector type of `T`;
/// with `scalar` it is `T` itself. The body must be `#[inline(always)]`.
macro_rules! per_isa {
    (@type vector $t:ident $isa:ident) => { <$t as $crate::dense::matmul::simd::SimdFloat>::$isa };
    (@type scalar $t:ident $isa:ident) => { $t };
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident<$t:ident: $bound:path>($($arg:ident: $ty:ty),* $(,)?)
        = $kind:ident $body:ident) => {
        $(#[$meta])*
        #[inline]
        $vis unsafe fn $name<$t: $bound>($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            unsafe fn v4<$t: $bound>($($arg: $ty),*) {
                // SAFETY: the caller's contract is the body's.
                unsafe { $body::<$crate::dense::matmul::simd::per_isa!(@type $kind $t V4)>($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn v3<$t: $bound>($($arg: $ty),*) {
                // SAFETY: the caller's contract is the body's.
                unsafe { $body::<$crate::dense::matmul::simd::per_isa!(@type $kind $t V3)>($($arg),*) }
            }
            // SAFETY: the machine has the features; the rest is the caller's contract.
            unsafe {
                match $crate::dense::isa::isa() {
                    #[cfg(target_arch = "x86_64")]
                    $crate::dense::isa::Isa::V4 => v4::<$t>($($arg),*),
                    #[cfg(target_arch = "x86_64")]
                    $crate::dense::isa::Isa::V3 => v3::<$t>($($arg),*),
                    _ => $body::<$crate::dense::matmul::simd::per_isa!(@type $kind $t Base)>($($arg),*),
                }
            }
        }
    };
}
pub(crate) use per_isa;
