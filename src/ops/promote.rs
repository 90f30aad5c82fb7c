//! Dtype promotion in front of pointwise primitives: on logical ranks, before any batching.

use super::value::Operand;
use crate::bail;
use crate::base::promote::{default_float, promote, result_type2, with_number};
use crate::base::{DType, Error, Result, Scalar};
use crate::core::primitive::operator_of;
use crate::core::{LevelId, Params, Prim, Tensor, call, level, residual};
use crate::dense::Array;
use crate::dense::pointwise;
use crate::rules::{Pointwise, basis};
use std::mem::ManuallyDrop;

/// How the common dtype of the operands becomes the dtype that the kernel runs at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromotionRule {
    /// The promoted dtype itself. What an integer dtype does not have is computed in a wider one, so that results and not
    /// operands wrap.
    Same,
    /// The same, for sums and bits: they depend on the last bits of integers only, which conversion keeps.
    Wraps,
    /// The same, for products: also, half precision meets numbers as they are in single precision.
    Product,
    /// The same, for powers and shifts, which depend on the last bits of their first operand only.
    FirstWraps,
    /// The promoted dtype itself, where half precision meets numbers as they are in single precision.
    Kept,
    /// Integers and bools become the default float.
    Float,
    /// The same, for quotients: half precision meets numbers as they are in single precision.
    Quotient,
}

impl PromotionRule {
    #[inline(always)]
    const fn is_float(self) -> bool {
        matches!(self, PromotionRule::Float | PromotionRule::Quotient)
    }
    /// Whether numbers and 0-d tensors beside half precision are not rounded to it: the kernel computes in single anyway.
    /// That is so where PyTorch's kernels do it; others, such as sums, meet the rounded number.
    #[inline(always)]
    const fn keeps_numbers(self) -> bool {
        matches!(self, PromotionRule::Product | PromotionRule::Kept | PromotionRule::Quotient)
    }
    const fn wraps(self) -> [bool; 2] {
        match self {
            PromotionRule::Wraps | PromotionRule::Product => [true, true],
            PromotionRule::FirstWraps => [true, false],
            _ => [false, false],
        }
    }
}

/// The dtype that the kernel computes in.
pub fn compute_dtype(prim: &Pointwise, rule: PromotionRule, dtype: DType) -> Result<DType> {
    let d = match rule {
        _ if rule.is_float() && !dtype.is_differentiable() => default_float(),
        _ => dtype,
    };
    if d == DType::Bool && !prim.kernel.supports(d) {
        bail!(Runtime, "{}(): is not supported on bool tensors; convert them first", short(prim.name));
    }
    if !prim.kernel.supports(d) {
        return Err(not_implemented(prim, d));
    }
    Ok(d)
}

fn short(name: &str) -> &str {
    let name = operator_of(name);
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// A unary operator: dtypes that its kernel does not know are converted to the default float if they are integers.
#[inline]
pub fn unary(prim: &'static Pointwise, x: &Tensor) -> Result<Tensor> {
    let d = x.dtype();
    if prim.kernel.supports(d) {
        return call(Prim::Static(prim), &Params::None, &[x]);
    }
    // A kernel that knows integers leaves bool out on purpose.
    let rule = if prim.kernel.supports(DType::I64) { PromotionRule::Same } else { PromotionRule::Float };
    let x = basis::cast(x, compute_dtype(prim, rule, d)?)?;
    call(Prim::Static(prim), &Params::None, &[&x])
}

/// The dtype of two operands together.
pub fn common_dtype(a: Operand<'_>, b: Operand<'_>) -> DType {
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => result_type2((a.dtype(), a.rank()), (b.dtype(), b.rank())),
        (Operand::Tensor(t), Operand::Number(n)) | (Operand::Number(n), Operand::Tensor(t)) => {
            with_number(t.dtype(), n)
        }
        (Operand::Number(a), Operand::Number(b)) => promote(a.dtype(default_float()), b.dtype(default_float())),
    }
}

/// A binary operator over tensors and numbers.
#[inline]
pub fn binary(prim: &'static Pointwise, rule: PromotionRule, a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    if let (Operand::Tensor(x), Operand::Tensor(y)) = (a, b)
        && x.dtype() == y.dtype()
        && (!rule.is_float() || x.dtype().is_differentiable())
        && prim.kernel.supports(x.dtype())
    {
        return call(Prim::Static(prim), &Params::None, &[x, y]);
    }
    binary_slow(prim, rule, a, b)
}

