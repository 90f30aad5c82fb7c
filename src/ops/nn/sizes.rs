//! Arguments of operators that slide over spatial dimensions.

use crate::base::Result;
use crate::core::Tensor;
use crate::rules::basis;

/// One number for every spatial dimension.
pub fn by_dim(name: &str, values: &[i64], rank: usize) -> Result<Vec<i64>> {
    match values {
        [one] => Ok(vec![*one; rank]),
        v if v.len() == rank => Ok(v.to_vec()),
        v => refuse!(
            Runtime,
            "expected {name} to be a single integer value or a list of {rank} values to match the dimensions, but \
             got {name}={v:?}"
        ),
    }
}

/// The input with a batch dimension, and whether it had one.
pub fn unbatched(input: &Tensor, rank: usize) -> Result<(Tensor, bool)> {
    match input.rank() {
        r if r == rank + 2 => Ok((input.clone(), true)),
        r if r == rank + 1 => Ok((basis::unsqueeze_dims(input, &[0])?, false)),
        _ => refuse!(
            Runtime,
            "Expected {}D (unbatched) or {}D (batched) input, but got input of size: {}",
            rank + 1,
            rank + 2,
            input.shape()
        ),
    }
}
