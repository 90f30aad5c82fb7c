//! Products of a middle size, where packing both operands would take a good part of the time: one of them is packed for
//! the second cache, the other is read where it lies. For machines with AVX2 and no more.

use super::super::simd::{SimdFloat, Vector};
use super::super::{Mat, MatMut};
use super::micro::{ROWS, columns, step_at};
use super::no_memory;
use super::panels::pack;
use crate::base::Element;
use crate::dense::isa::{Isa, isa};
use crate::dense::memory;

/// Sizes below which there is less to gain than the edges of tiles cost, and above which a panel leaves the second cache.
const LEAST: usize = 64;
const DEEPEST: usize = 1024;
/// Bytes of what is packed at once: half of a usual second cache.
const PACKED: usize = 1 << 19;

/// Whether [`product`] is the kernel for this shape on this machine.
pub fn pays(m: usize, n: usize, k: usize) -> bool {
    let middle = m.min(n) >= LEAST && (LEAST..=DEEPEST).contains(&k);
    middle && cfg!(target_arch = "x86_64") && isa() == Isa::V3
}

/// `c = a · b`. Each element is one chain of multiply-adds over k, so that bits depend on the operands alone.
///
/// # Safety
/// As `ProductElement::product`, on a machine with [`Isa::V3`].
pub unsafe fn product<T: SimdFloat>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>) {
    // What lies as it is packed is copied only; what is read where it lies should have neighbours.
    let effort = |size: usize, is_copied: bool, is_near: bool| {
        let packing = if is_copied { size } else { 3 * size };
        if is_near { packing } else { packing + 8 * (m + n) * k }
    };
    let straight = effort(n * k, b.cs == 1, a.cs == 1 || a.rs == 1);
    let turned = effort(m * k, a.rs == 1, b.cs == 1 || b.rs == 1) + 4 * m * n;
    // SAFETY: by the contract; a product is that of the transposed operands, transposed.
    unsafe {
        if straight <= turned {
            compiled::<T>(m, n, k, a, b, c)
        } else {
            compiled::<T>(n, m, k, b.transposed(), a.transposed(), c.transposed())
        }
    }
}

/// # Safety
/// As [`product`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn compiled<T: SimdFloat>(m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>) {
    // SAFETY: handed through.
    unsafe { blocked::<T::V3>(m, n, k, a, b, c) }
}

#[inline(always)]
unsafe fn blocked<V: Vector>(m: usize, n: usize, k: usize, a: Mat<V::T>, b: Mat<V::T>, c: MatMut<V::T>) {
    let width = columns::<V>();
    let most = (PACKED / size_of::<V::T>() / k / width).max(1) * width;
    let size = n.div_ceil(n.div_ceil(most)).next_multiple_of(width);
    let bytes = size * k * size_of::<V::T>();
    let panels = memory::alloc(bytes).unwrap_or_else(|| no_memory(bytes)).cast::<V::T>();
    // SAFETY: by the contract of `product`; tiles lie inside the matrices, panels inside the room.
    unsafe {
        for j in (0..n).step_by(size) {
            let cols = size.min(n - j);
            pack(b.transposed().offset(j, 0), cols, k, width, panels);
            for i in (0..m).step_by(ROWS) {
                let rows = ROWS.min(m - i);
                // Rows behind the last are the last again, and not written.
                let lines: [*const V::T; ROWS] = std::array::from_fn(|r| a.offset(i + r.min(rows - 1), 0).ptr);
                for q in (0..cols).step_by(width) {
                    let part = (rows, width.min(cols - q));
                    tile::<V>(k, lines, a.cs, panels.add(q * k), c.offset(i, j + q), part);
                }
            }
        }
        memory::free(panels.cast(), bytes);
    }
}

