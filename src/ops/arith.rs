//! Arithmetic of two and three arguments.

use super::compare::{eq, ge, gt, isnan, le, logical_and, logical_not, logical_or, lt, ne};
use super::nn::formats::by_rows;
use super::promote::{PromotionRule, binary, common_dtype, convert, fitting};
use super::unary::{log, reciprocal};
use super::value::{Operand, Value};
use crate::base::dtype::Category;
use crate::base::promote::with_number;
use crate::base::{DType, ErrorKind, Result, Scalar};
use crate::core::primitive::Saves;
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::pointwise::kernels;
use crate::ops::signature::{Chosen, Factor, HERE, Inexact, SameDType, Words, no_bools};
use crate::rules::basis::{self, clear_where, mul as times, neg, number, shift, sub as minus, where_};
use crate::rules::{IntoPartial, Partial, PartialRule, Pointwise};

binary! { BINARY, PRIMITIVES:
    /// The quotient rounded down.
    floor_divide_same = "floor_divide" kernel FLOOR_DIVIDE Kept [INTERNAL]
        da[] Partial::Zero, db[] Partial::Zero;

    /// The quotient rounded towards zero.
    trunc_divide_same = "div:trunc" kernel TRUNC_DIVIDE Kept [INTERNAL]
        da[] Partial::Zero, db[] Partial::Zero;

    /// Remainder with the sign of `other`, as Python's `%`.
    ///
    /// >>> import pullback
    /// >>> pullback.remainder(pullback.tensor([-3.0]), 2)
    /// tensor([1.])
    remainder = "remainder" kernel REMAINDER Same [METHOD, MIXED, INPLACE, TRANSCENDENTAL] node "RemainderBackward0" / other "RemainderBackward1"
        da[] Partial::Piece, db[a b] wraps(&floor_divide_same(a, b)?);

    /// Remainder with the sign of `input`, as C's `fmod`.
    ///
    /// >>> import pullback
    /// >>> pullback.fmod(pullback.tensor([-3.0]), 2)
    /// tensor([-1.])
    fmod = "fmod" kernel FMOD Same [METHOD, MIXED, INPLACE, TRANSCENDENTAL] node "FmodBackward0" / other "FmodBackward1"
        da[] Partial::Piece, db[a b] wraps(&trunc_divide_same(a, b)?);

    /// Angle of the point (other, input), in radians, by the signs of both.
    ///
    /// >>> import pullback
    /// >>> pullback.atan2(pullback.tensor([0.0]), pullback.tensor([1.0]))
    /// tensor([0.])
    atan2 = "atan2" | "arctan2" kernel ATAN2 Float [METHOD, TENSORS, INPLACE, TRANSCENDENTAL]
        da[a b] times(b, &inverse_norm2(a, b)?), db[a b] neg(&times(a, &inverse_norm2(a, b)?)?);

    /// The larger of both; NaN if one is NaN. Ties share the derivative.
    ///
    /// >>> import pullback
    /// >>> pullback.maximum(pullback.tensor([1, 5]), pullback.tensor([3, 2]))
    /// tensor([3, 5])
    maximum = "maximum" kernel MAXIMUM Same [METHOD, TENSORS]
        da[a b] share(a, b), db[a b] share(b, a);

    /// The smaller of both; NaN if one is NaN. Ties share the derivative.
    ///
    /// >>> import pullback
    /// >>> pullback.minimum(pullback.tensor([1, 5]), pullback.tensor([3, 2]))
    /// tensor([1, 2])
    minimum = "minimum" kernel MINIMUM Same [METHOD, TENSORS]
        da[a b] share(b, a), db[a b] share(a, b);

    /// `sqrt(input² + other²)` without overflow.
    ///
    /// >>> import pullback
    /// >>> pullback.hypot(pullback.tensor([3.0]), pullback.tensor([4.0]))
    /// tensor([5.])
    hypot = "hypot" kernel HYPOT Float [METHOD, TENSORS, INPLACE, TRANSCENDENTAL]
        da[a y] divide_floats(a, y), db[b y] divide_floats(b, y);

    /// `log(exp(input) + exp(other))` without overflow.
    ///
    /// >>> import pullback
    /// >>> pullback.logaddexp(pullback.tensor([0.0]), pullback.tensor([0.0]))
    /// tensor([0.6931])
    logaddexp = "logaddexp" kernel LOGADDEXP Float [METHOD, TENSORS, TRANSCENDENTAL]
        da[a b] super::unary::sigmoid(&minus(a, b)?), db[a b] super::unary::sigmoid(&minus(b, a)?);

    /// `log2(2**input + 2**other)` without overflow.
    ///
    /// >>> import pullback
    /// >>> pullback.logaddexp2(pullback.tensor([0.0]), pullback.tensor([0.0]))
    /// tensor([1.])
    logaddexp2 = "logaddexp2" kernel LOGADDEXP2 Float [METHOD, TENSORS, TRANSCENDENTAL]
        da[a b] binary_weight(a, b), db[a b] binary_weight(b, a);

    /// The larger of both; the other one if one is NaN. Of equals the first has the derivative.
    ///
    /// >>> import pullback
    /// >>> pullback.fmax(pullback.tensor([1.0, float("nan")]), pullback.tensor([3.0, 2.0]))
    /// tensor([3., 2.])
    fmax = "fmax" kernel FMAX Same [METHOD, TENSORS]
        da[a b] logical_or(&ge(a, b)?, &isnan(b)?).map(Partial::Where),
        db[a b] logical_or(&ge(a, b)?, &isnan(b)?).map(Partial::Unless);

    /// The smaller of both; the other one if one is NaN. Of equals the first has the derivative.
    ///
    /// >>> import pullback
    /// >>> pullback.fmin(pullback.tensor([1.0, float("nan")]), pullback.tensor([3.0, 2.0]))
    /// tensor([1., 2.])
    fmin = "fmin" kernel FMIN Same [METHOD, TENSORS]
        da[a b] logical_or(&le(a, b)?, &isnan(b)?).map(Partial::Where),
        db[a b] logical_or(&le(a, b)?, &isnan(b)?).map(Partial::Unless);

    /// The larger of an element and its lower bound. NaN depends on neither.
    at_least = "clamp:min" kernel CLAMP_MIN Same [INTERNAL]
        da[a b] ge(a, b).map(Partial::Where), db[a b] lt(a, b).map(Partial::Where);

    /// The smaller of an element and its upper bound. NaN depends on neither.
    at_most = "clamp:max" kernel CLAMP_MAX Same [INTERNAL]
        da[a b] le(a, b).map(Partial::Where), db[a b] gt(a, b).map(Partial::Where);

    /// The derivative of order `n` of digamma.
    polygamma_same = "polygamma" kernel POLYGAMMA Float [INTERNAL]
        da[] Partial::Zero, db[a b] polygamma_same(&shift(a, 1.0)?, b);

    /// A power of floats or of integers.
    pow_same = "pow" kernel POW FirstWraps [INTERNAL]
        da[a b] pow_slope(a, b), db[a b y] pow_exponent_slope(a, b, y);
}

