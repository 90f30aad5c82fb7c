//! Gathering strided elements and converting between dtypes.

use super::array::{Array, Written};
use super::pointwise::program::CHUNK;
use super::strided::{self, Strided, by_width};
use super::threads;
use crate::base::{DType, Element, Layout, Result, Scalar};
use half::{bf16, f16};
use num_complex::Complex;
use smallvec::SmallVec;

/// Value conversions as PyTorch does them: floats truncate to integers, integers wrap, anything non-zero is true,
/// complex to real drops the imaginary part. Floats that no integer is near, and NaN, become the least int32 or int64,
/// narrower integers the last bits of it.
pub trait Convert: Element {
    fn to_f64(self) -> f64;
    fn to_i64(self) -> i64;
    fn to_complex(self) -> Complex<f64>;
    fn to_bool(self) -> bool;
    fn of_f64(x: f64) -> Self;
    fn of_i64(x: i64) -> Self;
    fn of_complex(z: Complex<f64>) -> Self;
}

macro_rules! convert_int {
    ($($t:ty),*) => {$(impl Convert for $t {
        fn to_f64(self) -> f64 { self as f64 }
        fn to_i64(self) -> i64 { self as i64 }
        fn to_complex(self) -> Complex<f64> { Complex::new(self as f64, 0.0) }
        fn to_bool(self) -> bool { self != 0 }
        fn of_f64(x: f64) -> Self { truncated(x, size_of::<$t>() == 8) as $t }
        fn of_i64(x: i64) -> Self { x as $t }
        fn of_complex(z: Complex<f64>) -> Self { Self::of_f64(z.re) }
    })*};
}

#[inline(always)]
fn truncated(x: f64, wide: bool) -> i64 {
    #[cfg(not(target_arch = "x86_64"))]
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    if wide {
        // One instruction, which gives the least number for all that it cannot convert.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every machine has SSE2.
        return unsafe { std::arch::x86_64::_mm_cvttsd_si64(std::arch::x86_64::_mm_set_sd(x)) };
        #[cfg(not(target_arch = "x86_64"))]
        if (-TWO_63..TWO_63).contains(&x) { x as i64 } else { i64::MIN }
    } else if x > -2_147_483_649.0 && x < 2_147_483_648.0 {
        i64::from(x as i32)
    } else {
        i64::from(i32::MIN)
    }
}
convert_int!(u8, i8, i16, i32, i64);

macro_rules! convert_float {
    ($($t:ty, $to:expr, $of:expr, $of_int:expr);*) => {$(impl Convert for $t {
        fn to_f64(self) -> f64 { let f: fn($t) -> f64 = $to; f(self) }
        fn to_i64(self) -> i64 { self.to_f64() as i64 }
        fn to_complex(self) -> Complex<f64> { Complex::new(self.to_f64(), 0.0) }
        fn to_bool(self) -> bool { self.to_f64() != 0.0 }
        fn of_f64(x: f64) -> Self { let f: fn(f64) -> $t = $of; f(x) }
        fn of_i64(x: i64) -> Self { let f: fn(i64) -> $t = $of_int; f(x) }
        fn of_complex(z: Complex<f64>) -> Self { Self::of_f64(z.re) }
    })*};
}
// Half precision is reached through single, as in the vectorised conversions.
convert_float!(
    f32, |x| x as f64, |x| x as f32, |x| x as f32;
    f64, |x| x, |x| x, |x| x as f64;
    f16, f16::to_f64, |x| f16::from_f32(x as f32), |x| f16::from_f32(x as f32);
    bf16, bf16::to_f64, |x| bf16::from_f32(x as f32), |x| bf16::from_f32(x as f32)
);

impl Convert for bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    fn to_i64(self) -> i64 {
        self as i64
    }
    fn to_complex(self) -> Complex<f64> {
        Complex::new(self.to_f64(), 0.0)
    }
    fn to_bool(self) -> bool {
        self
    }
    fn of_f64(x: f64) -> Self {
        x != 0.0
    }
    fn of_i64(x: i64) -> Self {
        x != 0
    }
    fn of_complex(z: Complex<f64>) -> Self {
        z != Complex::new(0.0, 0.0)
    }
}

