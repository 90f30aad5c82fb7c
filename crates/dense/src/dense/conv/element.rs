//! Elements that convolutions are made of.

use crate::dense::matmul::{Mat, MatMut, ProductElement, gemm};
use num_complex::Complex;

/// An element with a matrix product that accumulates.
pub trait Product: ProductElement {
    fn plus(self, other: Self) -> Self;

    /// `c += a · b`; m, n, k > 0.
    ///
    /// # Safety
    /// As [`ProductElement::product`], and `c` is initialised.
    unsafe fn product_add(m: usize, n: usize, k: usize, a: Mat<Self>, b: Mat<Self>, c: MatMut<Self>);
}

macro_rules! by_gemm {
    ($($t:ty),*) => {$(
        impl Product for $t {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            unsafe fn product_add(m: usize, n: usize, k: usize, a: Mat<Self>, b: Mat<Self>, c: MatMut<Self>) {
                // SAFETY: by the contract.
                unsafe { gemm(m, n, k, a, b, c, true) }
            }
        }
    )*};
}
by_gemm!(f32, f64, Complex<f32>, Complex<f64>);

macro_rules! by_loops {
    ($($t:ty),*) => {$(
        impl Product for $t {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            unsafe fn product_add(m: usize, n: usize, k: usize, a: Mat<Self>, b: Mat<Self>, c: MatMut<Self>) {
                for i in 0..m {
                    for j in 0..n {
                        // SAFETY: by the contract; i, j and p are below m, n and k.
                        unsafe {
                            let o = c.offset(i, j).ptr;
                            *o = (0..k).fold(*o, |s, p| s.wrapping_add(a.at(i, p).wrapping_mul(b.at(p, j))));
                        }
                    }
                }
            }
        }
    )*};
}
by_loops!(u8, i8, i16, i32, i64);