/// `input / other`; integers divide as floats.
#[inline]
pub fn divide_floats<'a>(input: impl Into<Operand<'a>>, other: impl Into<Operand<'a>>) -> Result<Tensor> {
    binary(&basis::DIV, PromotionRule::Quotient, input.into(), other.into())
}

/// `2ᵃ / (2ᵃ + 2ᵇ)`
fn binary_weight(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    super::unary::sigmoid(&basis::scale(&minus(a, b)?, std::f64::consts::LN_2)?)
}

/// 1 / (a² + b²), 0 at the origin.
fn inverse_norm2(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let norm2 = basis::add(&times(a, a)?, &times(b, b)?)?;
    let origin = eq(&norm2, 0.0)?;
    let safe = where_(&origin, &number(&norm2, 1.0), &norm2)?;
    where_(&origin, &number(&norm2, 0.0), &reciprocal(&safe)?)
}

/// 1 for the larger, or for NaN; 1/2 for both of equals; the result is constant in the smaller.
fn share(a: &Tensor, b: &Tensor) -> Result<Partial<'static>> {
    let value = where_(&eq(a, b)?, &number(a, 0.5), &number(a, 1.0))?;
    Ok(Partial::WhereValue(Box::new((logical_not(&lt(a, b)?)?, value))))
}

