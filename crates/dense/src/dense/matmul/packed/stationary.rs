//! A right operand that many products with few rows share: packed once, for the whole contraction.

use super::super::simd::{SimdFloat, Vector};
use super::super::{Mat, MatMut};
use super::micro::{ROWS, columns};
use super::panels::pack;
use super::{multiply, part};
use crate::base::Result;
use crate::dense::isa::{Isa, isa};
use crate::dense::scratch::Scratch;

/// Rows of b that a panel holds: with 16 columns of single precision it is half of a first cache.
const DEPTH: usize = 256;

/// `b` of k × n.
pub struct Stationary<T> {
    panels: Scratch<T>,
    k: usize,
    n: usize,
    depth: usize,
}

/// Columns of a panel on this machine.
fn width<T: SimdFloat>() -> usize {
    match isa() {
        Isa::V1 => columns::<T::Base>(),
        Isa::V3 => columns::<T::V3>(),
        Isa::V4 => columns::<T::V4>(),
    }
}

impl<T: SimdFloat> Stationary<T> {
    /// # Safety
    /// `b` has k × n elements, both of which are positive.
    ///
    /// # Errors
    /// `Runtime` if there is no room for it.
    pub unsafe fn new(b: Mat<T>, k: usize, n: usize) -> Result<Stationary<T>> {
        let (width, depth) = (width::<T>(), part(k, DEPTH, 1));
        let padded = n.next_multiple_of(width);
        let panels: Scratch<T> = Scratch::new(k * padded)?;
        for p in (0..k).step_by(depth) {
            // SAFETY: by the contract; a block has room for all panels of its rows.
            unsafe { pack(b.transposed().offset(0, p), n, depth.min(k - p), width, panels.ptr().add(p * padded)) }
        }
        Ok(Stationary { panels, k, n, depth })
    }

    /// How many elements [`Stationary::product`] needs beside its result.
    pub fn room(&self, rows: usize) -> usize {
        rows.next_multiple_of(ROWS) * self.depth
    }

    /// `c = a · b`, or `c += a · b` if `add`. A row of the result depends on its row of a alone, also in its bits.
    ///
    /// # Safety
    /// `a` has m × k elements, `c` m × n with `c.cs` 1, and `room` as many as [`Stationary::room`] says; they do not
    /// overlap.
    #[inline]
    pub unsafe fn product(&self, m: usize, a: Mat<T>, room: *mut T, c: MatMut<T>, add: bool) {
        // SAFETY: by the contract; the machine has the instructions.
        unsafe {
            match isa() {
                #[cfg(target_arch = "x86_64")]
                Isa::V4 => v4(self, m, a, room, c, add),
                #[cfg(target_arch = "x86_64")]
                Isa::V3 => v3(self, m, a, room, c, add),
                _ => v1(self, m, a, room, c, add),
            }
        }
    }

    #[inline(always)]
    unsafe fn blocks<V: Vector<T = T>>(&self, m: usize, a: Mat<T>, room: *mut T, c: MatMut<T>, add: bool) {
        let padded = self.n.next_multiple_of(columns::<V>());
        for p in (0..self.k).step_by(self.depth) {
            let depth = self.depth.min(self.k - p);
            // SAFETY: by the contract of `product`.
            unsafe {
                pack(a.offset(0, p), m, depth, ROWS, room);
                multiply::<V>(m, self.n, depth, room, self.panels.ptr().add(p * padded), c, add || p > 0);
            }
        }
    }
}

macro_rules! compiled {
    ($($(#[$feature:meta])* $name:ident, $vector:ident;)*) => {$(
        /// # Safety
        /// As [`Stationary::product`], on a machine that has the instructions.
        $(#[$feature])*
        #[inline(never)]
        unsafe fn $name<T: SimdFloat>(b: &Stationary<T>, m: usize, a: Mat<T>, room: *mut T, c: MatMut<T>, add: bool) {
            // SAFETY: by the contract.
            unsafe { b.blocks::<T::$vector>(m, a, room, c, add) }
        }
    )*};
}

compiled! {
    v1, Base;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    v3, V3;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    v4, V4;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::DType;
    use crate::dense::Array;
    use crate::dense::matmul::tests::values;

    fn check<T: SimdFloat>(dtype: DType, m: usize, k: usize, n: usize, add: bool) {
        let (a, b) = (values(&[m, k], dtype, 1), values(&[k, n], dtype, 2));
        let mat = |x: &Array, cols: usize| Mat { ptr: x.ptr().cast::<T>(), rs: cols as isize, cs: 1 };
        let mut c = vec![T::one(); (m + 1) * (n + 3)];
        let to = MatMut { ptr: c.as_mut_ptr(), rs: (n + 3) as isize, cs: 1 };
        // SAFETY: the matrices have these sizes.
        unsafe {
            let b = Stationary::new(mat(&b, n), k, n).unwrap();
            let room: Scratch<T> = Scratch::new(b.room(m)).unwrap();
            b.product(m, mat(&a, k), room.ptr(), to, add);
        }
        let got = Array::from_slice([m + 1, n + 3], &c).unwrap().to_vec::<f64>().unwrap();
        let (x, y) = (a.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap());
        for i in 0..m + 1 {
            for j in 0..n + 3 {
                let inside = i < m && j < n;
                let sum: f64 = if inside { (0..k).map(|p| x[i * k + p] * y[p * n + j]).sum() } else { 1.0 };
                let want = if inside && add { sum + 1.0 } else { sum };
                assert!((got[i * (n + 3) + j] - want).abs() < 1e-4 * (1.0 + k as f64), "({i}, {j}) of {m} x {k} x {n}");
            }
        }
    }

    #[test]
    fn products_of_few_rows() {
        for (m, k, n) in [(1, 1, 1), (1, 32, 128), (5, 3, 17), (6, 8, 16), (7, 257, 33), (13, 512, 9), (2, 600, 40)] {
            for add in [false, true] {
                check::<f32>(DType::F32, m, k, n, add);
                check::<f64>(DType::F64, m, k, n, add);
            }
        }
    }
}
