//! Activations. `inplace=True` writes the result into the input, as the in-place forms of other operators do.

use crate::base::{DType, Result, Scalar};
use crate::core::Tensor;
use crate::ops::arith::divide_floats;
use crate::ops::compare::{ge, gt, le};
use crate::ops::promote::{fitting, in_single};
use crate::ops::shape::detach;
use crate::ops::signature::{Chosen, Floats, HERE, Inexact, Inplace, Words};
use crate::ops::unary::{elu_unit, gelu_erf, gelu_tanh, mish_unit, relu_same, sigmoid, silu_unit, softplus_unit};
use crate::rules::Partial;
use crate::rules::basis::{self, mul, number, scale, shift, where_};

binary! { UNITS, PRIMITIVES:
    /// x where it is positive, `x * s` elsewhere; constant there if s is a 0 that is a number.
    leaky = "leaky_relu" kernel LEAKY_RELU Kept [INTERNAL]
        da[a b] leaky_slope(a, b), db[a] Partial::of(le(a, 0.0)?, a, 0.0, |x| Ok(x.clone()));

    /// The larger of an element and its lower limit, without a derivative at the limit.
    above = "hardtanh:min" kernel HARDTANH_MIN Kept [INTERNAL]
        da[a b] le(a, b).map(Partial::Unless), db[] Partial::Zero;

    /// The smaller of an element and its upper limit, without a derivative at the limit.
    below = "hardtanh:max" kernel HARDTANH_MAX Kept [INTERNAL]
        da[a b] ge(a, b).map(Partial::Unless), db[] Partial::Zero;
}

fn leaky_slope(x: &Tensor, slope: &Tensor) -> Result<Partial<'static>> {
    let positive = gt(x, 0.0)?;
    match slope.dense().filter(|s| s.rank() == 0) {
        Some(s) if s.item()?.as_f64() == 0.0 => Ok(Partial::Where(positive)),
        _ => where_(&positive, &number(slope, 1.0), slope).map(Partial::Value),
    }
}

/// How the normal distribution function of `gelu` is computed.
#[derive(Clone, Copy)]
enum Approximation {
    None,
    Tanh,
}
impl Words for Approximation {
    const WORDS: &'static [(&'static str, Self)] = &[("none", Approximation::None), ("tanh", Approximation::Tanh)];
}

