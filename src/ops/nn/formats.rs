//! Where elements lie in memory: results of layers have their channels where the input has them.

use crate::base::Result;
use crate::core::Tensor;
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

/// Whether steps become smaller from dimension to dimension, in this order of them. A member of a batch lies so with gaps.
fn descends(x: &Tensor, order: impl Iterator<Item = usize>) -> bool {
    let strides = x.lies().0;
    let steps: Vec<isize> = order.filter(|&d| x.shape()[d] != 1).map(|d| strides[d]).collect();
    steps.is_sorted_by(|a, b| a >= b)
}

/// The same values in row-major order.
pub fn by_rows(x: &Tensor) -> Result<Tensor> {
    let lies_otherwise = match x.innermost() {
        Some(a) if a.rank() == x.rank() => !a.is_plain(),
        _ => !descends(x, 0..x.rank()),
    };
    if lies_otherwise { basis::copy(x) } else { Ok(x.clone()) }
}

/// The same values in row-major order, unless their channels lie behind the other dimensions.
pub fn by_format(x: &Tensor) -> Result<Tensor> {
    let lies_so = match x.innermost() {
        Some(a) if a.rank() == x.rank() => suggests_channels_last(x) || a.is_channels_last(),
        _ => (4..=5).contains(&x.rank()) && descends(x, std::iter::once(0).chain(2..x.rank()).chain([1])),
    };
    if lies_so { Ok(x.clone()) } else { by_rows(x) }
}
