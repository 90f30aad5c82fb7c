//! Elementary functions for turning bits into samples: branch-free, without fused multiply-adds, so that every
//! instruction set gives the same bits. Accurate to about one unit in the last place on the ranges that they need.
//!
//! Logarithm, sine, cosine and exponential use the reductions and minimax polynomials of Sun's fdlibm.
#![allow(clippy::excessive_precision)] // The coefficients stand here as they were published.

use std::fmt::Debug;

/// The two float types that samples are computed in.
pub trait SampleFloat: Copy + Debug + PartialOrd + Send + Sync + 'static {
    /// Words that a uniform number is made of.
    const WORDS: usize;

    /// Uniform in [0, 1), in steps of `2^-24` and `2^-53`, from the first words.
    fn unit(words: &[u32]) -> Self;
    /// Natural logarithm of a positive normal number.
    fn ln(self) -> Self;
    /// Sine and cosine of a part of a turn, of which there are less than 1.
    fn turn(self) -> (Self, Self);
    fn exp(self) -> Self;
    fn sqrt(self) -> Self;
    fn add(self, x: Self) -> Self;
    fn sub(self, x: Self) -> Self;
    fn mul(self, x: Self) -> Self;
    fn div(self, x: Self) -> Self;
    /// The smaller one; not a number if `self` is not.
    fn min(self, x: Self) -> Self;
    fn max(self, x: Self) -> Self;
    fn of(x: f64) -> Self;
}

macro_rules! arithmetic {
    ($t:ty) => {
        #[inline(always)]
        fn sqrt(self) -> $t {
            self.sqrt()
        }
        #[inline(always)]
        fn add(self, x: $t) -> $t {
            self + x
        }
        #[inline(always)]
        fn sub(self, x: $t) -> $t {
            self - x
        }
        #[inline(always)]
        fn mul(self, x: $t) -> $t {
            self * x
        }
        #[inline(always)]
        fn div(self, x: $t) -> $t {
            self / x
        }
        #[inline(always)]
        fn min(self, x: $t) -> $t {
            if self > x { x } else { self }
        }
        #[inline(always)]
        fn max(self, x: $t) -> $t {
            if self < x { x } else { self }
        }
        #[inline(always)]
        fn of(x: f64) -> $t {
            x as $t
        }
    };
}

impl SampleFloat for f32 {
    const WORDS: usize = 1;
    arithmetic!(f32);

    #[inline(always)]
    fn unit(words: &[u32]) -> f32 {
        // The signed conversion is exact, and cheaper than the unsigned one.
        (words[0] & 0x00ff_ffff) as i32 as f32 * f32::from_bits((127 - 24) << 23)
    }

    #[inline(always)]
    fn ln(self) -> f32 {
        const ROOT_HALF: u32 = 0x3f35_04f3;
        let i = self.to_bits().wrapping_sub(ROOT_HALF);
        let k = (i as i32 >> 23) as f32;
        let f = f32::from_bits((i & 0x007f_ffff).wrapping_add(ROOT_HALF)) - 1.0;
        let s = f / (2.0 + f);
        let z = s * s;
        let w = z * z;
        let r = z * (0.666_666_63 + w * 0.284_987_87) + w * (0.400_009_72 + w * 0.242_790_79);
        let h = 0.5 * f * f;
        s * (h + r) + k * 9.058_000_6e-6 - h + f + k * 0.693_138_12
    }

    #[inline(always)]
    fn turn(self) -> (f32, f32) {
        let right_angles = self * 4.0;
        let quadrant = (right_angles + 0.5) as i32;
        let x = (right_angles - quadrant as f32) * std::f32::consts::FRAC_PI_2;
        let quadrant = quadrant as u32;
        let z = x * x;
        let s = x + x * z * (-0.166_666_55 + z * (0.008_332_161 + z * -1.951_529_6e-4));
        let c = 1.0 - 0.5 * z + z * z * (0.041_666_646 + z * (-0.001_388_731_6 + z * 2.443_315_7e-5));
        let (s, c) = if quadrant & 1 == 0 { (s, c) } else { (c, s) };
        // Sine is negative in quadrants 2 and 3, cosine in 1 and 2.
        let s = f32::from_bits(s.to_bits() ^ (quadrant & 2) << 30);
        let c = f32::from_bits(c.to_bits() ^ (quadrant.wrapping_add(1) & 2) << 30);
        (s, c)
    }

    #[inline(always)]
    fn exp(self) -> f32 {
        SampleFloat::exp(f64::from(self)) as f32
    }
}

impl SampleFloat for f64 {
    const WORDS: usize = 2;
    arithmetic!(f64);

    #[inline(always)]
    fn unit(words: &[u32]) -> f64 {
        let bits = u64::from(words[0]) << 32 | u64::from(words[1]);
        (bits & ((1 << 53) - 1)) as i64 as f64 * f64::from_bits((1023 - 53) << 52)
    }

    #[inline(always)]
    fn ln(self) -> f64 {
        const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
        let i = self.to_bits().wrapping_sub(ROOT_HALF);
        let k = f64::from((i as i64 >> 52) as i32);
        let f = f64::from_bits((i & 0x000f_ffff_ffff_ffff).wrapping_add(ROOT_HALF)) - 1.0;
        let s = f / (2.0 + f);
        let z = s * s;
        let w = z * z;
        let even =
            w * (3.999_999_999_940_941_908e-1 + w * (2.222_219_843_214_978_396e-1 + w * 1.531_383_769_920_937_332e-1));
        let odd = z
            * (6.666_666_666_666_735_130e-1
                + w * (2.857_142_874_366_239_149e-1
                    + w * (1.818_357_216_161_805_012e-1 + w * 1.479_819_860_511_658_591e-1)));
        let h = 0.5 * f * f;
        s * (h + (even + odd)) + k * 1.908_214_929_270_587_7e-10 - h + f + k * 6.931_471_803_691_238_164_90e-1
    }

