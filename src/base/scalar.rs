//! A number of the host language, weak in promotion.

use super::dtype::{Category, DType};
use num_complex::Complex;

/// A Python or Rust number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(Complex<f64>),
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::Int(i) => write!(f, "{i}"),
            Scalar::Float(x) => write!(f, "{x:?}"),
            Scalar::Complex(z) => write!(f, "{z}"),
        }
    }
}

impl Scalar {
    pub const fn category(self) -> Category {
        match self {
            Scalar::Bool(_) => Category::Bool,
            Scalar::Int(_) => Category::Integer,
            Scalar::Float(_) => Category::Float,
            Scalar::Complex(_) => Category::Complex,
        }
    }

    /// The dtype that a tensor made of this number alone has.
    pub fn dtype(self, default_float: DType) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
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
            Scalar::Float(x) => x,
            Scalar::Complex(z) => z.re,
        }
    }

    /// The value as an integer, truncated towards zero.
    pub fn as_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => i64::from(b),
            Scalar::Int(i) => i,
            Scalar::Float(x) => x as i64,
            Scalar::Complex(z) => z.re as i64,
        }
    }

    pub fn as_complex(self) -> Complex<f64> {
        match self {
            Scalar::Complex(z) => z,
            s => Complex::new(s.as_f64(), 0.0),
        }
    }

    pub fn is_zero(self) -> bool {
        self.as_complex() == Complex::new(0.0, 0.0)
    }
}

macro_rules! from {
    ($($t:ty => $v:ident),*) => {$(
        impl From<$t> for Scalar {
            fn from(x: $t) -> Self { Scalar::$v(x.into()) }
        }
    )*};
}
from!(bool => Bool, i32 => Int, i64 => Int, f32 => Float, f64 => Float, Complex<f64> => Complex);
