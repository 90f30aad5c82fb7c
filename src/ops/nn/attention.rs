//! Attention.

use crate::base::{DType, Result, Shape};
use crate::core::Tensor;
use crate::ops::signature::{AtLeast, Dropped, inside};
use crate::ops::{compare, diagonal, matmul, promote, random, reduce, softmax};
use crate::rules::basis::{self, where_};

/// Query, key and value have sizes that fit each other.
fn check(query: &Tensor, key: &Tensor, value: &Tensor) -> Result<()> {
    matmul::same_dtype(&[query, key, value])?;
    let (q, k, v) = (query.shape(), key.shape(), value.shape());
    if q[q.rank() - 1] != k[k.rank() - 1] || k[k.rank() - 2] != v[v.rank() - 2] {
        refuse!(
            Runtime,
            "expected query [..., L, E], key [..., S, E] and value [..., S, V], but got shapes {q}, {k} and {v}; \
             transpose() or cut them"
        );
    }
    Ok(())
}

/// Heads of keys and values repeated for the groups of query heads that share them.
fn repeat_heads(x: &Tensor, query: &Tensor) -> Result<Tensor> {
    if x.rank() < 3 || query.rank() < 3 {
        refuse!(
            Runtime,
            "enable_gqa needs tensors of at least 3 dimensions, got {}D; add one for the heads with unsqueeze(-3)",
            x.rank().min(query.rank())
        );
    }
    let at = x.rank() - 3;
    let (heads, wanted) = (x.shape()[at], query.shape()[query.rank() - 3]);
    if heads == wanted {
        return Ok(x.clone());
    }
    if heads == 0 || wanted % heads != 0 {
        refuse!(
            Runtime,
            "number of heads in key and value must divide the number of heads in query, got {heads} and {wanted}; \
             repeat or cut them"
        );
    }
    let spread = basis::unsqueeze_dims(x, &[at + 1])?;
    let repeated = basis::expand(&spread, &spread.shape().with(at + 1, wanted / heads))?;
    basis::reshape(&repeated, &x.shape().with(at, wanted))
}

/// Scores with what the mask forbids at minus infinity, or plus an additive mask.
fn apply_mask(scores: &Tensor, mask: &Tensor) -> Result<Tensor> {
    if mask.dtype() == DType::Bool {
        return where_(mask, scores, &Tensor::scalar(scores.dtype(), f64::NEG_INFINITY));
    }
    if !mask.dtype().is_float() {
        refuse!(
            Runtime,
            "expected attn_mask dtype to be bool or float or to match query dtype, but got {} and query dtype {}; \
             convert it with .bool() or .to()",
            mask.dtype(),
            scores.dtype()
        );
    }
    basis::add(scores, &basis::cast(mask, scores.dtype())?)
}

/// Which keys come no later than each query.
fn causal(queries: usize, keys: usize) -> Result<Tensor> {
    diagonal::tril(&basis::full(&Shape::from([queries, keys]), DType::Bool, true)?, 0)
}

/// Softmax over the last dimension; a row of minus infinity gives zeros.
fn weights(scores: &Tensor, masked: bool) -> Result<Tensor> {
    let last = scores.rank() - 1;
    if !masked || scores.shape()[last] == 0 {
        return softmax::softmax(scores, -1, None);
    }
    let dead = compare::eq(&reduce::amax_over(scores, &[last], true)?, f64::NEG_INFINITY)?;
    let zero = Tensor::scalar(scores.dtype(), 0.0);
    where_(&dead, &zero, &softmax::softmax(&where_(&dead, &zero, scores)?, -1, None)?)
}

ops! { TABLE:
    /// `softmax(query @ key.mT * scale + attn_mask) @ value`, where `scale` is `1 / sqrt(E)` if it is not given. A bool
    /// mask says who takes part; queries that may see no key give zeros.
    ///
    /// >>> import pullback
    /// >>> F = pullback.nn.functional
    /// >>> F.scaled_dot_product_attention(pullback.ones(2, 3, 4), pullback.ones(2, 5, 4), pullback.ones(2, 5, 6)).shape
    /// pullback.Size([2, 3, 6])
    fn scaled_dot_product_attention = "nn.functional.scaled_dot_product_attention" (query: &Tensor as AtLeast<2>,
        key: &Tensor as AtLeast<2>, value: &Tensor as AtLeast<2>, attn_mask: Option<&Tensor> = None,
        dropout_p: f64 as Dropped = 0.0, is_causal: bool = false;
        scale: Option<f64> = None, enable_gqa: bool = false) -> Tensor [PRODUCT, NO_OUT, LOWERS] node "ScaledDotProductFlashAttentionForCpuBackward0" {
        check(query, key, value)?;
        if query.dtype().is_half() {
            // Scores may be too large for half precision.
            let (q, k, v) = (promote::single(query)?, promote::single(key)?, promote::single(value)?);
            let out = scaled_dot_product_attention(&q, &k, &v, attn_mask, dropout_p, is_causal, scale, enable_gqa)?;
            return basis::cast(&out, query.dtype());
        }
        if is_causal && attn_mask.is_some() {
            refuse!(Runtime, "explicit attn_mask should not be set when is_causal=True; give one of the two");
        }
        let (key, value) = match enable_gqa {
            true => (repeat_heads(key, query)?, repeat_heads(value, query)?),
            false => (key.clone(), value.clone()),
        };
        let width = query.shape()[query.rank() - 1];
        let scale = scale.unwrap_or_else(|| 1.0 / (width as f64).sqrt());
        let product = matmul::matmul(&basis::scale(query, scale)?, &basis::swap_last(&key)?);
        let mut scores = product.map_err(inside)?;
        let shape = scores.shape();
        if is_causal {
            let mask = causal(shape[shape.rank() - 2], shape[shape.rank() - 1])?;
            scores = apply_mask(&scores, &mask)?;
        } else if let Some(mask) = attn_mask {
            scores = apply_mask(&scores, mask)?;
        }
        let mut weights = weights(&scores, attn_mask.is_some())?;
        if dropout_p > 0.0 {
            weights = random::dropout(&weights, dropout_p, true, false)?;
        }
        matmul::matmul(&weights, &value).map_err(inside)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
