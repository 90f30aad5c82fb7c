//! Elementary functions of one argument. Integers are computed in the default float unless said otherwise.

use super::arith::divide_floats;
use super::compare::{eq, le, ne};
use crate::base::{DType, Result};
use crate::core::Tensor;
use crate::dense::pointwise::kernels::activation::{CUBIC, SQRT_2_OVER_PI};
use crate::ops::signature::{NoBools, floats};
use crate::rules::Partial;
use crate::rules::basis::{self, add, cast, conj, mul, neg, number, product_where, scale, shift, sub, where_};
use num_complex::Complex;

/// The partial `1 / d`.
fn over(d: Result<Tensor>) -> Result<Partial<'static>> {
    d.map(Partial::Over)
}
/// `1 - x * x`
fn one_minus_square(x: &Tensor) -> Result<Tensor> {
    sub(&number(x, 1.0), &mul(x, x)?)
}

/// `1 / √(x² - 1)`, of complex numbers by the factors: the root of their product has its cut elsewhere.
fn acosh_slope(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return mul(&rsqrt(&shift(x, 1.0)?)?, &rsqrt(&shift(x, -1.0)?)?);
    }
    rsqrt(&shift(&mul(x, x)?, -1.0)?)
}

/// The p of `d|x| = Re(p dx)`.
fn abs_slope(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { conj(&sgn(x)?) } else { sign(x) }
}
/// `y = x / |x|` moves at a right angle to itself: `dy = (dx - y² conj(dx)) / 2|x|`. At 0 it counts as constant.
fn sgn_slope(x: &Tensor, y: &Tensor) -> Result<Partial<'static>> {
    if !x.dtype().is_complex() {
        return Ok(Partial::Zero);
    }
    let size = abs(x)?;
    let zero = eq(&size, 0.0)?;
    let safe = where_(&zero, &number(&size, f64::INFINITY), &size)?;
    let half = cast(&divide_floats(&number(&size, 0.5), &safe)?, x.dtype())?;
    Ok(Partial::Pair(Box::new((half.clone(), neg(&mul(&mul(y, y)?, &half)?)?))))
}
/// The p of `d angle(x) = Re(p dx)`: `1 / ix`. At 0 it counts as constant.
fn angle_slope(x: &Tensor) -> Result<Partial<'static>> {
    if !x.dtype().is_complex() {
        return Ok(Partial::Zero);
    }
    let turned = mul(x, &Tensor::scalar(x.dtype(), Complex::i()))?;
    Partial::of(ne(x, 0.0)?, &turned, 1.0, reciprocal)
}

