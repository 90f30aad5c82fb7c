//! Products of matrices up to 16 × 16, where a blocked product would spend its time on preparation.

use super::isa::per_isa;
use super::kernel::{Mat, MatMut};
use crate::base::Element;
use std::mem::MaybeUninit;
use std::ops::{Add, Mul};

/// The largest m, n and k.
pub const MAX: usize = 16;

/// A real floating-point element.
pub trait Real: Element + Add<Output = Self> + Mul<Output = Self> {
    /// Rows of accumulators of 16 elements that fit the registers.
    const ROWS_16: usize;
    /// `self·b + c` with one rounding.
    fn fused(self, b: Self, c: Self) -> Self;
}
impl Real for f32 {
    const ROWS_16: usize = 4;
    #[inline(always)]
    fn fused(self, b: f32, c: f32) -> f32 {
        self.mul_add(b, c)
    }
}
impl Real for f64 {
    const ROWS_16: usize = 2;
    #[inline(always)]
    fn fused(self, b: f64, c: f64) -> f64 {
        self.mul_add(b, c)
    }
}

/// `a·b + c`, fused where that is an instruction.
#[inline(always)]
pub fn madd<T: Real, const FMA: bool>(a: T, b: T, c: T) -> T {
    if FMA { a.fused(b, c) } else { a * b + c }
}

per_isa! {
    /// `c = a · b` for m, n, k in 1..=16; each element is one chain of multiply-adds over k.
    ///
    /// # Safety
    /// As `Kernel::product`.
    pub unsafe fn product<T: Real>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>) = product_body
}

#[inline(always)]
unsafe fn product_body<T: Real, const FMA: bool>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>) {
    // SAFETY: by the contract of `product`.
    unsafe {
        match n {
            ..=4 => columns::<T, FMA, 4, 4>(m, n, k, a, b, c),
            ..=8 => columns::<T, FMA, 8, 4>(m, n, k, a, b, c),
            _ if T::ROWS_16 == 4 => columns::<T, FMA, 16, 4>(m, n, k, a, b, c),
            _ => columns::<T, FMA, 16, 2>(m, n, k, a, b, c),
        }
    }
}

/// `n <= W` columns, `R` rows at a time.
#[inline(always)]
unsafe fn columns<T: Real, const FMA: bool, const W: usize, const R: usize>(
    m: usize,
    n: usize,
    k: usize,
    a: Mat<T>,
    b: Mat<T>,
    c: MatMut<T>,
) {
    // SAFETY: the rows of b, in place or in the tile, hold W readable elements; the rest is the caller's contract.
    unsafe {
        let mut tile = MaybeUninit::<[[T; W]; MAX]>::uninit();
        let b = if n == W && b.cs == 1 {
            b
        } else {
            let rows = tile.as_mut_ptr().cast::<[T; W]>();
            for p in 0..k {
                let mut row = [T::zero(); W];
                for (j, x) in row.iter_mut().enumerate().take(n) {
                    *x = b.at(p, j);
                }
                rows.add(p).write(row);
            }
            Mat { ptr: rows.cast::<T>().cast_const(), rs: W as isize, cs: 1 }
        };
        let mut i = 0;
        while i + R <= m {
            rows::<T, FMA, W, R>(n, k, a.offset(i, 0), b, c.offset(i, 0));
            i += R;
        }
        while i < m {
            rows::<T, FMA, W, 1>(n, k, a.offset(i, 0), b, c.offset(i, 0));
            i += 1;
        }
    }
}

#[inline(always)]
unsafe fn rows<T: Real, const FMA: bool, const W: usize, const R: usize>(
    n: usize,
    k: usize,
    a: Mat<T>,
    b: Mat<T>,
    c: MatMut<T>,
) {
    // SAFETY: by the contract of `columns`.
    unsafe {
        let mut acc = [[T::zero(); W]; R];
        for p in 0..k {
            let row = b.offset(p, 0).ptr.cast::<[T; W]>().read();
            for r in 0..R {
                let x = a.at(r, p);
                for j in 0..W {
                    acc[r][j] = madd::<T, FMA>(x, row[j], acc[r][j]);
                }
            }
        }
        for (r, acc) in acc.iter().enumerate() {
            let c = c.offset(r, 0);
            if n == W && c.cs == 1 {
                c.ptr.cast::<[T; W]>().write(*acc);
            } else {
                for (j, &x) in acc.iter().enumerate().take(n) {
                    *c.offset(0, j).ptr = x;
                }
            }
        }
    }
}
