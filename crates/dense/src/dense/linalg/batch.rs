//! Batches of matrices: reading strided ones, writing contiguous ones, and running over them in parallel.

use super::scalar::Scalar;
use crate::bail;
use crate::base::{Element, Result, Shape, Strides, TypedShape};
use crate::dense::matmul::Mat;
use crate::dense::{Array, threads};

/// Nanoseconds of work that are worth a task.
const TASK_NS: usize = 30_000;

/// A batch of strided matrices.
pub struct MatrixBatch<'a, T> {
    array: &'a Array,
    strides: Strides,
    pub rows: usize,
    pub cols: usize,
    _marker: std::marker::PhantomData<T>,
}

// SAFETY: only reads.
unsafe impl<T> Sync for MatrixBatch<'_, T> {}

impl<'a, T: Element> MatrixBatch<'a, T> {
    /// `array` has rank 2 or more and dtype `T`.
    pub fn new(array: &'a Array) -> Self {
        let r = array.rank();
        let (rows, cols) = (array.shape()[r - 2], array.shape()[r - 1]);
        MatrixBatch { array, strides: array.strides(), rows, cols, _marker: std::marker::PhantomData }
    }
    /// Matrix number `i` in row-major order of the leading dimensions.
    pub fn at(&self, mut i: usize) -> Mat<T> {
        let lead = self.array.rank() - 2;
        let mut offset = 0isize;
        for d in (0..lead).rev() {
            let size = self.array.shape()[d];
            offset += (i % size) as isize * self.strides[d];
            i /= size;
        }
        let ptr = self.array.ptr().cast::<T>().wrapping_offset(offset);
        Mat { ptr, rs: self.strides[lead], cs: self.strides[lead + 1] }
    }
}

/// The leading dimensions of a batch of matrices.
pub fn lead(a: &Array) -> Shape {
    Shape::new(&a.shape()[..a.rank() - 2])
}

/// The number of matrices in a batch.
pub fn count(a: &Array) -> usize {
    a.shape()[..a.rank() - 2].iter().product()
}

/// `lead` with more dimensions behind.
pub fn with(lead: &Shape, tail: &[usize]) -> Shape {
    lead.iter().chain(tail).copied().collect()
}

/// A batch of results being written, `size` elements each.
pub struct ResultBatch<T> {
    ptr: *mut T,
    size: usize,
}

// SAFETY: tasks write disjoint items.
unsafe impl<T> Sync for ResultBatch<T> {}

impl<T> ResultBatch<T> {
    /// The elements of item `i`.
    ///
    /// # Safety
    /// No two live slices of one item; the array must stay where it is.
    #[expect(clippy::mut_from_ref, reason = "items are disjoint, see the contract")]
    pub unsafe fn at(&self, i: usize) -> &mut [T] {
        // SAFETY: item i lies inside the array.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(i * self.size), self.size) }
    }
}

/// A new array of zeros and a view for writing items of `size` elements to it.
pub fn new_array<T: Element>(shape: Shape) -> Result<Array> {
    Array::zeros(T::DTYPE, shape)
}

/// For writing items of the trailing `dims` dimensions of a new array.
pub fn output<T: Element>(array: &mut Array, dims: usize) -> ResultBatch<T> {
    let size = array.shape()[array.rank() - dims..].iter().product();
    ResultBatch { ptr: array.ptr_mut().cast(), size }
}

/// Runs `f` for each item; `flops` is about what one costs. Every item is a task of its own or in a fixed group.
pub fn for_each(count: usize, flops: usize, f: impl Fn(usize) + Sync) {
    // Small decompositions run at about one operation a nanosecond.
    let group = (TASK_NS / flops.max(100)).max(1);
    threads::run_chunks(count, group, &|range| range.for_each(&f));
}

/// Checks what all decompositions ask of their argument.
pub fn check(op: &str, (dtype, shape): TypedShape<'_>) -> Result<()> {
    if shape.rank() < 2 {
        bail!(Runtime, "{op}: The input tensor A must have at least 2 dimensions.");
    }
    if !dtype.is_differentiable() {
        bail!(Runtime, "{op}: Expected a floating point or complex tensor as input. Got {dtype}");
    }
    if dtype.is_half() {
        bail!(NotImplemented, "{op}: Low precision dtypes not supported. Got {dtype}");
    }
    Ok(())
}

/// [`check`], and that the matrices are square.
pub fn check_square(op: &str, a: TypedShape<'_>) -> Result<()> {
    check(op, a)?;
    let (m, n) = (a.1[a.1.rank() - 2], a.1[a.1.rank() - 1]);
    if m != n {
        bail!(Runtime, "{op}: A must be batches of square matrices, but they are {m} by {n} matrices");
    }
    Ok(())
}

/// Checks two operands of one dtype.
pub fn check_same(op: &str, a: TypedShape<'_>, b: TypedShape<'_>) -> Result<()> {
    if a.0 != b.0 {
        bail!(
            Runtime,
            "{op}: Expected A and B to have the same dtype, but found A of type {} and B of type {}",
            a.0,
            b.0
        );
    }
    if b.1.rank() < 2 {
        bail!(Runtime, "{op}: The input tensor B must have at least 2 dimensions.");
    }
    Ok(())
}

/// "(Batch element 3): " for a batch, nothing for a single matrix.
pub fn batch_text(a: &Array, i: usize) -> String {
    if a.rank() > 2 { format!("(Batch element {i}): ") } else { String::new() }
}

/// The first non-zero of `info` with its index.
pub fn first_failure(info: &Array) -> Option<(usize, i32)> {
    let info = info.as_slice::<i32>()?;
    info.iter().copied().enumerate().find(|&(_, x)| x != 0)
}

/// Copies a matrix to row-major order.
///
/// # Safety
/// The matrix must be readable and `out` hold m × n elements.
pub unsafe fn copy_in<T: Scalar>(m: usize, n: usize, a: Mat<T>, out: &mut [T]) {
    if n == 0 {
        return;
    }
    for (i, row) in out.chunks_exact_mut(n).enumerate().take(m) {
        // SAFETY: by the contract.
        unsafe {
            let from = a.offset(i, 0);
            if a.cs == 1 {
                std::ptr::copy_nonoverlapping(from.ptr, row.as_mut_ptr(), n);
            } else {
                for (j, x) in row.iter_mut().enumerate() {
                    *x = from.at(0, j);
                }
            }
        }
    }
}

/// Runs a body with `$T` bound to the element type of a float or complex dtype that [`check`] has let through.
macro_rules! match_scalar {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::base::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::base::DType::F64 => {
                type $T = f64;
                $body
            }
            $crate::base::DType::C64 => {
                type $T = num_complex::Complex<f32>;
                $body
            }
            $crate::base::DType::C128 => {
                type $T = num_complex::Complex<f64>;
                $body
            }
            other => Err($crate::base::Error::internal(format!("no matrix decomposition for {other}"))),
        }
    };
}
pub(super) use match_scalar;
