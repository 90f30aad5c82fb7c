//! Arguments of operators that slide over spatial dimensions.

use crate::base::Result;
use crate::core::Tensor;
use crate::ops::signature::of_rank;
use crate::rules::basis;

/// The input with a batch dimension, and whether it had one.
pub fn unbatched(input: &Tensor, rank: usize) -> Result<(Tensor, bool)> {
    of_rank("input", input, rank + 1, rank + 2)?;
    if input.rank() == rank + 2 { Ok((input.clone(), true)) } else { Ok((basis::unsqueeze_dims(input, &[0])?, false)) }
}
