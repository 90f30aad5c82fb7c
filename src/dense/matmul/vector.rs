//! Matrix–vector products: bounded by memory, so each element of the matrix is read once, in order.

use super::isa::per_isa;
use super::kernel::{Mat, MatMut, gemm};
use super::small::{Real, madd};
use smallvec::SmallVec;

/// Products summed in one accumulator before it is added to the total, so that errors grow with the number of
/// chunks only.
const CHUNK: usize = 4096;
/// The same for columns, where each product is a chain of its own.
const COLUMN_CHUNK: usize = 512;
/// Bytes of results that are held in first-level cache by the column form.
const PANEL_BYTES: usize = 16 << 10;

/// `y = a · x` for a of m × k; x is the first column of `x`, y the first column of `y`.
///
/// # Safety
/// As `Kernel::product` with n = 1.
#[inline]
pub unsafe fn gemv<T: Real + super::Kernel>(m: usize, k: usize, a: Mat<T>, x: Mat<T>, y: MatMut<T>) {
    // SAFETY: by the contract; strides are checked for each form.
    unsafe {
        if a.cs == 1 || k == 1 {
            if x.rs == 1 {
                return dots(m, k, a, x.ptr, y);
            }
            let packed: SmallVec<[T; 256]> = (0..k).map(|p| x.at(p, 0)).collect();
            dots(m, k, a, packed.as_ptr(), y)
        } else if a.rs == 1 || m * k <= 1024 {
            axpys(m, k, a, x, y)
        } else {
            gemm(m, 1, k, a, x, y, false)
        }
    }
}

per_isa! {
    /// Rows are contiguous: a dot product for each.
    unsafe fn dots<T: Real>(m: usize, k: usize, a: Mat<T>, x: *const T, y: MatMut<T>) = dots_body
}

#[inline(always)]
unsafe fn dots_body<T: Real, const FMA: bool>(m: usize, k: usize, a: Mat<T>, x: *const T, y: MatMut<T>) {
    // SAFETY: by the contract of `gemv`.
    unsafe {
        match size_of::<T>() {
            4 => dot_rows::<T, FMA, 32>(m, k, a, x, y),
            _ => dot_rows::<T, FMA, 16>(m, k, a, x, y),
        }
    }
}

#[inline(always)]
unsafe fn dot_rows<T: Real, const FMA: bool, const L: usize>(m: usize, k: usize, a: Mat<T>, x: *const T, y: MatMut<T>) {
    let mut i = 0;
    // SAFETY: rows i and i + 1 are inside the matrix.
    unsafe {
        while i + 2 <= m {
            let [u, v] = dot::<T, FMA, L, 2>(k, [a.offset(i, 0).ptr, a.offset(i + 1, 0).ptr], x);
            *y.offset(i, 0).ptr = u;
            *y.offset(i + 1, 0).ptr = v;
            i += 2;
        }
        if i < m {
            let [u] = dot::<T, FMA, L, 1>(k, [a.offset(i, 0).ptr], x);
            *y.offset(i, 0).ptr = u;
        }
    }
}

/// Dot products of `R` rows with `x` in `L` fixed lanes: the order of additions depends on k only.
#[inline(always)]
unsafe fn dot<T: Real, const FMA: bool, const L: usize, const R: usize>(
    k: usize,
    rows: [*const T; R],
    x: *const T,
) -> [T; R] {
    let mut total = [T::zero(); R];
    let mut start = 0;
    // SAFETY: all offsets are below k.
    unsafe {
        while start < k {
            let end = (start + CHUNK).min(k);
            let mut acc = [[T::zero(); L]; R];
            let mut p = start;
            while p + L <= end {
                let xs = x.add(p).cast::<[T; L]>().read();
                for r in 0..R {
                    let row = rows[r].add(p).cast::<[T; L]>().read();
                    for l in 0..L {
                        acc[r][l] = madd::<T, FMA>(row[l], xs[l], acc[r][l]);
                    }
                }
                p += L;
            }
            for r in 0..R {
                for l in 0..end - p {
                    acc[r][l] = madd::<T, FMA>(*rows[r].add(p + l), *x.add(p + l), acc[r][l]);
                }
                total[r] = total[r] + tree_sum(&mut acc[r]);
            }
            start = end;
        }
    }
    total
}

/// The sum of a power of two of lanes by halving.
#[inline(always)]
fn tree_sum<T: Real, const L: usize>(lanes: &mut [T; L]) -> T {
    let mut width = L / 2;
    while width > 0 {
        for l in 0..width {
            lanes[l] = lanes[l] + lanes[l + width];
        }
        width /= 2;
    }
    lanes[0]
}

per_isa! {
    /// Columns are contiguous (or the matrix small): y gathers multiples of the columns, a panel of rows at a time.
    unsafe fn axpys<T: Real>(m: usize, k: usize, a: Mat<T>, x: Mat<T>, y: MatMut<T>) = axpys_body
}

#[inline(always)]
unsafe fn axpys_body<T: Real, const FMA: bool>(m: usize, k: usize, a: Mat<T>, x: Mat<T>, y: MatMut<T>) {
    let panel = PANEL_BYTES / size_of::<T>();
    let mut sums: SmallVec<[T; 64]> = SmallVec::from_elem(T::zero(), m.min(panel));
    let mut totals = sums.clone();
    let mut i = 0;
    // SAFETY: rows i..i + rows and columns p..p + chunk are inside the matrix.
    unsafe {
        while i < m {
            let rows = panel.min(m - i);
            totals[..rows].fill(T::zero());
            let mut p = 0;
            while p < k {
                let chunk = COLUMN_CHUNK.min(k - p);
                sums[..rows].fill(T::zero());
                axpy_chunk::<T, FMA>(chunk, a.offset(i, p), x.offset(p, 0), &mut sums[..rows]);
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

/// `sums += a[:, ..k] · x`, eight columns at a time.
#[inline(always)]
unsafe fn axpy_chunk<T: Real, const FMA: bool>(k: usize, a: Mat<T>, x: Mat<T>, sums: &mut [T]) {
    let mut p = 0;
    // SAFETY: by the contract of `axpys`; the slices below are rows of contiguous elements.
    unsafe {
        while p + 8 <= k && a.rs == 1 {
            let mut xs = [T::zero(); 8];
            let mut cols = [&[] as &[T]; 8];
            for c in 0..8 {
                xs[c] = x.at(p + c, 0);
                cols[c] = std::slice::from_raw_parts(a.offset(0, p + c).ptr, sums.len());
            }
            for (i, s) in sums.iter_mut().enumerate() {
                for c in 0..8 {
                    *s = madd::<T, FMA>(xs[c], *cols[c].get_unchecked(i), *s);
                }
            }
            p += 8;
        }
        while p < k {
            let (x, col) = (x.at(p, 0), a.offset(0, p));
            for (i, s) in sums.iter_mut().enumerate() {
                *s = madd::<T, FMA>(x, col.at(i, 0), *s);
            }
            p += 1;
        }
    }
}
