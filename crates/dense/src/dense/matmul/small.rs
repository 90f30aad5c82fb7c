//! Products of matrices up to 16 × 16, where a blocked product would spend its time on preparation.

use super::kernel::{Mat, MatMut};
use super::simd::{SimdFloat, Vector, per_isa};
use crate::base::Element;
use std::mem::MaybeUninit;

/// The largest m, n and k.
pub const MAX: usize = 16;

per_isa! {
    /// `c = a · b` for m, n, k in 1..=16, plus a row `bias` unless it is null; each element is one chain of multiply-adds
    /// over k.
    ///
    /// # Safety
    /// As `ProductElement::product`; a bias has n elements.
    pub unsafe fn product<T: SimdFloat>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>, bias: *const T)
        = vector packed
}

/// Gives b unit column stride.
#[inline(always)]
unsafe fn packed<V: Vector>(
    m: usize,
    n: usize,
    k: usize,
    a: Mat<V::T>,
    b: Mat<V::T>,
    c: MatMut<V::T>,
    bias: *const V::T,
) {
    // SAFETY: by the contract of `product`; the tile holds k rows of n elements.
    unsafe {
        let mut tile = MaybeUninit::<[[V::T; MAX]; MAX]>::uninit();
        let mut b = b;
        if b.cs != 1 {
            let rows = tile.as_mut_ptr().cast::<V::T>();
            let (quads, lines) = if b.rs == 1 { (k & !3, n & !3) } else { (0, 0) };
            for j in (0..lines).step_by(4) {
                for p in (0..quads).step_by(4) {
                    V::T::interleave4(b.offset(p, j).ptr, b.cs, rows.add(p * MAX + j), MAX);
                }
            }
            for p in 0..k {
                let done = if p < quads { lines } else { 0 };
                for j in done..n {
                    rows.add(p * MAX + j).write(b.at(p, j));
                }
            }
            b = Mat { ptr: rows, rs: MAX as isize, cs: 1 };
        }
        match n.div_ceil(V::N) {
            1 => panel::<V, 1, 8>(m, n, k, a, b, c, bias),
            2 => panel::<V, 2, 4>(m, n, k, a, b, c, bias),
            3 => panel::<V, 3, 4>(m, n, k, a, b, c, bias),
            _ => panel::<V, 4, 2>(m, n, k, a, b, c, bias),
        }
    }
}

/// Rows of `NV` vectors, the last of them filled in part; `R` rows at a time.
#[inline(always)]
unsafe fn panel<V: Vector, const NV: usize, const R: usize>(
    m: usize,
    n: usize,
    k: usize,
    a: Mat<V::T>,
    b: Mat<V::T>,
    c: MatMut<V::T>,
    bias: *const V::T,
) {
    // SAFETY: by the contract of `product`; rows i..i + R are inside.
    unsafe {
        let mut i = 0;
        while i + R <= m {
            rows::<V, NV, R>(n, k, a.offset(i, 0), b, c.offset(i, 0), bias);
            i += R;
        }
        if R > 4 && i + 4 <= m {
            rows::<V, NV, 4>(n, k, a.offset(i, 0), b, c.offset(i, 0), bias);
            i += 4;
        }
        while i < m {
            rows::<V, NV, 1>(n, k, a.offset(i, 0), b, c.offset(i, 0), bias);
            i += 1;
        }
    }
}

#[inline(always)]
unsafe fn rows<V: Vector, const NV: usize, const R: usize>(
    n: usize,
    k: usize,
    a: Mat<V::T>,
    b: Mat<V::T>,
    c: MatMut<V::T>,
    bias: *const V::T,
) {
    let last = n - (NV - 1) * V::N;
    let full = last == V::N;
    // SAFETY: by the contract of `panel`.
    unsafe {
        let mut acc = [[V::splat(V::T::zero()); NV]; R];
        for p in 0..k {
            let from = b.offset(p, 0).ptr;
            let end = from.add((NV - 1) * V::N);
            let mut row = [if full { V::load(end) } else { V::load_part(end, last) }; NV];
            for v in 0..NV - 1 {
                row[v] = V::load(from.add(v * V::N));
            }
            for r in 0..R {
                let x = V::splat(a.at(r, p));
                for v in 0..NV {
                    acc[r][v] = x.madd(row[v], acc[r][v]);
                }
            }
        }
        if !bias.is_null() {
            let end = bias.add((NV - 1) * V::N);
            let mut row = [if full { V::load(end) } else { V::load_part(end, last) }; NV];
            for v in 0..NV - 1 {
                row[v] = V::load(bias.add(v * V::N));
            }
            for acc in &mut acc {
                for v in 0..NV {
                    acc[v] = acc[v].add(row[v]);
                }
            }
        }
        for (r, acc) in acc.iter().enumerate() {
            let to = c.offset(r, 0);
            if c.cs == 1 && full {
                for v in 0..NV {
                    acc[v].store(to.ptr.add(v * V::N));
                }
            } else {
                let mut line = [V::T::zero(); MAX];
                for v in 0..NV {
                    acc[v].store(line.as_mut_ptr().add(v * V::N));
                }
                for j in 0..n {
                    *to.offset(0, j).ptr = line[j];
                }
            }
        }
    }
}
