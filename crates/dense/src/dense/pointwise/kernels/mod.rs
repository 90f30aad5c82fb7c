//! The named kernels of pointwise primitives. A primitive points at its kernel here; programs of the tile engine are made
//! of them.

/// Declares named kernels as [`pointwise_kernel`](crate::pointwise_kernel) does, and the list `ALL` of them.
macro_rules! kernels {
    ($($(#[$meta:meta])* $name:ident $args:tt $(-> $out:ident)? { $($body:tt)* })*) => {
        $($crate::pointwise_kernel! {
            $(#[$meta])*
            #[doc = concat!("The kernel `", stringify!($name), stringify!($args), "`.")]
            pub $name $args $(-> $out)? { $($body)* }
        })*
        pub(super) static ALL: &[&$crate::dense::pointwise::Kernel] = &[$(&$name),*];
    };
}

pub mod activation;
mod arith;
mod bits;
mod compare;
mod elementary;
mod loss;
mod parts;

pub use activation::{
    ELU, GELU, GELU_DENSITY, GELU_SLOPE, GELU_TANH, GELU_TANH_SLOPE, HARDTANH_MAX, HARDTANH_MIN, LEAKY_RELU, MISH,
    MISH_SLOPE, RELU, SILU, SOFTPLUS,
};
pub use arith::{
    ADD, ATAN2, CLAMP_MAX, CLAMP_MIN, DIV, FLOOR_DIVIDE, FMOD, HYPOT, LERP, LOGADDEXP, MAXIMUM, MINIMUM, MUL,
    POLYGAMMA, POW, REMAINDER, SUB, TRUNC_DIVIDE, WHERE, WHERE_CLEAR, WHERE_KEEP, WHERE_PRODUCT,
};
pub use bits::{
    BITWISE_AND, BITWISE_LEFT_SHIFT, BITWISE_NOT, BITWISE_OR, BITWISE_RIGHT_SHIFT, BITWISE_XOR, LOGICAL_AND,
    LOGICAL_NOT, LOGICAL_OR, LOGICAL_XOR,
};
pub use compare::{EQ, GE, GT, ISFINITE, ISINF, ISNAN, LE, LT, NE, SIGNBIT, TIED};
pub use elementary::{
    ABS, ACOS, ACOSH, ANGLE, ASIN, ASINH, ATAN, ATANH, CEIL, CONJ, COS, COSH, DIGAMMA, ERF, ERFC, ERFINV, EXP, EXP2,
    EXPM1, FLOOR, LGAMMA, LOG, LOG_SIGMOID, LOG1P, LOG2, LOG10, NEG, NORM_OF_ONE, RECIPROCAL, ROUND, RSQRT, SGN,
    SIGMOID, SIGMOID_BELL, SIGMOID_CURVE, SIGMOID_SLOPE, SIGN, SIN, SINH, SQRT, SQUARE, TAN, TANH, TRIGAMMA, TRUNC,
};
pub use loss::{
    BINARY_CROSS_ENTROPY, BINARY_CROSS_ENTROPY_ODDS, BINARY_CROSS_ENTROPY_SLOPE, INVERSE_VARIANCE, IS_PROBABILITY,
    LOGITS, LOGITS_SLOPE, XLOGX,
};
pub use parts::{ADD_LOG, EXP_OF_DIFFERENCE, FINITE_OR_ZERO, SQUARED_DIFFERENCE, SUBTRACT_LOG};

use super::Kernel;

/// Every named kernel.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    [activation::ALL, arith::ALL, bits::ALL, compare::ALL, elementary::ALL, loss::ALL, parts::ALL]
        .into_iter()
        .flatten()
        .copied()
}

/// The kernel of this name.
pub fn find(name: &str) -> Option<&'static Kernel> {
    all().find(|k| k.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let mut names: Vec<&str> = all().map(|k| k.name).collect();
        assert!(names.iter().all(|n| find(n).is_some_and(|k| k.name == *n)));
        assert!(names.len() > 100);
        names.sort_unstable();
        let unique = names.len();
        names.dedup();
        assert_eq!(names.len(), unique);
        assert!(find("sine").is_none());
    }
}