macro_rules! convert_complex {
    ($($t:ty),*) => {$(impl Convert for Complex<$t> {
        fn to_f64(self) -> f64 { self.re as f64 }
        fn to_i64(self) -> i64 { self.re as i64 }
        fn to_complex(self) -> Complex<f64> { Complex::new(self.re as f64, self.im as f64) }
        fn to_bool(self) -> bool { self.re != 0.0 || self.im != 0.0 }
        fn of_f64(x: f64) -> Self { Complex::new(x as $t, 0.0) }
        fn of_i64(x: i64) -> Self { Complex::new(x as $t, 0.0) }
        fn of_complex(z: Complex<f64>) -> Self { Complex::new(z.re as $t, z.im as $t) }
    })*};
}
convert_complex!(f32, f64);

/// A number as an element.
pub fn from_scalar<T: Convert>(s: Scalar) -> T {
    match s {
        Scalar::Bool(b) => T::of_i64(b as i64),
        Scalar::Int(i) => T::of_i64(i),
        Scalar::Unsigned(u) if T::DTYPE.is_differentiable() => T::of_f64(u as f64),
        Scalar::Unsigned(u) => T::of_i64(u as i64),
        Scalar::Huge(x) => T::of_f64(x),
        Scalar::Float(x) => T::of_f64(x),
        Scalar::Complex(z) => T::of_complex(z),
    }
}

/// An element as a number.
pub fn to_scalar<T: Convert>(x: T) -> Scalar {
    match T::DTYPE {
        DType::Bool => Scalar::Bool(x.to_bool()),
        d if d.is_integer() => Scalar::Int(x.to_i64()),
        d if d.is_float() => Scalar::Float(x.to_f64()),
        _ => Scalar::Complex(x.to_complex()),
    }
}

/// Whether `value` is stored as zero bytes.
pub fn is_zero_bits(dtype: DType, value: Scalar) -> bool {
    match value {
        Scalar::Float(x) => x == 0.0 && (x.is_sign_positive() || !dtype.is_differentiable()),
        Scalar::Complex(_) => false,
        s => s.is_zero(),
    }
}

/// The elements in memory that may be let go of at any time, for work that may outlive the host language.
pub fn own(a: &Array) -> Result<Array> {
    match a.buffer() {
        Some(b) if b.is_foreign() => gather(a),
        _ => Ok(a.clone()),
    }
}

/// A contiguous copy of a strided array.
pub fn gather(a: &Array) -> Result<Array> {
    let mut layout = a.layout();
    layout.offset = 0;
    // SAFETY: an array's layout names its own elements.
    unsafe { gather_from(a.ptr(), a.dtype(), &layout) }
}

/// A contiguous copy of the elements that `layout` names, its offset counted from `base`.
///
/// # Safety
/// Every element that the layout names can be read.
pub(super) unsafe fn gather_from(base: *const u8, dtype: DType, layout: &Layout) -> Result<Array> {
    let width = dtype.size();
    if layout.is_contiguous() && layout.shape.checked_numel().is_some_and(|n| n < 4 * CHUNK) {
        return Array::build_bytes(dtype, layout.shape.clone(), |out, n| {
            // SAFETY: `layout` names n adjacent elements inside the source; `out` is new memory for them.
            unsafe {
                std::ptr::copy_nonoverlapping(base.wrapping_add(layout.offset.wrapping_mul(width)), out, n * width);
                Written::all()
            }
        });
    }
    let mut dims = SmallVec::from_slice(&layout.shape);
    let mut source =
        [Strided { ptr: base.wrapping_add(layout.offset.wrapping_mul(width)), width, strides: layout.strides.clone() }];
    strided::merge_dims(&mut dims, &mut source);
    Array::build_bytes(dtype, layout.shape.clone(), |out, n| {
        let out = Target(out);
        let chunk = |range: std::ops::Range<usize>| {
            // SAFETY: `layout` names elements inside the source; `out` holds n elements of this width, and the
            // ranges are disjoint.
            unsafe { strided::range(&source[0], &dims, range.start, range.end, out.at(range.start * width)) }
        };
        if n < 4 * CHUNK {
            chunk(0..n)
        } else {
            threads::run_chunks(n, CHUNK, &chunk)
        }
        // SAFETY: the ranges cover the output.
        unsafe { Written::all() }
    })
}

