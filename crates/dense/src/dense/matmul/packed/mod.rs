//! Products of matrices that outgrow the second cache, for machines with AVX2 and no more. There the `gemm` crate, which
//! is ahead elsewhere, waits for memory.
//!
//! The loops are those of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008): a block of
//! b is packed for the last cache, a block of a for the second, and a panel of b stays in the first.

mod direct;
mod micro;
mod panels;
mod stationary;

use super::simd::{SimdFloat, Vector};
use super::{Mat, MatMut};
use crate::dense::isa::{Isa, isa};
use crate::dense::memory;
pub use direct::{pays as pays_direct, product as direct};
use micro::{ROWS, columns, tile};
use panels::pack;
pub use stationary::Stationary;

/// Multiply-adds, and rows and columns, below which `gemm` was measured to be as fast: what is packed is used too little.
const LEAST_WORK: usize = 3 << 25;
const LEAST_SIDE: usize = 256;

/// The most of what is packed at once: rows of a, length of the contraction, and columns of b.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    rows: usize,
    depth: usize,
    cols: usize,
}

impl Sizes {
    /// A panel of b of 16 KiB, half the first cache; a block of a of 96 KiB; a block of b of 2 MiB.
    const fn of<T>() -> Sizes {
        let words = size_of::<T>() / 4;
        Sizes { rows: 96 / words, depth: 256, cols: 2048 / words }
    }
}

/// Whether [`product`] is the kernel for this shape on this machine.
pub fn pays(m: usize, n: usize, k: usize) -> bool {
    let large = m.min(n) >= LEAST_SIDE && m.saturating_mul(n).saturating_mul(k) >= LEAST_WORK;
    large && cfg!(target_arch = "x86_64") && isa() == Isa::V3
}

/// `c = a · b`, whose bits depend on the operands alone.
///
/// # Safety
/// As `ProductElement::product`, on a machine with [`Isa::V3`]; c.cs is 1.
pub unsafe fn product<T: SimdFloat>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>) {
    // SAFETY: by the contract.
    unsafe { sized(m, n, k, a, b, c, Sizes::of::<T>()) }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn sized<T: SimdFloat>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>, most: Sizes) {
    // SAFETY: by the contract of `product`.
    unsafe { blocked::<T::V3>(m, n, k, a, b, c, most) }
}

/// The length of the parts of `n`, about equal and at most `most`; a multiple of `unit`, which divides `most`.
#[inline(always)]
fn part(n: usize, most: usize, unit: usize) -> usize {
    n.div_ceil(n.div_ceil(most)).next_multiple_of(unit)
}

#[inline(always)]
unsafe fn blocked<V: Vector>(m: usize, n: usize, k: usize, a: Mat<V::T>, b: Mat<V::T>, c: MatMut<V::T>, most: Sizes) {
    debug_assert!(c.cs == 1);
    let width = columns::<V>();
    // The contraction is cut by its own length, so that additions do not depend on the rest of the shape.
    let size = Sizes { rows: part(m, most.rows, ROWS), depth: part(k, most.depth, 1), cols: part(n, most.cols, width) };
    let bytes = (size.rows + size.cols) * size.depth * size_of::<V::T>();
    let room = memory::alloc(bytes).unwrap_or_else(|| no_memory(bytes)).cast::<V::T>();
    // SAFETY: by the contract of `product`; blocks lie inside the matrices and, packed, inside the room.
    unsafe {
        let (block_b, block_a) = (room, room.add(size.cols * size.depth));
        for j in (0..n).step_by(size.cols) {
            let cols = size.cols.min(n - j);
            for p in (0..k).step_by(size.depth) {
                let depth = size.depth.min(k - p);
                pack(b.transposed().offset(j, p), cols, depth, width, block_b);
                for i in (0..m).step_by(size.rows) {
                    let rows = size.rows.min(m - i);
                    pack(a.offset(i, p), rows, depth, ROWS, block_a);
                    multiply::<V>(rows, cols, depth, block_a, block_b, c.offset(i, j), p > 0);
                }
            }
        }
        memory::free(room.cast(), bytes);
    }
}

/// `c = a · b`, or `c += a · b` if `add`, for packed blocks.
///
/// # Safety
/// As [`tile`], for all tiles of `rows` × `cols`.
#[inline(always)]
unsafe fn multiply<V: Vector>(
    rows: usize,
    cols: usize,
    depth: usize,
    a: *const V::T,
    b: *const V::T,
    c: MatMut<V::T>,
    add: bool,
) {
    let width = columns::<V>();
    for j in (0..cols).step_by(width) {
        for i in (0..rows).step_by(ROWS) {
            let part = (ROWS.min(rows - i), width.min(cols - j));
            // SAFETY: by the contract.
            unsafe { tile::<V>(depth, a.add(i * depth), b.add(j * depth), c.offset(i, j), part, add) }
        }
    }
}

#[cold]
fn no_memory(bytes: usize) -> ! {
    std::alloc::handle_alloc_error(std::alloc::Layout::array::<u8>(bytes).expect("a block of a few megabytes"))
}

#[cfg(test)]
mod tests;