unary! { TABLE, PRIMITIVES:
    /// Sine of each element, in radians.
    ///
    /// >>> import pullback
    /// >>> pullback.sin(pullback.tensor([0.0]))
    /// tensor([0.])
    sin = "sin" kernel SIN [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] cos(x);

    /// Cosine of each element, in radians.
    ///
    /// >>> import pullback
    /// >>> pullback.cos(pullback.tensor([0.0]))
    /// tensor([1.])
    cos = "cos" kernel COS [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] neg(&sin(x)?);

    /// Tangent of each element, in radians.
    ///
    /// >>> import pullback
    /// >>> pullback.tan(pullback.tensor([0.0]))
    /// tensor([0.])
    tan = "tan" kernel TAN [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] shift(&mul(y, y)?, 1.0);

    /// Inverse sine of each element, in radians; NaN outside of [-1, 1].
    ///
    /// >>> import pullback
    /// >>> pullback.asin(pullback.tensor([0.0]))
    /// tensor([0.])
    asin = "asin" | "arcsin" kernel ASIN [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] rsqrt(&one_minus_square(x)?);

    /// Inverse cosine of each element, in radians; NaN outside of [-1, 1].
    ///
    /// >>> import pullback
    /// >>> pullback.acos(pullback.tensor([1.0]))
    /// tensor([0.])
    acos = "acos" | "arccos" kernel ACOS [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] neg(&rsqrt(&one_minus_square(x)?)?);

    /// Inverse tangent of each element, in radians.
    ///
    /// >>> import pullback
    /// >>> pullback.atan(pullback.tensor([0.0]))
    /// tensor([0.])
    atan = "atan" | "arctan" kernel ATAN [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(shift(&mul(x, x)?, 1.0));

    /// Hyperbolic sine of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.sinh(pullback.tensor([0.0]))
    /// tensor([0.])
    sinh = "sinh" kernel SINH [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] cosh(x);

    /// Hyperbolic cosine of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.cosh(pullback.tensor([0.0]))
    /// tensor([1.])
    cosh = "cosh" kernel COSH [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] sinh(x);

    /// Hyperbolic tangent of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.tanh(pullback.tensor([0.0]))
    /// tensor([0.])
    tanh = "tanh" | "nn.functional.tanh" kernel TANH [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] one_minus_square(y);

    /// Inverse hyperbolic sine of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.asinh(pullback.tensor([0.0]))
    /// tensor([0.])
    asinh = "asinh" | "arcsinh" kernel ASINH [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] rsqrt(&shift(&mul(x, x)?, 1.0)?);

    /// Inverse hyperbolic cosine of each element; NaN below 1.
    ///
    /// >>> import pullback
    /// >>> pullback.acosh(pullback.tensor([1.0]))
    /// tensor([0.])
    acosh = "acosh" | "arccosh" kernel ACOSH [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] acosh_slope(x);

    /// Inverse hyperbolic tangent of each element; NaN outside of [-1, 1].
    ///
    /// >>> import pullback
    /// >>> pullback.atanh(pullback.tensor([0.0]))
    /// tensor([0.])
    atanh = "atanh" | "arctanh" kernel ATANH [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(one_minus_square(x));

    /// Exponential of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.exp(pullback.tensor([0.0]))
    /// tensor([1.])
    exp = "exp" kernel EXP [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] y;

    /// 2 to the power of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.exp2(pullback.tensor([3.0]))
    /// tensor([8.])
    exp2 = "exp2" | "special.exp2" kernel EXP2 [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] scale(y, std::f64::consts::LN_2);

    /// `exp(x) - 1`, accurate near 0.
    ///
    /// >>> import pullback
    /// >>> pullback.expm1(pullback.tensor([0.0]))
    /// tensor([0.])
    expm1 = "expm1" | "special.expm1" kernel EXPM1 [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] shift(y, 1.0);

    /// Natural logarithm of each element; -inf at 0 and NaN below.
    ///
    /// >>> import pullback
    /// >>> pullback.log(pullback.tensor([1.0]))
    /// tensor([0.])
    log = "log" kernel LOG [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] Partial::Over(x.clone());

    /// `log(1 + x)`, accurate near 0.
    ///
    /// >>> import pullback
    /// >>> pullback.log1p(pullback.tensor([0.0]))
    /// tensor([0.])
    log1p = "log1p" | "special.log1p" kernel LOG1P [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(shift(x, 1.0));

    /// Logarithm to base 2 of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.log2(pullback.tensor([8.0]))
    /// tensor([3.])
    log2 = "log2" kernel LOG2 [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(scale(x, std::f64::consts::LN_2));

    /// Logarithm to base 10 of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.log10(pullback.tensor([100.0]))
    /// tensor([2.])
    log10 = "log10" kernel LOG10 [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(scale(x, std::f64::consts::LN_10));

    /// Square root of each element; NaN below 0.
    ///
    /// >>> import pullback
    /// >>> pullback.sqrt(pullback.tensor([4.0]))
    /// tensor([2.])
    sqrt = "sqrt" kernel SQRT [METHOD, INPLACE, INPLACE_FUNCTION] d[y] over(scale(y, 2.0));

    /// `1 / sqrt(x)` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.rsqrt(pullback.tensor([4.0]))
    /// tensor([0.5000])
    rsqrt = "rsqrt" kernel RSQRT [METHOD, INPLACE, INPLACE_FUNCTION] d[y] scale(&mul(&mul(y, y)?, y)?, -0.5);

    /// `1 / x` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.reciprocal(pullback.tensor([4.0]))
    /// tensor([0.2500])
    reciprocal = "reciprocal" kernel RECIPROCAL [METHOD, INPLACE, INPLACE_FUNCTION] d[y] neg(&mul(y, y)?);

    /// The logistic function `1 / (1 + exp(-x))` of each element, accurate in both tails.
    ///
    /// >>> import pullback
    /// >>> pullback.sigmoid(pullback.tensor([0.0]))
    /// tensor([0.5000])
    sigmoid = "sigmoid" | "special.expit" | "nn.functional.sigmoid" kernel SIGMOID [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL]
        d[y] sigmoid_slope(y);

    /// The derivative of `sigmoid` from its value.
    sigmoid_slope = "sigmoid:slope" kernel SIGMOID_SLOPE [INTERNAL]
        d[x] sub(&number(x, 1.0), &scale(x, 2.0)?);

    /// `sigmoid` as the derivative of its integral: its own derivative keeps both tails.
    logistic = "sigmoid:curve" kernel SIGMOID_CURVE [INTERNAL] d[x] bell(x);

    /// The derivative of `sigmoid` from its argument.
    bell = "sigmoid:bell" kernel SIGMOID_BELL [INTERNAL]
        d[x y] neg(&mul(y, &tanh(&scale(x, 0.5)?)?)?);

    /// `log(sigmoid(x))` of each element, accurate in both tails.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.logsigmoid(pullback.tensor([0.0]))
    /// tensor([-0.6931])
    log_sigmoid = "nn.functional.logsigmoid" kernel LOG_SIGMOID [TRANSCENDENTAL, ROW_MAJOR] d[x] logistic(&neg(x)?);

    /// `log(1 + exp(x))` of each element without overflow.
    softplus_unit = "softplus" kernel SOFTPLUS [INTERNAL] d[x] logistic(x);

    /// Absolute value of each element; integers stay integers.
    ///
    /// >>> import pullback
    /// >>> pullback.abs(pullback.tensor([-1, 2]))
    /// tensor([1, 2])
    abs = "abs" | "absolute" kernel ABS [METHOD, INPLACE, INPLACE_FUNCTION] d[x] abs_slope(x);

    /// The square of each element; integers stay integers.
    ///
    /// >>> import pullback
    /// >>> pullback.square(pullback.tensor([3.0]))
    /// tensor([9.])
    square_same = "square" kernel SQUARE [INTERNAL] d[x] scale(x, 2.0);

    /// -1, 0 or 1 by the sign of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.sign(pullback.tensor([-3.0, 0.0, 5.0]))
    /// tensor([-1.,  0.,  1.])
    sign = "sign" kernel SIGN [METHOD, INPLACE] d[] Partial::Zero;

    /// The sign of real numbers; complex ones divided by their absolute value, or 0.
    ///
    /// >>> import pullback
    /// >>> pullback.sgn(pullback.tensor([3 + 4j, 0]))
    /// tensor([0.6000+0.8000j, 0.0000+0.0000j])
    sgn = "sgn" kernel SGN [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x y] sgn_slope(x, y);

    /// The angle of complex numbers in the plane, in radians; 0 or pi for real ones.
    ///
    /// >>> import pullback
    /// >>> pullback.angle(pullback.tensor([1j, -1]))
    /// tensor([1.5708, 3.1416])
    angle = "angle" kernel ANGLE [METHOD, TRANSCENDENTAL] d[x] angle_slope(x);

    /// The largest integer not above each element; integers stay as they are.
    ///
    /// >>> import pullback
    /// >>> pullback.floor(pullback.tensor([1.5]))
    /// tensor([1.])
    floor = "floor" kernel FLOOR [METHOD, INPLACE, INPLACE_FUNCTION] d[] Partial::Zero;

    /// The smallest integer not below each element; integers stay as they are.
    ///
    /// >>> import pullback
    /// >>> pullback.ceil(pullback.tensor([1.5]))
    /// tensor([2.])
    ceil = "ceil" kernel CEIL [METHOD, INPLACE, INPLACE_FUNCTION] d[] Partial::Zero;

    /// Each element without its fraction; integers stay as they are.
    ///
    /// >>> import pullback
    /// >>> pullback.trunc(pullback.tensor([-1.5]))
    /// tensor([-1.])
    trunc = "trunc" | "fix" kernel TRUNC [METHOD, INPLACE, INPLACE_FUNCTION] d[] Partial::Zero;

    /// The nearest integer, halves to even.
    round_unit = "round" kernel ROUND [INTERNAL] d[] Partial::Zero;
}

__unary_entries! { NEGATION:
    /// `-x` of each element; integers stay integers, bool is an error.
    ///
    /// >>> import pullback
    /// >>> pullback.neg(pullback.tensor([1, -2]))
    /// tensor([-1,  2])
    negative = "neg" | "negative" runs unary(basis::NEG) [METHOD, INPLACE, INPLACE_FUNCTION];
}

ops! { MORE:
    /// The square of each element; integers stay integers, bools become int64.
    ///
    /// >>> import pullback
    /// >>> pullback.square(pullback.tensor([3.0]))
    /// tensor([9.])
    fn square = "square" (input: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] node "PowBackward0" of SQUARE {
        if input.dtype() == DType::Bool { square_same(&cast(input, DType::I64)?) } else { square_same(input) }
    }

    /// Each element rounded to the nearest multiple of `10 ** -decimals`, halves to even.
    ///
    /// >>> import pullback
    /// >>> pullback.round(pullback.tensor([0.5, 1.5, 2.25]), decimals=1)
    /// tensor([0.5000, 1.5000, 2.2000])
    fn round = "round" | "special.round" (input: &Tensor; decimals: i64 = 0) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] node "RoundBackward0" / decimals "RoundBackward1" of ROUND {
        if decimals == 0 {
            return round_unit(input);
        }
        floats(input)?;
        if input.dtype().is_half() {
            return cast(&round(&cast(input, DType::F32)?, decimals)?, input.dtype());
        }
        let ten = number(input, 10f64.powi(decimals.unsigned_abs().min(400) as i32));
        if decimals > 0 {
            divide_floats(&round_unit(&mul(input, &ten)?)?, &ten)
        } else {
            mul(&round_unit(&divide_floats(input, &ten)?)?, &ten)
        }
    }

    /// The fraction of each element, with its sign.
    ///
    /// >>> import pullback
    /// >>> pullback.frac(pullback.tensor([-1.5]))
    /// tensor([-0.5000])
    fn frac = "frac" (input: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] {
        sub(input, &trunc(input)?)
    }

    /// The same values; a tensor that shares nothing with its input where writes are concerned.
    ///
    /// >>> import pullback
    /// >>> pullback.positive(pullback.tensor([1.0]))
    /// tensor([1.])
    fn positive = "positive" (input: &Tensor as NoBools) -> Tensor [METHOD, SAME_OBJECT] {
        Ok(input.clone())
    }

    /// `max(x, 0)` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.relu(pullback.tensor([-1.0, 2.0]))
    /// tensor([0., 2.])
    fn relu = "relu" (input: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] of RELU {
        relu_same(input)
    }
}

unary! { ACTIVATIONS, ACTIVATION_PRIMITIVES:
    /// `max(x, 0)` of each element.
    relu_same = "relu" kernel RELU [INTERNAL]
        d[y] le(y, 0.0).map(Partial::Unless);

    /// `x * sigmoid(x)` of each element.
    silu_unit = "silu" kernel SILU [INTERNAL] d[x] silu_slope(x);

    /// `x Φ(x)` with the normal distribution function Φ.
    gelu_erf = "gelu" kernel GELU [INTERNAL] d[x] gelu_slope(x);

    /// Φ(x) + x φ(x)
    gelu_slope = "gelu:slope" kernel GELU_SLOPE [INTERNAL] d[x] mul(&normal_density(x)?, &sub(&number(x, 2.0), &mul(x, x)?)?);

    /// φ(x)
    normal_density = "gelu:density" kernel GELU_DENSITY [INTERNAL]
        d[x y] neg(&mul(x, y)?);

    /// `x (1 + tanh(u)) / 2`, u = √(2/π) (x + 0.044715 x³)
    gelu_tanh = "gelu:tanh" kernel GELU_TANH [INTERNAL] d[x] gelu_tanh_slope(x);

    /// `s + 2 x u' s (1 - s)`, s = sigmoid(2 u)
    gelu_tanh_slope = "gelu:tanh_slope" kernel GELU_TANH_SLOPE [INTERNAL] d[x] gelu_tanh_bend(x);

    /// `x tanh(softplus(x))`
    mish_unit = "mish" kernel MISH [INTERNAL] d[x] mish_slope(x);

    /// `tanh(p) + x sigmoid(x) (1 - tanh(p)²)`, p = softplus(x)
    mish_slope = "mish:slope" kernel MISH_SLOPE [INTERNAL] d[x] mish_bend(x);

    /// `exp(x) - 1` whose derivative keeps its lower tail.
    elu_unit = "elu" kernel ELU [INTERNAL] d[x] exp(x);
}

/// `b` times `rest`, where `b` falls faster than any power grows.
fn damped(b: &Tensor, rest: &Tensor) -> Result<Tensor> {
    product_where(&super::compare::ne(b, 0.0)?, b, rest)
}

/// The second derivative `4 s (1 - s) (u' + x u'' / 2 - x t u'²)`, s = sigmoid(2 u), t = tanh(u).
fn gelu_tanh_bend(x: &Tensor) -> Result<Tensor> {
    let square = mul(x, x)?;
    let u = scale(&mul(x, &shift(&scale(&square, CUBIC)?, 1.0)?)?, SQRT_2_OVER_PI)?;
    let first = scale(&shift(&scale(&square, 3.0 * CUBIC)?, 1.0)?, SQRT_2_OVER_PI)?;
    let second = scale(&square, 3.0 * CUBIC * SQRT_2_OVER_PI)?;
    let rest = sub(&add(&first, &second)?, &mul(&mul(x, &tanh(&u)?)?, &mul(&first, &first)?)?)?;
    damped(&scale(&bell(&scale(&u, 2.0)?)?, 4.0)?, &rest)
}

/// The second derivative of mish: `(1 - t²) s (2 + x (1 - s) - 2 x t s)`, t = tanh(softplus(x)), s = sigmoid(x).
fn mish_bend(x: &Tensor) -> Result<Tensor> {
    let (p, s) = (softplus_unit(x)?, logistic(x)?);
    let inner = sub(&sub(&number(x, 1.0), &s)?, &scale(&mul(&tanh(&p)?, &s)?, 2.0)?)?;
    let rest = mul(&s, &shift(&mul(x, &inner)?, 2.0)?)?;
    damped(&scale(&bell(&scale(&p, 2.0)?)?, 4.0)?, &rest)
}

/// s (1 + x (1 - s)), s = sigmoid(x)
fn silu_slope(x: &Tensor) -> Result<Tensor> {
    let s = sigmoid(x)?;
    let rest = mul(x, &sub(&number(x, 1.0), &s)?)?;
    mul(&s, &shift(&rest, 1.0)?)
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[ACTIVATIONS, MORE, NEGATION, TABLE],
    primitives: &[ACTIVATION_PRIMITIVES, PRIMITIVES],
    ..crate::ops::Family::EMPTY
};
