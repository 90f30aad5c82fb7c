//! Matrix products of strided, batched arrays.
//!
//! Large products are cut into blocks of rows and columns, never along the contraction. How the kernels cut that depends
//! on its length alone (in `gemm` once a block has more than 64 rows or columns), and which kernel it is on the shape of
//! the whole product, so results do not depend on the blocks, nor on the number of threads.

mod integer;
mod kernel;
mod packed;
mod plan;
pub(crate) mod simd;
mod small;
mod vector;

pub(crate) use kernel::gemm;
pub use kernel::{Mat, MatMut, ProductElement};
pub(crate) use packed::Stationary;

use super::array::Written;
use super::{Array, copy, threads};
use crate::bail;
use crate::base::{DType, Error, Result, Shape, TypedShape};
use kernel::Product;
use num_complex::Complex;
use plan::{Operands, ProductPlan, Steps};
use std::ops::Range;

/// Work of a task in nanoseconds; less than two of these are not worth a second thread.
const TASK_NS: usize = 40_000;
/// Rows and columns of a block of a large product: the first that gives two blocks to each thread, or the last.
const BLOCKS: [usize; 3] = [512, 256, 128];
/// What a block may take before it looks whether its result is still wanted.
const LONGEST_NS: usize = 50_000_000;
/// Rows and columns of blocks are multiples of this, but for the last.
const UNIT: usize = 16;

/// The product of matrices `a` [..., m, k] and `b` [..., k, n]: [..., m, n]. Leading dimensions broadcast.
///
/// Half-precision products are accumulated in single precision; integers wrap. `k = 0` gives zeros.
///
/// # Errors
/// `Runtime` for ranks below 2, unequal dtypes or shapes that do not match; `NotImplemented` for bool.
pub fn matmul(a: &Array, b: &Array) -> Result<Array> {
    check(a.form(), b.form())?;
    match a.dtype() {
        DType::F32 if is_tiny(a) && is_tiny(b) => tiny_product::<f32>(a, b, b.shape()[1], steps(b), None),
        DType::F64 if is_tiny(a) && is_tiny(b) => tiny_product::<f64>(a, b, b.shape()[1], steps(b), None),
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
        DType::Bool => Err(of_bools()),
    }
}

fn check((dtype, a): TypedShape<'_>, (other, b): TypedShape<'_>) -> Result<()> {
    if a.rank() < 2 || b.rank() < 2 {
        bail!(Runtime, "matmul(): both arguments need at least 2 dimensions, got shapes {a} and {b}");
    }
    if dtype != other {
        bail!(Runtime, "matmul(): expected both arguments to have the same dtype, got {dtype} and {other}");
    }
    let (m, k) = (a[a.rank() - 2], a[a.rank() - 1]);
    let (l, n) = (b[b.rank() - 2], b[b.rank() - 1]);
    if k != l {
        bail!(Runtime, "matmul(): mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {l}x{n})");
    }
    Ok(())
}

/// The shape of the product of matrices like these.
///
/// # Errors
/// Those of [`matmul`].
pub fn product_shape(a: TypedShape<'_>, b: TypedShape<'_>) -> Result<Shape> {
    check(a, b)?;
    if a.0 == DType::Bool {
        return Err(of_bools());
    }
    let lead = plan::broadcast_lead(a.1, b.1)?;
    lead.append(a.1[a.1.rank() - 2]).append(b.1[b.1.rank() - 1]).checked("matmul")
}

#[cold]
fn of_bools() -> Error {
    Error::not_implemented("matmul(): \"addmm_impl_cpu_\" not implemented for 'Bool'")
}

/// A cast that keeps expanded dimensions expanded.
fn cast_unexpanded(a: &Array, dtype: DType) -> Result<Array> {
    let strides = a.strides();
    let mut kept = a.clone();
    for d in 0..a.rank() {
        if strides[d] == 0 && a.shape()[d] > 1 {
            kept = kept.slice(d, 0, 1, 1)?;
        }
    }
    copy::cast(&kept, dtype)?.expand(a.shape())
}