#[inline(never)]
fn binary_slow(prim: &'static Pointwise, rule: PromotionRule, a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    if let Some(out) = with_real_number(prim, rule, a, b) {
        return out;
    }
    let dtype = compute_dtype(prim, rule, common_dtype(a, b))?;
    if dtype.is_integer() {
        let (x, y) = integers(prim.name, rule, dtype, a, b)?;
        return basis::cast(&call(Prim::Static(prim), &Params::None, &[&x, &y])?, dtype);
    }
    let (x, y) = match dtype.is_half() && rule.keeps_numbers() {
        true => half_operands(a, b, dtype)?,
        false => (convert(a, dtype)?, convert(b, dtype)?),
    };
    call(Prim::Static(prim), &Params::None, &[&x, &y])
}

/// Operands of an operator whose result is of this half precision dtype: a number is in single precision, and so is a second
/// operand that is 0-d and of another dtype.
fn half_operands(a: Operand<'_>, b: Operand<'_>, dtype: DType) -> Result<(Tensor, Tensor)> {
    let is_half = |x: Operand<'_>| matches!(x, Operand::Tensor(t) if t.dtype() == dtype);
    let kept = |x: Operand<'_>| match x {
        Operand::Number(_) => convert(x, DType::F32),
        Operand::Tensor(t) if t.rank() == 0 && t.dtype() != dtype => convert(x, DType::F32),
        Operand::Tensor(t) => basis::cast(t, dtype),
    };
    Ok(match a {
        Operand::Number(_) if is_half(b) => (kept(a)?, convert(b, dtype)?),
        _ => (convert(a, dtype)?, kept(b)?),
    })
}

/// Operands of an operator whose result is of this integer dtype.
fn integers(name: &str, rule: PromotionRule, dtype: DType, a: Operand<'_>, b: Operand<'_>) -> Result<(Tensor, Tensor)> {
    let mut wide = dtype;
    for (x, wraps) in [a, b].into_iter().zip(rule.wraps()) {
        match x {
            _ if wraps => {}
            Operand::Tensor(t) => wide = promote(wide, t.dtype()),
            Operand::Number(n) if n.is_held(dtype) => {}
            Operand::Number(Scalar::Int(_)) => wide = DType::I64,
            Operand::Number(n) => return Err(n.overflow(&format!("{}()", short(name)), dtype)),
        }
    }
    Ok((convert(a, wide)?, convert(b, wide)?))
}

/// Operands of a comparison in one dtype. Integers are compared as the numbers that they are, also where the common
/// dtype of arithmetic does not have one of them.
fn compared(a: Operand<'_>, b: Operand<'_>) -> Result<(Tensor, Tensor)> {
    let mut dtype = common_dtype(a, b);
    if !dtype.is_differentiable() {
        match (a, b) {
            (Operand::Tensor(x), Operand::Tensor(y)) => dtype = promote(x.dtype(), y.dtype()),
            (Operand::Tensor(t), Operand::Number(n)) if !n.is_held(dtype) => match n {
                Scalar::Int(_) => dtype = DType::I64,
                n => {
                    let zero = basis::scale(&basis::cast(t, DType::I64)?, 0.0)?;
                    return Ok((zero, Tensor::scalar(DType::I64, n.as_f64().signum() as i64)));
                }
            },
            (Operand::Number(_), Operand::Tensor(_)) => {
                let (y, x) = compared(b, a)?;
                return Ok((x, y));
            }
            _ => {}
        }
    }
    Ok((convert(a, dtype)?, convert(b, dtype)?))
}

