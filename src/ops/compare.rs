//! Comparisons, predicates and logic. Results are bool and carry no derivative.

use super::promote;
use super::value::Operand;
use crate::base::{DType, Result};
use crate::core::Tensor;
use crate::ops::signature::SameDType;
use crate::rules::basis;

compare! { TABLE, PRIMITIVES:
    /// Whether elements are equal.
    ///
    /// >>> import pullback
    /// >>> pullback.eq(pullback.tensor([1, 2]), 2)
    /// tensor([False,  True])
    eq = "eq" kernel EQ [METHOD, INPLACE];

    /// Whether elements differ.
    ///
    /// >>> import pullback
    /// >>> pullback.ne(pullback.tensor([1, 2]), 2)
    /// tensor([ True, False])
    ne = "ne" | "not_equal" kernel NE [METHOD, INPLACE];

    /// Whether elements of the first are less than those of the second.
    ///
    /// >>> import pullback
    /// >>> pullback.lt(pullback.tensor([1, 2]), 2)
    /// tensor([ True, False])
    lt = "lt" | "less" kernel LT [METHOD, INPLACE];

    /// Whether elements of the first are at most those of the second.
    ///
    /// >>> import pullback
    /// >>> pullback.le(pullback.tensor([1, 2]), 1)
    /// tensor([ True, False])
    le = "le" | "less_equal" kernel LE [METHOD, INPLACE];

    /// Whether elements of the first are greater than those of the second.
    ///
    /// >>> import pullback
    /// >>> pullback.gt(pullback.tensor([1, 2]), 1)
    /// tensor([False,  True])
    gt = "gt" | "greater" kernel GT [METHOD, INPLACE];

    /// Whether elements of the first are at least those of the second.
    ///
    /// >>> import pullback
    /// >>> pullback.ge(pullback.tensor([1, 2]), 2)
    /// tensor([False,  True])
    ge = "ge" | "greater_equal" kernel GE [METHOD, INPLACE];

    /// Whether both are non-zero.
    ///
    /// >>> import pullback
    /// >>> pullback.logical_and(pullback.tensor([0, 2]), pullback.tensor([1, 1]))
    /// tensor([False,  True])
    logical_and = "logical_and" kernel LOGICAL_AND [METHOD, TENSORS, INPLACE];

    /// Whether at least one is non-zero.
    ///
    /// >>> import pullback
    /// >>> pullback.logical_or(pullback.tensor([0, 2]), pullback.tensor([0, 1]))
    /// tensor([False,  True])
    logical_or = "logical_or" kernel LOGICAL_OR [METHOD, TENSORS, INPLACE];

    /// Whether exactly one is non-zero.
    ///
    /// >>> import pullback
    /// >>> pullback.logical_xor(pullback.tensor([0, 2]), pullback.tensor([0, 1]))
    /// tensor([False, False])
    logical_xor = "logical_xor" kernel LOGICAL_XOR [METHOD, TENSORS, INPLACE];
}

predicate! { PREDICATES, PREDICATE_PRIMITIVES:
    /// Whether elements are zero (or false).
    ///
    /// >>> import pullback
    /// >>> pullback.logical_not(pullback.tensor([0, 2]))
    /// tensor([ True, False])
    logical_not = "logical_not" kernel LOGICAL_NOT [METHOD, INPLACE];

    /// Whether elements are NaN.
    ///
    /// >>> import pullback
    /// >>> pullback.isnan(pullback.tensor([1.0, float("nan")]))
    /// tensor([False,  True])
    isnan = "isnan" kernel ISNAN
        [METHOD];

    /// Whether elements are infinite.
    ///
    /// >>> import pullback
    /// >>> pullback.isinf(pullback.tensor([1.0, float("inf")]))
    /// tensor([False,  True])
    isinf = "isinf" kernel ISINF
        [METHOD];

    /// Whether elements are infinite and positive.
    ///
    /// >>> import pullback
    /// >>> pullback.isposinf(pullback.tensor([float("inf"), -float("inf")]))
    /// tensor([ True, False])
    isposinf = "isposinf" kernel ISPOSINF [METHOD];

    /// Whether elements are infinite and negative.
    ///
    /// >>> import pullback
    /// >>> pullback.isneginf(pullback.tensor([float("inf"), -float("inf")]))
    /// tensor([False,  True])
    isneginf = "isneginf" kernel ISNEGINF [METHOD];

    /// Whether elements are neither infinite nor NaN.
    ///
    /// >>> import pullback
    /// >>> pullback.isfinite(pullback.tensor([1.0, float("inf")]))
    /// tensor([ True, False])
    isfinite = "isfinite" kernel ISFINITE
        [METHOD];

    /// Whether elements have their sign bit set.
    ///
    /// >>> import pullback
    /// >>> pullback.signbit(pullback.tensor([1.0, -0.0]))
    /// tensor([False,  True])
    signbit = "signbit" kernel SIGNBIT
        [METHOD];

    /// Bitwise not; of bools, logical not.
    ///
    /// >>> import pullback
    /// >>> pullback.bitwise_not(pullback.tensor([0, 1]))
    /// tensor([-1, -2])
    bitwise_not = "bitwise_not" kernel BITWISE_NOT [METHOD, INPLACE];
}

