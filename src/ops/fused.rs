//! Products and quotients that are added to a tensor, and divisors of integers.

use super::arith::{divide_floats, plus_product};
use super::join::joint_dtype;
use super::promote::{PromotionRule, constant_binary, fitting};
use crate::base::{DType, ErrorKind, Result, Scalar};
use crate::core::Tensor;
use crate::ops::signature::{Factor, HERE, no_bools};
use crate::rules::basis::{add, cast, mul};

__constants! { PRIMITIVES: "gcd" GCD "lcm" LCM }

/// `f(input, value * tensor1, tensor2)` in the common dtype, half precision in single.
fn plus(
    [input, a, b]: [&Tensor; 3],
    value: Scalar,
    dtype: DType,
    f: impl Fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    no_bools(ErrorKind::NotImplemented, dtype)?;
    let wide = if dtype.is_half() { DType::F32 } else { dtype };
    let value = fitting(HERE, "value", value, wide)?;
    let a = cast(a, wide)?;
    let scaled = if value.as_complex() == 1.0.into() { a } else { mul(&a, &Tensor::scalar(wide, value))? };
    cast(&f(&cast(input, wide)?, &scaled, &cast(b, wide)?)?, dtype)
}

ops! { TABLE:
    /// `input + value * tensor1 * tensor2`.
    ///
    /// >>> import pullback
    /// >>> pullback.addcmul(pullback.tensor([1.0]), pullback.tensor([2.0]), pullback.tensor([3.0]), value=0.5)
    /// tensor([4.])
    fn addcmul = "addcmul" (input: &Tensor, tensor1: &Tensor, tensor2: &Tensor; value: Scalar as Factor = Scalar::Int(1)) -> Tensor [METHOD, INPLACE] {
        let all = [input, tensor1, tensor2];
        plus(all, value, joint_dtype(&all), |x, a, b| plus_product(HERE, x, a, b))
    }

    /// `input + value * tensor1 / tensor2`.
    ///
    /// >>> import pullback
    /// >>> pullback.addcdiv(pullback.tensor([1.0]), pullback.tensor([3.0]), pullback.tensor([2.0]), value=2)
    /// tensor([4.])
    fn addcdiv = "addcdiv" (input: &Tensor, tensor1: &Tensor, tensor2: &Tensor; value: Scalar as Factor = Scalar::Int(1)) -> Tensor [METHOD, INPLACE] {
        if !tensor1.dtype().is_differentiable() && !tensor2.dtype().is_differentiable() {
            refuse!(Runtime, "Integer division with addcdiv is no longer supported; convert tensor1 or tensor2 with .float()");
        }
        let all = [input, tensor1, tensor2];
        plus(all, value, joint_dtype(&all), |x, a, b| add(x, &divide_floats(a, b)?))
    }

    /// The greatest common divisor of integers, not negative.
    ///
    /// >>> import pullback
    /// >>> pullback.gcd(pullback.tensor([4, -6]), pullback.tensor([6, 9]))
    /// tensor([2, 3])
    fn gcd = "gcd" (input: &Tensor, other: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] of GCD {
        constant_binary(&GCD, PromotionRule::Same, input.into(), other.into())
    }

    /// The least common multiple of integers, not negative.
    ///
    /// >>> import pullback
    /// >>> pullback.lcm(pullback.tensor([4, -6]), pullback.tensor([6, 9]))
    /// tensor([12, 18])
    fn lcm = "lcm" (input: &Tensor, other: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] of LCM {
        constant_binary(&LCM, PromotionRule::Same, input.into(), other.into())
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
