//! One product of two strided matrices on one thread, for each element type.

use super::{integer, packed, small, vector};
use crate::base::Element;
use num_complex::Complex;

/// A strided matrix: element (i, j) is at `ptr + i·rs + j·cs`.
#[derive(Clone, Copy)]
pub struct Mat<T> {
    pub ptr: *const T,
    pub rs: isize,
    pub cs: isize,
}

impl<T: Copy> Mat<T> {
    /// # Safety
    /// The element must be inside the matrix.
    #[inline(always)]
    pub unsafe fn at(self, i: usize, j: usize) -> T {
        // SAFETY: by the contract.
        unsafe { *self.offset(i, j).ptr }
    }
    /// The matrix that starts at element (i, j).
    ///
    /// # Safety
    /// The element must be inside the matrix, or the result never read.
    #[inline(always)]
    pub unsafe fn offset(self, i: usize, j: usize) -> Self {
        Mat { ptr: self.ptr.wrapping_offset(i as isize * self.rs + j as isize * self.cs), ..self }
    }
    pub fn transposed(self) -> Self {
        Mat { ptr: self.ptr, rs: self.cs, cs: self.rs }
    }
}

/// A strided matrix to write to.
#[derive(Clone, Copy)]
pub struct MatMut<T> {
    pub ptr: *mut T,
    pub rs: isize,
    pub cs: isize,
}

impl<T: Copy> MatMut<T> {
    /// # Safety
    /// As [`Mat::offset`].
    #[inline(always)]
    pub unsafe fn offset(self, i: usize, j: usize) -> Self {
        MatMut { ptr: self.ptr.wrapping_offset(i as isize * self.rs + j as isize * self.cs), ..self }
    }
    pub fn transposed(self) -> Self {
        MatMut { ptr: self.ptr, rs: self.cs, cs: self.rs }
    }
}

/// As [`ProductElement::product`].
pub type Product<T> = unsafe fn(usize, usize, usize, Mat<T>, Mat<T>, MatMut<T>);

/// An element type with a matrix product.
pub trait ProductElement: Element {
    /// Multiply-adds that take about a nanosecond, for deciding what is worth a task.
    const PER_NS: usize;

    /// `c = a · b` for a of m × k, b of k × n; m, n, k > 0. The result depends on the arguments only, not on where
    /// they lie.
    ///
    /// # Safety
    /// All elements of `a` and `b` must be readable, those of `c` writable, distinct, and not part of `a` or `b`.
    unsafe fn product(m: usize, n: usize, k: usize, a: Mat<Self>, b: Mat<Self>, c: MatMut<Self>);

    /// What takes its place where all of m × n × k is of such a size, also for parts of it, if rows of c are contiguous.
    fn large(_m: usize, _n: usize, _k: usize) -> Option<Product<Self>> {
        None
    }
}

/// The blocked product of the `gemm` crate, on this thread: `c = a·b`, or `c += a·b` if `add`.
///
/// # Safety
/// As [`ProductElement::product`]; `T` is f32, f64 or a complex number of these.
#[inline]
pub unsafe fn gemm<T: Element>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>, add: bool) {
    let (one, scale) = (T::one(), if add { T::one() } else { T::zero() });
    // SAFETY: by the contract.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.ptr,
            c.cs,
            c.rs,
            add,
            a.ptr,
            a.cs,
            a.rs,
            b.ptr,
            b.cs,
            b.rs,
            scale,
            one,
            false,
            false,
            false,
            gemm::Parallelism::None,
        )
    }
}

macro_rules! real_kernel {
    ($($t:ty, $per_ns:literal);*) => {$(
        impl ProductElement for $t {
            const PER_NS: usize = $per_ns;
            #[inline]
            unsafe fn product(m: usize, n: usize, k: usize, a: Mat<Self>, b: Mat<Self>, c: MatMut<Self>) {
                // SAFETY: by the contract; each path checks what it needs of the strides.
                unsafe {
                    if n == 1 {
                        vector::gemv(m, k, a, Mat { ptr: b.ptr, rs: b.rs, cs: 1 }, c)
                    } else if m == 1 {
                        vector::gemv(n, k, b.transposed(), Mat { ptr: a.ptr, rs: a.cs, cs: 1 }, c.transposed())
                    } else if m <= small::MAX && n <= small::MAX && k <= small::MAX {
                        small::product(m, n, k, a, b, c, std::ptr::null())
                    } else {
                        gemm(m, n, k, a, b, c, false)
                    }
                }
            }
            fn large(m: usize, n: usize, k: usize) -> Option<Product<Self>> {
                match (packed::pays(m, n, k), packed::pays_direct(m, n, k)) {
                    (true, _) => Some(packed::product::<Self>),
                    (_, true) => Some(packed::direct::<Self>),
                    _ => None,
                }
            }
        }
    )*};
}
real_kernel!(f32, 40; f64, 20);

macro_rules! complex_kernel {
    ($($t:ty, $per_ns:literal);*) => {$(
        impl ProductElement for Complex<$t> {
            const PER_NS: usize = $per_ns;
            #[inline]
            unsafe fn product(m: usize, n: usize, k: usize, a: Mat<Self>, b: Mat<Self>, c: MatMut<Self>) {
                // SAFETY: by the contract.
                unsafe { gemm(m, n, k, a, b, c, false) }
            }
        }
    )*};
}
complex_kernel!(f32, 10; f64, 5);

macro_rules! int_kernel {
    ($($t:ty),*) => {$(
        impl ProductElement for $t {
            const PER_NS: usize = 4;
            #[inline]
            unsafe fn product(m: usize, n: usize, k: usize, a: Mat<Self>, b: Mat<Self>, c: MatMut<Self>) {
                // SAFETY: by the contract.
                unsafe { integer::product(m, n, k, a, b, c) }
            }
        }
    )*};
}
int_kernel!(u8, i8, i16, i32, i64);
