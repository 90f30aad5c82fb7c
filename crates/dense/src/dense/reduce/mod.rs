//! Reductions over any set of dimensions.
//!
//! Dimensions are already wrapped to `0..rank` and distinct; `keep` keeps them with size 1. Rounding depends on
//! shape and strides alone, not on the number of threads.

mod arg;
mod columns;
mod drive;
mod kernel;
mod load;
pub(super) mod op;
pub(super) mod plan;
mod rows;
#[cfg(test)]
mod tests;

pub use arg::{argmax, argmin, max_with_index, min_with_index};

use super::array::{Array, Written};
use crate::bail;
use crate::base::{DType, Error, Result, Scalar, TypedShape};
use half::{bf16, f16};
use load::{Load, Sink, Source, Store, Truth};
use num_complex::Complex;
use op::{Max, Min, Op, Prod, Sum};
use plan::ReductionPlan;
pub use plan::result_shape;

type C64 = Complex<f32>;
type C128 = Complex<f64>;

/// Folds elements stored as `S` with `O` into results stored as `D`. No reduced dimension has size 0.
fn fold<O: Op, S: Load<O::A>, D: Store<O::A>>(a: &Array, out: DType, dims: &[usize], keep: bool) -> Result<Array> {
    super::memory::check_walk(a.numel())?;
    debug_assert_eq!((size_of::<S>(), size_of::<D>()), (a.dtype().size(), out.size()));
    let shape = result_shape(a.shape(), dims, keep);
    // The only dimension that a 0-d array may be asked for is 0.
    let dims = if a.rank() == 0 { &[] } else { dims };
    let n = a.numel();
    if S::DIRECT && a.is_contiguous() && dims.len() == a.rank() && n <= kernel::BLOCK {
        return Array::build_bytes(out, shape, |dst, _| {
            // SAFETY: contiguous elements whose bytes are accumulators; the result has one element.
            unsafe {
                let x = kernel::row::<O>(std::slice::from_raw_parts(a.ptr().cast(), n));
                dst.cast::<D>().write(D::of(x));
                Written::all()
            }
        });
    }
    Array::build_bytes(out, shape, |dst, count| {
        if count == 0 {
            // SAFETY: there is nothing to write.
            return unsafe { Written::all() };
        }
        let plan = ReductionPlan::new(&a.layout(), dims);
        // SAFETY: the plan covers the elements of `a` and of the new array.
        unsafe {
            drive::run::<O>(&plan, &Source::new::<S>(a.ptr()), &Sink::new::<D>(dst));
            Written::all()
        }
    })
}

/// The result when a reduced dimension is empty: `value` everywhere.
fn empty(a: &Array, out: DType, dims: &[usize], keep: bool, value: i64) -> Option<Result<Array>> {
    dims.iter()
        .any(|&d| a.shape().get(d) == Some(&0))
        .then(|| Array::full(out, result_shape(a.shape(), dims, keep), Scalar::Int(value)))
}

/// Expands to a match over the dtypes that have a fold `$O`, each with its storage type.
macro_rules! by_dtype {
    ($a:expr, $dims:expr, $keep:expr, $O:ident, complex) => {
        match $a.dtype() {
            DType::C64 => fold::<$O<C64>, C64, C64>($a, DType::C64, $dims, $keep),
            DType::C128 => fold::<$O<C128>, C128, C128>($a, DType::C128, $dims, $keep),
            _ => by_dtype!($a, $dims, $keep, $O),
        }
    };
    ($a:expr, $dims:expr, $keep:expr, $O:ident) => {
        match $a.dtype() {
            DType::Bool => fold::<$O<u8>, bool, bool>($a, DType::Bool, $dims, $keep),
            DType::U8 => fold::<$O<u8>, u8, u8>($a, DType::U8, $dims, $keep),
            DType::I8 => fold::<$O<i8>, i8, i8>($a, DType::I8, $dims, $keep),
            DType::I16 => fold::<$O<i16>, i16, i16>($a, DType::I16, $dims, $keep),
            DType::I32 => fold::<$O<i32>, i32, i32>($a, DType::I32, $dims, $keep),
            DType::I64 => fold::<$O<i64>, i64, i64>($a, DType::I64, $dims, $keep),
            DType::F16 => fold::<$O<f32>, f16, f16>($a, DType::F16, $dims, $keep),
            DType::BF16 => fold::<$O<f32>, bf16, bf16>($a, DType::BF16, $dims, $keep),
            DType::F32 => fold::<$O<f32>, f32, f32>($a, DType::F32, $dims, $keep),
            DType::F64 => fold::<$O<f64>, f64, f64>($a, DType::F64, $dims, $keep),
            d => bail!(NotImplemented, "reduction is not implemented for dtype {d}"),
        }
    };
}

