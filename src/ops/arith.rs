//! Arithmetic of two arguments.

use super::promote::{Rule, binary};
use super::value::Operand;
use crate::base::Scalar;
use crate::core::Tensor;
use crate::rules::basis;

ops! { TABLE:
    /// `input + alpha * other`, with broadcasting and type promotion.
    ///
    /// >>> import pullback
    /// >>> pullback.add(pullback.tensor([1.0, 2.0]), 1)
    /// tensor([2., 3.])
    fn add = "add" (input: Operand<'_>, other: Operand<'_>; alpha: Option<Scalar> = None) -> Tensor [METHOD, INPLACE] {
        match alpha {
            None => binary(&basis::ADD, Rule::Same, input, other),
            Some(alpha) => {
                let scaled = binary(&basis::MUL, Rule::Same, other, Operand::Number(alpha))?;
                binary(&basis::ADD, Rule::Same, input, Operand::Tensor(&scaled))
            }
        }
    }

    /// `input * other`, with broadcasting and type promotion.
    ///
    /// >>> import pullback
    /// >>> pullback.mul(pullback.tensor([1.0, 2.0]), 3)
    /// tensor([3., 6.])
    fn mul = "mul" | "multiply" (input: Operand<'_>, other: Operand<'_>) -> Tensor [METHOD, INPLACE] {
        binary(&basis::MUL, Rule::Same, input, other)
    }
}
