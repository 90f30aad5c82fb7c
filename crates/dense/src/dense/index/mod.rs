//! Moving elements by index.
//!
//! Every index is checked; where a result would depend on the order of writes, the order is the row-major one of the
//! indices, whatever the number of threads.

mod blocks;
mod edges;
mod gather;
mod join;
mod last;
mod long;
mod make;
mod mask;
mod moves;
mod scatter;
#[cfg(test)]
mod tests;

pub use blocks::{select, take_many};
pub use edges::{check_matrices, pad, padded_shape, roll, tri};
pub use gather::{check_index, gather};
pub use join::{cat, joined_form};
pub use last::last_writes;
pub use long::{add_at, nonzero, put_at, put_many, scatter, scatter_add, scatter_reduce};
pub use make::{arange, eye, linspace, one_hot};
pub use mask::{masked_scatter, masked_select};
pub use scatter::{Fold, check_scatter};

use super::array::Array;
use crate::bail;
use crate::base::{DType, Error, Result, size};

/// The indices in row-major order, if they are of dtype int64.
fn require_indices(op: &str, dtype: DType) -> Result<()> {
    if dtype != DType::I64 {
        bail!(Type, "{op}(): expected an index of dtype int64, got {dtype}");
    }
    Ok(())
}

#[cold]
fn out_of_range(op: &str, index: i64, dim: usize, size: usize) -> Error {
    size::out_of_bounds(index, dim, size, false).context(&format!("{op}()"))
}

/// The error for the first index that is not in `0..size`.
#[cold]
fn find_bad(op: &str, index: &Array, dim: usize, size: usize) -> Error {
    let bad = index.to_vec::<i64>().unwrap_or_default().into_iter().find(|&i| i < 0 || i as usize >= size);
    match bad {
        Some(i) => out_of_range(op, i, dim, size),
        None => Error::runtime(format!("{op}(): the index changed while it was read")),
    }
}
