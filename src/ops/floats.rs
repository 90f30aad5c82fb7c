//! Floats by their signs, neighbours and exponents, and powers in double precision.

use super::arith::pow_same;
use super::bits::view_dtype;
use super::compare::{eq, gt, isnan, ne};
use super::promote::common_dtype;
use super::unary::{exp2, sign};
use super::value::{Named, Operand};
use crate::base::promote::default_float;
use crate::base::{DType, Result, Scalar};
use crate::core::Tensor;
use crate::ops::signature::HERE;
use crate::rules::Partial;
use crate::rules::basis::{self, add, cast, mul, number, where_};

unary! { PARTS, PART_PRIMITIVES:
    /// The mantissa of each element; the exponent is constant on the intervals between powers of two.
    mantissa = "frexp" kernel MANTISSA [INTERNAL] d[x] exp2(&exponent(x)?).map(Partial::Over);

    /// The exponent of each element, as a float.
    exponent = "frexp:exponent" kernel EXPONENT [INTERNAL] d[] Partial::Zero;
}

binary! { SIGNS, SIGN_PRIMITIVES of &Tensor:
    /// The magnitude of `input` with the sign of `other`.
    ///
    /// >>> import pullback
    /// >>> pullback.copysign(pullback.tensor([1.0, -2.0]), -0.0)
    /// tensor([-1., -2.])
    copysign = "copysign" kernel COPYSIGN Float [METHOD, INPLACE]
        da[a b] mul(&sign(a)?, &copysign(&number(b, 1.0), b)?), db[] Partial::Zero;
}

binary! { PAIRS, PAIR_PRIMITIVES:
    /// The next float of the dtype towards `other`.
    next_full = "nextafter" kernel NEXTAFTER Same [INTERNAL]
        da[a b] ne(a, b).map(Partial::Where), db[] Partial::Zero;

    /// The same of half precision, whose next float was found by its bits.
    stepped_half = "nextafter:half" kernel STEPPED Same [INTERNAL]
        da[a b] ne(a, b).map(Partial::Where), db[] Partial::Zero;
}

/// The next float of half precision, whose bits count up like integers: the kernel would step in single precision.
fn next_half(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let bits = view_dtype(x, DType::I16)?;
    let one = |n: i64| Tensor::scalar(DType::I16, n);
    let away = eq(&gt(y, x)?, &gt(x, 0.0)?)?;
    let stepped = view_dtype(&add(&bits, &where_(&away, &one(1), &one(-1))?)?, x.dtype())?;
    let least = view_dtype(&one(1), x.dtype())?;
    let from_zero = where_(&gt(y, 0.0)?, &least, &basis::neg(&least)?)?;
    let moved = where_(&eq(x, 0.0)?, &from_zero, &stepped)?;
    let kept = where_(&eq(x, y)?, y, &moved)?;
    let nan = number(x, f64::NAN);
    let out = where_(&isnan(x)?, &nan, &where_(&isnan(y)?, &nan, &kept)?)?;
    stepped_half(x, &out)
}

ops! { TABLE:
    /// The next float after `input` towards `other`.
    ///
    /// >>> import pullback
    /// >>> pullback.nextafter(pullback.tensor([0.0]), pullback.tensor([1.0])) > 0
    /// tensor([True])
    fn nextafter = "nextafter" (input: &Tensor, other: &Tensor) -> Tensor [METHOD, INPLACE] of NEXTAFTER {
        let dtype = common_dtype(input.into(), other.into());
        if dtype.is_half() {
            let (x, y) = (cast(input, dtype)?, cast(other, dtype)?);
            return next_half(&x, &y);
        }
        next_full(input, other)
    }

    /// Mantissas in [1/2, 1) and exponents of two with `input = mantissa * 2**exponent`.
    ///
    /// >>> import pullback
    /// >>> pullback.frexp(pullback.tensor([3.0]))
    /// frexp(mantissa=tensor([0.7500]), exponent=tensor([2], dtype=pullback.int32))
    fn frexp = "frexp" (input: &Tensor) -> Named as frexp(mantissa, exponent) [METHOD] of MANTISSA {
        if !input.dtype().is_float() {
            refuse!(Runtime, "only supports floating-point dtypes, but got {}; convert it with .float() or .double()",
                input.dtype());
        }
        Ok(Named::new(NAMED, [mantissa(input)?, cast(&exponent(input)?, DType::I32)?]))
    }

    /// `input * 2**other`; integers give the default float.
    ///
    /// >>> import pullback
    /// >>> pullback.ldexp(pullback.tensor([0.75]), pullback.tensor([2]))
    /// tensor([3.])
    fn ldexp = "ldexp" (input: &Tensor, other: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] {
        // Integers say how often the input is doubled, and leave its dtype alone.
        let exponents = if other.dtype().is_differentiable() { other.dtype() } else { default_float() };
        let dtype = match (input.dtype().is_differentiable(), other.dtype().is_differentiable()) {
            (true, false) => input.dtype(),
            _ => common_dtype(input.into(), (&cast(other, exponents)?).into()),
        };
        // The power is taken where it does not overflow before the product does.
        let wide = if dtype.is_half() { DType::F32 } else { dtype };
        cast(&mul(&cast(input, wide)?, &pow_same(2.0, &cast(other, wide)?)?)?, dtype)
    }

    /// `input ** exponent` in double precision.
    ///
    /// >>> import pullback
    /// >>> pullback.float_power(pullback.tensor([2]), 0.5)
    /// tensor([1.4142], dtype=pullback.float64)
    fn float_power = "float_power" (input: Operand<'_>, exponent: Operand<'_>) -> Tensor [METHOD, MIXED, INPLACE, EXACT_OUT, TRANSCENDENTAL] node "PowBackward0" / exponent "PowBackward1" {
        let complex = |o: Operand<'_>| match o {
            Operand::Tensor(t) => t.dtype().is_complex(),
            Operand::Number(n) => matches!(n, Scalar::Complex(_)),
        };
        let dtype = if complex(input) || complex(exponent) { DType::C128 } else { DType::F64 };
        let wide = |o| super::promote::convert(o, dtype);
        super::arith::pow((&wide(input)?).into(), (&wide(exponent)?).into())
    }

    /// Degrees as radians.
    ///
    /// >>> import pullback
    /// >>> pullback.deg2rad(pullback.tensor([180.0]))
    /// tensor([3.1416])
    fn deg2rad = "deg2rad" (input: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] {
        angle(input, std::f64::consts::PI / 180.0)
    }

    /// Radians as degrees.
    ///
    /// >>> import pullback
    /// >>> pullback.rad2deg(pullback.tensor([pullback.pi]))
    /// tensor([180.])
    fn rad2deg = "rad2deg" (input: &Tensor) -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION] {
        angle(input, 180.0 / std::f64::consts::PI)
    }
}

fn angle(x: &Tensor, factor: f64) -> Result<Tensor> {
    if x.dtype().is_complex() {
        refuse!(Runtime, "is not supported for complex tensors; take their real part, or angle()");
    }
    super::arith::mul(x.into(), Operand::Number(factor.into())).map_err(|e| e.of("mul", HERE))
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[SIGNS, PAIRS, PARTS, TABLE],
    primitives: &[SIGN_PRIMITIVES, PAIR_PRIMITIVES, PART_PRIMITIVES],
    ..crate::ops::Family::EMPTY
};