/// The error of [`sum`] and [`prod`] for bools.
#[cold]
pub fn no_bools(op: &str) -> Error {
    Error::not_implemented(format!("{op}(): dtype bool has no {op} of its own; cast the input first"))
}

/// Sum over `dims`, in the dtype of `a` (halves accumulate in float32, integers wrap; for bools cast first).
/// Error: `NotImplemented` for bool.
pub fn sum(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    if a.dtype() == DType::Bool {
        return Err(no_bools("sum"));
    }
    if let Some(r) = empty(a, a.dtype(), dims, keep, 0) {
        return r;
    }
    by_dtype!(a, dims, keep, Sum, complex)
}

/// Product over `dims`; accumulators as in [`sum`]. Error: `NotImplemented` for bool.
pub fn prod(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    if a.dtype() == DType::Bool {
        return Err(no_bools("prod"));
    }
    if let Some(r) = empty(a, a.dtype(), dims, keep, 1) {
        return r;
    }
    by_dtype!(a, dims, keep, Prod, complex)
}

/// An error if there is no extreme element over `dims`: `Index` if there is no element, `NotImplemented` for complex
/// dtypes.
pub fn check_extreme(op: &str, (dtype, shape): TypedShape<'_>, dims: &[usize]) -> Result<()> {
    if dtype.is_complex() {
        bail!(NotImplemented, "{op}(): complex numbers have no order; got dtype {dtype}");
    }
    if let Some(d) = dims.iter().find(|&&d| shape.get(d) == Some(&0)) {
        bail!(Index, "{op}(): Expected reduction dim {d} to have non-zero size; reduce another one");
    }
    Ok(())
}

/// Greatest element over `dims`; NaN wins. Errors: `Index` for an empty reduced dimension, `NotImplemented` for
/// complex dtypes.
pub fn amax(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    check_extreme("amax", a.form(), dims)?;
    by_dtype!(a, dims, keep, Max)
}

/// Least element over `dims`; NaN wins. Errors as in [`amax`].
pub fn amin(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    check_extreme("amin", a.form(), dims)?;
    by_dtype!(a, dims, keep, Min)
}

macro_rules! truth {
    ($a:expr, $dims:expr, $keep:expr, $O:ident) => {
        match $a.dtype() {
            DType::Bool => fold::<$O<u8>, bool, bool>($a, DType::Bool, $dims, $keep),
            DType::U8 => fold::<$O<u8>, Truth<u8>, bool>($a, DType::Bool, $dims, $keep),
            DType::I8 => fold::<$O<u8>, Truth<i8>, bool>($a, DType::Bool, $dims, $keep),
            DType::I16 => fold::<$O<u8>, Truth<i16>, bool>($a, DType::Bool, $dims, $keep),
            DType::I32 => fold::<$O<u8>, Truth<i32>, bool>($a, DType::Bool, $dims, $keep),
            DType::I64 => fold::<$O<u8>, Truth<i64>, bool>($a, DType::Bool, $dims, $keep),
            DType::F16 => fold::<$O<u8>, Truth<f16>, bool>($a, DType::Bool, $dims, $keep),
            DType::BF16 => fold::<$O<u8>, Truth<bf16>, bool>($a, DType::Bool, $dims, $keep),
            DType::F32 => fold::<$O<u8>, Truth<f32>, bool>($a, DType::Bool, $dims, $keep),
            DType::F64 => fold::<$O<u8>, Truth<f64>, bool>($a, DType::Bool, $dims, $keep),
            DType::C64 => fold::<$O<u8>, Truth<C64>, bool>($a, DType::Bool, $dims, $keep),
            DType::C128 => fold::<$O<u8>, Truth<C128>, bool>($a, DType::Bool, $dims, $keep),
        }
    };
}

/// Whether all elements over `dims` are non-zero (NaN is); true for none. Any dtype gives bool.
pub fn all(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    if let Some(r) = empty(a, DType::Bool, dims, keep, 1) {
        return r;
    }
    truth!(a, dims, keep, Min)
}

/// Whether any element over `dims` is non-zero (NaN is); false for none. Any dtype gives bool.
pub fn any(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    if let Some(r) = empty(a, DType::Bool, dims, keep, 0) {
        return r;
    }
    truth!(a, dims, keep, Max)
}
