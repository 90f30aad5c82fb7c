//! Elements that a bound, a step or another number replaces.

use super::compare::{isinf, isnan, le};
use super::promote::fitting;
use super::value::Operand;
use crate::base::{DType, Scalar};
use crate::core::primitive::Saves;
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::pointwise::kernels;
use crate::ops::signature::{HERE, OrderedNumbers};
use crate::rules::basis::{number, where_};
use crate::rules::{Partial, PartialRule, Pointwise};

/// Constant where a NaN was replaced.
pub(crate) static REPLACE_NAN: Pointwise = Pointwise {
    name: "nan_to_num",
    kernel: &kernels::REPLACE_NAN,
    partials: &[
        Some(PartialRule { saves: Saves { inputs: 1, outputs: 0 }, rule: |p| isnan(p.input(0)?).map(Partial::Unless) }),
        None,
    ],
};
/// Constant where an infinity was replaced.
pub(crate) static REPLACE_INF: Pointwise = Pointwise {
    name: "nan_to_num:inf",
    kernel: &kernels::REPLACE_INF,
    partials: &[
        Some(PartialRule { saves: Saves { inputs: 1, outputs: 0 }, rule: |p| isinf(p.input(0)?).map(Partial::Unless) }),
        None,
        None,
    ],
};

__constants! { STEPS: "heaviside" HEAVISIDE }

ops! { TABLE:
    /// NaN replaced by `nan`, infinities by `posinf` and `neginf`: the largest and smallest number of the dtype unless given.
    ///
    /// >>> import pullback
    /// >>> pullback.nan_to_num(pullback.tensor([float("nan"), 1.0, float("inf")]), posinf=9.0)
    /// tensor([0., 1., 9.])
    fn nan_to_num = "nan_to_num" (input: &Tensor, nan: Option<f64> = None, posinf: Option<f64> = None, neginf: Option<f64> = None)
        -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] of REPLACE_NAN {
        let dtype = input.dtype();
        if !dtype.is_differentiable() {
            return Ok(input.clone());
        }
        let most = dtype.real().largest().unwrap_or(f64::MAX);
        let nan = number(input, nan.unwrap_or(0.0));
        let (high, low) = (number(input, posinf.unwrap_or(most)), number(input, neginf.unwrap_or(-most)));
        // Infinities first: what replaces a NaN may be one.
        let finite = call(Prim::Static(&REPLACE_INF), &Params::None, &[input, &high, &low])?;
        call(Prim::Static(&REPLACE_NAN), &Params::None, &[&finite, &nan])
    }

    /// Each element, or `min` where that is larger.
    ///
    /// >>> import pullback
    /// >>> pullback.clamp_min(pullback.tensor([-1.0, 2.0]), 0)
    /// tensor([0., 2.])
    fn clamp_min = "clamp_min" (input: &Tensor, min: Operand<'_>) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] node "ClampMinBackward0" / min "ClampMinBackward1" of super::arith::CLAMP_MIN {
        if let Operand::Tensor(t) = min
            && (input.dtype(), t.dtype()) == (DType::Bool, DType::Bool)
        {
            return super::arith::maximum(input, t);
        }
        super::arith::clamp(input, Some(min), None).map_err(|e| e.of("clamp", HERE))
    }

    /// Each element, or `max` where that is smaller.
    ///
    /// >>> import pullback
    /// >>> pullback.clamp_max(pullback.tensor([-1.0, 2.0]), 0)
    /// tensor([-1.,  0.])
    fn clamp_max = "clamp_max" (input: &Tensor, max: Operand<'_>) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] node "ClampMaxBackward0" / max "ClampMaxBackward1" of super::arith::CLAMP_MAX {
        if let Operand::Tensor(t) = max
            && (input.dtype(), t.dtype()) == (DType::Bool, DType::Bool)
        {
            return super::arith::minimum(input, t);
        }
        super::arith::clamp(input, None, Some(max)).map_err(|e| e.of("clamp", HERE))
    }

    /// Each element where it is larger than `threshold`, `value` elsewhere.
    ///
    /// >>> import pullback
    /// >>> pullback.threshold(pullback.tensor([0.5, 2.0]), 1.0, 9.0)
    /// tensor([9., 2.])
    fn threshold = "threshold" (input: &Tensor as OrderedNumbers, threshold: Scalar, value: Scalar) -> Tensor [INPLACE_FUNCTION] {
        let number = |name, n| fitting(HERE, name, n, input.dtype()).map(|n| Tensor::scalar(input.dtype(), n));
        where_(&le(input, &number("threshold", threshold)?)?, &number("value", value)?, input)
    }

    /// The step function: 0 below 0 and for NaN, 1 above, `values` at 0. Both tensors have one dtype.
    ///
    /// >>> import pullback
    /// >>> pullback.heaviside(pullback.tensor([-1.0, 0.0, 2.0]), pullback.tensor(0.5))
    /// tensor([0.0000, 0.5000, 1.0000])
    fn heaviside = "heaviside" (input: &Tensor, values: &Tensor) -> Tensor [METHOD, INPLACE, EXACT_OUT] of HEAVISIDE {
        if input.dtype().is_complex() || values.dtype().is_complex() {
            refuse!(Runtime, "is not yet implemented for complex tensors; take their real part");
        }
        if input.dtype() != values.dtype() {
            refuse!(Runtime, "is not yet implemented for tensors with different dtypes, but got {} and {}; convert one of them",
                input.dtype(), values.dtype());
        }
        call(Prim::Static(&HEAVISIDE), &Params::None, &[input, values])
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[STEPS, &[&REPLACE_NAN, &REPLACE_INF]],
    ..crate::ops::Family::EMPTY
};
