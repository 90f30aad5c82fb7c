//! Products along a dimension, whose derivatives are trees, and scattered products.

use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::index as kernels;
use crate::dense::index::Fold;
use crate::rules::basis::{self, mul, number, where_};
use crate::rules::{Opaque, OpaqueBatch};
use smallvec::smallvec;

/// The halves of a dimension, and its last element where their sizes differ.
struct Halves {
    first: Tensor,
    second: Tensor,
    last: Option<Tensor>,
}

impl Halves {
    fn of(x: &Tensor, dim: usize) -> Result<Halves> {
        let n = x.shape()[dim];
        let part = |start: usize, len: usize| basis::slice(x, dim, start, len, 1);
        Ok(Halves {
            first: part(0, n / 2)?,
            second: part(n / 2, n / 2)?,
            last: (n % 2 == 1).then(|| part(n - 1, 1)).transpose()?,
        })
    }
    fn product(&self) -> Result<Tensor> {
        mul(&self.first, &self.second)
    }
}

/// The product along a dimension that is kept, as a tree of products of halves.
pub(super) fn tree(x: &Tensor, dim: usize) -> Result<Tensor> {
    if x.shape()[dim] <= 1 {
        return Ok(x.clone());
    }
    let halves = Halves::of(x, dim)?;
    let inner = tree(&halves.product()?, dim)?;
    match &halves.last {
        Some(last) => mul(&inner, last),
        None => Ok(inner),
    }
}

/// The product along a dimension that is kept, and its tangent.
pub(super) fn push(x: Tensor, t: Tensor, dim: usize) -> Result<(Tensor, Tensor)> {
    if x.shape()[dim] <= 1 {
        return Ok((x, t));
    }
    let of = |x: &Halves, t: &Halves| basis::add(&mul(&t.first, &x.second)?, &mul(&x.first, &t.second)?);
    let (x, t) = (Halves::of(&x, dim)?, Halves::of(&t, dim)?);
    let (p, dp) = push(x.product()?, of(&x, &t)?, dim)?;
    Ok(match (&x.last, &t.last) {
        (Some(last), Some(dlast)) => (mul(&p, last)?, basis::add(&mul(&dp, last)?, &mul(&p, dlast)?)?),
        _ => (p, dp),
    })
}

/// The cotangent of `x` from that of its product along a dimension that is kept.
pub(super) fn pull(x: &Tensor, g: &Tensor, dim: usize) -> Result<Tensor> {
    if x.shape()[dim] <= 1 {
        return basis::expand(g, x.shape());
    }
    let halves = Halves::of(x, dim)?;
    let product = halves.product()?;
    let (inner, last) = match &halves.last {
        Some(last) => (mul(g, last)?, Some(mul(g, &tree(&product, dim)?)?)),
        None => (g.clone(), None),
    };
    let inner = pull(&product, &inner, dim)?;
    let (first, second) = (mul(&inner, &halves.second)?, mul(&inner, &halves.first)?);
    match &last {
        Some(last) => basis::cat(&[&first, &second, last], dim),
        None => basis::cat(&[&first, &second], dim),
    }
}

/// A copy of `x` with `out[index[i][j]][j] *= src[i][j]`, on arrays.
pub(crate) static SCATTER_MULTIPLY: Opaque = Opaque {
    name: "scatter_multiply",
    infer: |p, a| crate::rules::index::scattered("scatter_reduce", p, a),
    eval: |p, a| {
        let (x, index, src) = (a[0].array()?, a[1].array()?, a[2].array()?);
        Ok(smallvec![kernels::scatter_reduce(x, p.dim(), index, src, Fold::Prod, true)?.into()])
    },
    batching: OpaqueBatch::With(|_, _, _, _| bail!(Internal, "scatter(): only arrays are multiplied directly")),
};

/// A copy of `x` with `out[index[i][j]][j] *= src[i][j]` for dim 0, and so on. Where a derivative or a batch follows the
/// values it is a product over masks, whose derivatives are right of any order, zeros and repeated indices included.
pub(super) fn scatter_multiply(x: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    if [x, index, src].iter().all(|t| t.payload().is_none()) {
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

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[&[&SCATTER_MULTIPLY]], ..crate::ops::Family::EMPTY };
