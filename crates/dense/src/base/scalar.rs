//! A number of the host language, weak in promotion.

use super::dtype::{Category, DType};
use super::error::Error;
use num_complex::Complex;

/// A Python or Rust number. Floats are equal if their bits are, so that nan equals itself and 0.0 does not equal -0.0.
#[derive(Debug, Clone, Copy)]
pub enum Scalar {
    /// A bool.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above those of [`Scalar::Int`] that fits into 64 bits.
    Unsigned(u64),
    /// An integer beyond 64 bits, as the nearest float.
    Huge(f64),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(Complex<f64>),
}

impl Scalar {
    /// What tells two numbers of the same kind apart.
    fn bits(self) -> (u64, u64) {
        match self {
            Scalar::Bool(b) => (u64::from(b), 0),
            Scalar::Int(i) => (i as u64, 0),
            Scalar::Unsigned(u) => (u, 0),
            Scalar::Huge(x) | Scalar::Float(x) => (x.to_bits(), 0),
            Scalar::Complex(z) => (z.re.to_bits(), z.im.to_bits()),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.bits() == other.bits()
    }
}

impl Eq for Scalar {}

impl std::hash::Hash for Scalar {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        self.bits().hash(state);
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::Int(i) => write!(f, "{i}"),
            Scalar::Unsigned(u) => write!(f, "{u}"),
            Scalar::Huge(x) => write!(f, "an integer near {x:e}"),
            // As Python writes it.
            Scalar::Float(x) if x.is_nan() => f.write_str("nan"),
            Scalar::Float(x) => write!(f, "{x:?}"),
            Scalar::Complex(z) => write!(f, "{z}"),
        }
    }
}

impl Scalar {
    #[doc(hidden)]
    pub const fn category(self) -> Category {
        match self {
            Scalar::Bool(_) => Category::Bool,
            Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Huge(_) => Category::Integer,
            Scalar::Float(_) => Category::Float,
            Scalar::Complex(_) => Category::Complex,
        }
    }

    /// The dtype that a tensor made of this number alone has.
    pub fn dtype(self, default_float: DType) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Huge(_) => DType::I64,
            Scalar::Float(_) => default_float,
            Scalar::Complex(_) if default_float == DType::F64 => DType::C128,
            Scalar::Complex(_) => DType::C64,
        }
    }

    /// The value as a float; the imaginary part is dropped.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Int(i) => i as f64,
            Scalar::Unsigned(u) => u as f64,
            Scalar::Huge(x) | Scalar::Float(x) => x,
            Scalar::Complex(z) => z.re,
        }
    }

    /// The value as an integer, truncated towards zero; of an unsigned one the same 64 bits.
    pub fn as_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => i64::from(b),
            Scalar::Int(i) => i,
            Scalar::Unsigned(u) => u as i64,
            Scalar::Huge(x) | Scalar::Float(x) => x as i64,
            Scalar::Complex(z) => z.re as i64,
        }
    }

    /// The number as a complex one.
    pub fn as_complex(self) -> Complex<f64> {
        match self {
            Scalar::Complex(z) => z,
            s => Complex::new(s.as_f64(), 0.0),
        }
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.as_complex() == Complex::new(0.0, 0.0)
    }

    /// Whether a conversion to the dtype is no overflow: infinities and NaN need a float, imaginary parts a complex
    /// dtype, and everything is true or false. Negative integers may stand for the unsigned one with the same bits.
    #[doc(hidden)]
    pub fn fits(self, dtype: DType) -> bool {
        match self {
            Scalar::Int(i) if dtype == DType::U8 => (-255..=255).contains(&i),
            n => n.is_held(dtype),
        }
    }

    /// Whether the dtype has this number, but for rounding.
    #[doc(hidden)]
    pub fn is_held(self, dtype: DType) -> bool {
        let real = |x: f64| match (integer_range(dtype), dtype.largest()) {
            // 2^63 itself, which the largest i64 rounds to, is out of range.
            (Some((_, i64::MAX)), _) => (-TWO_63..TWO_63).contains(&x),
            (Some((low, high)), _) => x >= low as f64 && x <= high as f64,
            (None, Some(most)) => !x.is_finite() || x.abs() <= most,
            (None, None) => true,
        };
        match self {
            Scalar::Bool(_) => true,
            Scalar::Huge(x) => dtype.is_differentiable() && x.is_finite() && real(x),
            _ if dtype == DType::Bool => true,
            Scalar::Int(i) => match integer_range(dtype) {
                Some((low, high)) => low <= i && i <= high,
                None => real(i as f64),
            },
            Scalar::Unsigned(u) => !dtype.is_integer() && real(u as f64),
            Scalar::Float(x) => real(x),
            Scalar::Complex(z) => real(z.re) && if dtype.is_complex() { real(z.im) } else { z.im == 0.0 },
        }
    }

    /// The error of a conversion that [`Scalar::fits`] or [`Scalar::is_held`] refuses.
    #[cold]
    #[inline(never)]
    #[doc(hidden)]
    pub fn overflow(self, context: &str, dtype: DType) -> Error {
        let text = format!("{context}: value {self} cannot be converted to {dtype} without overflow");
        match self {
            Scalar::Huge(_) => Error::overflow(format!(
                "{context}: int too big to convert: {self} needs more than 64 bits; give a float, or a smaller int"
            )),
            Scalar::Complex(_) if !dtype.is_complex() => {
                Error::runtime(format!("{text}; its imaginary part would be lost"))
            }
            _ => Error::runtime(format!("{text}; convert the tensor to a dtype that has it, or the value")),
        }
    }
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// The least and the greatest integer of an integer dtype.
const fn integer_range(dtype: DType) -> Option<(i64, i64)> {
    Some(match dtype {
        DType::U8 => (0, u8::MAX as i64),
        DType::I8 => (i8::MIN as i64, i8::MAX as i64),
        DType::I16 => (i16::MIN as i64, i16::MAX as i64),
        DType::I32 => (i32::MIN as i64, i32::MAX as i64),
        DType::I64 => (i64::MIN, i64::MAX),
        _ => return None,
    })
}

