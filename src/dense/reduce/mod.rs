//! Reductions.

use crate::bail;
use crate::base::{Result, Shape};
use crate::dense::Array;
use smallvec::SmallVec;

/// Sum over dimensions.
pub fn sum(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    let kept: SmallVec<[usize; 6]> = (0..a.rank()).filter(|d| !dims.contains(d)).collect();
    let order: SmallVec<[usize; 6]> = kept.iter().chain(dims.iter().filter(|&&d| d < a.rank())).copied().collect();
    let rows = a.permute(&order)?.contiguous()?;
    let shape: Shape = if keep {
        (0..a.rank()).map(|d| if dims.contains(&d) { 1 } else { a.shape()[d] }).collect()
    } else {
        kept.iter().map(|&d| a.shape()[d]).collect()
    };
    let n: usize = dims.iter().filter(|&&d| d < a.rank()).map(|&d| a.shape()[d]).product();
    crate::match_dtype!(a.dtype(), number T => {
        let x: &[T] = rows.as_slice().unwrap_or(&[]);
        Array::build::<T>(shape, |out| for (i, o) in out.iter_mut().enumerate() {
            *o = x[i * n..(i + 1) * n].iter().fold(T::default(), |s, &v| s + v);
        })
    }, else bail!(NotImplemented, "sum(): not implemented for {}", a.dtype()))
}