/// A tile of the result.
///
/// # Safety
/// The lines have `k` elements, `step` apart, the panel is one of `pack`, and the tile's part is inside of c.
#[inline(always)]
unsafe fn tile<V: Vector>(
    k: usize,
    lines: [*const V::T; ROWS],
    step: isize,
    panel: *const V::T,
    c: MatMut<V::T>,
    (rows, cols): (usize, usize),
) {
    // SAFETY: by the contract.
    unsafe {
        let mut sums = [[V::splat(V::T::zero()); 2]; ROWS];
        let (mut at, mut b) = (0, panel);
        for _ in 0..k {
            step_at(lines, at, b, &mut sums);
            (at, b) = (at + step, b.add(columns::<V>()));
        }
        if c.cs == 1 && cols == columns::<V>() {
            // Constant bounds, or the sums would not stay in registers.
            for r in 0..ROWS {
                if r < rows {
                    let to = c.offset(r, 0).ptr;
                    sums[r][0].store(to);
                    sums[r][1].store(to.add(V::N));
                }
            }
            return;
        }
        let mut out = [[V::T::zero(); 16]; ROWS];
        for r in 0..ROWS {
            sums[r][0].store(out[r].as_mut_ptr());
            sums[r][1].store(out[r].as_mut_ptr().add(V::N));
        }
        for q in 0..cols {
            for (r, line) in out.iter().enumerate().take(rows) {
                c.offset(r, q).ptr.write(line[q]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::DType;
    use crate::dense::matmul::tests::{restride, values};
    use crate::dense::{Array, isa};

    fn mat<T>(x: &Array) -> Mat<T> {
        Mat { ptr: x.ptr().cast(), rs: x.strides()[0], cs: x.strides()[1] }
    }

    fn run<T: SimdFloat>(a: &Array, b: &Array, turned: bool) -> Vec<f64> {
        let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
        let mut c = vec![T::one(); (m + 1) * (n + 3)];
        let to = MatMut { ptr: c.as_mut_ptr(), rs: (n + 3) as isize, cs: 1 };
        // SAFETY: the matrices have these sizes and strides, and the machine has the instructions.
        unsafe {
            match turned {
                false => compiled::<T>(m, n, k, mat(a), mat(b), to),
                true => compiled::<T>(n, m, k, mat(b).transposed(), mat(a).transposed(), to.transposed()),
            }
        }
        Array::from_slice([m + 1, n + 3], &c).unwrap().to_vec::<f64>().unwrap()
    }

    fn check<T: SimdFloat>(dtype: DType, (m, k, n): (usize, usize, usize), how: u8) {
        let (a, b) = (restride(&values(&[m, k], dtype, 1), how / 5), restride(&values(&[k, n], dtype, 2), how % 5));
        let (got, turned) = (run::<T>(&a, &b, false), run::<T>(&a, &b, true));
        assert_eq!(got, turned, "{m} x {k} x {n}");
        let (x, y) = (a.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap());
        for (at, got) in got.into_iter().enumerate() {
            let (i, j) = (at / (n + 3), at % (n + 3));
            let (want, size) = match i < m && j < n {
                true => (0..k).map(|p| x[i * k + p] * y[p * n + j]).fold((0.0, 0.0), |s, t| (s.0 + t, s.1 + t.abs())),
                false => (1.0, 0.0),
            };
            let eps = if dtype == DType::F32 { 1e-6 } else { 1e-15 };
            assert!((got - want).abs() <= eps * (size + 1.0), "({i}, {j}) of {m} x {k} x {n}: {got}, expected {want}");
        }
    }

    #[test]
    fn tiles_end_anywhere_and_operands_have_any_strides() {
        if !isa::available().any(|i| i == Isa::V3) {
            return;
        }
        for (t, shape) in [(6, 3, 16), (1, 1, 1), (7, 5, 17), (13, 9, 31), (5, 70, 33), (12, 8, 15), (65, 64, 66)]
            .into_iter()
            .enumerate()
        {
            for how in [0, 1, 5, 7, 12, 18, 24].map(|h| (h + t as u8) % 25) {
                check::<f32>(DType::F32, shape, how);
                check::<f64>(DType::F64, shape, how);
            }
        }
        // What is packed has several parts.
        check::<f32>(DType::F32, (7, 1000, 300), 3);
        check::<f64>(DType::F64, (7, 900, 150), 11);
    }
}
