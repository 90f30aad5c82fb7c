//! Products of integer matrices, wrapping on overflow.

use super::kernel::{Mat, MatMut};
use super::simd::per_isa;
use crate::base::Element;
use num_traits::{WrappingAdd, WrappingMul};

/// Columns that are accumulated together.
const WIDTH: usize = 64;

/// An integer element.
pub trait Int: Element + WrappingAdd + WrappingMul {}
impl<T: Element + WrappingAdd + WrappingMul> Int for T {}

per_isa! {
    /// `c = a · b` modulo 2 to the number of bits.
    ///
    /// # Safety
    /// As `ProductElement::product`.
    pub unsafe fn product<T: Int>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>) = scalar product_body
}

#[inline(always)]
unsafe fn product_body<T: Int>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>) {
    // Panels of b, WIDTH columns wide and padded with zeros, serve all rows of a.
    let mut panel: Vec<[T; WIDTH]> = vec![[T::zero(); WIDTH]; k];
    let mut j = 0;
    // SAFETY: all indices are below m, n and k.
    unsafe {
        while j < n {
            let width = WIDTH.min(n - j);
            for (p, row) in panel.iter_mut().enumerate() {
                for (jj, x) in row.iter_mut().enumerate().take(width) {
                    *x = b.at(p, j + jj);
                }
            }
            for i in 0..m {
                let mut acc = [T::zero(); WIDTH];
                for (p, row) in panel.iter().enumerate() {
                    let x = a.at(i, p);
                    for (s, y) in acc.iter_mut().zip(row) {
                        *s = s.wrapping_add(&x.wrapping_mul(y));
                    }
                }
                for (jj, &x) in acc.iter().enumerate().take(width) {
                    *c.offset(i, j + jj).ptr = x;
                }
            }
            j += width;
        }
    }
}
