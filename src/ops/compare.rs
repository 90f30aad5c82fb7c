//! Comparisons, predicates and logic. Results are bool and carry no derivative.

use super::promote;
use super::value::Operand;
use crate::bail;
use crate::base::{DType, Result};
use crate::core::Tensor;
use crate::rules::basis;

compare! { TABLE:
    /// Whether elements are equal.
    ///
    /// >>> import pullback
    /// >>> pullback.eq(pullback.tensor([1, 2]), 2)
    /// tensor([False,  True])
    eq = "eq" (a, b) { float => a.eq(b), int => a.eq(b), bool => a == b } [METHOD, INPLACE];

    /// Whether elements differ.
    ///
    /// >>> import pullback
    /// >>> pullback.ne(pullback.tensor([1, 2]), 2)
    /// tensor([ True, False])
    ne = "ne" | "not_equal" (a, b) { float => a.ne(b), int => a.ne(b), bool => a != b } [METHOD, INPLACE];

    /// Whether elements of the first are less than those of the second.
    ///
    /// >>> import pullback
    /// >>> pullback.lt(pullback.tensor([1, 2]), 2)
    /// tensor([ True, False])
    lt = "lt" | "less" (a, b) { float => a.lt(b), int => a.lt(b), bool => !a & b } [METHOD, INPLACE];

    /// Whether elements of the first are at most those of the second.
    ///
    /// >>> import pullback
    /// >>> pullback.le(pullback.tensor([1, 2]), 1)
    /// tensor([ True, False])
    le = "le" | "less_equal" (a, b) { float => a.le(b), int => a.le(b), bool => !a | b } [METHOD, INPLACE];

    /// Whether elements of the first are greater than those of the second.
    ///
    /// >>> import pullback
    /// >>> pullback.gt(pullback.tensor([1, 2]), 1)
    /// tensor([False,  True])
    gt = "gt" | "greater" (a, b) { float => a.gt(b), int => a.gt(b), bool => a & !b } [METHOD, INPLACE];

    /// Whether elements of the first are at least those of the second.
    ///
    /// >>> import pullback
    /// >>> pullback.ge(pullback.tensor([1, 2]), 2)
    /// tensor([False,  True])
    ge = "ge" | "greater_equal" (a, b) { float => a.ge(b), int => a.ge(b), bool => a | !b } [METHOD, INPLACE];

    /// Whether both are non-zero.
    ///
    /// >>> import pullback
    /// >>> pullback.logical_and(pullback.tensor([0, 2]), pullback.tensor([1, 1]))
    /// tensor([False,  True])
    logical_and = "logical_and" (a, b)
        { float => !a.is_zero() & !b.is_zero(), int => !a.is_zero() & !b.is_zero(), bool => a & b } [METHOD, TENSORS, INPLACE];

    /// Whether at least one is non-zero.
    ///
    /// >>> import pullback
    /// >>> pullback.logical_or(pullback.tensor([0, 2]), pullback.tensor([0, 1]))
    /// tensor([False,  True])
    logical_or = "logical_or" (a, b)
        { float => !a.is_zero() | !b.is_zero(), int => !a.is_zero() | !b.is_zero(), bool => a | b } [METHOD, TENSORS, INPLACE];

    /// Whether exactly one is non-zero.
    ///
    /// >>> import pullback
    /// >>> pullback.logical_xor(pullback.tensor([0, 2]), pullback.tensor([0, 1]))
    /// tensor([False, False])
    logical_xor = "logical_xor" (a, b)
        { float => a.is_zero() ^ b.is_zero(), int => a.is_zero() ^ b.is_zero(), bool => a ^ b } [METHOD, TENSORS, INPLACE];
}

