//! Moving elements by index.

use crate::bail;
use crate::base::Result;
use crate::dense::Array;

/// Concatenation along a dimension.
pub fn cat(parts: &[Array], dim: usize) -> Result<Array> {
    let Some(first) = parts.first() else { bail!(Value, "cat(): expected a non-empty list of Tensors") };
    let total = parts.iter().map(|p| p.shape()[dim]).sum();
    let shape = first.shape().with(dim, total);
    let (dtype, size) = (first.dtype(), first.dtype().size());
    let inner: usize = shape[dim + 1..].iter().product();
    let rows: Vec<Array> = parts.iter().map(Array::contiguous).collect::<Result<_>>()?;
    Array::build_bytes(dtype, shape.clone(), |out, _| {
        let outer: usize = shape[..dim].iter().product();
        let mut at = 0;
        for o in 0..outer {
            for p in &rows {
                let n = p.shape()[dim] * inner * size;
                // SAFETY: each part holds outer blocks of n bytes and the output holds their sum.
                unsafe { std::ptr::copy_nonoverlapping(p.ptr().add(o * n), out.add(at), n) };
                at += n;
            }
        }
    })
}
