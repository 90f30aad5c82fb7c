//! Reductions over dimensions.

use crate::base::shape::wrap_dims;
use crate::base::{DType, Result};
use crate::core::Tensor;
use crate::core::params::Dims;
use crate::rules::basis;

/// The dimensions that a reduction runs over: all of them if none are named.
pub fn reduced(op: &str, dim: Option<&[i64]>, rank: usize) -> Result<Dims> {
    match dim {
        None | Some([]) => Ok((0..rank).collect()),
        Some(dims) => {
            let dims = wrap_dims(op, dims, rank)?;
            Ok(if rank == 0 { Dims::new() } else { dims })
        }
    }
}

ops! { TABLE:
    /// Sum over the given dimensions, or over all. Integers and bools are summed as int64 unless `dtype` says otherwise.
    ///
    /// >>> import pullback
    /// >>> pullback.sum(pullback.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    /// tensor([4., 6.])
    fn sum = "sum" (input: &Tensor, dim: Option<&[i64]> = None, keepdim: bool = false; dtype: Option<DType> = None)
        -> Tensor [METHOD] {
        let dims = reduced("sum", dim, input.rank())?;
        let dtype = dtype.unwrap_or(if input.dtype().is_differentiable() { input.dtype() } else { DType::I64 });
        basis::sum(&basis::cast(input, dtype)?, &dims, keepdim)
    }
}