/// A block that threads write disjoint parts of.
struct Target(*mut u8);

// SAFETY: see the uses: the parts are disjoint.
unsafe impl Sync for Target {}

impl Target {
    fn at(&self, byte: usize) -> *mut u8 {
        self.0.wrapping_add(byte)
    }
}

/// Writes contiguous elements of `size` bytes to the places that `layout` names, its offset counted from `base`.
///
/// # Safety
/// Every place must be writable, and `src` hold as many elements as the layout; the two must not overlap.
pub unsafe fn scatter_to(base: *mut u8, layout: &Layout, src: *const u8, size: usize) {
    if layout.shape.contains(&0) {
        return;
    }
    if layout.is_contiguous() {
        // SAFETY: by the contract the places, which are adjacent, are writable, and `src` holds an element for each.
        return unsafe {
            std::ptr::copy_nonoverlapping(src, base.wrapping_add(layout.offset * size), layout.shape.numel() * size);
        };
    }
    by_width!(size, T => {
        // SAFETY: by the contract; elements are aligned to their width.
        unsafe {
            let src = std::slice::from_raw_parts(src.cast::<T>(), layout.shape.numel());
            scatter_rows(base.cast::<T>().add(layout.offset), layout, src);
        }
    });
}

/// As [`scatter_to`] of an array, whatever order its elements are in: those of the same order are read as they lie.
///
/// # Safety
/// Every place must be writable, and the array of the layout's shape; the two must not overlap.
pub unsafe fn scatter_array(base: *mut u8, layout: &Layout, src: &Array) -> Result<()> {
    let size = src.dtype().size();
    if src.is_contiguous() {
        // SAFETY: by the contract.
        unsafe { scatter_to(base, layout, src.ptr(), size) };
        return Ok(());
    }
    match super::order::of_dense(&src.layout()) {
        // SAFETY: by the contract; the array is contiguous in this order.
        Some(order) => unsafe { scatter_to(base, &layout.permute(&order), src.ptr(), size) },
        // SAFETY: by the contract.
        None => unsafe { scatter_to(base, layout, src.contiguous()?.ptr(), size) },
    }
    Ok(())
}

/// # Safety
/// `base` plus any offset that `layout` reaches must be writable; `src` has the layout's number of elements.
unsafe fn scatter_rows<T: Copy>(base: *mut T, layout: &Layout, mut src: &[T]) {
    if src.is_empty() {
        return;
    }
    for_rows(layout, |at, inner, step| {
        let (row, rest) = src.split_at(inner);
        src = rest;
        // SAFETY: by the contract every place of the row is writable.
        unsafe {
            let dst = base.offset(at);
            if step == 1 {
                std::ptr::copy_nonoverlapping(row.as_ptr(), dst, inner);
            } else {
                for (i, x) in row.iter().enumerate() {
                    *dst.offset(i as isize * step) = *x;
                }
            }
        }
    });
}

/// Writes zero bytes to the places of elements of `size` bytes that `layout` names, its offset counted from `base`.
///
/// # Safety
/// Every place must be writable.
pub unsafe fn clear_at(base: *mut u8, layout: &Layout, size: usize) {
    if layout.shape.contains(&0) {
        return;
    }
    by_width!(size, T => {
        let zero = T::default();
        for_rows(layout, |at, inner, step| {
            // SAFETY: by the contract every place of the row is writable; elements are aligned to their width.
            unsafe {
                let dst = base.cast::<T>().add(layout.offset).offset(at);
                if step == 1 {
                    std::ptr::write_bytes(dst, 0, inner);
                } else {
                    (0..inner).for_each(|i| *dst.offset(i as isize * step) = zero);
                }
            }
        });
    });
}

