//! Converting between dtypes: rows, and programs of them. Half precision goes through single precision.

use super::array::{Array, Written};
use super::copy::{self, Convert};
use super::pointwise::program::{Output, Reg, RowProgram, Step};
use super::pointwise::{Elementwise, Row};
use super::strided::{self, Strided};
use crate::base::{DType, Result};
use crate::dense::isa::{Isa, isa};
use half::f16;
use half::slice::HalfFloatSliceExt;
use num_complex::Complex;
use smallvec::SmallVec;

/// The same values in another dtype, in row-major order.
pub fn cast(a: &Array, dtype: DType) -> Result<Array> {
    let mut steps = [Step::NONE; 5];
    let steps =
        Elementwise::Convert(dtype).plan(a.dtype().into(), [Reg::Input(0); 3], Reg::Output(0), 0, &mut steps)?;
    let mut dims = SmallVec::from_slice(a.shape());
    let mut input = [Strided { ptr: a.ptr(), width: a.dtype().size(), strides: a.strides() }];
    strided::merge_dims(&mut dims, &mut input);
    Array::build_bytes(dtype, a.shape().clone(), |out, n| {
        if n > 0 {
            let output = [Output { ptr: out, width: dtype.size() }];
            // SAFETY: the array's layout stays inside its memory; `out` is new and has room for n elements.
            unsafe { RowProgram::new(&dims, &input, &output, steps).run() };
        }
        // SAFETY: the program writes each element.
        unsafe { Written::all() }
    })
}

/// The row that converts elements of one dtype to another; with a half type the other dtype is float32.
pub fn row(from: DType, to: DType) -> Row {
    #[cfg(target_arch = "x86_64")]
    if isa() >= Isa::V3 {
        match (from, to) {
            (DType::F16, _) => return v3::widen_f16,
            (_, DType::F16) => return v3::narrow_f16,
            (DType::BF16, _) => return v3::widen_bf16,
            (_, DType::BF16) => return v3::narrow_bf16,
            (DType::F32, DType::Bool) => return v3::f32_to_bool,
            (DType::Bool, DType::F32) => return v3::bool_to_f32,
            _ => {}
        }
    }
    match (from, to) {
        (DType::F16, _) => widen_f16,
        (_, DType::F16) => narrow_f16,
        (DType::BF16, _) => widen_bf16,
        (_, DType::BF16) => narrow_bf16,
        _ => plain_row(from, to),
    }
}

macro_rules! match_plain {
    ($d:expr, $T:ident => $body:expr) => {
        match $d {
            DType::Bool => {
                type $T = bool;
                $body
            }
            DType::U8 => {
                type $T = u8;
                $body
            }
            DType::I8 => {
                type $T = i8;
                $body
            }
            DType::I16 => {
                type $T = i16;
                $body
            }
            DType::I32 => {
                type $T = i32;
                $body
            }
            DType::I64 => {
                type $T = i64;
                $body
            }
            DType::F32 | DType::F16 | DType::BF16 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::C64 => {
                type $T = Complex<f32>;
                $body
            }
            DType::C128 => {
                type $T = Complex<f64>;
                $body
            }
        }
    };
}

fn plain_row(from: DType, to: DType) -> Row {
    match_plain!(from, S => match_plain!(to, D => plain::<S, D>))
}

/// # Safety
/// `src` and `dst` must hold `n` elements, aligned, and not overlap.
#[inline(always)]
unsafe fn slices<'a, S, D>(src: *const u8, dst: *mut u8, n: usize) -> (&'a [S], &'a mut [D]) {
    // SAFETY: by the contract.
    unsafe { (std::slice::from_raw_parts(src.cast(), n), std::slice::from_raw_parts_mut(dst.cast(), n)) }
}

/// # Safety
/// As for [`Row`].
#[inline(always)]
unsafe fn plain<S: Convert, D: Convert>(
    dst: *mut u8,
    a: *const u8,
    _: *const u8,
    _: *const u8,
    n: usize,
    _: u32,
) -> bool {
    // SAFETY: the contract of rows.
    let (a, dst) = unsafe { slices::<S, D>(a, dst, n) };
    for (o, &x) in dst.iter_mut().zip(a) {
        *o = copy::convert(x);
    }
    false
}

macro_rules! rows {
    ($($name:ident($a:ident: $s:ty, $dst:ident: $d:ty) $body:block)*) => {$(
        /// # Safety
        /// As for [`Row`].
        #[inline(always)]
        unsafe fn $name(d: *mut u8, a: *const u8, _: *const u8, _: *const u8, n: usize, _: u32) -> bool {
            // SAFETY: the contract of rows.
            let ($a, $dst) = unsafe { slices::<$s, $d>(a, d, n) };
            $body
            false
        }
    )*};
}

