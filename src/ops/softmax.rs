//! Softmax and its logarithm.

use super::promote::{in_single, single};
use super::unary::exp;
use crate::base::{DType, Result};
use crate::core::primitive::Saves;
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::composed;
use crate::ops::signature::{Dim, in_floats};
use crate::rules::basis::{self, mul, sub};
use crate::rules::{General, batching, shapes};
use smallvec::{SmallVec, smallvec};

/// The Jacobian is symmetric, so that both rules are one function.
static SOFTMAX: General = General {
    name: "softmax",
    infer: shapes::same,
    eval: |p, args| Ok(smallvec![composed::softmax(args[0].array()?, p.dim())?.into()]),
    saves: |_, _| Saves { inputs: 0, outputs: 1 },
    // y (t - Σ y t)
    jvp: |_, p, point, tangents| match tangents {
        [Some(t)] => Ok(smallvec![Some(project(point.output(0)?, t, p.dim())?)]),
        _ => Ok(smallvec![None]),
    },
    vjp: |_, p, point, cotangents, _| match cotangents {
        [Some(g)] => Ok(smallvec![Some(project(point.output(0)?, g, p.dim())?)]),
        _ => Ok(SmallVec::new()),
    },
    batch: batch_along,
};

fn project(y: &Tensor, t: &Tensor, dim: usize) -> Result<Tensor> {
    in_single(t, |t| {
        let y = &single(y)?;
        let yt = mul(y, t)?;
        sub(&yt, &mul(y, &sum_along(&yt, dim)?)?)
    })
}

fn sum_along(x: &Tensor, dim: usize) -> Result<Tensor> {
    if x.rank() == 0 { Ok(x.clone()) } else { basis::sum(x, &[dim], true) }
}

/// The rules differ by where the weights stand: tangents are weighted before the sum, cotangents after it. A transpose that
/// is derived would be a program for each shape.
static LOG_SOFTMAX: General = General {
    name: "log_softmax",
    infer: shapes::same,
    eval: |p, args| Ok(smallvec![composed::log_softmax(args[0].array()?, p.dim())?.into()]),
    saves: |_, _| Saves { inputs: 0, outputs: 1 },
    jvp: |_, p, point, tangents| match tangents {
        [Some(t)] => {
            let weights = exp(&single(point.output(0)?)?)?;
            Ok(smallvec![Some(in_single(t, |t| sub(t, &sum_along(&mul(&weights, t)?, p.dim())?))?)])
        }
        _ => Ok(smallvec![None]),
    },
    vjp: |_, p, point, cotangents, _| match cotangents {
        [Some(g)] => {
            let weights = exp(&single(point.output(0)?)?)?;
            let grad = in_single(g, |g| sub(g, &mul(&weights, &sum_along(g, p.dim())?)?))?;
            Ok(smallvec![Some(grad)])
        }
        _ => Ok(SmallVec::new()),
    },
    batch: batch_along,
};

/// Batching of an operator along one dimension; 0-d members get a dimension for it.
fn batch_along(
    me: Prim<'_>,
    params: &Params,
    args: &[crate::core::BatchArg<'_>],
    _: crate::core::BatchInfo,
) -> Result<crate::core::BatchOut> {
    let Some(v) = batching::front(&args[0])? else { refuse!(Internal, "nothing is batched") };
    if v.rank() == 1 {
        let column = basis::unsqueeze_dims(&v, &[1])?;
        let out = call(me, &Params::Dim(1), &[&column])?;
        return Ok(smallvec![(basis::reshape(&out, v.shape())?, Some(0))]);
    }
    Ok(smallvec![(call(me, &Params::Dim(params.dim() + 1), &[&v])?, Some(0))])
}

fn along(prim: &'static General, input: &Tensor, dim: usize, dtype: Option<DType>) -> Result<Tensor> {
    let x = in_floats(input, dtype)?;
    call(Prim::Static(prim), &Params::Dim(dim), &[&x])
}

/// The dimension that PyTorch picks where none is named; it tells of it.
fn implicit(op: &str, dim: Option<i64>, rank: usize) -> Result<i64> {
    if let Some(dim) = dim {
        return Ok(dim);
    }
    let dim = i64::from(!matches!(rank, 0 | 1 | 3));
    crate::core::host::warn(&format!(
        "{op}(): Implicit dimension choice for {op} has been deprecated: {dim} is taken for {rank} dimensions; name it, dim={dim}"
    ))?;
    Ok(dim)
}

ops! { TABLE:
    /// `exp(x) / sum(exp(x))` along `dim`, without overflow.
    ///
    /// >>> import pullback
    /// >>> pullback.softmax(pullback.tensor([0.0, 0.0]), 0)
    /// tensor([0.5000, 0.5000])
    fn softmax = "softmax" | "special.softmax" (input: &Tensor, dim: i64 as Dim, dtype: Option<DType> = None) -> Tensor [METHOD, EXACT_OUT, TRANSCENDENTAL] of SOFTMAX {
        along(&SOFTMAX, input, dim, dtype)
    }

    /// The logarithm of softmax along `dim`, without overflow.
    ///
    /// >>> import pullback
    /// >>> pullback.log_softmax(pullback.tensor([0.0, 0.0]), 0)
    /// tensor([-0.6931, -0.6931])
    fn log_softmax = "log_softmax" | "special.log_softmax" (input: &Tensor, dim: i64 as Dim, dtype: Option<DType> = None)
        -> Tensor [METHOD, EXACT_OUT, TRANSCENDENTAL] of LOG_SOFTMAX {
        along(&LOG_SOFTMAX, input, dim, dtype)
    }

    /// As `pullback.softmax`.
    fn nn_softmax = "nn.functional.softmax" (input: &Tensor, dim: Option<i64> = None, _stacklevel: i64 = 3,
        dtype: Option<DType> = None) -> Tensor [TRANSCENDENTAL, NO_OUT] of SOFTMAX {
        let _ = _stacklevel;
        softmax(input, implicit("softmax", dim, input.rank())?, dtype)
    }

    /// As `pullback.log_softmax`.
    fn nn_log_softmax = "nn.functional.log_softmax" (input: &Tensor, dim: Option<i64> = None, _stacklevel: i64 = 3,
        dtype: Option<DType> = None) -> Tensor [TRANSCENDENTAL, NO_OUT] of LOG_SOFTMAX {
        let _ = _stacklevel;
        log_softmax(input, implicit("log_softmax", dim, input.rank())?, dtype)
    }
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&SOFTMAX, &LOG_SOFTMAX];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
