//! Binary search.

use super::by_order;
use super::key::Sortable;
use crate::bail;
use crate::base::{DType, Result};
use crate::dense::array::{Array, Written};
use crate::dense::parallel::{self, Shared};
use half::{bf16, f16};

/// Where each value would have to be inserted to keep the last dimension of `sorted` in order: before the elements
/// that equal it, or behind them (`right`). int64, of the shape of `values`.
///
/// `sorted` is a vector, or has the leading dimensions of `values`. NaN counts as greatest.
/// Errors: `Runtime` if shapes or dtypes do not fit.
pub fn searchsorted(sorted: &Array, values: &Array, right: bool) -> Result<Array> {
    const OP: &str = "searchsorted";
    if sorted.dtype() != values.dtype() {
        bail!(
            Runtime,
            "{OP}(): boundary tensor and input value tensor should have same dtype, got {} and {}; convert one of them",
            sorted.dtype(),
            values.dtype()
        );
    }
    let Some((&n, lead)) = sorted.shape().split_last() else {
        bail!(Runtime, "{OP}(): boundaries tensor should have positive dimension; give them in a row");
    };
    let is_vector = lead.is_empty();
    let m = values.shape().last().copied().unwrap_or(1);
    if !is_vector && values.shape().split_last().is_none_or(|(_, v)| v != lead) {
        bail!(
            Runtime,
            "{OP}(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and \
             input value tensor must match, but we got boundaries tensor {} and input value tensor {}",
            sorted.shape(),
            values.shape()
        );
    }
    let (sorted, values) = (sorted.contiguous()?, values.contiguous()?);
    by_order!(OP, sorted.dtype(), T => {
        let rows: &[T] = sorted.as_slice().unwrap_or(&[]);
        let x: &[T] = values.as_slice().unwrap_or(&[]);
        Array::build_typed::<i64>(values.shape().clone(), |out, _| {
            let out = Shared(out);
            parallel::ranges(x.len(), 8, &|lo, hi| {
                for (i, v) in x.iter().enumerate().take(hi).skip(lo) {
                    let row = if is_vector { rows } else { &rows[i / m * n..(i / m + 1) * n] };
                    // SAFETY: one result per value; ranges differ between tasks.
                    unsafe { out.at(i).write(place(row, *v, right) as i64) }
                }
            });
            // SAFETY: the tasks write each place.
            unsafe { Written::all() }
        })
    })
}

fn place<T: Sortable>(row: &[T], value: T, right: bool) -> usize {
    let key = value.key();
    match right {
        true => row.partition_point(|x| x.key() <= key),
        false => row.partition_point(|x| x.key() < key),
    }
}