/// The product of `a` [..., m, k] and the transposed `b` [..., n, k]: [..., m, n].
///
/// # Errors
/// Those of [`matmul`].
pub fn linear(a: &Array, b: &Array) -> Result<Array> {
    if let Some(out) = tiny_linear(a, b, None) {
        return out;
    }
    let mut order: smallvec::SmallVec<[usize; 6]> = (0..b.rank()).collect();
    let last = order.len().saturating_sub(2);
    order[last..].reverse();
    matmul(a, &b.permute(&order)?)
}

/// `linear(a, b) + bias` of small matrices and one number for each column; `None` for others.
pub fn small_affine(a: &Array, b: &Array, bias: &Array) -> Option<Result<Array>> {
    match bias.shape()[..] == b.shape()[..1] && bias.dtype() == a.dtype() && bias.is_contiguous() {
        true => tiny_linear(a, b, Some(bias)),
        false => None,
    }
}

#[inline]
fn tiny_linear(a: &Array, b: &Array, bias: Option<&Array>) -> Option<Result<Array>> {
    if !(is_tiny(a) && is_tiny(b) && a.shape()[1] == b.shape()[1] && a.dtype() == b.dtype()) {
        return None;
    }
    match a.dtype() {
        DType::F32 => Some(tiny_product::<f32>(a, b, b.shape()[0], steps(b).transposed(), bias)),
        DType::F64 => Some(tiny_product::<f64>(a, b, b.shape()[0], steps(b).transposed(), bias)),
        _ => None,
    }
}

#[inline]
fn is_tiny(x: &Array) -> bool {
    matches!(x.shape()[..], [1..=small::MAX, 1..=small::MAX])
}

/// Strides of a matrix.
#[inline]
fn steps(x: &Array) -> Steps {
    match x.is_contiguous() {
        true => Steps { rs: x.shape()[1] as isize, cs: 1 },
        false => Steps { rs: x.strides()[0], cs: x.strides()[1] },
    }
}

/// A product that does not repay a plan, of `b` with `n` columns and these strides.
fn tiny_product<T: simd::SimdFloat>(a: &Array, b: &Array, n: usize, of: Steps, bias: Option<&Array>) -> Result<Array> {
    let (m, k) = (a.shape()[0], a.shape()[1]);
    let mat = |x: &Array, s: Steps| Mat { ptr: x.ptr().cast(), rs: s.rs, cs: s.cs };
    Array::build_typed::<T>([m, n].into(), |c, _| {
        let c = MatMut { ptr: c, rs: n as isize, cs: 1 };
        let bias = bias.map_or(std::ptr::null(), |b| b.ptr().cast());
        // SAFETY: the matrices have these sizes and strides, the bias n elements, and c is new.
        unsafe { small::product(m, n, k, mat(a, steps(a)), mat(b, of), c, bias) }
        // SAFETY: the product writes each element, and reads none.
        unsafe { Written::all() }
    })
}

