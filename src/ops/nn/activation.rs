//! Activations. `inplace=True` writes the result into the input, as the in-place forms of other operators do.

use crate::bail;
use crate::base::{Result, Scalar};
use crate::core::Tensor;
use crate::ops::arith::divide_floats;
use crate::ops::compare::{gt, le};
use crate::ops::shape::detach;
use crate::ops::unary::{expm1, gelu_erf, relu_same, sigmoid, silu_unit, softplus_unit, tanh};
use crate::ops::value::Operand;
use crate::rules::basis::{mul, scale, shift, where_, zeros_like};

fn floats_only(op: &str, x: &Tensor) -> Result<()> {
    if !x.dtype().is_float() {
        bail!(NotImplemented, "{op}(): not implemented for {} tensors", x.dtype());
    }
    Ok(())
}

/// `a` where x > 0, `b` elsewhere.
fn by_sign(x: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    where_(&gt(x, 0.0)?, a, b)
}

/// The lower part of an activation that was multiplied by `factor`: with 0 it is constant, whatever its slope was.
fn low_part(x: &Tensor, factor: f64) -> Result<Tensor> {
    if factor == 0.0 { detach(x) } else { Ok(x.clone()) }
}

ops! { TABLE:
    /// `max(x, 0)` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.relu(pullback.tensor([-1.0, 2.0]))
    /// tensor([0., 2.])
    fn relu = "nn.functional.relu" (input: &Tensor, inplace: bool = false) -> Tensor [INPLACE_KEYWORD] {
        let _ = inplace;
        relu_same(input)
    }

    /// `x * sigmoid(x)` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.silu(pullback.tensor([0.0]))
    /// tensor([0.])
    fn silu = "nn.functional.silu" (input: &Tensor, inplace: bool = false) -> Tensor [INPLACE_KEYWORD] {
        let _ = inplace;
        floats_only("silu", input)?;
        silu_unit(input)
    }

    /// `x Φ(x)` of each element, Φ the normal distribution function; 'tanh' approximates it (Hendrycks, Gimpel 2016).
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.gelu(pullback.tensor([0.0]))
    /// tensor([0.])
    fn gelu = "nn.functional.gelu" (input: &Tensor; approximate: &str = "none") -> Tensor [] {
        floats_only("gelu", input)?;
        match approximate {
            "none" => gelu_erf(input),
            "tanh" => {
                let cubic = mul(input, &shift(&scale(&mul(input, input)?, 0.044715)?, 1.0)?)?;
                let t = tanh(&scale(&cubic, (2.0 / std::f64::consts::PI).sqrt())?)?;
                mul(&scale(input, 0.5)?, &shift(&t, 1.0)?)
            }
            other => bail!(Runtime, "gelu(): approximate argument must be either 'none' or 'tanh', but got '{other}'"),
        }
    }

    /// `log(1 + exp(beta x)) / beta` of each element; x itself where `beta x > threshold`.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.softplus(pullback.tensor([0.0]))
    /// tensor([0.6931])
    fn softplus = "nn.functional.softplus" (input: &Tensor, beta: f64 = 1.0, threshold: f64 = 20.0) -> Tensor [] {
        floats_only("softplus", input)?;
        let z = scale(input, beta)?;
        let soft = softplus_unit(&z)?;
        let soft = if beta == 1.0 { soft } else { scale(&soft, 1.0 / beta)? };
        where_(&gt(&z, threshold)?, input, &soft)
    }

    /// x where it is positive, `negative_slope * x` elsewhere.
    fn leaky_relu = "nn.functional.leaky_relu" (input: &Tensor, negative_slope: f64 = 0.01, inplace: bool = false)
        -> Tensor [INPLACE_KEYWORD] {
        let _ = inplace;
        floats_only("leaky_relu", input)?;
        by_sign(input, input, &low_part(&scale(input, negative_slope)?, negative_slope)?)
    }

    /// x where it is positive, `alpha (exp(x) - 1)` elsewhere.
    fn elu = "nn.functional.elu" (input: &Tensor, alpha: f64 = 1.0, inplace: bool = false) -> Tensor [INPLACE_KEYWORD] {
        let _ = inplace;
        floats_only("elu", input)?;
        // The exponential must not overflow where it is not used.
        let low = where_(&gt(input, 0.0)?, &zeros_like(input)?, input)?;
        if alpha == 0.0 {
            // NaN is not above 0, yet it stays.
            return where_(&le(input, 0.0)?, &low_part(&scale(&expm1(&low)?, alpha)?, alpha)?, input);
        }
        by_sign(input, input, &scale(&expm1(&low)?, alpha)?)
    }

    /// Each element limited to [min_val, max_val].
    fn hardtanh = "nn.functional.hardtanh" (input: &Tensor, min_val: f64 = -1.0, max_val: f64 = 1.0,
        inplace: bool = false) -> Tensor [INPLACE_KEYWORD] {
        let _ = inplace;
        if min_val > max_val {
            bail!(Value, "hardtanh(): min_val cannot be greater than max_val, got {min_val} and {max_val}");
        }
        limited(input, min_val, max_val)
    }

    /// Each element limited to [0, 6].
    fn relu6 = "nn.functional.relu6" (input: &Tensor, inplace: bool = false) -> Tensor [INPLACE_KEYWORD] {
        let _ = inplace;
        limited(input, 0.0, 6.0)
    }

    /// `x / (1 + |x|)` of each element.
    fn softsign = "nn.functional.softsign" (input: &Tensor) -> Tensor [] {
        divide_floats(input, &shift(&crate::ops::unary::abs(input)?, 1.0)?)
    }

    /// `x tanh(softplus(x))` of each element.
    fn mish = "nn.functional.mish" (input: &Tensor, inplace: bool = false) -> Tensor [INPLACE_KEYWORD] {
        let _ = inplace;
        floats_only("mish", input)?;
        mul(input, &tanh(&softplus_unit(input)?)?)
    }

    /// `a * sigmoid(b)`, a and b the halves of a dimension.
    fn glu = "nn.functional.glu" (input: &Tensor, dim: i64 = -1) -> Tensor [] {
        let halves = crate::ops::join::chunk(input, 2, dim)?;
        match &halves[..] {
            [a, b] if a.shape() == b.shape() => mul(a, &sigmoid(b)?),
            _ => bail!(Runtime, "glu(): halving dimension must be even, but the input has shape {}", input.shape()),
        }
    }
}

/// Limited to an interval, without a derivative at its ends.
fn limited(x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    let floats = x.dtype().is_differentiable();
    // Integers stay integers, and so do their limits.
    let (low, high) = if floats { (low, high) } else { (low.trunc(), high.trunc()) };
    let number = |v: f64| Operand::Number(if floats { Scalar::Float(v) } else { Scalar::Int(v as i64) });
    let up = crate::ops::arith::choose(&le(x, low)?, number(low), Operand::Tensor(x))?;
    crate::ops::arith::choose(&crate::ops::compare::ge(&up, high)?, number(high), Operand::Tensor(&up))
}