rows! {
    widen_f16(a: f16, dst: f32) {
        a.convert_to_f32_slice(dst);
    }
    narrow_f16(a: f32, dst: f16) {
        dst.convert_from_f32_slice(a);
    }
    widen_bf16(a: u16, dst: f32) {
        for (o, &x) in dst.iter_mut().zip(a) {
            *o = f32::from_bits((x as u32) << 16);
        }
    }
    // To the nearest, half to even; NaN stays NaN.
    narrow_bf16(a: f32, dst: u16) {
        for (o, &x) in dst.iter_mut().zip(a) {
            let bits = x.to_bits();
            let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
            *o = (if x.is_nan() { (bits >> 16) | 0x40 } else { rounded }) as u16;
        }
    }
}

/// The rows that gain by AVX2 and F16C.
#[cfg(target_arch = "x86_64")]
mod v3 {
    use std::arch::x86_64::*;

    macro_rules! rows {
        ($($name:ident = $row:expr, $step:expr;)*) => {$(
            /// # Safety
            /// As for [`super::Row`], on a machine with AVX2 and F16C.
            #[target_feature(enable = "avx2,fma,f16c")]
            pub unsafe fn $name(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize, s: u32) -> bool {
                let step: Option<(unsafe fn(*const u8, *mut u8), usize, usize)> = $step;
                let mut done = 0;
                // SAFETY: eight elements at a time lie inside both, and the rest is handed through.
                unsafe {
                    let (mut a, mut d) = (a, d);
                    if let Some((step, from, to)) = step {
                        while done + 8 <= n {
                            step(a, d);
                            (a, d, done) = (a.add(8 * from), d.add(8 * to), done + 8);
                        }
                    }
                    $row(d, a, b, c, n - done, s)
                }
            }
        )*};
    }

    rows! {
        widen_f16 = super::widen_f16, Some((widen, 2, 4));
        narrow_f16 = super::narrow_f16, Some((narrow, 4, 2));
        widen_bf16 = super::widen_bf16, None;
        narrow_bf16 = super::narrow_bf16, None;
        f32_to_bool = super::plain::<f32, bool>, None;
        bool_to_f32 = super::plain::<bool, f32>, None;
    }

    /// # Safety
    /// Eight halves can be read, and eight floats written.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn widen(a: *const u8, d: *mut u8) {
        // SAFETY: by the contract.
        unsafe { _mm256_storeu_ps(d.cast(), _mm256_cvtph_ps(_mm_loadu_si128(a.cast()))) }
    }

    /// # Safety
    /// Eight floats can be read, and eight halves written.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn narrow(a: *const u8, d: *mut u8) {
        // SAFETY: by the contract.
        unsafe { _mm_storeu_si128(d.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(a.cast()))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Element;
    use crate::match_dtype;
    use half::bf16;

    const VALUES: [f64; 16] = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        100.7,
        -127.9,
        255.5,
        65504.0,
        1e-7,
        3.0e38,
        -1e10,
        1e300,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];

    /// Same bits, or both NaN.
    fn same<T: Convert>(x: T, y: T) -> bool {
        x == y || (x.to_complex().is_nan() && y.to_complex().is_nan())
    }

    #[test]
    fn every_pair_converts_as_single_elements_do() {
        for from in DType::ALL {
            for to in DType::ALL {
                match_dtype!(from, S => match_dtype!(to, D => {
                    let src: Vec<S> = (0..300).map(|i| S::of_f64(VALUES[i % 16])).collect();
                    let a = Array::from_slice([300], &src).unwrap();
                    let strided = a.slice(0, 299, 150, -2).unwrap();
                    let got = cast(&a, to).unwrap();
                    let half = cast(&strided, to).unwrap();
                    assert_eq!(got.dtype(), D::DTYPE);
                    for (i, &x) in got.as_slice::<D>().unwrap().iter().enumerate() {
                        assert!(same(x, copy::convert::<S, D>(src[i])), "{from} {:?} to {to}: {x:?}", src[i]);
                    }
                    for (i, &x) in half.as_slice::<D>().unwrap().iter().enumerate() {
                        assert!(same(x, copy::convert::<S, D>(src[299 - 2 * i])));
                    }
                }));
            }
        }
    }

    #[test]
    fn all_half_numbers_survive_single_precision() {
        for bits in 0..=u16::MAX {
            let (h, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            let (mut x, mut y) = ([0f32; 1], [0u16; 1]);
            // SAFETY: one element each.
            unsafe {
                widen_bf16(x.as_mut_ptr().cast(), [bits].as_ptr().cast(), [].as_ptr(), [].as_ptr(), 1, 0);
                narrow_bf16(y.as_mut_ptr().cast(), x.as_ptr().cast(), [].as_ptr(), [].as_ptr(), 1, 0);
            }
            assert!(same(x[0], b.to_f32()) && same(bf16::from_bits(y[0]), b));
            assert!(same(f16::from_f32(h.to_f32()), h));
        }
    }
}