/// How often the divisor was taken off, which is what a remainder loses with it; below one divisor it is constant in it.
fn wraps(count: &Tensor) -> Result<Partial<'static>> {
    Ok(Partial::WhereValue(Box::new((ne(count, 0.0)?, neg(count)?))))
}

/// b a^(b-1). Where b is 0 the power is constant in a.
fn pow_slope(a: &Tensor, b: &Tensor) -> Result<Partial<'static>> {
    let slope = |b: &Tensor| times(b, &pow_same(a, &shift(b, -1.0)?)?);
    if let Some(n) = b.dense().filter(|n| n.rank() == 0) {
        // An exponent that is a number needs no mask.
        return match n.item()?.is_zero() {
            true => Ok(Partial::Where(Tensor::scalar(DType::Bool, false))),
            false => slope(b).into_partial(),
        };
    }
    if b.is_constant() {
        return Partial::of(ne(b, 0.0)?, b, 1.0, slope);
    }
    // The mixed derivative at b = 0 is 1 / a, which a mask would hide: only 0 to the power of -1 gives way.
    let dead = logical_and(&eq(a, 0.0)?, &eq(b, 0.0)?)?;
    clear_where(&dead, &slope(&where_(&dead, &number(b, 1.0), b)?)?).into_partial()
}

/// a^b log(a). Where a is 0 and b is not negative the power is constant in b.
fn pow_exponent_slope(a: &Tensor, b: &Tensor, y: &Tensor) -> Result<Partial<'static>> {
    let positive = if b.dtype().is_complex() { super::complex::real(b)? } else { b.clone() };
    let dead = logical_and(&eq(a, 0.0)?, &ge(&positive, 0.0)?)?;
    Ok(Partial::WhereValue(Box::new((logical_not(&dead)?, times(y, &log(a)?)?))))
}

/// `a + b c`, in one pass over memory.
static PLUS_PRODUCT: Pointwise = Pointwise {
    name: "add:product",
    kernel: &kernels::PLUS_PRODUCT,
    partials: &[
        Some(PartialRule { saves: Saves { inputs: 0, outputs: 0 }, rule: |_| Ok(Partial::One) }),
        Some(PartialRule { saves: Saves { inputs: 4, outputs: 0 }, rule: |p| Ok(Partial::Read(p.input(2)?)) }),
        Some(PartialRule { saves: Saves { inputs: 2, outputs: 0 }, rule: |p| Ok(Partial::Read(p.input(1)?)) }),
    ],
};

/// `a + b c` of one dtype.
pub(super) fn plus_product(op: &str, a: &Tensor, b: &Tensor, c: &Tensor) -> Result<Tensor> {
    if a.shape() != b.shape() || b.shape() != c.shape() {
        let product = crate::base::shape::broadcast2(op, b.shape(), c.shape())?;
        crate::base::shape::broadcast2(op, a.shape(), &product)?;
    }
    call(Prim::Static(&PLUS_PRODUCT), &Params::None, &[a, b, c])
}