macro_rules! from {
    ($($t:ty => $v:ident),*) => {$(
        impl From<$t> for Scalar {
            fn from(x: $t) -> Self { Scalar::$v(x.into()) }
        }
    )*};
}
from!(bool => Bool, i32 => Int, i64 => Int, f32 => Float, f64 => Float, Complex<f64> => Complex);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_is_what_it_is_in_pytorch() {
        use DType::*;
        let float = Scalar::Float;
        for (n, dtype, fits) in [
            (Scalar::Int(-255), U8, true),
            (Scalar::Int(-256), U8, false),
            (Scalar::Int(256), U8, false),
            (float(-1.0), U8, false),
            (float(255.0), U8, true),
            (float(255.9), U8, false),
            (Scalar::Int(-129), I8, false),
            (float(-128.5), I8, false),
            (float(f64::NAN), I32, false),
            (float(TWO_63), I64, false),
            (float(-TWO_63), I64, true),
            (Scalar::Unsigned(1 << 63), I64, false),
            (Scalar::Unsigned(1 << 63), F32, true),
            (Scalar::Unsigned(1 << 63), F16, false),
            (Scalar::Int(65504), F16, true),
            (Scalar::Int(65505), F16, false),
            (float(f64::INFINITY), F16, true),
            (float(1e39), F32, false),
            (float(1e39), BF16, false),
            (float(1e39), F64, true),
            (Scalar::Huge(1e30), F32, true),
            (Scalar::Huge(1e30), Bool, false),
            (Scalar::Huge(f64::INFINITY), F64, false),
            (Scalar::Complex(Complex::new(1.0, 1.0)), F64, false),
            (Scalar::Complex(Complex::new(1.0, 0.0)), U8, true),
            (Scalar::Complex(Complex::new(1.0, 1e39)), C64, false),
            (float(f64::NAN), Bool, true),
        ] {
            assert_eq!(n.fits(dtype), fits, "{n:?} {dtype}");
        }
        assert!(Scalar::Int(-1).fits(U8) && !Scalar::Int(-1).is_held(U8));
    }
}