macro_rules! bitwise {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal kernel $kernel:ident $rule:ident;)*) => {
        __constants! { BITWISE_PRIMITIVES: $($path $kernel)* }
        ops! { BITWISE: $(
            $(#[doc = $doc])*
            fn $name = $path (input: Operand<'_>, other: Operand<'_>) -> Tensor [METHOD, MIXED, INPLACE] of $kernel {
                promote::constant_binary(&$kernel, promote::PromotionRule::$rule, input, other)
            }
        )* }
    };
}

bitwise! {
    /// Bitwise and of integers; of bools, logical and.
    bitwise_and = "bitwise_and" kernel BITWISE_AND Wraps;
    /// Bitwise or of integers; of bools, logical or.
    bitwise_or = "bitwise_or" kernel BITWISE_OR Wraps;
    /// Bitwise exclusive or of integers; of bools, logical exclusive or.
    bitwise_xor = "bitwise_xor" kernel BITWISE_XOR Wraps;
    /// `input << other` of integers.
    bitwise_left_shift = "bitwise_left_shift" kernel BITWISE_LEFT_SHIFT FirstWraps;
    /// `input >> other` of integers; the sign is kept.
    bitwise_right_shift = "bitwise_right_shift" kernel BITWISE_RIGHT_SHIFT Same;
}

ops! { CLOSE:
    /// Whether elements are close: `|input - other| <= atol + rtol * |other|`. Equal infinities are close; NaN is close to
    /// NaN with `equal_nan`.
    ///
    /// >>> import pullback
    /// >>> pullback.isclose(pullback.tensor([1.0, 2.0]), pullback.tensor([1.0, 2.1]))
    /// tensor([ True, False])
    fn isclose = "isclose" (input: &Tensor, other: &Tensor as SameDType, rtol: f64 = 1e-5, atol: f64 = 1e-8, equal_nan: bool = false)
        -> Tensor [METHOD] {
        if rtol < 0.0 || atol < 0.0 {
            refuse!(Runtime, "rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}; give the \
                distances that are close");
        }
        let mut close = eq(input, other)?;
        if !input.dtype().is_differentiable() && rtol == 0.0 && atol == 0.0 {
            return Ok(close);
        }
        if equal_nan && input.dtype().is_differentiable() {
            close = logical_or(&close, &logical_and(&isnan(input)?, &isnan(other)?)?)?;
        }
        // Integers are compared as floats, which hold their differences.
        let float = |x: &Tensor| if x.dtype().is_differentiable() { Ok(x.clone()) } else { basis::cast(x, DType::F64) };
        let (a, b) = (float(input)?, float(other)?);
        let distance = a.sub(&b)?.abs()?;
        let number = |x: f64| Tensor::scalar(distance.dtype(), x);
        let allowed = b.abs()?.mul(&number(rtol))?.add(&number(atol))?;
        let near = logical_and(&le(&distance, &allowed)?, &isfinite(&distance)?)?;
        logical_or(&close, &near)
    }
}

/// A condition as bool: uint8 masks are accepted, as in PyTorch.
pub fn condition(c: &Tensor) -> Result<Tensor> {
    match c.dtype() {
        DType::Bool => Ok(c.clone()),
        DType::U8 => ne(c, 0),
        d => refuse!(
            Runtime,
            "expected condition to be a boolean tensor, but got a tensor with dtype {d}; convert it with condition.bool()"
        ),
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[BITWISE, CLOSE, PREDICATES, TABLE],
    primitives: &[BITWISE_PRIMITIVES, PREDICATE_PRIMITIVES, PRIMITIVES],
    ..crate::ops::Family::EMPTY
};
