//! Hot loops of reductions: one row to one value, and many rows to one row.
//!
//! LLVM may not reassociate floats, so the lanes are spelled out; the order of joins depends on the length alone,
//! hence every instruction set gives the same bits.

use super::op::Op;
#[cfg(target_arch = "x86_64")]
use crate::dense::isa::{Isa, isa};

/// Elements that one call of [`row`] should get at most; longer rows are joined pairwise by the caller.
pub const BLOCK: usize = 4096;

#[inline(always)]
fn fold<O: Op, const L: usize>(acc: &mut [O::A; L]) -> O::A {
    let mut width = L;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            acc[i] = O::join(acc[i], acc[i + width]);
        }
    }
    acc[0]
}

#[inline(always)]
fn lanes<O: Op, const L: usize>(x: &[O::A]) -> O::A {
    let mut acc = [O::START; L];
    let (chunks, tail) = x.as_chunks::<L>();
    for chunk in chunks {
        for i in 0..L {
            acc[i] = O::join(acc[i], chunk[i]);
        }
    }
    for (a, &t) in acc.iter_mut().zip(tail) {
        *a = O::join(*a, t);
    }
    fold::<O, L>(&mut acc)
}

#[inline(always)]
fn row_body<O: Op>(x: &[O::A]) -> O::A {
    if x.len() < 8 {
        let mut acc = O::START;
        for &v in x {
            acc = O::join(acc, v);
        }
        return acc;
    }
    if x.len() < 64 {
        return lanes::<O, 8>(x);
    }
    // Eight registers of 256 bits; fewer for short rows, where folding the lanes would cost more than they save.
    if x.len() < 512 {
        return match size_of::<O::A>() {
            1 | 2 => lanes::<O, 64>(x),
            4 => lanes::<O, 16>(x),
            _ => lanes::<O, 8>(x),
        };
    }
    match size_of::<O::A>() {
        1 => lanes::<O, 256>(x),
        2 => lanes::<O, 128>(x),
        4 => lanes::<O, 64>(x),
        8 => lanes::<O, 32>(x),
        _ => lanes::<O, 16>(x),
    }
}

/// # Safety
/// `count` rows of `n` elements, `stride` elements apart from `base` on, are readable.
#[inline(always)]
unsafe fn rows_body<O: Op>(base: *const O::A, stride: isize, n: usize, out: &mut [O::A]) {
    for (r, o) in out.iter_mut().enumerate() {
        // SAFETY: by the contract.
        *o = row_body::<O>(unsafe { std::slice::from_raw_parts(base.offset(r as isize * stride), n) });
    }
}

/// # Safety
/// `count` rows of `acc.len()` elements, `stride` elements apart from `base` on, are readable.
#[inline(always)]
unsafe fn columns_body<O: Op>(base: *const O::A, stride: isize, count: usize, acc: &mut [O::A]) {
    let n = acc.len();
    // SAFETY: `r` is below `count`, by the contract the row is readable.
    let row = |r: usize| unsafe { std::slice::from_raw_parts(base.offset(r as isize * stride), n) };
    let mut r = 0;
    while r + 8 <= count {
        let (a, b, c, d) = (row(r), row(r + 1), row(r + 2), row(r + 3));
        let (e, f, g, h) = (row(r + 4), row(r + 5), row(r + 6), row(r + 7));
        for j in 0..n {
            let left = O::join(O::join(a[j], b[j]), O::join(c[j], d[j]));
            let right = O::join(O::join(e[j], f[j]), O::join(g[j], h[j]));
            acc[j] = O::join(acc[j], O::join(left, right));
        }
        r += 8;
    }
    while r < count {
        let a = row(r);
        for j in 0..n {
            acc[j] = O::join(acc[j], a[j]);
        }
        r += 1;
    }
}

/// Many small matrices at once: `out[m * n + j]` is the join of column `j` of matrix `m`, which has `rows` rows of
/// `n` elements, `stride` apart, and starts `m * step` elements after `base`.
///
/// # Safety
/// All these elements are readable.
pub unsafe fn small_columns<O: Op>(
    base: *const O::A,
    step: isize,
    (rows, stride): (usize, isize),
    n: usize,
    out: &mut [O::A],
) {
    for (m, out) in out.chunks_exact_mut(n).enumerate() {
        let first = base.wrapping_offset(m as isize * step);
        for (j, o) in out.iter_mut().enumerate() {
            let mut acc = O::START;
            for r in 0..rows as isize {
                // SAFETY: by the contract.
                acc = O::join(acc, unsafe { *first.offset(r * stride + j as isize) });
            }
            *o = acc;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod v3 {
    use super::Op;

    #[target_feature(enable = "avx2,fma")]
    pub fn row<O: Op>(x: &[O::A]) -> O::A {
        super::row_body::<O>(x)
    }
    /// # Safety
    /// As [`super::rows`].
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn rows<O: Op>(base: *const O::A, stride: isize, n: usize, out: &mut [O::A]) {
        // SAFETY: by the contract.
        unsafe { super::rows_body::<O>(base, stride, n, out) }
    }
    /// # Safety
    /// As [`super::columns`].
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn columns<O: Op>(base: *const O::A, stride: isize, count: usize, acc: &mut [O::A]) {
        // SAFETY: by the contract.
        unsafe { super::columns_body::<O>(base, stride, count, acc) }
    }
}

/// Joins all elements.
#[inline]
pub fn row<O: Op>(x: &[O::A]) -> O::A {
    #[cfg(target_arch = "x86_64")]
    if x.len() >= 16 && isa() >= Isa::V3 {
        // SAFETY: the features are there.
        return unsafe { v3::row::<O>(x) };
    }
    row_body::<O>(x)
}

/// `out[r]` is the join of row `r`, which starts `r * stride` elements after `base` and has `n` elements.
///
/// # Safety
/// All these elements are readable.
#[inline]
pub unsafe fn rows<O: Op>(base: *const O::A, stride: isize, n: usize, out: &mut [O::A]) {
    #[cfg(target_arch = "x86_64")]
    if isa() >= Isa::V3 {
        // SAFETY: the features are there; the rest by the contract.
        return unsafe { v3::rows::<O>(base, stride, n, out) };
    }
    // SAFETY: by the contract.
    unsafe { rows_body::<O>(base, stride, n, out) }
}

/// Joins `count` rows, which start `stride` elements apart from `base` on, elementwise into `acc`.
///
/// # Safety
/// All these elements are readable and do not overlap `acc`.
#[inline]
pub unsafe fn columns<O: Op>(base: *const O::A, stride: isize, count: usize, acc: &mut [O::A]) {
    #[cfg(target_arch = "x86_64")]
    if isa() >= Isa::V3 {
        // SAFETY: the features are there; the rest by the contract.
        return unsafe { v3::columns::<O>(base, stride, count, acc) };
    }
    // SAFETY: by the contract.
    unsafe { columns_body::<O>(base, stride, count, acc) }
}