/// Calls `row` with the offset from the layout's first element, the length and the step of each innermost row of a layout
/// that has elements, in row-major order.
#[inline(always)]
fn for_rows(layout: &Layout, mut row: impl FnMut(isize, usize, isize)) {
    let mut dims = layout.collapse();
    let (inner, step) = dims.pop().unwrap_or((1, 1));
    let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, dims.len());
    let mut at = 0isize;
    loop {
        row(at, inner, step);
        let mut next = dims.len();
        loop {
            let Some(d) = next.checked_sub(1) else { return };
            index[d] += 1;
            at += dims[d].1;
            if index[d] < dims[d].0 {
                break;
            }
            at -= dims[d].1 * dims[d].0 as isize;
            index[d] = 0;
            next = d;
        }
    }
}

/// The same values in another dtype; shares the elements if the dtype is the same.
pub fn cast(a: &Array, dtype: DType) -> Result<Array> {
    if a.dtype() == dtype {
        return Ok(a.clone());
    }
    super::cast::cast(a, dtype)
}

/// As [`cast`], with the elements in the order in which they are.
pub fn cast_in_place(a: &Array, dtype: DType) -> Result<Array> {
    a.in_own_order(|a| cast(a, dtype))
}

/// As [`gather`], with the elements in the order in which they are.
pub fn gather_in_place(a: &Array) -> Result<Array> {
    a.in_own_order(gather)
}

#[inline(always)]
pub fn convert<S: Convert, D: Convert>(x: S) -> D {
    match (S::DTYPE.category(), D::DTYPE.category()) {
        (_, crate::base::dtype::Category::Bool) => D::of_i64(x.to_bool() as i64),
        (crate::base::dtype::Category::Complex, _) => D::of_complex(x.to_complex()),
        (crate::base::dtype::Category::Float, _) => D::of_f64(x.to_f64()),
        _ => D::of_i64(x.to_i64()),
    }
}

/// Zeros of size `size` along `dim` with the elements of `a` at `start + step * i`: the transpose of a slice.
pub fn unslice(a: &Array, size: usize, dim: usize, start: usize, step: isize) -> Result<Array> {
    let shape = a.shape().with(dim, size);
    let mut out = Array::zeros(a.dtype(), shape)?;
    let target = Layout::contiguous(out.shape().clone()).slice(dim, start, a.shape()[dim], step);
    write(a, &mut out, &target)?;
    Ok(out)
}

/// Writes the elements of `a` into `out` where `target`, of the same shape, names them, its offset counted from the first
/// element. `out` is row-major, and nobody else holds its memory.
///
/// # Errors
/// `Internal` if that is not so, or the target leaves `out`.
pub fn write(a: &Array, out: &mut Array, target: &Layout) -> Result<()> {
    let inside = out.is_contiguous() && target.needed().is_some_and(|n| n <= out.numel());
    if !inside || !out.is_unique() || a.shape() != &target.shape || a.dtype() != out.dtype() {
        crate::bail!(Internal, "write(): {} {} into {} {target:?}", a.dtype(), a.shape(), out.dtype());
    }
    let a = a.contiguous()?;
    // SAFETY: the target lies inside `out`, which is ours alone and so does not overlap `a`.
    unsafe { scatter_to(out.ptr_mut(), target, a.ptr(), a.dtype().size()) };
    Ok(())
}

/// A copy of `a` with the elements `start + step * i` of a dimension replaced by those of `src`.
pub fn with_slice(a: &Array, src: &Array, dim: usize, start: usize, step: isize) -> Result<Array> {
    let mut out = gather(a)?;
    let target = Layout::contiguous(out.shape().clone()).slice(dim, start, src.shape()[dim], step);
    write(src, &mut out, &target)?;
    Ok(out)
}
