//! Scattered products.

use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::index as kernels;
use crate::dense::index::Fold;
use crate::rules::basis::{self, mul, number, where_};
use crate::rules::{Opaque, OpaqueBatch};
use smallvec::smallvec;

/// A copy of `x` with `out[index[i][j]][j] *= src[i][j]`, on arrays.
pub(crate) static SCATTER_MULTIPLY: Opaque = Opaque {
    name: "scatter_multiply",
    eval: |p, a| {
        let (x, index, src) = (a[0].array()?, a[1].array()?, a[2].array()?);
        Ok(smallvec![kernels::scatter_reduce(x, p.dim(), index, src, Fold::Prod, true)?.into()])
    },
    batching: OpaqueBatch::With(|_, _, _, _| bail!(Internal, "scatter(): only arrays are multiplied directly")),
};

/// A copy of `x` with `out[index[i][j]][j] *= src[i][j]` for dim 0, and so on. Where a derivative or a batch follows the
/// values it is a product over masks, whose derivatives are right of any order, zeros and repeated indices included.
pub(super) fn scatter_multiply(x: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    if [x, index, src].iter().all(|t| t.dense().is_some()) {
        return call(Prim::Static(&SCATTER_MULTIPLY), &Params::Dim(dim), &[x, index, src]);
    }
    // Refuses indices out of range.
    crate::rules::index::gather(x, dim, index)?;
    let mut column = Shape::new(&vec![1; x.rank() + 1]);
    column = column.with(dim, x.shape()[dim]);
    let targets = basis::reshape(&kernels::arange(DType::I64, 0.into(), 1.into(), x.shape()[dim])?.into(), &column)?;
    let hit = super::compare::eq(&basis::unsqueeze_dims(index, &[dim])?, &targets)?;
    let factors = where_(&hit, &basis::unsqueeze_dims(src, &[dim])?, &number(src, 1.0))?;
    let mut factor = super::reduce::prod_over(&factors, &[dim + 1], false)?;
    for d in 0..x.rank() {
        let (have, want) = (factor.shape()[d], x.shape()[d]);
        if have < want {
            let ones = basis::full(&factor.shape().with(d, want - have), x.dtype(), 1.0)?;
            factor = basis::cat(&[&factor, &ones], d)?;
        }
    }
    mul(x, &factor)
}
