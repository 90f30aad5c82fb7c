//! Elementary functions of one argument. Integers are computed in the default float unless said otherwise.

use super::arith::{divide_floats, polygamma_same};
use super::compare::le;
use crate::bail;
use crate::base::{DType, Result};
use crate::core::Tensor;
use crate::rules::Partial;
use crate::rules::basis::{add, cast, mul, neg, number, product_where, scale, shift, sub};
use std::f64::consts::FRAC_1_SQRT_2;

/// The partial `1 / d`.
fn over(d: Result<Tensor>) -> Result<Partial<'static>> {
    d.map(Partial::Over)
}
/// `1 - x * x`
fn one_minus_square(x: &Tensor) -> Result<Tensor> {
    sub(&number(x, 1.0), &mul(x, x)?)
}

unary! { TABLE:
    /// Sine of each element, in radians.
    ///
    /// >>> import pullback
    /// >>> pullback.sin(pullback.tensor([0.0]))
    /// tensor([0.])
    sin = "sin" (x) { float => x.sin() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] cos(x);

    /// Cosine of each element, in radians.
    ///
    /// >>> import pullback
    /// >>> pullback.cos(pullback.tensor([0.0]))
    /// tensor([1.])
    cos = "cos" (x) { float => x.cos() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] neg(&sin(x)?);

    /// Tangent of each element, in radians.
    ///
    /// >>> import pullback
    /// >>> pullback.tan(pullback.tensor([0.0]))
    /// tensor([0.])
    tan = "tan" (x) { float => x.tan() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] shift(&mul(y, y)?, 1.0);

    /// Inverse sine of each element, in radians; NaN outside of [-1, 1].
    ///
    /// >>> import pullback
    /// >>> pullback.asin(pullback.tensor([0.0]))
    /// tensor([0.])
    asin = "asin" | "arcsin" (x) { float => x.asin() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] rsqrt(&one_minus_square(x)?);

    /// Inverse cosine of each element, in radians; NaN outside of [-1, 1].
    ///
    /// >>> import pullback
    /// >>> pullback.acos(pullback.tensor([1.0]))
    /// tensor([0.])
    acos = "acos" | "arccos" (x) { float => x.acos() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] neg(&rsqrt(&one_minus_square(x)?)?);

    /// Inverse tangent of each element, in radians.
    ///
    /// >>> import pullback
    /// >>> pullback.atan(pullback.tensor([0.0]))
    /// tensor([0.])
    atan = "atan" | "arctan" (x) { float => x.atan() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(shift(&mul(x, x)?, 1.0));

    /// Hyperbolic sine of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.sinh(pullback.tensor([0.0]))
    /// tensor([0.])
    sinh = "sinh" (x) { float => x.sinh() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] cosh(x);

    /// Hyperbolic cosine of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.cosh(pullback.tensor([0.0]))
    /// tensor([1.])
    cosh = "cosh" (x) { float => x.cosh() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] sinh(x);

    /// Hyperbolic tangent of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.tanh(pullback.tensor([0.0]))
    /// tensor([0.])
    tanh = "tanh" | "nn.functional.tanh" (x) { float => x.tanh() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] one_minus_square(y);

    /// Inverse hyperbolic sine of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.asinh(pullback.tensor([0.0]))
    /// tensor([0.])
    asinh = "asinh" | "arcsinh" (x) { float => x.asinh() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] rsqrt(&shift(&mul(x, x)?, 1.0)?);

    /// Inverse hyperbolic cosine of each element; NaN below 1.
    ///
    /// >>> import pullback
    /// >>> pullback.acosh(pullback.tensor([1.0]))
    /// tensor([0.])
    acosh = "acosh" | "arccosh" (x) { float => x.acosh() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] rsqrt(&shift(&mul(x, x)?, -1.0)?);

    /// Inverse hyperbolic tangent of each element; NaN outside of [-1, 1].
    ///
    /// >>> import pullback
    /// >>> pullback.atanh(pullback.tensor([0.0]))
    /// tensor([0.])
    atanh = "atanh" | "arctanh" (x) { float => x.atanh() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(one_minus_square(x));

    /// Exponential of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.exp(pullback.tensor([0.0]))
    /// tensor([1.])
    exp = "exp" (x) { float => x.exp() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] y;

    /// 2 to the power of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.exp2(pullback.tensor([3.0]))
    /// tensor([8.])
    exp2 = "exp2" | "special.exp2" (x) { float => x.exp2() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] scale(y, std::f64::consts::LN_2);

    /// `exp(x) - 1`, accurate near 0.
    ///
    /// >>> import pullback
    /// >>> pullback.expm1(pullback.tensor([0.0]))
    /// tensor([0.])
    expm1 = "expm1" | "special.expm1" (x) { float => x.expm1() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[y] shift(y, 1.0);

    /// Natural logarithm of each element; -inf at 0 and NaN below.
    ///
    /// >>> import pullback
    /// >>> pullback.log(pullback.tensor([1.0]))
    /// tensor([0.])
    log = "log" (x) { float => x.log() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] Partial::Over(x.clone());

    /// `log(1 + x)`, accurate near 0.
    ///
    /// >>> import pullback
    /// >>> pullback.log1p(pullback.tensor([0.0]))
    /// tensor([0.])
    log1p = "log1p" | "special.log1p" (x) { float => x.log1p() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(shift(x, 1.0));

    /// Logarithm to base 2 of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.log2(pullback.tensor([8.0]))
    /// tensor([3.])
    log2 = "log2" (x) { float => x.log2() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(scale(x, std::f64::consts::LN_2));

    /// Logarithm to base 10 of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.log10(pullback.tensor([100.0]))
    /// tensor([2.])
    log10 = "log10" (x) { float => x.log10() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] over(scale(x, std::f64::consts::LN_10));

    /// Square root of each element; NaN below 0.
    ///
    /// >>> import pullback
    /// >>> pullback.sqrt(pullback.tensor([4.0]))
    /// tensor([2.])
    sqrt = "sqrt" (x) { float => x.sqrt() } [METHOD, INPLACE, INPLACE_FUNCTION] d[y] over(scale(y, 2.0));

    /// `1 / sqrt(x)` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.rsqrt(pullback.tensor([4.0]))
    /// tensor([0.5000])
    rsqrt = "rsqrt" (x) { float => x.rsqrt() } [METHOD, INPLACE, INPLACE_FUNCTION] d[y] scale(&mul(&mul(y, y)?, y)?, -0.5);

    /// `1 / x` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.reciprocal(pullback.tensor([4.0]))
    /// tensor([0.2500])
    reciprocal = "reciprocal" (x) { float => x.recip() } [METHOD, INPLACE, INPLACE_FUNCTION] d[y] neg(&mul(y, y)?);

    /// The error function of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.erf(pullback.tensor([0.0]))
    /// tensor([0.])
    erf = "erf" | "special.erf" (x) { float => x.erf() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL]
        d[x] scale(&exp(&neg(&mul(x, x)?)?)?, std::f64::consts::FRAC_2_SQRT_PI);

    /// The complementary error function `1 - erf(x)`, accurate in the upper tail.
    ///
    /// >>> import pullback
    /// >>> pullback.erfc(pullback.tensor([0.0]))
    /// tensor([1.])
    erfc = "erfc" | "special.erfc" (x) { float => x.erfc() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL]
        d[x] scale(&exp(&neg(&mul(x, x)?)?)?, -std::f64::consts::FRAC_2_SQRT_PI);

    /// The inverse error function of each element; infinite at ±1 and NaN outside.
    ///
    /// >>> import pullback
    /// >>> pullback.erfinv(pullback.tensor([0.0]))
    /// tensor([0.])
    erfinv = "erfinv" | "special.erfinv" (x) { float => x.erfinv() } [METHOD, INPLACE, TRANSCENDENTAL]
        d[y] scale(&exp(&mul(y, y)?)?, 1.0 / std::f64::consts::FRAC_2_SQRT_PI);

    /// The logistic function `1 / (1 + exp(-x))` of each element, accurate in both tails.
    ///
    /// >>> import pullback
    /// >>> pullback.sigmoid(pullback.tensor([0.0]))
    /// tensor([0.5000])
    sigmoid = "sigmoid" | "special.expit" | "nn.functional.sigmoid" (x) { float => x.sigmoid() } [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL]
        d[y] sigmoid_slope(y);

    /// The derivative of `sigmoid` from its value.
    sigmoid_slope = "sigmoid" (y) { float => y * (y.lit(1.0) - y) } [INTERNAL]
        d[x] sub(&number(x, 1.0), &scale(x, 2.0)?);

    /// `sigmoid` as the derivative of its integral: its own derivative keeps both tails.
    logistic = "sigmoid" (x) { float => x.sigmoid() } [INTERNAL] d[x] bell(x);

    /// The derivative of `sigmoid` from its argument.
    bell = "sigmoid" (x) { float => x.sigmoid() * (-x).sigmoid() } [INTERNAL]
        d[x y] neg(&mul(y, &tanh(&scale(x, 0.5)?)?)?);

    /// `log(sigmoid(x))` of each element, accurate in both tails.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.logsigmoid(pullback.tensor([0.0]))
    /// tensor([-0.6931])
    log_sigmoid = "nn.functional.logsigmoid" (x) { float => x.log_sigmoid() } [TRANSCENDENTAL, NO_OUT] d[x] logistic(&neg(x)?);

    /// `log(1 + exp(x))` of each element without overflow.
    softplus_unit = "softplus" (x) { float => x.softplus() } [INTERNAL] d[x] logistic(x);

    /// Natural logarithm of the absolute value of the gamma function.
    ///
    /// >>> import pullback
    /// >>> pullback.lgamma(pullback.tensor([1.0]))
    /// tensor([0.])
    lgamma = "lgamma" | "special.gammaln" (x) { float => x.lgamma() } [METHOD, INPLACE, TRANSCENDENTAL] d[x] digamma(x);

    /// The logarithmic derivative of the gamma function.
    ///
    /// >>> import pullback
    /// >>> pullback.digamma(pullback.tensor([1.0]))
    /// tensor([-0.5772])
    digamma = "digamma" | "special.digamma" | "special.psi" (x) { float => x.digamma() } [METHOD, INPLACE, TRANSCENDENTAL]
        d[x] trigamma(x);

    /// The derivative of digamma.
    trigamma = "trigamma" (x) { float => x.trigamma() } [INTERNAL]
        d[x] polygamma_same(&number(x, 2.0), x);

    /// Absolute value of each element; integers stay integers.
    ///
    /// >>> import pullback
    /// >>> pullback.abs(pullback.tensor([-1, 2]))
    /// tensor([1, 2])
    abs = "abs" | "absolute" (x) { float => x.abs(), int => x.abs() } [METHOD, INPLACE, INPLACE_FUNCTION] d[x] sign(x);

    /// `-x` of each element; integers stay integers, bool is an error.
    ///
    /// >>> import pullback
    /// >>> pullback.neg(pullback.tensor([1, -2]))
    /// tensor([-1,  2])
    negative = "neg" | "negative" (x) { float => -x, int => -x } [METHOD, INPLACE, INPLACE_FUNCTION] d[] Partial::MinusOne;

    /// The square of each element; integers stay integers.
    ///
    /// >>> import pullback
    /// >>> pullback.square(pullback.tensor([3.0]))
    /// tensor([9.])
    square_same = "square" (x) { float => x * x, int => x * x } [INTERNAL] d[x] scale(x, 2.0);

    /// -1, 0 or 1 by the sign of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.sign(pullback.tensor([-3.0, 0.0, 5.0]))
    /// tensor([-1.,  0.,  1.])
    sign = "sign" (x) { float => x.select(x.is_nan(), x.lit(0.0), x.sign()), int => x.sign(), bool => x } [METHOD, INPLACE] d[] Partial::Zero;

    /// The largest integer not above each element; integers stay as they are.
    ///
    /// >>> import pullback
    /// >>> pullback.floor(pullback.tensor([1.5]))
    /// tensor([1.])
    floor = "floor" (x) { float => x.floor(), int => x } [METHOD, INPLACE, INPLACE_FUNCTION] d[] Partial::Zero;

    /// The smallest integer not below each element; integers stay as they are.
    ///
    /// >>> import pullback
    /// >>> pullback.ceil(pullback.tensor([1.5]))
    /// tensor([2.])
    ceil = "ceil" (x) { float => x.ceil(), int => x } [METHOD, INPLACE, INPLACE_FUNCTION] d[] Partial::Zero;

    /// Each element without its fraction; integers stay as they are.
    ///
    /// >>> import pullback
    /// >>> pullback.trunc(pullback.tensor([-1.5]))
    /// tensor([-1.])
    trunc = "trunc" | "fix" (x) { float => x.trunc(), int => x } [METHOD, INPLACE, INPLACE_FUNCTION] d[] Partial::Zero;

    /// The nearest integer, halves to even.
    round_unit = "round" (x) { float => x.round(), int => x } [INTERNAL] d[] Partial::Zero;
}

ops! { MORE:
    /// The square of each element; integers stay integers, bools become int64.
    ///
    /// >>> import pullback
    /// >>> pullback.square(pullback.tensor([3.0]))
    /// tensor([9.])
    fn square = "square" (input: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] {
        if input.dtype() == DType::Bool { square_same(&cast(input, DType::I64)?) } else { square_same(input) }
    }

    /// Each element rounded to the nearest multiple of `10 ** -decimals`, halves to even.
    ///
    /// >>> import pullback
    /// >>> pullback.round(pullback.tensor([0.5, 1.5, 2.25]), decimals=1)
    /// tensor([0.5000, 1.5000, 2.2000])
    fn round = "round" | "special.round" (input: &Tensor; decimals: i64 = 0) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] {
        if decimals == 0 {
            return round_unit(input);
        }
        if !input.dtype().is_float() {
            bail!(NotImplemented, "round(): decimals are not implemented for {} tensors", input.dtype());
        }
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
    fn positive = "positive" (input: &Tensor) -> Tensor [METHOD, SAME_OBJECT] {
        if input.dtype() == DType::Bool {
            bail!(Runtime, "positive(): not implemented for bool tensors");
        }
        Ok(input.clone())
    }

    /// `max(x, 0)` of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.relu(pullback.tensor([-1.0, 2.0]))
    /// tensor([0., 2.])
    fn relu = "relu" (input: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] {
        relu_same(input)
    }
}

unary! { ACTIVATIONS:
    /// `max(x, 0)` of each element.
    relu_same = "relu" (x) { float => x.max(x.lit(0.0)), int => x.max(x.lit(0)) } [INTERNAL]
        d[y] le(y, 0.0).map(Partial::Unless);

    /// `x * sigmoid(x)` of each element.
    silu_unit = "silu" (x) { float => x * x.sigmoid() } [INTERNAL] d[x] silu_slope(x);

    /// `x Φ(x)` with the normal distribution function Φ.
    gelu_erf = "gelu" (x) { float => x * 0.5 * (x.lit(1.0) + (x * FRAC_1_SQRT_2).erf()) } [INTERNAL] d[x] gelu_slope(x);

    /// Φ(x) + x φ(x)
    gelu_slope = "gelu" (x) { float => {
        (x.lit(1.0) + (x * FRAC_1_SQRT_2).erf()) * 0.5 + x * ((x * x * -0.5).exp() * NORMAL_DENSITY)
    } } [INTERNAL] d[x] mul(&normal_density(x)?, &sub(&number(x, 2.0), &mul(x, x)?)?);

    /// φ(x)
    normal_density = "gelu" (x) { float => (x * x * -0.5).exp() * NORMAL_DENSITY } [INTERNAL]
        d[x y] neg(&mul(x, y)?);

    /// `x (1 + tanh(u)) / 2`, u = √(2/π) (x + 0.044715 x³)
    gelu_tanh = "gelu" (x) { float => {
        let u = (x + x * x * x * CUBIC) * SQRT_2_OVER_PI;
        x * 0.5 * (x.lit(1.0) + u.tanh())
    } } [INTERNAL] d[x] gelu_tanh_slope(x);

    /// `s + 2 x u' s (1 - s)`, s = sigmoid(2 u)
    gelu_tanh_slope = "gelu" (x) { float => {
        let u = (x + x * x * x * CUBIC) * (2.0 * SQRT_2_OVER_PI);
        let bell = u.sigmoid() * (-u).sigmoid();
        let rest = x * (x.lit(1.0) + x * x * (3.0 * CUBIC)) * (2.0 * SQRT_2_OVER_PI) * bell;
        u.sigmoid() + x.select(bell.is_zero(), x.lit(0.0), rest)
    } } [INTERNAL] d[x] gelu_tanh_bend(x);

    /// `x tanh(softplus(x))`
    mish_unit = "mish" (x) { float => x * x.softplus().tanh() } [INTERNAL] d[x] mish_slope(x);

    /// `tanh(p) + x sigmoid(x) (1 - tanh(p)²)`, p = softplus(x)
    mish_slope = "mish" (x) { float => {
        let p = x.softplus();
        let bell = (p * 2.0).sigmoid() * (p * -2.0).sigmoid() * 4.0;
        p.tanh() + x.select(bell.is_zero(), x.lit(0.0), x * x.sigmoid() * bell)
    } } [INTERNAL] d[x] mish_bend(x);

    /// `exp(x) - 1` whose derivative keeps its lower tail.
    elu_unit = "elu" (x) { float => x.expm1() } [INTERNAL] d[x] exp(x);
}

const NORMAL_DENSITY: f64 = 0.5 * std::f64::consts::FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
const SQRT_2_OVER_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
const CUBIC: f64 = 0.044715;

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
