//! Products along a dimension, whose derivatives are trees, and scattered products.

use super::compare::eq;
use crate::base::Result;
use crate::core::primitive::Saves;
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::index as kernels;
use crate::dense::index::Fold;
use crate::rules::basis::{self, div, mul, number, where_};
use crate::rules::{General, batching, index};
use smallvec::{SmallVec, smallvec};

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

/// A copy of `x` with `out[index[i][j]][j] *= src[i][j]`. Its derivatives divide by the factors, so where one follows none of
/// them is 0; [`scatter_multiply`] sees to it.
pub(crate) static SCATTER_MULTIPLY: General = General {
    name: "scatter_multiply",
    infer: |p, a| index::scattered("scatter_reduce", p, a),
    eval: |p, a| {
        let (x, index, src) = (a[0].array()?, a[1].array()?, a[2].array()?);
        Ok(smallvec![kernels::scatter_reduce(x, p.dim(), index, src, Fold::Prod, true)?.into()])
    },
    saves: |_, _| Saves { inputs: 7, outputs: 1 },
    jvp: |_, p, point, t| {
        let (x, i, src) = (point.input(0)?, point.input(1)?, point.input(2)?);
        let share = |t: Option<&Tensor>, of: &Tensor| match t {
            Some(t) => div(t, of),
            None => basis::zeros_like(of),
        };
        if t[0].is_none() && t[2].is_none() {
            return Ok(smallvec![None]);
        }
        let shares = index::scatter_add(&share(t[0], x)?, p.dim(), i, &share(t[2], src)?)?;
        Ok(smallvec![Some(mul(&shares, point.output(0)?)?)])
    },
    vjp: |_, p, point, g, needs| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let (x, i, src) = (point.input(0)?, point.input(1)?, point.input(2)?);
        let g = mul(g, &basis::conj(point.output(0)?)?)?;
        let own = if needs & 1 != 0 { Some(div(&g, &basis::conj(x)?)?) } else { None };
        let sent = if needs & 4 != 0 { Some(div(&index::gather(&g, p.dim(), i)?, &basis::conj(src)?)?) } else { None };
        Ok(smallvec![own, None, sent])
    },
    batch: |me, p, a, info| {
        let values: SmallVec<[_; 3]> = a.iter().map(|a| batching::front_expanded(a, info)).collect::<Result<_>>()?;
        let refs: SmallVec<[&Tensor; 3]> = values.iter().map(|v| &**v).collect();
        Ok(smallvec![(call(me, &Params::Dim(p.dim() + 1), &refs)?, Some(0))])
    },
};

/// A copy of `x` with `out[index[i][j]][j] *= src[i][j]` for dim 0, and so on.
///
/// Where a derivative may follow, it is the product of the factors that are not 0 times that of the zeros at a place: of one
/// to three zeros an elementary symmetric polynomial of what is 0, whose derivatives are those of a product. The fourth
/// derivative and those above count as 0 where four zeros and more meet.
pub(super) fn scatter_multiply(x: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    let product = |x: &Tensor, src: &Tensor| call(Prim::Static(&SCATTER_MULTIPLY), &Params::Dim(dim), &[x, index, src]);
    if !x.dtype().is_differentiable() || [x, index, src].iter().all(|t| t.payload().is_none()) {
        return product(x, src);
    }
    let (own, sent) = (eq(x, 0.0)?, eq(src, 0.0)?);
    let filled = |x: &Tensor, zero: &Tensor| where_(zero, &number(x, 1.0), x);
    let others = product(&filled(x, &own)?, &filled(src, &sent)?)?;
    let added = |x: &Tensor, src: &Tensor| index::scatter_add(x, dim, index, src);
    let zeros = added(&basis::cast(&own, x.dtype())?, &basis::cast(&sent, x.dtype())?)?;
    let (x1, s1) = (basis::keep_where(&own, x)?, basis::keep_where(&sent, src)?);
    let (x2, s2) = (mul(&x1, &x1)?, mul(&s1, &s1)?);
    let [p1, p2, p3] = [added(&x1, &s1)?, added(&x2, &s2)?, added(&mul(&x2, &x1)?, &mul(&s2, &s1)?)?];
    // Newton's identities.
    let square = mul(&p1, &p1)?;
    let e2 = basis::scale(&basis::sub(&square, &p2)?, 0.5)?;
    let rest = basis::sub(&basis::scale(&p3, 2.0)?, &basis::scale(&mul(&p1, &p2)?, 3.0)?)?;
    let e3 = basis::scale(&basis::add(&mul(&square, &p1)?, &rest)?, 1.0 / 6.0)?;
    let mut factor = basis::cast(&eq(&zeros, 0.0)?, x.dtype())?;
    for (count, e) in [(1.0, &p1), (2.0, &e2), (3.0, &e3)] {
        factor = basis::add(&factor, &basis::keep_where(&eq(&zeros, count)?, e)?)?;
    }
    mul(&others, &factor)
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[&[&SCATTER_MULTIPLY]], ..crate::ops::Family::EMPTY };
