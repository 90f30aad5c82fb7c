//! Copies and conversions.

use crate::base::{DType, Result};
use crate::core::Tensor;
use crate::ops::value::setting::MemoryFormat;
use crate::rules::basis;

macro_rules! conversions {
    ($($(#[doc = $doc:literal])* $name:ident, $path:literal, $dtype:ident;)*) => {
        ops! { CONVERSIONS: $(
            $(#[doc = $doc])*
            fn $name = $path (input: &Tensor; memory_format: MemoryFormat = MemoryFormat::None) -> Tensor
                [METHOD, NOT_FUNCTION, SAME_OBJECT] node "ToCopyBackward0" {
                let _ = memory_format;
                told(input, DType::$dtype)
            }
        )* }
    };
}

conversions! {
    /// As bool: non-zero is True.
    bool_, "Tensor.bool", Bool;
    /// As uint8.
    byte, "Tensor.byte", U8;
    /// As int8.
    char_, "Tensor.char", I8;
    /// As int16.
    short, "Tensor.short", I16;
    /// As int32.
    int, "Tensor.int", I32;
    /// As int64.
    long, "Tensor.long", I64;
    /// As float16.
    half, "Tensor.half", F16;
    /// As bfloat16.
    bfloat16, "Tensor.bfloat16", BF16;
    /// As float32.
    float, "Tensor.float", F32;
    /// As float64.
    double, "Tensor.double", F64;
    /// As complex64.
    cfloat, "Tensor.cfloat", C64;
    /// As complex128.
    cdouble, "Tensor.cdouble", C128;
}

ops! { TABLE:
    /// A copy that shares no memory with its input; differentiable.
    ///
    /// >>> import pullback
    /// >>> pullback.clone(pullback.tensor([1.0]))
    /// tensor([1.])
    fn clone = "clone" (input: &Tensor; memory_format: MemoryFormat = MemoryFormat::None) -> Tensor [PYTHON_METHOD] of basis::CLONE {
        let _ = memory_format;
        basis::copy_in_order(input)
    }

    /// The same values in the dtype of another tensor.
    fn type_as = "Tensor.type_as" (input: &Tensor, other: &Tensor) -> Tensor [METHOD, NOT_FUNCTION, SAME_OBJECT] of basis::CAST {
        told(input, other.dtype())
    }
}

/// A conversion that the program asks for.
fn told(input: &Tensor, to: DType) -> Result<Tensor> {
    tell_of_loss(input.dtype(), to)?;
    basis::cast(input, to)
}

/// Tells that a conversion loses a part of the numbers, if it does.
#[inline]
pub fn tell_of_loss(from: DType, to: DType) -> Result<()> {
    if from.is_complex() && !to.is_complex() && to != DType::Bool {
        return crate::warn_once!("Casting complex values to real discards the imaginary part; take .real or abs()");
    }
    Ok(())
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[CONVERSIONS, TABLE], ..crate::ops::Family::EMPTY };