predicate! { PREDICATES:
    /// Whether elements are zero (or false).
    ///
    /// >>> import pullback
    /// >>> pullback.logical_not(pullback.tensor([0, 2]))
    /// tensor([ True, False])
    logical_not = "logical_not" (x) -> bool { float => x.is_zero(), int => x.is_zero(), bool => !x } [METHOD, INPLACE];

    /// Whether elements are NaN.
    ///
    /// >>> import pullback
    /// >>> pullback.isnan(pullback.tensor([1.0, float("nan")]))
    /// tensor([False,  True])
    isnan = "isnan" (x) -> bool { float => x.is_nan(), int => { let _ = x; false }, bool => { let _ = x; false } }
        [METHOD];

    /// Whether elements are infinite.
    ///
    /// >>> import pullback
    /// >>> pullback.isinf(pullback.tensor([1.0, float("inf")]))
    /// tensor([False,  True])
    isinf = "isinf" (x) -> bool { float => x.is_inf(), int => { let _ = x; false }, bool => { let _ = x; false } }
        [METHOD];

    /// Whether elements are neither infinite nor NaN.
    ///
    /// >>> import pullback
    /// >>> pullback.isfinite(pullback.tensor([1.0, float("inf")]))
    /// tensor([ True, False])
    isfinite = "isfinite" (x) -> bool { float => x.is_finite(), int => { let _ = x; true }, bool => { let _ = x; true } }
        [METHOD];

    /// Whether elements have their sign bit set.
    ///
    /// >>> import pullback
    /// >>> pullback.signbit(pullback.tensor([1.0, -0.0]))
    /// tensor([False,  True])
    signbit = "signbit" (x) -> bool { float => x.is_negative(), int => x.lt(x.lit(0)), bool => { let _ = x; false } }
        [METHOD];

    /// Bitwise not; of bools, logical not.
    ///
    /// >>> import pullback
    /// >>> pullback.bitwise_not(pullback.tensor([0, 1]))
    /// tensor([-1, -2])
    bitwise_not = "bitwise_not" (x) { int => !x, bool => !x } [METHOD, INPLACE];
}

macro_rules! bitwise {
    ($($(#[doc = $doc:literal])* $name:ident, $kernel:ident, $path:literal, ($a:ident, $b:ident) { $($body:tt)* }
        $rule:ident;)*) => {
        $(
            $crate::pointwise_kernel! { $kernel($a, $b) { $($body)* } }
        )*
        ops! { BITWISE: $(
            $(#[doc = $doc])*
            fn $name = $path (input: Operand<'_>, other: Operand<'_>) -> Tensor [METHOD, MIXED, INPLACE] {
                static PRIM: crate::rules::Opaque = crate::rules::Opaque {
                    name: $path,
                    eval: |_, args| promote::eval_binary(&$kernel, args),
                    batching: crate::rules::OpaqueBatch::Align,
                };
                promote::opaque_binary(&PRIM, &$kernel, promote::Rule::$rule, input, other)
            }
        )* }
    };
}

bitwise! {
    /// Bitwise and of integers; of bools, logical and.
    bitwise_and, BITWISE_AND, "bitwise_and", (a, b) { int => a & b, bool => a & b } Wraps;
    /// Bitwise or of integers; of bools, logical or.
    bitwise_or, BITWISE_OR, "bitwise_or", (a, b) { int => a | b, bool => a | b } Wraps;
    /// Bitwise exclusive or of integers; of bools, logical exclusive or.
    bitwise_xor, BITWISE_XOR, "bitwise_xor", (a, b) { int => a ^ b, bool => a ^ b } Wraps;
    /// `input << other` of integers.
    bitwise_left_shift, BITWISE_LEFT_SHIFT, "bitwise_left_shift", (a, b) { int => a << b } FirstWraps;
    /// `input >> other` of integers; the sign is kept.
    bitwise_right_shift, BITWISE_RIGHT_SHIFT, "bitwise_right_shift", (a, b) { int => a >> b } Same;
}

ops! { CLOSE:
    /// Whether elements are close: `|input - other| <= atol + rtol * |other|`. Equal infinities are close; NaN is close to
    /// NaN with `equal_nan`.
    ///
    /// >>> import pullback
    /// >>> pullback.isclose(pullback.tensor([1.0, 2.0]), pullback.tensor([1.0, 2.1]))
    /// tensor([ True, False])
    fn isclose = "isclose" (input: &Tensor, other: &Tensor, rtol: f64 = 1e-5, atol: f64 = 1e-8, equal_nan: bool = false)
        -> Tensor [METHOD] {
        if input.dtype() != other.dtype() {
            bail!(Runtime, "isclose(): {} did not match {}; convert one with .to(dtype)", input.dtype(), other.dtype());
        }
        if rtol < 0.0 || atol < 0.0 {
            bail!(Runtime, "isclose(): rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}");
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
        let allowed = b.abs()?.mul(&Tensor::scalar(a.dtype(), rtol))?.add(&Tensor::scalar(a.dtype(), atol))?;
        let near = logical_and(&le(&distance, &allowed)?, &isfinite(&distance)?)?;
        logical_or(&close, &near)
    }
}

/// A condition as bool: uint8 masks are accepted, as in PyTorch.
pub fn condition(op: &str, c: &Tensor) -> Result<Tensor> {
    match c.dtype() {
        DType::Bool => Ok(c.clone()),
        DType::U8 => ne(c, 0),
        d => bail!(Runtime, "{op}(): expected condition to be a bool tensor, but got {d}"),
    }
}
