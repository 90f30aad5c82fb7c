//! Result dtypes of mixed operands, as in PyTorch: category first, dimensioned tensors before
//! 0-d tensors before numbers.

use super::dtype::{Category, DType};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

static DEFAULT_FLOAT: AtomicU8 = AtomicU8::new(DType::F32 as u8);

/// The dtype of floats made from numbers; float32 unless set.
#[inline]
pub fn default_float() -> DType {
    let d = DEFAULT_FLOAT.load(Relaxed);
    if d == DType::F32 as u8 { DType::F32 } else { DType::ALL[d as usize] }
}

/// Sets the dtype of floats made from numbers. Only float dtypes are accepted.
pub fn set_default_float(dtype: DType) -> super::Result<()> {
    if !dtype.is_float() {
        crate::bail!(Type, "set_default_dtype(): expected a floating-point dtype, got {dtype}");
    }
    DEFAULT_FLOAT.store(dtype as u8, Relaxed);
    Ok(())
}

/// The smallest dtype that both convert to, both taken as dimensioned tensors.
pub fn promote(a: DType, b: DType) -> DType {
    use DType::*;
    if a == b {
        return a;
    }
    let (lo, hi) = if a.category() <= b.category() { (a, b) } else { (b, a) };
    match (lo.category(), hi.category()) {
        (Category::Integer, Category::Integer) => match (lo, hi) {
            (U8, I8) | (I8, U8) => I16,
            (U8, other) | (other, U8) => other,
            _ => lo.max(hi),
        },
        (Category::Float, Category::Float) => match (lo, hi) {
            (F16, BF16) | (BF16, F16) => F32,
            _ => lo.max(hi),
        },
        (Category::Complex, Category::Complex) => C128,
        (Category::Float, Category::Complex) if lo == F64 => C128,
        _ => hi,
    }
}

/// How strongly an operand takes part in promotion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    Number,
    ZeroDim,
    Dimensioned,
}

/// Accumulates operands into a result dtype.
#[derive(Debug, Clone, Copy, Default)]
pub struct Promotion {
    by_strength: [Option<DType>; 3],
}

impl Promotion {
    pub fn add(&mut self, dtype: DType, strength: Strength) {
        let slot = &mut self.by_strength[strength as usize];
        *slot = Some(slot.map_or(dtype, |d| promote(d, dtype)));
    }

    /// The result dtype: a weaker operand counts only if its category is higher.
    pub fn result(&self) -> Option<DType> {
        let mut acc: Option<DType> = None;
        for d in self.by_strength.iter().rev().flatten() {
            acc = Some(match acc {
                None => *d,
                // A weak complex operand takes the precision of the floats that it meets.
                Some(a) if d.is_complex() && a.is_float() => {
                    if a == DType::F64 {
                        DType::C128
                    } else {
                        DType::C64
                    }
                }
                Some(a) if d.category() > a.category() => promote(a, *d),
                Some(a) => a,
            });
        }
        acc
    }
}

/// Result dtype of two tensors of these dtypes and ranks.
#[inline]
pub fn result_type2(a: (DType, usize), b: (DType, usize)) -> DType {
    if a.0 == b.0 {
        return a.0;
    }
    let mut p = Promotion::default();
    for (dtype, rank) in [a, b] {
        p.add(dtype, if rank == 0 { Strength::ZeroDim } else { Strength::Dimensioned });
    }
    p.result().unwrap_or(a.0)
}

/// Result dtype of a tensor and a number.
#[inline]
pub fn with_number(tensor: DType, number: super::Scalar) -> DType {
    if number.category() <= tensor.category() {
        return tensor;
    }
    match number.category() {
        Category::Complex if tensor.is_float() => {
            if tensor == DType::F64 {
                DType::C128
            } else {
                DType::C64
            }
        }
        _ => number.dtype(default_float()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_commutative_and_idempotent() {
        for a in DType::ALL {
            assert_eq!(promote(a, a), a);
            for b in DType::ALL {
                assert_eq!(promote(a, b), promote(b, a));
            }
        }
    }

    #[test]
    fn weak_operands_change_only_the_category() {
        assert_eq!(result_type2((DType::F32, 1), (DType::F64, 0)), DType::F32);
        assert_eq!(result_type2((DType::I32, 1), (DType::F64, 0)), DType::F64);
        assert_eq!(result_type2((DType::U8, 1), (DType::I8, 1)), DType::I16);
        assert_eq!(with_number(DType::I64, crate::base::Scalar::Float(1.0)), DType::F32);
    }
}