fn product<T: ProductElement>(a: &Array, b: &Array) -> Result<Array> {
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
fn execute<T: ProductElement>(a: &Array, b: &Array, out: Shape) -> Result<Array> {
    if a.shape()[a.rank() - 1] == 0 || out.contains(&0) {
        return Array::zeros(T::DTYPE, out);
    }
    let out = out.checked("matmul")?;
    super::memory::check_walk(a.shape()[a.rank() - 1])?;
    let plan = ProductPlan::new(a, b);
    // What cannot be cut into blocks that end soon.
    let ns = plan.m.min(2 * BLOCKS[2]).saturating_mul(plan.n.min(2 * BLOCKS[2])).saturating_mul(plan.k) / T::PER_NS;
    if !threads::is_short(ns) {
        let (a, b) = (copy::own(a)?, copy::own(b)?);
        return threads::detached(ns, move || planned::<T>(&a, &b, out, plan));
    }
    planned::<T>(a, b, out, plan)
}

fn planned<T: ProductElement>(a: &Array, b: &Array, out: Shape, plan: ProductPlan) -> Result<Array> {
    Array::build_typed::<T>(out, |c, _| {
        let (pa, pb) = if plan.swapped { (b.ptr(), a.ptr()) } else { (a.ptr(), b.ptr()) };
        let large = if plan.c.cs == 1 { T::large(plan.m, plan.n, plan.k) } else { None };
        let job = ProductTask { plan, large, a: pa.cast(), b: pb.cast(), c };
        job.run();
        // SAFETY: the tasks write each element, and read none that is not written.
        unsafe { Written::all() }
    })
}

/// A plan, the kernel if it is not the usual one, and where the matrices begin.
struct ProductTask<T> {
    plan: ProductPlan,
    large: Option<Product<T>>,
    a: *const T,
    b: *const T,
    c: *mut T,
}

// SAFETY: tasks read the operands, which nobody writes, and write disjoint parts of c.
unsafe impl<T> Sync for ProductTask<T> {}

impl<T: ProductElement> ProductTask<T> {
    fn run(&self) {
        let p = &self.plan;
        let (count, work) = (p.count(), (p.m * p.n).saturating_mul(p.k));
        // A vector's kernels wait for memory, about eight elements a nanosecond whatever the dtype computes.
        let task = TASK_NS * if p.m == 1 || p.n == 1 { T::PER_NS / 8 + 1 } else { T::PER_NS };
        // Waking a thread would take longer than half of the work.
        if count.saturating_mul(work) <= 2 * task {
            return (0..count).for_each(|i| self.block(i, 0, 0, p.m, p.n));
        }
        if work < task {
            let group = task / work;
            return threads::run(count.div_ceil(group), &|t| {
                (t * group..count.min((t + 1) * group)).for_each(|i| self.block(i, 0, 0, p.m, p.n))
            });
        }
        if p.m == 1 || p.n == 1 {
            return self.run_vector(task);
        }
        let threads = threads::get_num_threads();
        // Each element is one sum over all of k wherever the cuts are: threads may decide where, and bits stay the same.
        let blocks = |size: usize| (p.m / size).max(1) * (p.n / size).max(1);
        let (mut row_blocks, mut col_blocks) = match BLOCKS.into_iter().find(|&b| blocks(b) * count >= 2 * threads) {
            _ if threads == 1 || count >= 8 * threads => (1, 1),
            size => {
                let size = size.unwrap_or(BLOCKS[2]);
                ((p.m / size).max(1), (p.n / size).max(1))
            }
        };
        // A block cannot be given up while it runs, so none may take long.
        let least = work / T::PER_NS / LONGEST_NS;
        while row_blocks * col_blocks < least && p.m / row_blocks + p.n / col_blocks > BLOCKS[2] {
            if p.m / row_blocks >= p.n / col_blocks { row_blocks *= 2 } else { col_blocks *= 2 }
        }
        threads::run(count * row_blocks * col_blocks, &|t| {
            let (i, t) = (t / (row_blocks * col_blocks), t % (row_blocks * col_blocks));
            let rows = share(p.m, row_blocks, t / col_blocks);
            let cols = share(p.n, col_blocks, t % col_blocks);
            self.block(i, rows.start, cols.start, rows.len(), cols.len())
        });
    }

    /// A matrix and a vector, whose kernels need pieces that depend on the shape alone.
    fn run_vector(&self, task: usize) {
        let p = &self.plan;
        // Contiguous columns are read in pieces of two pages at least.
        let along = |n: usize, by_columns: bool| {
            let least = if by_columns { 8192 / size_of::<T>() } else { 1 };
            (task / p.k).max(least).next_multiple_of(64).min(n)
        };
        let (long, piece) = if p.n == 1 { (p.m, along(p.m, p.a.cs != 1)) } else { (p.n, along(p.n, p.b.rs != 1)) };
        let pieces = long.div_ceil(piece);
        threads::run(p.count() * pieces, &|t| {
            let (i, from) = (t / pieces, t % pieces * piece);
            let len = piece.min(long - from);
            if p.n == 1 { self.block(i, from, 0, len, 1) } else { self.block(i, 0, from, 1, len) }
        });
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
            match self.large {
                Some(product) => product(m, n, p.k, a, b, c),
                None => T::product(m, n, p.k, a, b, c),
            }
        }
    }
}

/// Part `i` of `n` rows or columns in `parts`, all about as long.
fn share(n: usize, parts: usize, i: usize) -> Range<usize> {
    let units = n.div_ceil(UNIT);
    let at = |i: usize| (units * i / parts * UNIT).min(n);
    at(i)..at(i + 1)
}

#[cfg(test)]
pub(crate) mod tests;
