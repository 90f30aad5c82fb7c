//! The innermost part of a packed product: a tile of the result in registers.

use crate::base::Element;
use crate::dense::matmul::MatMut;
use crate::dense::matmul::simd::Vector;
use crate::dense::strided::prefetch;

/// Rows of a tile. With two vectors a row they make 12 running sums, which hide the latency of multiply-adds; a row of
/// b and an element of a fit into the rest of 16 registers.
pub const ROWS: usize = 6;
/// Vectors in a row of a tile.
const VECTORS: usize = 2;
/// Steps of the contraction without a branch.
const UNROLLED: usize = 4;

/// Columns of a tile.
#[inline(always)]
pub fn columns<V: Vector>() -> usize {
    VECTORS * V::N
}

/// `c = a · b`, or `c += a · b` if `add`, for panels of `k` columns and rows. Writes the first `rows` rows and `cols`
/// columns of the tile. Each element of the product is one chain of multiply-adds over k.
///
/// # Safety
/// The panels are those of `pack` with [`ROWS`] and [`columns`]; c has `rows` rows of `cols` contiguous elements.
#[inline(always)]
pub unsafe fn tile<V: Vector>(
    k: usize,
    mut a: *const V::T,
    mut b: *const V::T,
    c: MatMut<V::T>,
    (rows, cols): (usize, usize),
    add: bool,
) {
    // SAFETY: each step reads a column of a and a row of b; what lies beyond `rows` and `cols` is not touched.
    unsafe {
        let mut sums = [[V::splat(V::T::zero()); VECTORS]; ROWS];
        for r in 0..ROWS {
            prefetch(c.offset(r, 0).ptr);
            prefetch(c.offset(r, columns::<V>() - 1).ptr);
        }
        for _ in 0..k / UNROLLED {
            for _ in 0..UNROLLED {
                step(a, b, &mut sums);
                (a, b) = (a.add(ROWS), b.add(columns::<V>()));
            }
        }
        for _ in 0..k % UNROLLED {
            step(a, b, &mut sums);
            (a, b) = (a.add(ROWS), b.add(columns::<V>()));
        }
        let full = cols == columns::<V>();
        // Constant bounds, or the sums would not stay in registers.
        for r in 0..ROWS {
            if r < rows {
                for v in 0..VECTORS {
                    let (sum, to) = (sums[r][v], c.offset(r, v * V::N).ptr);
                    let left = cols.saturating_sub(v * V::N);
                    if full {
                        (if add { V::load(to).add(sum) } else { sum }).store(to)
                    } else if left > 0 {
                        (if add { V::load_part(to, left).add(sum) } else { sum }).store_part(to, left)
                    }
                }
            }
        }
    }
}

/// Adds the products of a column of a and a row of b. A closure would not be sure to become part of the tile, whose
/// instruction set it lacks.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn step<V: Vector>(a: *const V::T, b: *const V::T, sums: &mut [[V; VECTORS]; ROWS]) {
    // SAFETY: the panels hold a column of a and a row of b here.
    unsafe {
        let row = [V::load(b), V::load(b.add(V::N))];
        for r in 0..ROWS {
            let x = V::splat(*a.add(r));
            for v in 0..VECTORS {
                sums[r][v] = x.madd(row[v], sums[r][v]);
            }
        }
    }
}

/// As [`step`], of elements of a that lie `at` behind the beginnings of lines.
///
/// # Safety
/// The lines have an element there, and the panel a row.
#[inline(always)]
pub unsafe fn step_at<V: Vector>(
    lines: [*const V::T; ROWS],
    at: isize,
    b: *const V::T,
    sums: &mut [[V; VECTORS]; ROWS],
) {
    // SAFETY: by the contract.
    unsafe {
        let row = [V::load(b), V::load(b.add(V::N))];
        for r in 0..ROWS {
            let x = V::splat(*lines[r].offset(at));
            for v in 0..VECTORS {
                sums[r][v] = x.madd(row[v], sums[r][v]);
            }
        }
    }
}