ops! { TABLE:
    /// `max(x, 0)` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.relu(pullback.tensor([-1.0, 2.0]))
    /// tensor([0., 2.])
    fn relu = "nn.functional.relu" (input: &Tensor, inplace: bool as Inplace = false) -> Tensor [INPLACE_KEYWORD, NO_OUT] of crate::ops::unary::RELU {
        let _ = inplace;
        relu_same(input)
    }

    /// `x * sigmoid(x)` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.silu(pullback.tensor([0.0]))
    /// tensor([0.])
    fn silu = "nn.functional.silu" (input: &Tensor as Inexact, inplace: bool as Inplace = false) -> Tensor [INPLACE_KEYWORD, TRANSCENDENTAL, NO_OUT] of crate::ops::unary::SILU {
        let _ = inplace;
        if input.dtype().is_complex() { mul(input, &sigmoid(input)?) } else { silu_unit(input) }
    }

    /// `x Φ(x)` of each element, Φ the normal distribution function; 'tanh' approximates it (Hendrycks, Gimpel 2016).
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.gelu(pullback.tensor([0.0]))
    /// tensor([0.])
    fn gelu = "nn.functional.gelu" (input: &Tensor as Floats; approximate: &str as Chosen<Approximation> = "none") -> Tensor [TRANSCENDENTAL] of crate::ops::unary::GELU {
        match approximate {
            Approximation::None => gelu_erf(input),
            Approximation::Tanh => gelu_tanh(input),
        }
    }

    /// `log(1 + exp(beta x)) / beta` of each element; x itself where `beta x > threshold`.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.softplus(pullback.tensor([0.0]))
    /// tensor([0.6931])
    fn softplus = "nn.functional.softplus" (input: &Tensor as Floats, beta: f64 = 1.0, threshold: f64 = 20.0) -> Tensor [TRANSCENDENTAL] {
        in_single(input, |x| {
            let z = scale(x, beta)?;
            let soft = softplus_unit(&z)?;
            let soft = if beta == 1.0 { soft } else { divide_floats(&soft, beta)? };
            where_(&gt(&z, threshold)?, x, &soft)
        })
    }

    /// x where it is positive, `negative_slope * x` elsewhere.
    fn leaky_relu = "nn.functional.leaky_relu" (input: &Tensor as Floats, negative_slope: f64 = 0.01, inplace: bool as Inplace = false)
        -> Tensor [INPLACE_KEYWORD, NO_OUT] of LEAKY_RELU {
        let _ = inplace;
        leaky(input, negative_slope)
    }

    /// x where it is positive, `alpha (exp(x) - 1)` elsewhere.
    fn elu = "nn.functional.elu" (input: &Tensor as Floats, alpha: f64 = 1.0, inplace: bool as Inplace = false) -> Tensor [INPLACE_KEYWORD, TRANSCENDENTAL, NO_OUT] {
        let _ = inplace;
        in_single(input, |x| {
            // The exponential must not overflow where it is not used.
            let is_low = le(x, 0.0)?;
            let low = scale(&elu_unit(&basis::keep_where(&is_low, x)?)?, alpha)?;
            where_(&is_low, &if alpha == 0.0 { detach(&low)? } else { low }, x)
        })
    }

    /// Each element limited to [min_val, max_val].
    fn hardtanh = "nn.functional.hardtanh" (input: &Tensor, min_val: f64 = -1.0, max_val: f64 = 1.0,
        inplace: bool as Inplace = false) -> Tensor [INPLACE_KEYWORD, NO_OUT] {
        let _ = inplace;
        if min_val > max_val {
            refuse!(Value, "min_val cannot be greater than max_val, got {min_val} and {max_val}; swap them");
        }
        limited(input, min_val, max_val)
    }

    /// Each element limited to [0, 6].
    fn relu6 = "nn.functional.relu6" (input: &Tensor, inplace: bool as Inplace = false) -> Tensor [INPLACE_KEYWORD, NO_OUT] node "HardtanhBackward0" {
        let _ = inplace;
        limited(input, 0.0, 6.0)
    }

    /// `x / (1 + |x|)` of each element.
    fn softsign = "nn.functional.softsign" (input: &Tensor) -> Tensor [NO_OUT] node "DivBackward0" {
        divide_floats(input, &shift(&crate::ops::unary::abs(input)?, 1.0)?)
    }

    /// `x tanh(softplus(x))` of each element.
    fn mish = "nn.functional.mish" (input: &Tensor as Floats, inplace: bool as Inplace = false) -> Tensor [INPLACE_KEYWORD, TRANSCENDENTAL, NO_OUT] of crate::ops::unary::MISH {
        let _ = inplace;
        mish_unit(input)
    }

    /// `a * sigmoid(b)`, a and b the halves of a dimension.
    fn glu = "nn.functional.glu" (input: &Tensor, dim: i64 = -1) -> Tensor [NO_OUT] {
        in_single(input, |x| {
            let halves = crate::ops::join::chunk(x, 2, dim)?;
            match &halves[..] {
                [a, b] if a.shape() == b.shape() => mul(a, &sigmoid(b)?),
                _ => refuse!(Runtime, "halving dimension must be even, but the input has shape {}; cut or pad() it", x.shape()),
            }
        })
    }
}

/// Limited to an interval, without a derivative at its ends.
fn limited(x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    if x.dtype() == DType::Bool {
        refuse!(Runtime, "is not supported on bool tensors; convert them first");
    }
    let floats = x.dtype().is_differentiable();
    // Integers stay integers, and so do their limits.
    let limit = |v: f64| {
        let v = if floats { Scalar::Float(v) } else { Scalar::Int(v as i64) };
        fitting(HERE, "a limit", v, x.dtype())
    };
    below(&above(x, limit(low)?)?, limit(high)?)
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE, UNITS], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
