//! Unsigned integers that order as elements do.

use half::{bf16, f16};

/// An element with an unsigned key of at most 64 bits; smaller elements have smaller keys. NaNs share the greatest
/// key, both zeros share one.
pub trait Sortable: Copy + Send + Sync + 'static {
    /// Bits of the key.
    const KEY_BITS: u32;
    fn key(self) -> u64;
    /// The element with this key; where several share it, `original` tells.
    fn of_key(key: u64, original: impl FnOnce() -> Self) -> Self;
    /// Whether it equals nothing, itself included.
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
}

impl Sortable for bool {
    const KEY_BITS: u32 = 8;
    #[inline(always)]
    fn key(self) -> u64 {
        self as u64
    }
    #[inline(always)]
    fn of_key(key: u64, _: impl FnOnce() -> bool) -> bool {
        key != 0
    }
}

impl Sortable for u8 {
    const KEY_BITS: u32 = 8;
    #[inline(always)]
    fn key(self) -> u64 {
        self as u64
    }
    #[inline(always)]
    fn of_key(key: u64, _: impl FnOnce() -> u8) -> u8 {
        key as u8
    }
}

macro_rules! signed {
    ($($t:ty, $u:ty);*) => {$(impl Sortable for $t {
        const KEY_BITS: u32 = <$u>::BITS;
        #[inline(always)]
        fn key(self) -> u64 { (self as $u ^ (1 << (<$u>::BITS - 1))) as u64 }
        #[inline(always)]
        fn of_key(key: u64, _: impl FnOnce() -> $t) -> $t { (key as $u ^ (1 << (<$u>::BITS - 1))) as $t }
    })*};
}
signed!(i8, u8; i16, u16; i32, u32; i64, u64);

macro_rules! float {
    ($($t:ty, $u:ty, $i:ty, $exponent:expr);*) => {$(impl Sortable for $t {
        const KEY_BITS: u32 = <$u>::BITS;
        #[inline(always)]
        fn key(self) -> u64 {
            const SIGN: $u = 1 << (<$u>::BITS - 1);
            let bits = self.to_bits();
            let size = bits & !SIGN;
            // All bits of a negative number are flipped, of a positive one the sign; no branch, for signs are random.
            let ordered = bits ^ ((bits as $i >> (<$u>::BITS - 1)) as $u | SIGN);
            // A negative zero counts as the positive one; larger than infinity is NaN.
            let ordered = if size == 0 { SIGN } else { ordered };
            (if size > $exponent { <$u>::MAX } else { ordered }) as u64
        }
        #[inline(always)]
        fn of_key(key: u64, original: impl FnOnce() -> $t) -> $t {
            const SIGN: $u = 1 << (<$u>::BITS - 1);
            let key = key as $u;
            if key == SIGN || key == <$u>::MAX {
                return original();
            }
            <$t>::from_bits(key ^ ((!key as $i >> (<$u>::BITS - 1)) as $u | SIGN))
        }
        #[inline(always)]
        fn is_nan(self) -> bool {
            <$t>::is_nan(self)
        }
    })*};
}
float!(f16, u16, i16, 0x7c00; bf16, u16, i16, 0x7f80; f32, u32, i32, 0x7f80_0000; f64, u64, i64, 0x7ff0_0000_0000_0000);

/// A key with the index of its element in the low half: ordering these is a stable sort.
pub trait Packed: Copy + Ord + Send + Sync + 'static {
    const ZERO: Self;
    /// Bits below the key.
    const LOW: u32;
    fn new(key: u64, index: usize) -> Self;
    fn index(self) -> usize;
    fn key(self) -> u64;
    fn digit(self, shift: u32, bits: u32) -> usize;
}

/// Keys of 32 bits, fewer than 2³² elements.
impl Packed for u64 {
    const ZERO: u64 = 0;
    const LOW: u32 = 32;
    #[inline(always)]
    fn new(key: u64, index: usize) -> u64 {
        key << 32 | index as u64
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as u32 as usize
    }
    #[inline(always)]
    fn key(self) -> u64 {
        self >> 32
    }
    #[inline(always)]
    fn digit(self, shift: u32, bits: u32) -> usize {
        (self >> shift) as usize & ((1 << bits) - 1)
    }
}

impl Packed for u128 {
    const ZERO: u128 = 0;
    const LOW: u32 = 64;
    #[inline(always)]
    fn new(key: u64, index: usize) -> u128 {
        u128::from(key) << 64 | index as u128
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as u64 as usize
    }
    #[inline(always)]
    fn key(self) -> u64 {
        (self >> 64) as u64
    }
    #[inline(always)]
    fn digit(self, shift: u32, bits: u32) -> usize {
        (self >> shift) as usize & ((1 << bits) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_numbers() {
        let rising = [f32::NEG_INFINITY, f32::MIN, -1.0, -f32::MIN_POSITIVE, -0.0, 1e-45, 1.0, f32::INFINITY, f32::NAN];
        assert!(rising.windows(2).all(|w| w[0].key() < w[1].key()));
        assert!((0.0f32.key(), f64::NAN.key()) == ((-0.0f32).key(), (-f64::NAN).key()));
        assert!(rising.iter().all(|x| f32::of_key(x.key(), || *x).to_bits() == x.to_bits()));
        assert!([-5i16, 0, i16::MAX].iter().all(|&x| i16::of_key(x.key(), || 1) == x));
        assert!((-5i64).key() < 3i64.key() && i8::MIN.key() == 0 && f16::NAN.key() == 0xffff);
    }
}
