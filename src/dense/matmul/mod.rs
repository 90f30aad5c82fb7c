//! Matrix products of strided, batched arrays.
//!
//! Large products are cut into fixed blocks of rows and columns, never along the contraction, so results do not
//! depend on the number of threads.

mod integer;
mod kernel;
mod plan;
pub(crate) mod simd;
mod small;
mod vector;

pub(crate) use kernel::gemm;
pub use kernel::{Kernel, Mat, MatMut};

use super::{Array, copy, threads};
use crate::bail;
use crate::base::{DType, Result, Shape};
use num_complex::Complex;
use plan::{Operands, Plan};

/// Work of a task in nanoseconds; less than two of these are not worth a second thread.
const TASK_NS: usize = 40_000;
/// Rows and columns of a block of a large product: the first that gives [`MANY`] blocks, or the last.
const BLOCKS: [usize; 3] = [512, 256, 128];
const MANY: usize = 16;

/// The product of matrices `a` [..., m, k] and `b` [..., k, n]: [..., m, n]. Leading dimensions broadcast.
///
/// Half-precision products are accumulated in single precision; integers wrap. `k = 0` gives zeros.
///
/// # Errors
/// `Runtime` for ranks below 2, unequal dtypes or shapes that do not match; `NotImplemented` for bool.
pub fn matmul(a: &Array, b: &Array) -> Result<Array> {
    check(a, b)?;
    let tiny = |x: &Array| x.rank() == 2 && x.shape().iter().all(|&d| (1..=small::MAX).contains(&d));
    match a.dtype() {
        DType::F32 if tiny(a) && tiny(b) => tiny_product::<f32>(a, b),
        DType::F64 if tiny(a) && tiny(b) => tiny_product::<f64>(a, b),
        DType::F32 => product::<f32>(a, b),
        DType::F64 => product::<f64>(a, b),
        DType::C64 => product::<Complex<f32>>(a, b),
        DType::C128 => product::<Complex<f64>>(a, b),
        DType::U8 => product::<u8>(a, b),
        DType::I8 => product::<i8>(a, b),
        DType::I16 => product::<i16>(a, b),
        DType::I32 => product::<i32>(a, b),
        DType::I64 => product::<i64>(a, b),
        DType::F16 | DType::BF16 => {
            let wide = product::<f32>(&cast_unexpanded(a, DType::F32)?, &cast_unexpanded(b, DType::F32)?)?;
            cast_unexpanded(&wide, a.dtype())
        }
        DType::Bool => bail!(NotImplemented, "matmul(): \"addmm_impl_cpu_\" not implemented for 'Bool'"),
    }
}

fn check(a: &Array, b: &Array) -> Result<()> {
    if a.rank() < 2 || b.rank() < 2 {
        bail!(
            Runtime,
            "matmul(): both arguments need at least 2 dimensions, got shapes {} and {}",
            a.shape(),
            b.shape()
        );
    }
    if a.dtype() != b.dtype() {
        bail!(Runtime, "matmul(): expected both arguments to have the same dtype, got {} and {}", a.dtype(), b.dtype());
    }
    let (m, k) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let (l, n) = (b.shape()[b.rank() - 2], b.shape()[b.rank() - 1]);
    if k != l {
        bail!(Runtime, "matmul(): mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {l}x{n})");
    }
    Ok(())
}

/// A cast that keeps expanded dimensions expanded.
fn cast_unexpanded(a: &Array, dtype: DType) -> Result<Array> {
    let strides = a.strides();
    let mut kept = a.clone();
    for d in 0..a.rank() {
        if strides[d] == 0 && a.shape()[d] > 1 {
            kept = kept.view(|l| l.slice(d, 0, 1, 1))?;
        }
    }
    copy::cast(&kept, dtype)?.expand(a.shape())
}

/// A product that does not repay a plan.
fn tiny_product<T: simd::Real>(a: &Array, b: &Array) -> Result<Array> {
    let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
    let mat = |x: &Array, cols: usize| {
        let (rs, cs) = if x.is_contiguous() { (cols as isize, 1) } else { (x.strides()[0], x.strides()[1]) };
        Mat { ptr: x.ptr().cast(), rs, cs }
    };
    Array::build::<T>([m, n].into(), |c| {
        let c = MatMut { ptr: c.as_mut_ptr(), rs: n as isize, cs: 1 };
        // SAFETY: the matrices have these sizes and strides, and c is new.
        unsafe { small::product(m, n, k, mat(a, k), mat(b, n), c) }
    })
}