    #[inline(always)]
    fn turn(self) -> (f64, f64) {
        let right_angles = self * 4.0;
        let quadrant = (right_angles + 0.5) as i32;
        let x = (right_angles - f64::from(quadrant)) * std::f64::consts::FRAC_PI_2;
        let quadrant = quadrant as u64;
        let z = x * x;
        let s = 8.333_333_333_322_489_461e-3
            + z * (-1.984_126_982_985_794_931e-4
                + z * (2.755_731_370_707_006_768e-6
                    + z * (-2.505_076_025_340_686_342e-8 + z * 1.589_690_995_211_550_102e-10)));
        let s = x + x * z * (-1.666_666_666_666_663_243e-1 + z * s);
        let c = 4.166_666_666_666_660_190e-2
            + z * (-1.388_888_888_887_410_957e-3
                + z * (2.480_158_728_947_672_942e-5
                    + z * (-2.755_731_435_139_066_330e-7
                        + z * (2.087_572_321_298_174_828e-9 + z * -1.135_964_755_778_819_483e-11))));
        let c = 1.0 - 0.5 * z + z * z * c;
        let (s, c) = if quadrant & 1 == 0 { (s, c) } else { (c, s) };
        let s = f64::from_bits(s.to_bits() ^ (quadrant & 2) << 62);
        let c = f64::from_bits(c.to_bits() ^ (quadrant.wrapping_add(1) & 2) << 62);
        (s, c)
    }

    #[inline(always)]
    fn exp(self) -> f64 {
        // Adding and subtracting this rounds to an integer, whose low bits are those of the sum.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        let x = SampleFloat::max(SampleFloat::min(self, 710.0), -746.0);
        let sum = x * std::f64::consts::LOG2_E + ROUND;
        let n = sum - ROUND;
        let (hi, lo) = (x - n * 6.931_471_803_691_238_164_90e-1, n * 1.908_214_929_270_587_7e-10);
        let r = hi - lo;
        let z = r * r;
        let p = 1.666_666_666_666_660_190e-1
            + z * (-2.777_777_777_701_559_338e-3
                + z * (6.613_756_321_437_934_361e-5
                    + z * (-1.653_390_220_546_525_153e-6 + z * 4.138_136_797_057_238_460e-8)));
        let c = r - z * p;
        let y = 1.0 - ((lo - r * c / (2.0 - c)) - hi);
        // The power of two in two factors, so that both are normal numbers.
        let n = sum.to_bits() as i32;
        let (n1, n2) = (n >> 1, n - (n >> 1));
        let power = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
        y * power(n1) * power(n2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units in the last place of `b`.
    fn ulps(a: impl Into<f64>, b: f64, ulp: f64) -> f64 {
        (a.into() - b).abs() / (ulp * b.abs())
    }

    /// Words that look random.
    fn words(i: u32) -> [u32; 2] {
        let word = i.wrapping_mul(2_654_435_761);
        [word, word.rotate_left(7) ^ i]
    }

    #[test]
    fn logarithms_and_exponentials_are_accurate() {
        for i in 0..200_000u32 {
            let x = 1.0 - f32::unit(&words(i));
            assert!(x > 0.0 && x <= 1.0);
            let exact = f64::from(x).ln();
            assert!(x == 1.0 || ulps(SampleFloat::ln(x), exact, f64::from(f32::EPSILON)) < 1.0, "ln {x}");
            let y = 1.0 - f64::unit(&words(i));
            assert!(y > 0.0 && y <= 1.0);
            assert!(y == 1.0 || ulps(SampleFloat::ln(y), y.ln(), f64::EPSILON) < 2.0, "ln {y}");
            let t = (y - 0.5) * 1400.0;
            assert!(ulps(SampleFloat::exp(t), t.exp(), f64::EPSILON) < 2.0, "exp {t}");
        }
        assert_eq!(
            (SampleFloat::exp(800.0f64), SampleFloat::exp(-800.0f64), SampleFloat::exp(0.0f64)),
            (f64::INFINITY, 0.0, 1.0)
        );
    }

    #[test]
    fn angles_are_accurate_and_go_round_once() {
        for i in 0..100_000u32 {
            let turns = f32::unit(&words(i));
            let (s, c) = turns.turn();
            let (es, ec) = (std::f64::consts::TAU * f64::from(turns)).sin_cos();
            assert!((f64::from(s) - es).abs() < 1.5e-7 && (f64::from(c) - ec).abs() < 1.5e-7, "{turns}");
            let turns = f64::unit(&words(i));
            let (s, c) = turns.turn();
            let (es, ec) = (std::f64::consts::TAU * turns).sin_cos();
            assert!((s - es).abs() < 2e-15 && (c - ec).abs() < 2e-15, "{turns}");
        }
        assert_eq!(
            (0.0f64.turn(), 0.25f32.turn(), 0.5f64.turn().1, 0.75f64.turn().0),
            ((0.0, 1.0), (1.0, -0.0), -1.0, -1.0)
        );
    }

    #[test]
    fn units_are_below_one() {
        assert_eq!(f32::unit(&[u32::MAX]), 1.0 - f32::EPSILON / 2.0);
        assert_eq!(f64::unit(&[u32::MAX; 2]), 1.0 - f64::EPSILON / 2.0);
        assert_eq!((f32::unit(&[0]), f64::unit(&[0, 0])), (0.0, 0.0));
    }
}
