//! Matrix–vector products: bounded by memory, so each element of the matrix is read once, in order.

use super::kernel::{Mat, MatMut, ProductElement, gemm};
use super::simd::{SimdFloat, Vector, per_isa};
use crate::base::Element;
use smallvec::SmallVec;

/// Products summed in one accumulator before it is added to the total, so that errors grow with the number of
/// chunks only.
const CHUNK: usize = 4096;
/// The same for columns, where each product is a chain of its own.
const COLUMN_CHUNK: usize = 512;
/// Bytes of results that are held in first-level cache by the column form.
const PANEL_BYTES: usize = 16 << 10;
/// Bytes that the running sums of a dot product fill, on every machine: the order of additions is fixed.
const LANE_BYTES: usize = 64;
/// A single dot product of at least this many elements is cut in four, which are summed side by side.
const SEGMENTED: usize = 4096;

/// `y = a · x` for a of m × k; x is the first column of `x`, y the first column of `y`.
///
/// # Safety
/// As `ProductElement::product` with n = 1.
#[inline]
pub unsafe fn gemv<T: SimdFloat + ProductElement>(m: usize, k: usize, a: Mat<T>, x: Mat<T>, y: MatMut<T>) {
    // SAFETY: by the contract; strides are checked for each form.
    unsafe {
        if a.cs == 1 || k == 1 {
            if x.rs == 1 {
                return dots(m, k, a, x.ptr, y);
            }
            let packed: SmallVec<[T; 256]> = (0..k).map(|p| x.at(p, 0)).collect();
            dots(m, k, a, packed.as_ptr(), y)
        } else if a.rs == 1 || m == 1 {
            if m < 8 {
                // Too short for vectors: the matrix is small or tall, and transposing it costs no more than reading.
                return short(m, k, a, x, y);
            }
            axpys(m, k, a, x, y)
        } else if m * k <= 4096 {
            short(m, k, a, x, y)
        } else {
            gemm(m, 1, k, a, x, y, false)
        }
    }
}

/// Any strides, by packing pieces of rows.
unsafe fn short<T: SimdFloat + ProductElement>(m: usize, k: usize, a: Mat<T>, x: Mat<T>, y: MatMut<T>) {
    const PIECE: usize = 256;
    let (mut row, mut xs) = ([T::zero(); PIECE], [T::zero(); PIECE]);
    // SAFETY: by the contract of `gemv`.
    unsafe {
        for i in 0..m {
            *y.offset(i, 0).ptr = T::zero();
        }
        let mut p = 0;
        while p < k {
            let piece = PIECE.min(k - p);
            for (q, x_q) in xs.iter_mut().enumerate().take(piece) {
                *x_q = x.at(p + q, 0);
            }
            for i in 0..m {
                for (q, r) in row.iter_mut().enumerate().take(piece) {
                    *r = a.at(i, p + q);
                }
                let mut sum = T::zero();
                let to = MatMut { ptr: &mut sum, rs: 1, cs: 1 };
                dots(1, piece, Mat { ptr: row.as_ptr(), rs: 0, cs: 1 }, xs.as_ptr(), to);
                let y = y.offset(i, 0).ptr;
                *y = *y + sum;
            }
            p += piece;
        }
    }
}

per_isa! {
    /// Rows are contiguous: a dot product for each.
    unsafe fn dots<T: SimdFloat>(m: usize, k: usize, a: Mat<T>, x: *const T, y: MatMut<T>) = vector dots_body
}

#[inline(always)]
unsafe fn dots_body<V: Vector>(m: usize, k: usize, a: Mat<V::T>, x: *const V::T, y: MatMut<V::T>) {
    // SAFETY: by the contract of `gemv`; the number of vectors is that of `LANE_BYTES`.
    unsafe {
        match LANE_BYTES / size_of::<V>() {
            1 => dot_rows::<V, 1>(m, k, a, x, y),
            2 => dot_rows::<V, 2>(m, k, a, x, y),
            _ => dot_rows::<V, 4>(m, k, a, x, y),
        }
    }
}

#[inline(always)]
unsafe fn dot_rows<V: Vector, const NV: usize>(m: usize, k: usize, a: Mat<V::T>, x: *const V::T, y: MatMut<V::T>) {
    let mut i = 0;
    // SAFETY: rows i..i + 4 are inside the matrix; segments are parts of the row.
    unsafe {
        if m == 1 && k >= SEGMENTED {
            let s = k / 4;
            let at = |i: usize| a.ptr.add(i * s);
            let [t, u, v, w] =
                dot::<V, NV, 4>(s, [at(0), at(1), at(2), at(3)], [x, x.add(s), x.add(2 * s), x.add(3 * s)]);
            let [rest] = dot::<V, NV, 1>(k - 4 * s, [at(4)], [x.add(4 * s)]);
            *y.ptr = (t + u) + (v + w) + rest;
            return;
        }
        while i + 4 <= m {
            let row = |r: usize| a.offset(i + r, 0).ptr;
            let sums = dot::<V, NV, 4>(k, [row(0), row(1), row(2), row(3)], [x; 4]);
            for (r, &sum) in sums.iter().enumerate() {
                *y.offset(i + r, 0).ptr = sum;
            }
            i += 4;
        }
        while i < m {
            let [sum] = dot::<V, NV, 1>(k, [a.offset(i, 0).ptr], [x]);
            *y.offset(i, 0).ptr = sum;
            i += 1;
        }
    }
}

