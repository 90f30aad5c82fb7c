//! Where elements lie in memory: results of layers have their channels where the input has them.

use crate::base::Result;
use crate::core::Tensor;
use crate::dense::Array;
use crate::rules::basis;

/// Whether the channels of a value lie behind its other dimensions in memory.
pub fn has_channels_behind(x: &Tensor) -> bool {
    x.rank() >= 4 && x.innermost().is_some_and(|a| a.rank() == x.rank() && a.has_channels_behind())
}

/// Whether results of layers lie so for this input: its strides say it.
fn suggests_channels_last(x: &Tensor) -> bool {
    x.rank() >= 4 && x.innermost().is_some_and(|a| a.rank() == x.rank() && a.suggests_channels_last())
}

/// The same values with their channels where those of `input` are.
pub fn arranged(out: Tensor, input: &Tensor) -> Result<Tensor> {
    if out.rank() != input.rank() || !suggests_channels_last(input) || has_channels_behind(&out) {
        return Ok(out);
    }
    let last = out.rank() - 1;
    basis::move_dim(&basis::copy(&basis::move_dim(&out, 1, last)?)?, last, 1)
}

/// The same values in row-major order.
pub fn by_rows(x: &Tensor) -> Result<Tensor> {
    let lies_otherwise = |a: &Array| a.rank() == x.rank() && !a.is_contiguous();
    if x.innermost().is_some_and(lies_otherwise) { basis::copy(x) } else { Ok(x.clone()) }
}

/// The same values in row-major order, unless their channels lie behind the other dimensions.
pub fn by_format(x: &Tensor) -> Result<Tensor> {
    let lies_so = |a: &Array| a.rank() == x.rank() && a.is_channels_last();
    if suggests_channels_last(x) || x.innermost().is_some_and(lies_so) { Ok(x.clone()) } else { by_rows(x) }
}
