//! Between stored elements and accumulators, a tile at a time.

use crate::base::Element;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

/// A stored element that is folded as an `A`.
pub trait Load<A>: Copy + 'static {
    /// Whether the bytes of an element are those of its accumulator.
    const DIRECT: bool = false;
    fn get(self) -> A;
    fn get_all(x: &[Self], out: &mut [A]) {
        for (o, &v) in out.iter_mut().zip(x) {
            *o = v.get();
        }
    }
}

/// A stored result made from an `A`.
pub trait Store<A>: Copy + 'static {
    fn of(x: A) -> Self;
}

/// A stored element as its truth value.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Truth<T>(T);

macro_rules! same {
    ($($t:ty),*) => {$(
        impl Load<$t> for $t {
            const DIRECT: bool = true;
            #[inline(always)]
            fn get(self) -> $t { self }
        }
        impl Store<$t> for $t {
            #[inline(always)]
            fn of(x: $t) -> $t { x }
        }
    )*};
}
same!(u8, i8, i16, i32, i64, f32, f64, Complex<f32>, Complex<f64>);

impl Load<f32> for f16 {
    fn get(self) -> f32 {
        self.to_f32()
    }
    fn get_all(x: &[f16], out: &mut [f32]) {
        x.convert_to_f32_slice(out);
    }
}
impl Load<f32> for bf16 {
    #[inline(always)]
    fn get(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
}
impl Store<f32> for f16 {
    fn of(x: f32) -> f16 {
        f16::from_f32(x)
    }
}
impl Store<f32> for bf16 {
    fn of(x: f32) -> bf16 {
        bf16::from_f32(x)
    }
}
impl Load<u8> for bool {
    const DIRECT: bool = true;
    #[inline(always)]
    fn get(self) -> u8 {
        self as u8
    }
}
impl Store<u8> for bool {
    #[inline(always)]
    fn of(x: u8) -> bool {
        x != 0
    }
}
impl<T: Element> Load<u8> for Truth<T> {
    #[inline(always)]
    fn get(self) -> u8 {
        u8::from(self.0 != T::zero())
    }
}

/// Reads `out.len()` elements, `step` apart (in elements) from a first one on.
pub type LoadFn<A> = unsafe fn(*const u8, isize, &mut [A]);
/// Writes all values, `step` apart (in elements) from a first one on.
pub type StoreFn<A> = unsafe fn(&[A], *mut u8, isize);

/// Where elements come from: the address of the first, and how to read them.
pub struct Source<A> {
    pub base: *const u8,
    pub size: usize,
    pub direct: bool,
    pub load: LoadFn<A>,
}
/// Where results go.
pub struct Sink<A> {
    pub base: *mut u8,
    pub size: usize,
    pub store: StoreFn<A>,
}

// SAFETY: a source only reads memory that nobody writes meanwhile.
unsafe impl<A> Sync for Source<A> {}
// SAFETY: tasks write disjoint elements.
unsafe impl<A> Sync for Sink<A> {}

impl<A: Copy> Source<A> {
    pub fn new<S: Load<A>>(base: *const u8) -> Self {
        Source { base, size: size_of::<S>(), direct: S::DIRECT, load: load::<S, A> }
    }
    pub fn at(&self, element: isize) -> *const u8 {
        self.base.wrapping_offset(element * self.size as isize)
    }
}

impl<A: Copy> Sink<A> {
    pub fn new<D: Store<A>>(base: *mut u8) -> Self {
        Sink { base, size: size_of::<D>(), store: store::<D, A> }
    }
    pub fn at(&self, element: isize) -> *mut u8 {
        self.base.wrapping_offset(element * self.size as isize)
    }
}

/// # Safety
/// The elements that [`LoadFn`] names are readable.
unsafe fn load<S: Load<A>, A>(src: *const u8, step: isize, out: &mut [A]) {
    let src = src.cast::<S>();
    // SAFETY: by the contract.
    unsafe {
        if step == 1 {
            return S::get_all(std::slice::from_raw_parts(src, out.len()), out);
        }
        for (i, o) in out.iter_mut().enumerate() {
            *o = (*src.offset(i as isize * step)).get();
        }
    }
}

/// # Safety
/// The elements that [`StoreFn`] names are writable.
unsafe fn store<D: Store<A>, A: Copy>(values: &[A], dst: *mut u8, step: isize) {
    let dst = dst.cast::<D>();
    if step == 1 {
        for (i, &v) in values.iter().enumerate() {
            // SAFETY: by the contract.
            unsafe { dst.add(i).write(D::of(v)) }
        }
        return;
    }
    for (i, &v) in values.iter().enumerate() {
        // SAFETY: by the contract.
        unsafe { dst.offset(i as isize * step).write(D::of(v)) }
    }
}

/// [`LoadFn`] of elements stored as accumulators.
///
/// # Safety
/// As [`LoadFn`].
pub unsafe fn load_same<A: Copy>(src: *const u8, step: isize, out: &mut [A]) {
    for (i, o) in out.iter_mut().enumerate() {
        // SAFETY: by the contract.
        *o = unsafe { *src.cast::<A>().offset(i as isize * step) };
    }
}

/// [`StoreFn`] of accumulators as they are.
///
/// # Safety
/// As [`StoreFn`].
pub unsafe fn store_same<A: Copy>(values: &[A], dst: *mut u8, step: isize) {
    for (i, &v) in values.iter().enumerate() {
        // SAFETY: by the contract.
        unsafe { dst.cast::<A>().offset(i as isize * step).write(v) }
    }
}