/// Dot products of `R` pairs of rows in fixed lanes: the order of additions depends on k only.
#[inline(always)]
unsafe fn dot<V: Vector, const NV: usize, const R: usize>(
    k: usize,
    rows: [*const V::T; R],
    xs: [*const V::T; R],
) -> [V::T; R] {
    let mut total = [V::T::zero(); R];
    let mut start = 0;
    // SAFETY: all offsets are below k.
    unsafe {
        while start < k {
            let end = (start + CHUNK).min(k);
            let mut acc = [[V::splat(V::T::zero()); NV]; R];
            let mut p = start;
            while p + NV * V::N <= end {
                for v in 0..NV {
                    let at = p + v * V::N;
                    for r in 0..R {
                        acc[r][v] = V::load(xs[r].add(at)).madd(V::load(rows[r].add(at)), acc[r][v]);
                    }
                }
                p += NV * V::N;
            }
            for v in 0..NV {
                let n = end.saturating_sub(p + v * V::N).min(V::N);
                if n > 0 {
                    let at = p + v * V::N;
                    for r in 0..R {
                        acc[r][v] = V::load_part(xs[r].add(at), n).madd(V::load_part(rows[r].add(at), n), acc[r][v]);
                    }
                }
            }
            for r in 0..R {
                total[r] = total[r] + tree_sum(&acc[r]);
            }
            start = end;
        }
    }
    total
}

/// The sum of all lanes by halving: the same order for any width of vectors.
#[inline(always)]
unsafe fn tree_sum<V: Vector, const NV: usize>(acc: &[V; NV]) -> V::T {
    let mut lanes = [V::T::zero(); 32];
    let mut v = *acc;
    let mut width = NV;
    // SAFETY: N lanes of at most 16 fit the array.
    unsafe {
        while width > 1 {
            width /= 2;
            for i in 0..width {
                v[i] = v[i].add(v[i + width]);
            }
        }
        v[0].store(lanes.as_mut_ptr());
    }
    let mut width = V::N;
    while width > 1 {
        width /= 2;
        for l in 0..width {
            lanes[l] = lanes[l] + lanes[l + width];
        }
    }
    lanes[0]
}

per_isa! {
    /// Columns are contiguous: y gathers multiples of the columns, a panel of rows at a time.
    unsafe fn axpys<T: SimdFloat>(m: usize, k: usize, a: Mat<T>, x: Mat<T>, y: MatMut<T>) = vector axpys_body
}

#[inline(always)]
unsafe fn axpys_body<V: Vector>(m: usize, k: usize, a: Mat<V::T>, x: Mat<V::T>, y: MatMut<V::T>) {
    let panel = PANEL_BYTES / size_of::<V::T>();
    let mut sums: SmallVec<[V::T; 64]> = SmallVec::from_elem(V::T::zero(), m.min(panel));
    let mut totals = sums.clone();
    let mut i = 0;
    // SAFETY: rows i..i + rows and columns p..p + chunk are inside the matrix.
    unsafe {
        while i < m {
            let rows = panel.min(m - i);
            totals[..rows].fill(V::T::zero());
            let mut p = 0;
            while p < k {
                let chunk = COLUMN_CHUNK.min(k - p);
                sums[..rows].fill(V::T::zero());
                axpy_chunk::<V>(chunk, a.offset(i, p), x.offset(p, 0), &mut sums[..rows]);
                for (t, &s) in totals[..rows].iter_mut().zip(&sums[..rows]) {
                    *t = *t + s;
                }
                p += chunk;
            }
            for (r, &t) in totals[..rows].iter().enumerate() {
                *y.offset(i + r, 0).ptr = t;
            }
            i += rows;
        }
    }
}

/// `sums += a[:, ..k] · x`, eight columns at a time: fewer streams do not fill the memory pipeline.
#[inline(always)]
unsafe fn axpy_chunk<V: Vector>(k: usize, a: Mat<V::T>, x: Mat<V::T>, sums: &mut [V::T]) {
    let mut p = 0;
    // SAFETY: by the contract of `axpys`.
    unsafe {
        while p + 8 <= k {
            axpy_columns::<V, 8>(a.offset(0, p), x.offset(p, 0), sums);
            p += 8;
        }
        while p < k {
            axpy_columns::<V, 1>(a.offset(0, p), x.offset(p, 0), sums);
            p += 1;
        }
    }
}

#[inline(always)]
unsafe fn axpy_columns<V: Vector, const C: usize>(a: Mat<V::T>, x: Mat<V::T>, sums: &mut [V::T]) {
    // SAFETY: by the contract of `axpys`.
    unsafe {
        let mut xs = [V::splat(V::T::zero()); C];
        let mut cols = [a.ptr; C];
        for c in 0..C {
            xs[c] = V::splat(x.at(c, 0));
            cols[c] = a.offset(0, c).ptr;
        }
        let (to, n) = (sums.as_mut_ptr(), sums.len());
        let mut i = 0;
        while i + V::N <= n {
            let mut s = V::load(to.add(i));
            for c in 0..C {
                s = xs[c].madd(V::load(cols[c].add(i)), s);
            }
            s.store(to.add(i));
            i += V::N;
        }
        if i < n {
            let mut s = V::load_part(to.add(i), n - i);
            for c in 0..C {
                s = xs[c].madd(V::load_part(cols[c].add(i), n - i), s);
            }
            s.store_part(to.add(i), n - i);
        }
    }
}