fn product<T: Kernel>(a: &Array, b: &Array) -> Result<Array> {
    if a.rank() == 2 && b.rank() == 2 {
        return execute::<T>(a, b, [a.shape()[0], b.shape()[1]].into());
    }
    let ops = Operands::broadcast(a, b)?;
    let c = execute::<T>(&ops.a, &ops.b, ops.out)?;
    match ops.repeat {
        Some(shape) => c.expand(&shape),
        None => Ok(c),
    }
}

/// The product of operands of equal rank and leading dimensions.
fn execute<T: Kernel>(a: &Array, b: &Array, out: Shape) -> Result<Array> {
    if a.shape()[a.rank() - 1] == 0 || out.contains(&0) {
        return Array::zeros(T::DTYPE, out);
    }
    let plan = Plan::new(a, b);
    Array::build::<T>(out, |c| {
        let (pa, pb) = if plan.swapped { (b.ptr(), a.ptr()) } else { (a.ptr(), b.ptr()) };
        let job = Job { plan, a: pa.cast(), b: pb.cast(), c: c.as_mut_ptr() };
        job.run();
    })
}

/// A plan and where its matrices begin.
struct Job<T> {
    plan: Plan,
    a: *const T,
    b: *const T,
    c: *mut T,
}

// SAFETY: tasks read the operands, which nobody writes, and write disjoint parts of c.
unsafe impl<T> Sync for Job<T> {}

impl<T: Kernel> Job<T> {
    fn run(&self) {
        let p = &self.plan;
        let (count, work) = (p.count(), (p.m * p.n).saturating_mul(p.k));
        let task = TASK_NS * if p.m == 1 || p.n == 1 { T::PER_NS / 8 + 1 } else { T::PER_NS };
        if count.saturating_mul(work) <= 2 * task {
            return (0..count).for_each(|i| self.block(i, 0, 0, p.m, p.n));
        }
        if work < task {
            let group = task / work;
            return threads::run(count.div_ceil(group), &|t| {
                (t * group..count.min((t + 1) * group)).for_each(|i| self.block(i, 0, 0, p.m, p.n))
            });
        }
        let (rows, cols) = self.block_size(task);
        let (row_blocks, col_blocks) = (p.m.div_ceil(rows), p.n.div_ceil(cols));
        threads::run(count * row_blocks * col_blocks, &|t| {
            let (i, t) = (t / (row_blocks * col_blocks), t % (row_blocks * col_blocks));
            let (r, c) = (t / col_blocks * rows, t % col_blocks * cols);
            self.block(i, r, c, rows.min(p.m - r), cols.min(p.n - c))
        });
    }

    /// Rows and columns of a block, from the shape alone.
    fn block_size(&self, task: usize) -> (usize, usize) {
        let p = &self.plan;
        // Contiguous columns are read in pieces of two pages at least.
        let along = |n: usize, by_columns: bool| {
            let least = if by_columns { 8192 / size_of::<T>() } else { 1 };
            (task / p.k).max(least).next_multiple_of(64).min(n)
        };
        match (p.m, p.n) {
            (m, 1) => (along(m, p.a.cs != 1), 1),
            (1, n) => (1, along(n, p.b.rs != 1)),
            (m, n) => {
                let blocks = |size: usize| m.div_ceil(size) * n.div_ceil(size) * p.count();
                let size = BLOCKS.into_iter().find(|&b| blocks(b) >= MANY).unwrap_or(BLOCKS[2]);
                (size.min(m), size.min(n))
            }
        }
    }

    /// Computes `m` × `n` elements from (i, j) of product number `batch`.
    #[inline]
    fn block(&self, batch: usize, i: usize, j: usize, m: usize, n: usize) {
        let p = &self.plan;
        let (oa, ob, oc) = p.offsets(batch);
        // SAFETY: the block lies inside the product, whose elements the arrays hold.
        unsafe {
            let a = Mat { ptr: self.a.offset(oa), rs: p.a.rs, cs: p.a.cs }.offset(i, 0);
            let b = Mat { ptr: self.b.offset(ob), rs: p.b.rs, cs: p.b.cs }.offset(0, j);
            let c = MatMut { ptr: self.c.offset(oc), rs: p.c.rs, cs: p.c.cs }.offset(i, j);
            T::product(m, n, p.k, a, b, c);
        }
    }
}

#[cfg(test)]
mod tests;