/// `input ± alpha * other`: the factor takes part in the common dtype of both, half precision in single.
fn plus_scaled(minus: bool, a: Operand<'_>, b: Operand<'_>, alpha: Scalar) -> Result<Tensor> {
    let dtype = common_dtype(a, b);
    if matches!(alpha, Scalar::Bool(_)) && dtype != DType::Bool {
        refuse!(
            Runtime,
            "Boolean alpha only supported for Boolean results, but the result is {dtype}; give alpha as a number"
        );
    }
    if !dtype.is_differentiable() && alpha.category() > Category::Integer {
        refuse!(
            Runtime,
            "For integral input tensors, argument alpha must not be a floating point number; give an int, or convert \
             them with .float()"
        );
    }
    if !dtype.is_complex() && matches!(alpha, Scalar::Complex(_)) {
        refuse!(
            Runtime,
            "For non-complex input tensors, argument alpha must not be a complex number; give a real one, or convert \
             them with .cfloat()"
        );
    }
    let wide = if dtype.is_half() { DType::F32 } else { dtype };
    match alpha {
        // The factor of a difference is -alpha.
        Scalar::Int(i) if minus && Scalar::Int(i.wrapping_neg()).fits(dtype) => {}
        _ => drop(fitting(HERE, "alpha", alpha, dtype)?),
    }
    let alpha = Tensor::scalar(wide, alpha);
    let alpha = if minus { neg(&alpha)? } else { alpha };
    basis::cast(&plus_product(HERE, &convert(a, wide)?, &convert(b, wide)?, &alpha)?, dtype)
}

/// `a` where the condition holds, `b` elsewhere, after promotion.
pub fn choose(condition: &Tensor, a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    let c = super::compare::condition(condition)?;
    let dtype = common_dtype(a, b);
    for x in [a, b] {
        // Half precision rounds to infinity, as it does in arithmetic.
        if let Operand::Number(n) = x
            && !dtype.is_half()
        {
            fitting(HERE, "other", n, dtype)?;
        }
    }
    where_(&c, &convert(a, dtype)?, &convert(b, dtype)?)
}

/// What becomes of the fraction of a quotient.
#[derive(Clone, Copy)]
enum Rounding {
    Floor,
    Trunc,
}
impl Words for Rounding {
    const WORDS: &'static [(&'static str, Self)] = &[("trunc", Rounding::Trunc), ("floor", Rounding::Floor)];
}

/// x to a constant power.
pub fn pow_number(x: &Tensor, exponent: f64) -> Result<Tensor> {
    if exponent == 2.0 { times(x, x) } else { pow_same(x, exponent) }
}