/// A plain array of floats and a real number, whose dtype is then the array's: the number needs no tensor of its own.
#[inline]
fn with_real_number(
    prim: &'static Pointwise,
    rule: PromotionRule,
    a: Operand<'_>,
    b: Operand<'_>,
) -> Option<Result<Tensor>> {
    let ((Operand::Tensor(t), Operand::Number(n)) | (Operand::Number(n), Operand::Tensor(t))) = (a, b) else {
        return None;
    };
    let dtype = t.dtype();
    if !dtype.is_float() || matches!(n, Scalar::Complex(_) | Scalar::Huge(_)) || level::tracing() != LevelId::DENSE {
        return None;
    }
    // A number lies in the array itself, and there is nothing to drop.
    let kept = if dtype.is_half() && rule.keeps_numbers() { DType::F32 } else { dtype };
    let (x, n) = (t.dense()?, ManuallyDrop::new(Array::scalar(kept, n)));
    if !prim.kernel.supports(dtype) {
        return None;
    }
    let (x, y) = if matches!(a, Operand::Tensor(_)) { (x, &*n) } else { (&*n, x) };
    Some(pointwise::binary(prim.kernel, x, y).map(Tensor::from))
}

/// A half precision tensor in single precision, in which composites compute so that only their results are rounded, and
/// nothing on the way overflows.
#[inline]
pub fn single(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_half() { basis::cast(x, DType::F32) } else { Ok(x.clone()) }
}

/// What `f` computes of a tensor; of half precision in single, rounded once at the end.
pub fn in_single(x: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let y = f(&single(x)?)?;
    if x.dtype().is_half() { basis::cast(&y, x.dtype()) } else { Ok(y) }
}

/// A unary operator without a derivative.
pub fn constant_unary(prim: &'static Pointwise, x: &Tensor) -> Result<Tensor> {
    if !prim.kernel.supports(x.dtype()) {
        return Err(not_implemented(prim, x.dtype()));
    }
    call(Prim::Static(prim), &Params::None, &[x])
}

/// A binary operator without a derivative over tensors and numbers.
pub fn constant_binary(
    prim: &'static Pointwise,
    rule: PromotionRule,
    a: Operand<'_>,
    b: Operand<'_>,
) -> Result<Tensor> {
    let dtype = common_dtype(a, b);
    if !prim.kernel.supports(dtype) {
        return Err(not_implemented(prim, dtype));
    }
    let (x, y) = if dtype.is_integer() {
        integers(prim.name, rule, dtype, a, b)?
    } else {
        (convert(a, dtype)?, convert(b, dtype)?)
    };
    basis::cast(&call(Prim::Static(prim), &Params::None, &[&x, &y])?, dtype)
}

/// A comparison of tensors and numbers.
pub fn comparison(prim: &'static Pointwise, a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    let (x, y) = compared(a, b).map_err(|e| e.context(&format!("{}()", short(prim.name))))?;
    if !prim.kernel.supports(x.dtype()) {
        return Err(not_implemented(prim, x.dtype()));
    }
    call(Prim::Static(prim), &Params::None, &[&x, &y])
}

#[cold]
fn not_implemented(prim: &Pointwise, dtype: DType) -> Error {
    let hint = crate::ops::signature::OTHER_DTYPE;
    Error::not_implemented(format!("{}(): not implemented for {dtype} tensors{hint}", short(prim.name)))
}

/// An operand as a tensor of this dtype; numbers become 0-d.
#[inline]
pub fn convert(x: Operand<'_>, dtype: DType) -> Result<Tensor> {
    match x {
        Operand::Tensor(t) => basis::cast(t, dtype),
        Operand::Number(n) => number(n, dtype),
    }
}

/// A number as a 0-d operand of arithmetic: integers wrap, unless they need more than 64 bits.
pub fn number(n: Scalar, dtype: DType) -> Result<Tensor> {
    match n {
        Scalar::Huge(_) if !n.is_held(dtype) => Err(n.overflow("a number in arithmetic", dtype)),
        n => Ok(residual::number(Tensor::scalar(dtype, n))),
    }
}

/// A number, if its conversion to the dtype is no overflow.
pub fn fitting(op: &str, name: &str, n: Scalar, dtype: DType) -> Result<Scalar> {
    if n.fits(dtype) { Ok(n) } else { Err(n.overflow(&format!("{op}(): argument '{name}'"), dtype)) }
}

/// A number as a 0-d tensor, if its conversion is no overflow.
pub fn fitted(op: &str, name: &str, n: Scalar, dtype: DType) -> Result<Tensor> {
    fitting(op, name, n, dtype).map(|n| Tensor::scalar(dtype, n))
}
