//! Arithmetic with promotion for composites, of tensors and numbers in any mix.

use super::arith;
use super::value::Operand;
use crate::base::Result;
use crate::core::Tensor;

/// `a + b`
pub fn add<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    arith::add(a.into(), b.into(), None)
}
/// `a - b`
pub fn sub<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    arith::sub(a.into(), b.into(), None)
}
/// `a * b`
pub fn mul<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    arith::mul(a.into(), b.into())
}
/// `a / b`; integers divide as floats.
pub fn div<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    arith::div(a.into(), b.into(), None)
}
/// `a / b`, rounded down.
pub fn floor_divide<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    arith::floor_divide(a.into(), b.into())
}
/// What is left of it.
pub fn remainder<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    arith::remainder(a.into(), b.into())
}