ops! { TABLE:
    /// `input + alpha * other`, with broadcasting and type promotion.
    ///
    /// >>> import pullback
    /// >>> pullback.add(pullback.tensor([1.0, 2.0]), 1)
    /// tensor([2., 3.])
    fn add = "add" (input: Operand<'_>, other: Operand<'_>; alpha: Option<Scalar> as Option<Factor> = None) -> Tensor [METHOD, INPLACE, OVERWRITES] of basis::ADD
        as Sum {
        match alpha {
            None => binary(&basis::ADD, PromotionRule::Wraps, input, other),
            Some(alpha) => plus_scaled(false, input, other, alpha),
        }
    }

    /// `input - alpha * other`, with broadcasting and type promotion. Bools are an error: use `logical_xor`.
    ///
    /// >>> import pullback
    /// >>> pullback.sub(pullback.tensor([1.0, 2.0]), 1)
    /// tensor([0., 1.])
    fn sub = "sub" | "subtract" (input: Operand<'_>, other: Operand<'_>; alpha: Option<Scalar> as Option<Factor> = None)
        -> Tensor [METHOD, INPLACE, OVERWRITES] of basis::SUB as Sum {
        let is_bool = |o: Operand<'_>| match o {
            Operand::Tensor(t) => t.dtype() == DType::Bool,
            Operand::Number(n) => matches!(n, Scalar::Bool(_)),
        };
        if is_bool(input) || is_bool(other) {
            refuse!(Runtime, "subtraction with two bool tensors is not supported; use logical_xor() or `^` instead");
        }
        match alpha {
            None => binary(&basis::SUB, PromotionRule::Wraps, input, other),
            Some(alpha) => plus_scaled(true, input, other, alpha),
        }
    }

    /// `other - alpha * input`.
    ///
    /// >>> import pullback
    /// >>> pullback.rsub(pullback.tensor([1.0, 2.0]), 1)
    /// tensor([ 0., -1.])
    fn rsub = "rsub" (input: &Tensor, other: Operand<'_>; alpha: Option<Scalar> = None) -> Tensor []
        node "RsubBackward1" / other "RsubBackward0" {
        sub(other, Operand::Tensor(input), alpha)
    }

    /// `input * other`, with broadcasting and type promotion.
    ///
    /// >>> import pullback
    /// >>> pullback.mul(pullback.tensor([1.0, 2.0]), 3)
    /// tensor([3., 6.])
    fn mul = "mul" | "multiply" (input: Operand<'_>, other: Operand<'_>) -> Tensor [METHOD, INPLACE, OVERWRITES] of basis::MUL {
        binary(&basis::MUL, PromotionRule::Product, input, other)
    }

    /// `input / other`. Integers divide as floats, unless `rounding_mode` is 'floor' or 'trunc'.
    ///
    /// >>> import pullback
    /// >>> pullback.div(pullback.tensor([3, -3]), 2, rounding_mode="floor")
    /// tensor([ 1, -2])
    fn div = "div" | "divide" (input: Operand<'_>, other: Operand<'_>; rounding_mode: Option<&str> as Option<Chosen<Rounding>> = None)
        -> Tensor [METHOD, INPLACE] of basis::DIV {
        match rounding_mode {
            None => divide_floats(input, other),
            Some(Rounding::Floor) => floor_divide_same(input, other),
            Some(Rounding::Trunc) => trunc_divide_same(input, other),
        }
    }

    /// `input / other`; integers divide as floats.
    ///
    /// >>> import pullback
    /// >>> pullback.true_divide(pullback.tensor([3]), 2)
    /// tensor([1.5000])
    fn true_divide = "true_divide" (input: Operand<'_>, other: Operand<'_>) -> Tensor [METHOD, INPLACE] node "DivBackward0" of basis::DIV {
        divide_floats(input, other)
    }

    /// The quotient rounded down.
    ///
    /// >>> import pullback
    /// >>> pullback.floor_divide(pullback.tensor([-3]), 2)
    /// tensor([-2])
    fn floor_divide = "floor_divide" (input: Operand<'_>, other: Operand<'_>) -> Tensor [METHOD, INPLACE] of FLOOR_DIVIDE {
        floor_divide_same(input, other)
    }

    /// `input ** exponent`. Integers stay integers; negative integer powers of integers are an error.
    ///
    /// >>> import pullback
    /// >>> pullback.pow(pullback.tensor([1.0, 2.0, 3.0]), 2)
    /// tensor([1., 4., 9.])
    fn pow = "pow" (input: Operand<'_>, exponent: Operand<'_>) -> Tensor [METHOD, MIXED, INPLACE, TRANSCENDENTAL]
        node "PowBackward0" / exponent "PowBackward1" of POW {
        if let (Operand::Tensor(x), Operand::Number(n)) = (input, exponent) {
            if n.category() == Category::Integer && n.as_f64() < 0.0 && !x.dtype().is_differentiable() {
                refuse!(Runtime, "integers to negative integer powers are not allowed; convert the input with .float()");
            }
            let is = |power: f64| n.as_complex() == num_complex::Complex::new(power, 0.0);
            if x.dtype().is_complex() && is(1.0) {
                return basis::copy_in_order(&convert(input, common_dtype(input, exponent))?);
            }
            if x.dtype().is_complex() && is(3.0) {
                return times(&super::unary::square(x)?, x);
            }
            if is(2.0) && (x.dtype().is_differentiable() || (x.dtype().is_integer() && matches!(n, Scalar::Int(_)))) {
                return super::unary::square(x);
            }
        }
        if let (Operand::Tensor(x), Operand::Number(Scalar::Bool(b))) = (input, exponent)
            && x.dtype() == DType::Bool
        {
            return if b { Ok(x.clone()) } else { basis::full(x.shape(), DType::Bool, true) };
        }
        no_bools(ErrorKind::NotImplemented, common_dtype(input, exponent))?;
        match (input, exponent) {
            (Operand::Number(_), Operand::Tensor(x)) => pow_same(input, &by_rows(x)?),
            _ => pow_same(input, exponent),
        }
    }

    /// The dtype that arithmetic of two tensors or numbers gives.
    ///
    /// >>> import pullback
    /// >>> pullback.result_type(pullback.tensor([1]), 1.0)
    /// pullback.float32
    fn result_type = "result_type" (tensor1: Operand<'_> | tensor | scalar | scalar1,
        tensor2: Operand<'_> | other | tensor | scalar | scalar2) -> DType [FREE] {
        Ok(common_dtype(tensor1, tensor2))
    }

    /// `input + weight * (end - input)`.
    ///
    /// >>> import pullback
    /// >>> pullback.lerp(pullback.tensor([0.0]), pullback.tensor([10.0]), 0.25)
    /// tensor([2.5000])
    fn lerp = "lerp" (input: &Tensor as Inexact, end: &Tensor as SameDType, weight: Operand<'_> as SameDType)
        -> Tensor [METHOD, INPLACE] node "LerpBackward0" / weight "LerpBackward1" of LERP {
        if !input.dtype().is_half() {
            return interpolated(input, end, weight);
        }
        let wide = |x: &Tensor| basis::cast(x, DType::F32);
        let out = match weight {
            Operand::Tensor(w) => interpolated(&wide(input)?, &wide(end)?, (&wide(w)?).into()),
            number => interpolated(&wide(input)?, &wide(end)?, number),
        }?;
        basis::cast(&out, input.dtype())
    }

    /// `input` where `condition` holds, `other` elsewhere; all broadcast. With the condition alone: the indices of its
    /// non-zero elements, one tensor per dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.where(pullback.tensor([True, False]), 1.0, 2.0)
    /// tensor([1., 2.])
    fn where_else = "where" (condition: &Tensor, input: Option<Operand<'_>> = None, other: Option<Operand<'_>> = None)
        -> Value [] of basis::WHERE {
        let (Some(input), Some(other)) = (input, other) else {
            if input.is_some() || other.is_some() {
                refuse!(Type, "expected both or neither of 'input' and 'other'; give the one that is missing");
            }
            let found = super::gather::nonzero(condition, true);
            return found.map_err(|e| e.replacing("aten::nonzero", "aten::where"));
        };
        choose(condition, input, other).map(Value::Tensor)
    }

    /// The elements of this tensor where `condition` holds, those of `other` elsewhere.
    fn tensor_where = "Tensor.where" (input: &Tensor, condition: &Tensor, other: Operand<'_>)
        -> Tensor [METHOD, NOT_FUNCTION] of basis::WHERE {
        choose(condition, Operand::Tensor(input), other)
    }

    /// Each element limited to [min, max]; either bound may be left out. Bounds are numbers or tensors.
    ///
    /// >>> import pullback
    /// >>> pullback.clamp(pullback.tensor([-1.0, 0.5, 2.0]), 0, 1)
    /// tensor([0.0000, 0.5000, 1.0000])
    fn clamp = "clamp" | "clip" (input: &Tensor, min: Option<Operand<'_>> = None, max: Option<Operand<'_>> = None)
        -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] node "ClampBackward1" {
        if min.is_none() && max.is_none() {
            refuse!(Runtime, "at least one of 'min' or 'max' must not be None; give a bound");
        }
        let dtype = limited_dtype(input, [min, max]);
        no_bools(ErrorKind::NotImplemented, dtype)?;
        let x = basis::cast(input, dtype)?;
        match (min, max) {
            (Some(low), Some(high)) => {
                let (low, high) = (bound("min", low, dtype)?, bound("max", high, dtype)?);
                call(Prim::Static(&CLAMP), &Params::None, &[&x, &low, &high])
            }
            (Some(low), None) => at_least(&x, &bound("min", low, dtype)?),
            (None, Some(high)) => at_most(&x, &bound("max", high, dtype)?),
            (None, None) => Ok(x),
        }
    }
}

/// The smaller of the upper bound and the larger of an element and the lower bound. NaN depends on none.
pub(crate) static CLAMP: Pointwise = Pointwise {
    name: "clamp",
    kernel: &kernels::CLAMP,
    partials: &[
        Some(PartialRule {
            saves: Saves { inputs: 7, outputs: 0 },
            rule: |p| {
                let (x, low, high) = (p.input(0)?, p.input(1)?, p.input(2)?);
                logical_and(&ge(x, low)?, &le(x, high)?).map(Partial::Where)
            },
        }),
        Some(PartialRule {
            saves: Saves { inputs: 7, outputs: 0 },
            rule: |p| {
                let (x, low, high) = (p.input(0)?, p.input(1)?, p.input(2)?);
                logical_and(&lt(x, low)?, &le(low, high)?).map(Partial::Where)
            },
        }),
        Some(PartialRule {
            saves: Saves { inputs: 7, outputs: 0 },
            rule: |p| gt(&at_least(p.input(0)?, p.input(1)?)?, p.input(2)?).map(Partial::Where),
        }),
    ],
};

/// `a + w (b - a)`, counted from the nearer end, so that both ends are exact.
pub(crate) static LERP: Pointwise = Pointwise {
    name: "lerp",
    kernel: &kernels::LERP,
    partials: &[
        Some(PartialRule {
            saves: Saves { inputs: 4, outputs: 0 },
            rule: |p| {
                let w = p.input(2)?;
                minus(&number(w, 1.0), w).into_partial()
            },
        }),
        Some(PartialRule { saves: Saves { inputs: 4, outputs: 0 }, rule: |p| Ok(Partial::Read(p.input(2)?)) }),
        Some(PartialRule {
            saves: Saves { inputs: 3, outputs: 0 },
            rule: |p| minus(p.input(1)?, p.input(0)?).into_partial(),
        }),
    ],
};

/// `a + weight (b - a)` in the dtype of all.
pub(super) fn interpolated(a: &Tensor, b: &Tensor, weight: Operand<'_>) -> Result<Tensor> {
    let lerp = |w: &Tensor| call(Prim::Static(&LERP), &Params::None, &[a, b, w]);
    match weight {
        Operand::Number(n) => lerp(&Tensor::scalar(a.dtype(), fitting(HERE, "weight", n, a.dtype())?)),
        Operand::Tensor(w) => lerp(w),
    }
}

/// The dtype of a tensor and its bounds, tensors first: numbers count only if their category is higher.
fn limited_dtype(input: &Tensor, bounds: [Option<Operand<'_>>; 2]) -> DType {
    let mut tensors = vec![input];
    tensors.extend(bounds.iter().flatten().filter_map(|b| match b {
        Operand::Tensor(t) => Some(*t),
        Operand::Number(_) => None,
    }));
    bounds.into_iter().flatten().fold(super::join::joint_dtype(&tensors), |dtype, b| match b {
        Operand::Tensor(_) => dtype,
        Operand::Number(n) => with_number(dtype, n),
    })
}

/// A bound of `clamp`, which the dtype must have.
fn bound(name: &str, value: Operand<'_>, dtype: DType) -> Result<Tensor> {
    match value {
        Operand::Number(n) if !n.is_held(dtype) => Err(n.overflow(&format!("{HERE}(): argument '{name}'"), dtype)),
        value => convert(value, dtype),
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[BINARY, TABLE],
    primitives: &[PRIMITIVES, &[&CLAMP, &LERP, &PLUS_PRODUCT]],
    ..crate::ops::Family::EMPTY
};
