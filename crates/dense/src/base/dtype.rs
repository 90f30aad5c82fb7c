//! Element types.

use half::{bf16, f16};
use num_complex::Complex;
use std::fmt;

/// The type of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// `bool`, one byte each.
    Bool,
    /// `u8`
    U8,
    /// `i8`
    I8,
    /// `i16`
    I16,
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// Half precision: `half::f16`.
    F16,
    /// Half precision with the range of `f32`: `half::bf16`.
    BF16,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// `Complex<f32>`
    C64,
    /// `Complex<f64>`
    C128,
}

/// Rank of a dtype in promotion: a higher category wins whatever the widths.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Bool,
    Integer,
    Float,
    Complex,
}

impl DType {
    /// All of them, in the order of promotion.
    pub const ALL: [DType; 12] = [
        DType::Bool,
        DType::U8,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    /// Bytes per element.
    #[inline]
    pub const fn size(self) -> usize {
        const SIZES: [u8; 12] = [1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16];
        SIZES[self as usize] as usize
    }

    /// The public name, as in `pullback.float32`.
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; 12] = [
            "bool",
            "uint8",
            "int8",
            "int16",
            "int32",
            "int64",
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "complex64",
            "complex128",
        ];
        NAMES[self as usize]
    }

    /// The dtype with this public name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    #[doc(hidden)]
    #[inline]
    pub const fn category(self) -> Category {
        match self {
            DType::Bool => Category::Bool,
            DType::U8 | DType::I8 | DType::I16 | DType::I32 | DType::I64 => Category::Integer,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Category::Float,
            DType::C64 | DType::C128 => Category::Complex,
        }
    }

    /// Whether the elements are real floats.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self.category(), Category::Float)
    }
    /// Whether the elements are complex.
    #[inline]
    pub const fn is_complex(self) -> bool {
        matches!(self.category(), Category::Complex)
    }
    /// Integers, without bool.
    #[inline]
    pub const fn is_integer(self) -> bool {
        matches!(self.category(), Category::Integer)
    }
    /// Whether the elements are floats of 16 bits.
    #[inline]
    pub const fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }
    /// Whether tensors of this dtype can carry derivatives.
    #[inline]
    pub const fn is_differentiable(self) -> bool {
        matches!(self.category(), Category::Float | Category::Complex)
    }
    /// Whether there are negative elements.
    #[inline]
    pub const fn is_signed(self) -> bool {
        !matches!(self, DType::Bool | DType::U8)
    }

    /// The largest finite number of floats, and of the parts of complex numbers.
    pub const fn largest(self) -> Option<f64> {
        match self {
            DType::F16 => Some(65504.0),
            // (2 - 2^-7) 2^127
            DType::BF16 => Some(3.3895313892515355e38),
            DType::F32 | DType::C64 => Some(f32::MAX as f64),
            DType::F64 | DType::C128 => Some(f64::MAX),
            _ => None,
        }
    }

    /// The dtype of the real and imaginary parts; floats are their own.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            d => d,
        }
    }
}

impl DType {
    /// The complex dtype whose parts have this float's precision; half precision has none, and counts as single.
    pub const fn complex(self) -> DType {
        match self {
            DType::F64 | DType::C128 => DType::C128,
            _ => DType::C64,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that elements are stored as. `bool` is stored as one byte, 0 or 1.
///
/// # Safety
/// The type has the size of its dtype's elements and an alignment of at most 16, no padding, and is valid as whatever is
/// stored for that dtype; zero bytes among them.
pub unsafe trait Element: Copy + Send + Sync + PartialEq + fmt::Debug + 'static {
    /// The dtype of such elements.
    const DTYPE: DType;
    /// Zero, or false.
    fn zero() -> Self;
    /// One, or true.
    fn one() -> Self;
}

macro_rules! element {
    ($($t:ty => $d:ident, $zero:expr, $one:expr;)*) => {$(
        // SAFETY: the list below pairs each dtype with the type that its elements are stored as.
        unsafe impl Element for $t {
            const DTYPE: DType = DType::$d;
            fn zero() -> Self { $zero }
            fn one() -> Self { $one }
        }
    )*};
}

element! {
    bool => Bool, false, true;
    u8 => U8, 0, 1;
    i8 => I8, 0, 1;
    i16 => I16, 0, 1;
    i32 => I32, 0, 1;
    i64 => I64, 0, 1;
    f16 => F16, f16::ZERO, f16::ONE;
    bf16 => BF16, bf16::ZERO, bf16::ONE;
    f32 => F32, 0.0, 1.0;
    f64 => F64, 0.0, 1.0;
    Complex<f32> => C64, Complex::new(0.0, 0.0), Complex::new(1.0, 0.0);
    Complex<f64> => C128, Complex::new(0.0, 0.0), Complex::new(1.0, 0.0);
}

/// Runs a generic body with `$T` bound to the storage type of a dtype, for the listed groups:
/// `match_dtype!(d, T => body)` for all, `match_dtype!(d, real T => body, else other)` for a part.
#[doc(hidden)]
#[macro_export]
macro_rules! match_dtype {
    ($d:expr, $T:ident => $body:expr) => {
        match $d {
            $crate::base::DType::Bool => {
                type $T = bool;
                $body
            }
            $crate::base::DType::U8 => {
                type $T = u8;
                $body
            }
            $crate::base::DType::I8 => {
                type $T = i8;
                $body
            }
            $crate::base::DType::I16 => {
                type $T = i16;
                $body
            }
            $crate::base::DType::I32 => {
                type $T = i32;
                $body
            }
            $crate::base::DType::I64 => {
                type $T = i64;
                $body
            }
            $crate::base::DType::F16 => {
                type $T = half::f16;
                $body
            }
            $crate::base::DType::BF16 => {
                type $T = half::bf16;
                $body
            }
            $crate::base::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::base::DType::F64 => {
                type $T = f64;
                $body
            }
            $crate::base::DType::C64 => {
                type $T = num_complex::Complex<f32>;
                $body
            }
            $crate::base::DType::C128 => {
                type $T = num_complex::Complex<f64>;
                $body
            }
        }
    };
    // Integers and the two wide floats: what arithmetic kernels are compiled for.
    ($d:expr, number $T:ident => $body:expr, else $other:expr) => {
        match $d {
            $crate::base::DType::U8 => {
                type $T = u8;
                $body
            }
            $crate::base::DType::I8 => {
                type $T = i8;
                $body
            }
            $crate::base::DType::I16 => {
                type $T = i16;
                $body
            }
            $crate::base::DType::I32 => {
                type $T = i32;
                $body
            }
            $crate::base::DType::I64 => {
                type $T = i64;
                $body
            }
            $crate::base::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::base::DType::F64 => {
                type $T = f64;
                $body
            }
            _ => $other,
        }
    };
    ($d:expr, float $T:ident => $body:expr, else $other:expr) => {
        match $d {
            $crate::base::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::base::DType::F64 => {
                type $T = f64;
                $body
            }
            _ => $other,
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_sizes_match_storage() {
        for d in DType::ALL {
            assert_eq!(DType::from_name(d.name()), Some(d));
            match_dtype!(d, T => {
                assert_eq!(size_of::<T>(), d.size());
                assert_eq!(T::DTYPE, d);
            });
        }
    }
}
